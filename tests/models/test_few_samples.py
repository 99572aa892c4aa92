"""A coverage that so few samples cannot give: one warning, with what to do."""

import warnings

import numpy as np
import pandas as pd
import pytest

from commands import call, written
from locallinear import (
    FALLClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    TableRegressor,
)


def line(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, X[:, 0]


def warned(call, *arguments, **options):
    """The sentences of a call's warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*arguments, **options)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("n", "coverage", "warns"),
    [(198, 0.99, True), (199, 0.99, False), (38, 0.95, True), (39, 0.95, False), (19, 0.9, False)],
)
def test_an_interval_warns_exactly_where_its_quantile_is_beyond_the_samples(n, coverage, warns):
    X, y = line(n)
    model = FALLRegressor(2, n_neighbors=5).fit(X, y)
    assert (np.ceil(round((1 + coverage) / 2 * (n + 1), 6)) > n) == warns
    assert len(warned(model.predict_interval, X[:3], coverage)) == warns


def test_the_sentence_says_what_is_needed_and_what_to_do():
    X, y = line(60)
    Y = np.column_stack([y, -y])
    model = FALLRegressor(2, n_neighbors=5).fit(X, Y)
    (said,) = warned(model.predict_interval, X, 0.99)
    start = "coverage=0.99 needs 199 samples, but those of the model count as 60: the intervals"
    assert said.startswith(start)
    assert said.endswith("ask for at most 0.967, or fit more samples")
    assert warned(model.predict_interval, X, 0.967) == []


def test_weights_count_samples():
    X, y = line(60)
    model = FALLRegressor(2, n_neighbors=5).fit(X, y, np.full(60, 4.0))
    assert warned(model.predict_interval, X, 0.99) == []


@pytest.mark.parametrize(("coverage", "warns"), [(0.9, False), (0.99, True)])
def test_folds_with_a_guarantee_warn_where_an_end_is_infinite(coverage, warns):
    X, y = line(60)
    model = FALLRegressor(2, n_neighbors=5).fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ends = model.predict_interval(X[:1], coverage, method="cv+")
    assert np.isinf(ends).all() == warns
    assert ["an infinite end; ask for less" in str(one.message) for one in caught] == [True] * warns


@pytest.mark.parametrize(
    ("levels", "warns"), [([1 / 61, 0.5], False), ([0.5, 60 / 61], False), ([0.01], True)]
)
def test_quantiles_beyond_the_samples_warn(levels, warns):
    X, y = line(60)
    model = FALLRegressor(2, n_neighbors=5).fit(X, y)
    assert len(warned(model.predict_quantiles, X[:3], levels)) == warns


def test_a_part_that_cannot_be_fitted_says_which():
    X, y = line(6)
    model = FALLRegressor(2, n_neighbors=5).fit(X, y)
    with pytest.raises(ValueError, match="again on 4 of its 6 samples, which failed: n_neighbors"):
        model.predict_interval(X, method="cv+")


@pytest.mark.parametrize(
    "model",
    [
        FALLRegressorCV({"n_neighbors": [5]}, random_state=0),
        FALLEnsembleRegressor(2, search={"n_neighbors": [5]}, random_state=0),
    ],
    ids=["search", "ensemble"],
)
def test_searches_and_ensembles_warn_once(model):
    X, y = line(60)
    assert len(warned(model.fit(X, y).predict_interval, X, 0.99)) == 1


def test_sets_of_classes_warn_too():
    X, y = line(60)
    model = FALLClassifier(2, n_neighbors=5).fit(X, y > 0)
    (said,) = warned(model.predict_set, X, 0.99)
    assert said.startswith(
        "coverage=0.99 needs 99 samples, but those of the model count as 60: the"
    )
    assert warned(model.predict_set, X, 0.98) == []


@pytest.mark.filterwarnings("default")
def test_the_command_line_prints_one_note(tmp_path, path):
    X, y = line(60)
    frame = pd.DataFrame(X, columns=["a", "b"])
    few = FALLRegressor(2, n_neighbors=5)
    TableRegressor(few, target="identity", random_state=0).fit(frame, y).save(path)
    data = written(tmp_path, frame + 0.01)
    said = call("predict", path, data, "--interval", 0.99).stderr
    assert said.count("Note: coverage=0.99 needs 199 samples, but") == 1
    assert "Note" not in call("predict", path, data, "--interval", 0.9).stderr
