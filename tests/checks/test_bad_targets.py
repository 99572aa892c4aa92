"""Wrong targets and classes raise an error that says which sample and what to do."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from locallinear import (
    FALLClassifier,
    FALLClassifierCV,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    LocalizedLassoRegressor,
    NetworkLassoRegressor,
)
from refusals import data, message


@pytest.mark.parametrize("estimator", [FALLRegressor, FALLRegressorCV])
@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_targets_whose_squares_overflow_or_vanish_are_refused(estimator, scale):
    X, _ = data()
    assert "y must hold numbers of at" in message(estimator, X, scale * X[:, 0])


def test_nan_targets_are_named():
    X, y = data()
    text = message(FALLClassifier, X, np.where(np.arange(40) == 3, np.nan, y))
    assert "y must have a class for every sample, but sample 3 has none (nan); leave" in text


@pytest.mark.parametrize("nothing", [None, pd.NA, np.nan, np.inf])
@pytest.mark.parametrize("dtype", [object, float])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_sample_without_a_number_as_target_is_named(nothing, dtype, n_targets):
    X, _ = data()
    known = X[:, :n_targets].astype(dtype) if n_targets > 1 else X[:, 0].astype(dtype)
    y = known.copy()
    if dtype is float and (nothing is None or nothing is pd.NA):
        nothing = np.nan
    y[2] = nothing
    if nothing is np.inf:
        words = "y must hold finite numbers, but sample 2 has inf; leave such samples out"
    else:
        words = r"a number for every sample, but sample 2 has none \(NaN\); leave such samples out"
    regressors = [
        FALLRegressor(),
        FALLRegressorCV({"n_neighbors": [2]}),
        FALLEnsembleRegressor(2, search=None),
        NetworkLassoRegressor(),
        LocalizedLassoRegressor(),
    ]
    for model in regressors:
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
    for model in (FALLRegressor(), FALLEnsembleRegressor(2, search=None)):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, y)
        model.fit(X, known.astype(float))
        before = model.predict(X)
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, y)
        assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("nothing", [None, pd.NA, np.nan])
@pytest.mark.parametrize("words", [False, True])
def test_a_sample_without_a_class_is_named(nothing, words):
    X, y = data()
    labels = pd.Series(["no", "yes"] if words else [0, 1], dtype=object)[y]
    labels.iloc[7] = nothing
    for estimator in (FALLClassifier(), FALLClassifierCV(), FALLEnsembleClassifier(2)):
        with pytest.raises(ValueError, match="sample 7 has none"):
            estimator.fit(X, labels)


@pytest.mark.parametrize("estimator", [FALLClassifier, FALLClassifierCV])
@pytest.mark.parametrize(("other", "kinds"), [(1, "int and str"), (1.5, "float and str")])
def test_labels_of_several_kinds_are_named(estimator, other, kinds):
    X, _ = data()
    with pytest.raises(TypeError, match=f"y must hold labels of one kind.*but holds {kinds}"):
        estimator().fit(X, np.array(["a", other] * 20, dtype=object))


@pytest.mark.parametrize(
    "model", [FALLClassifier(), FALLEnsembleClassifier(2, search=None, random_state=0)]
)
def test_other_classes_in_a_later_call_are_refused(model):
    X, y = data()
    model.partial_fit(X, y, classes=[0, 1, 2])
    model.partial_fit(X, y, classes=[2, 1, 0])
    with pytest.raises(ValueError, match=r"those of the first call, \[0, 1, 2\], but are \[0, 1\]"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"the class 4, .* fit again, or begin with partial_fit"):
        model.partial_fit(X, np.full(len(X), 4))


def test_text_as_a_regression_target_points_to_the_classifier():
    X, y = data()
    words = np.where(y, "up", "down")
    for labels in (words, words.tolist(), words.astype(object), pd.Series(words)):
        with pytest.raises(ValueError, match="text, such as 'up'; for classes use FALLClassifier"):
            FALLRegressor().fit(X, labels)
