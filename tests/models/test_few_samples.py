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
    assert said.startswith("coverage=0.99 needs 199 samples, but the model has 60: the intervals")
    assert said.endswith("ask for at most 0.967, or fit more samples")
    assert warned(model.predict_interval, X, 0.967) == []


def test_weights_count_samples_and_folds_with_a_guarantee_need_no_warning():
    X, y = line(60)
    model = FALLRegressor(2, n_neighbors=5).fit(X, y, np.full(60, 4.0))
    assert warned(model.predict_interval, X, 0.99) == []
    alone = FALLRegressor(2, n_neighbors=5).fit(X, y)
    assert warned(alone.predict_interval, X, 0.99, method="cv+") == []
    ends = alone.predict_interval(X[:1], 0.99, method="cv+")
    assert np.isinf(ends).all()  # and so says it itself


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
    assert said.startswith("coverage=0.99 needs 99 samples, but the model has 60: the sets are")
    assert warned(model.predict_set, X, 0.98) == []


@pytest.mark.filterwarnings("default")
def test_the_command_line_prints_one_note(tmp_path, path):
    X, y = line(60)
    frame = pd.DataFrame(X, columns=["a", "b"])
    few = FALLRegressor(2, n_neighbors=5)
    TableRegressor(few, target="identity", random_state=0).fit(frame, y).save(path)
    data = written(tmp_path, frame + 0.01)
    said = call("predict", path, data, "--interval", 0.99).stderr
    assert said.count("Note: coverage=0.99 needs 199 samples, but the model has 60") == 1
    assert "Note" not in call("predict", path, data, "--interval", 0.9).stderr
