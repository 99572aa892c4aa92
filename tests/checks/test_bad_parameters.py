"""Wrong parameters and grids raise an error that names them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from locallinear import FALLClassifierCV, FALLEnsembleRegressor, FALLRegressor, FALLRegressorCV
from locallinear.explain import ContributionDisplay, EffectDisplay
from refusals import ESTIMATORS, data, message

WRONG = {
    "n_anchors": [0, -1, 2.5, "many"],
    "anchor_selection": ["nearest", 3],
    "n_anchor_neighbors": [0, 1.5],
    "anchor_alpha": [-1.0, "auto"],
    "anchor_l1_ratio": [-0.1, 1.1],
    "alpha": [0.0, -1.0, None],
    "n_neighbors": [0, -3, 2.0],
    "weights": ["cosine", None, [1.0]],
    "fit_intercept": ["yes", 1.0],
    "scaling": ["minmax", 1],
    "neighborhood": ["manhattan", None],
    "metric_iterations": [0],
    "assignment_neighbors": [0, 1.5],
    "n_jobs": [1.5, "all", 10**400],
    "random_state": ["seed", -1],
}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in WRONG.items() for v in vs])
def test_unknown_words_and_values_out_of_range_are_named(estimator, name, value):
    X, y = data()
    for method in ("fit", "partial_fit"):
        text = message(estimator, X, y, method, {name: value})
        assert f"The '{name}' parameter of {estimator.__name__} must be" in text


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["alpha", "anchor_alpha"])
def test_penalties_that_are_nan_or_infinite_are_refused(name, value):
    X, y = data()
    assert f"The '{name}' parameter" in message(FALLRegressor, X, y, options={name: value})


def test_anchors_of_the_wrong_size_are_named():
    X, y = data()
    text = message(FALLRegressor, X, y, options={"anchor_selection": np.zeros((4, 2))})
    assert "anchor_selection must hold points with the 3 features of X" in text
    assert "(4, 2)" in text
    text = message(FALLRegressor, X, y, options={"anchor_selection": np.zeros((0, 3))})
    assert "anchor_selection must hold points" in text
    text = message(FALLRegressor, X, y, options={"anchor_selection": np.full((4, 3), np.nan)})
    assert "anchor_selection must hold finite numbers, but entry (0, 0) is nan" in text
    for shape in [(4, 3, 1), (4, 4, 2), (4, 4), (0, 4, 1)]:
        text = message(FALLRegressor, X, y, options={"anchor_models": np.zeros(shape)})
        assert "anchor_models must have shape (n_anchors, n_features + 1, n_targets)" in text
    text = message(FALLRegressor, X, y, options={"anchor_models": np.full((1, 4, 1), np.inf)})
    assert "anchor_models must hold finite numbers, but entry (0, 0, 0) is inf" in text


def test_graphs_of_the_wrong_kind_are_named():
    X, y = data()
    assert "graph must be a sparse matrix" in message(FALLRegressor, X, y, graph=np.eye(40))
    text = message(FALLRegressor, X, y, graph=sparse.eye_array(39, format="csr"))
    assert "graph must have a row and a column for each of the 40 samples" in text
    graph, options = (
        sparse.eye_array(40, format="csr"),
        {"n_anchors": 5, "anchor_selection": "kmeans"},
    )
    assert "no row of X" in message(FALLRegressor, X, y, options=options, graph=graph)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_more_neighbours_than_samples_are_refused(estimator):
    X, y = data(4)
    expected = "n_neighbors=5 samples are needed per prediction, but there are only n_samples=4"
    assert expected in message(estimator, X, y)
    X, y = data(10)
    weights = np.r_[np.ones(4), np.zeros(6)]
    assert expected in message(estimator, X, y, sample_weight=weights)


@pytest.mark.parametrize("weights", ["distance", "uniform"])
def test_more_neighbours_than_samples_are_refused_after_the_fit_as_well(weights):
    X, y = data()
    model = FALLRegressor(weights=weights, random_state=0).fit(X, y).forget([0])
    model.set_params(n_neighbors=40)
    for method in (model.predict, model.explain):
        with pytest.raises(ValueError, match=r"n_neighbors=40 .* only n_samples=39"):
            method(X)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda d: d[:, :1], "must return one weight per distance"),
        (lambda d: -d, "finite numbers that are not negative"),
        (lambda d: d * np.inf, "finite numbers that are not negative"),
    ],
)
def test_invalid_results_of_a_weight_function_are_named(rule, words):
    X, y = data()
    model = FALLRegressor(weights=rule).fit(X, y)
    for method in (model.predict, model.explain):
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=words):
            method(X + 0.1)


def test_a_misspelt_parameter_of_a_grid_is_answered_with_the_right_name():
    X, y = data()
    with pytest.raises(ValueError, match="did you mean 'n_neighbors'"):
        FALLClassifierCV({"n_neighbours": [1, 2]}).fit(X, y)


@pytest.mark.parametrize("name", ["n_neighbors", "n_anchors", "alpha"])
def test_true_in_place_of_a_number_in_a_grid_is_refused(name):
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    with pytest.raises(ValueError, match=f"holds True, which is no value of {name}"):
        FALLRegressorCV({name: [True]}).fit(X, y)


NAMES = [np.array([1, 2]), np.array("local"), pd.DataFrame({"a": [1]}), sparse.eye_array(2)]
NAMES += [pd.NA, ["local"], None, 3]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: type(name).__name__)
def test_what_is_no_name_is_refused_where_a_name_is_expected(name):
    X, _ = data()
    model = FALLRegressor(5, random_state=0).fit(X, X[:, 0])
    bars = ContributionDisplay.from_estimator(model, X[:1])
    for call, words in [
        (lambda: model.predict_interval(X, method=name), 'method must be "local" or "cv.", but'),
        (lambda: bars.waterfall(reference=name), 'reference must be "baseline" or "mean" or "zero'),
        (lambda: EffectDisplay.from_estimator(model, X, 0, kind=name), 'kind must be "auto" or'),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
    if name is not None:  # which is the precision of the model
        with pytest.raises(ValueError, match='dtype must be "float32" or "float64", but is'):
            model.to("cpu", dtype=name)


def test_more_neighborhoods_than_members_are_as_many_as_members():
    X, _ = data()
    many, all_own = (
        FALLEnsembleRegressor(3, n_neighborhoods=n, search=None, random_state=0).fit(X, X[:, 0])
        for n in (10**30, 3)
    )
    assert_array_equal(many.predict(X), all_own.predict(X))
    with pytest.raises(ValueError, match="The 'n_estimators' parameter of FALLEnsembleRegressor"):
        FALLEnsembleRegressor(10**30).fit(X, X[:, 0])
