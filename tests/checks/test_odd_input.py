"""Unusual input works: odd columns, huge and tiny numbers, few samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from locallinear import FALLRegressor
from refusals import ESTIMATORS, data


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.column_stack([X, np.full(len(X), 7.5)]),
        lambda X: np.column_stack([X, X[:, :1]]),
        lambda X: np.repeat(X[:10], 4, axis=0),
        lambda X: np.ones_like(X),
        lambda X: np.tile(X[:1], (len(X), 1)),
        lambda X: X * 1e100,
        lambda X: X * 1e-100,
        lambda X: X * [1e100, 1e-100, 1.0],
        lambda X: X + 1e9,
        lambda X: (10 * X).astype(np.int64),
        lambda X: X > 0,
        lambda X: X.astype(np.float16),
        lambda X: X[:, :1],
    ],
    ids=[
        "constant column",
        "repeated column",
        "repeated rows",
        "all ones",
        "one row repeated",
        "huge",
        "tiny",
        "mixed magnitudes",
        "large offset",
        "integers",
        "booleans",
        "half precision",
        "one column",
    ],
)
@pytest.mark.parametrize("selection", ["random", "kmeans"])
def test_odd_inputs_work_as_the_same_numbers_in_contiguous_doubles(scaling, change, selection):
    X, y = data()
    X = change(X)
    doubles = np.ascontiguousarray(X, dtype=np.float64)
    for estimator in ESTIMATORS:
        for l1_ratio in [0.0, 0.5]:
            model = estimator(
                10,
                anchor_selection=selection,
                anchor_l1_ratio=l1_ratio,
                scaling=scaling,
                random_state=0,
            )
            expected = clone(model).fit(doubles, y)
            model.fit(X, y)
            explanation, of_doubles = model.explain(X), expected.explain(doubles)
            assert np.isfinite(explanation.contributions).all()
            assert_array_equal(explanation.prediction, of_doubles.prediction)
            assert_array_equal(explanation.contributions, of_doubles.contributions)
            assert_array_equal(model.local_models(), expected.local_models())
            assert_array_equal(model.predict(X).shape, y.shape)
            model.partial_fit(X[:3], y[:3]).forget([0])


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_targets_of_extreme_magnitude_are_predicted_in_proportion(scale):
    X, _ = data()
    plain = FALLRegressor(random_state=0).fit(X, X[:, 0])
    extreme = FALLRegressor(random_state=0).fit(X, scale * X[:, 0])
    assert_allclose(extreme.predict(X) / scale, plain.predict(X), rtol=1e-9)


def test_more_anchors_and_anchor_neighbours_than_samples_are_capped():
    X, y = data(8)
    model = FALLRegressor(500, n_anchor_neighbors=500, n_neighbors=8).fit(X, y)
    assert model.anchor_models_.shape == (8, 4, 1)


def test_one_sample_is_enough_for_one_neighbour():
    for estimator in ESTIMATORS:
        model = estimator(n_neighbors=1).fit([[1.0, 2.0]], [3])
        assert_allclose(model.predict([[1.0, 2.0], [9.0, 9.0]]), 3)
