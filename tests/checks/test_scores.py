"""`score` checks targets and weights as `fit` does, and else is scikit-learn's score."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score, r2_score

from locallinear import (
    FALLClassifier,
    FALLClassifierCV,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    NetworkLassoRegressor,
    TableClassifier,
    TableRegressor,
)

N = 40
X = np.random.default_rng(0).normal(size=(N, 3))
y = X[:, 0]
LABELS = (y > 0).astype(int)
WEIGHTS = np.arange(N) % 3.0
THIRD = np.arange(N) == 2
GRID = {"n_neighbors": [2]}


def with_third(values, value):
    changed = np.array(values, dtype=object)
    changed[2] = value
    return changed


REGRESSORS = {
    "single": FALLRegressor(5, random_state=0),
    "search": FALLRegressorCV(GRID, random_state=0),
    "ensemble": FALLEnsembleRegressor(2, search=None, random_state=0),
    "network": NetworkLassoRegressor(),
    "table": TableRegressor(FALLRegressor(5, random_state=0), random_state=0),
}
CLASSIFIERS = {
    "single": FALLClassifier(5, random_state=0),
    "search": FALLClassifierCV(GRID, random_state=0),
    "ensemble": FALLEnsembleClassifier(2, search=None, random_state=0),
    "table": TableClassifier(FALLClassifier(5, random_state=0), random_state=0),
}

BAD_WEIGHTS = {
    "masked": (np.ma.array(WEIGHTS, mask=THIRD), "sample_weight must .* entry 2 is masked"),
    "None": (with_third(WEIGHTS, None), "sample_weight must have a number .* sample 2 has none"),
    "NA": (with_third(WEIGHTS, pd.NA), "sample_weight must have a number .* sample 2 has none"),
    "NaT": (with_third(WEIGHTS, pd.NaT), "sample_weight must have a number .* sample 2 has none"),
    "negative": (WEIGHTS - 1, "sample_weight must not be negative, but entry 0 is -1.0"),
    "short": (WEIGHTS[1:], r"sample_weight must have one entry per sample, so shape \(40,\)"),
    "text": (["a"] * N, "sample_weight must hold numbers, but holds text, such as 'a'"),
    "category": (pd.Series(["a"] * N, dtype="category"), "sample_weight must hold numbers, but"),
    "records": (np.zeros(N, [("a", float)]), "sample_weight must hold numbers, but entry 0"),
    "zero": (0 * WEIGHTS, "sample_weight must be positive for at least one sample"),
}
BAD_TARGETS = {
    "masked": (np.ma.array(y, mask=THIRD), "y must have a value in every place, but entry 2 is"),
    "None": (with_third(y, None), "y must have a number for every sample, but sample 2 has none"),
    "NA": (with_third(y, pd.NA), "y must have a number for every sample, but sample 2 has none"),
    "NaT": (with_third(y, pd.NaT), "y must have a number for every sample, but sample 2 has none"),
    "NaN": (with_third(y, np.nan), "y must have a number for every sample, but sample 2 has none"),
    "dates": (pd.Series(pd.date_range("2020", periods=N)), "y must hold numbers, but holds times"),
    "category": (pd.Series(["a"] * N, dtype="category"), "y must hold numbers, but holds text"),
    "records": (np.zeros(N, [("a", float)]), "y must hold numbers, but entry 0 is"),
    "sparse": (sparse.csr_array(y[:, None]), "y must be a dense array, but is sparse"),
    "short": (y[1:], r"y must have one entry or one row per sample|y has 39 targets"),
    "two": (X[:, :2], "y must have the 1 targets of the fitted model, but has 2"),
    "huge": (1e160 * y, "y must hold numbers of at most"),
}
BAD_LABELS = {
    "masked": (np.ma.array(LABELS, mask=THIRD), "y must have a value in every place, but entry 2"),
    "None": (with_third(LABELS, None), "y must have a class for every sample, but sample 2 has"),
    "NA": (with_third(LABELS, pd.NA), "y must have a class for every sample, but sample 2 has"),
    "NaT": (with_third(LABELS, pd.NaT), "y must have a class for every sample, but sample 2 has"),
    "text": (LABELS.astype(str), "y must hold labels of the kind .*, numbers, but holds text"),
    "short": (LABELS[1:], r"y must have one entry or one row per sample|y has 39 targets"),
    "mixed": (with_third(LABELS, "a"), "y must hold labels of one kind"),
}


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize(("targets", "words"), BAD_TARGETS.values(), ids=BAD_TARGETS)
def test_targets_that_cannot_be_compared_are_refused(name, targets, words):
    model = REGRESSORS[name].fit(X, y)
    with pytest.raises((ValueError, TypeError), match=words):
        model.score(X, targets)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(("labels", "words"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_labels_that_cannot_be_compared_are_refused(name, labels, words):
    model = CLASSIFIERS[name].fit(X, LABELS)
    with pytest.raises((ValueError, TypeError), match=words):
        model.score(X, labels)


@pytest.mark.parametrize("name", REGRESSORS | CLASSIFIERS)
@pytest.mark.parametrize(("weights", "words"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_weights_that_are_none_are_refused(name, weights, words):
    for models, targets in ((REGRESSORS, y), (CLASSIFIERS, LABELS)):
        if name in models:
            with pytest.raises((ValueError, TypeError), match=words):
                models[name].fit(X, targets).score(X, targets, weights)


@pytest.mark.parametrize("weights", [None, WEIGHTS, list(WEIGHTS), pd.Series(WEIGHTS)])
@pytest.mark.parametrize("name", REGRESSORS)
def test_the_score_of_numbers_is_that_of_scikit_learn(name, weights):
    model, Q = REGRESSORS[name].fit(X, y), X + 0.2
    expected = r2_score(y, model.predict(Q), sample_weight=weights)
    for targets in (y, list(y), pd.Series(y), pd.Series(y, dtype="Float64")):
        assert model.score(Q, targets, weights) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_score_of_classes_is_that_of_scikit_learn(name, weights):
    labels = np.where(y > 0, "high", "low")
    model, Q = CLASSIFIERS[name].fit(X, labels), X[::-1] + 0.2
    expected = accuracy_score(labels, model.predict(Q), sample_weight=weights)
    for given in (labels, list(labels), pd.Series(labels, dtype="category")):
        assert model.score(Q, given, weights) == pytest.approx(expected, rel=1e-12)


def test_several_targets_have_the_mean_score():
    targets = np.column_stack([y, X[:, 1] ** 2])
    model = REGRESSORS["single"].fit(X, targets)
    expected = r2_score(targets, model.predict(X + 0.2))
    assert model.score(X + 0.2, pd.DataFrame(targets)) == pytest.approx(expected)
    with pytest.raises(ValueError, match="y must have the 2 targets of the fitted model, but has"):
        model.score(X, y)
