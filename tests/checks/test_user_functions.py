"""A function of the user's that fails, or returns what it should not, is named in the error."""

import traceback

import numpy as np
import pytest
from numpy.testing import assert_allclose

from locallinear import FALLRegressor, FALLRegressorCV

X = np.random.default_rng(0).normal(size=(40, 3))
y = X[:, 0]
GRID = {"n_neighbors": [2]}


def broken(*_):
    raise KeyError("no such weight")


def test_a_weight_function_that_fails_keeps_its_error_and_says_which_function_it_was():
    model = FALLRegressor(weights=broken).fit(X, y)
    with pytest.raises(KeyError, match="no such weight") as caught:
        model.predict(X)
    text = "".join(traceback.format_exception(caught.value))
    assert "in broken" in text
    assert "The function that was passed as `weights` failed." in text


@pytest.mark.parametrize("what", ["weights", "scoring"])
def test_a_function_that_fails_in_a_search_is_the_cause_of_the_error(what):
    options = {"scoring": broken} if what == "scoring" else {}
    grid = {**GRID, "weights": [broken]} if what == "weights" else GRID
    with pytest.raises(ValueError, match=f"{what} failed with KeyError: 'no such w") as caught:
        FALLRegressorCV(grid, random_state=0, **options).fit(X, y)
    assert "in broken" in "".join(traceback.format_exception(caught.value.__cause__))


def test_reasons_of_failures_are_text_that_keeps_nothing_else_alive():
    grid = {**GRID, "weights": [broken, "uniform"]}
    search = FALLRegressorCV(grid, random_state=0).fit(X, y)
    reason = search.cv_results_["reason"][0]
    assert type(reason) is str
    assert reason == "weights failed with KeyError: 'no such weight'"


@pytest.mark.parametrize("returned", ["x", None, 1j])
def test_weights_that_are_no_real_numbers_are_refused(returned):
    model = FALLRegressor(weights=lambda d: np.full(d.shape, returned)).fit(X, y)
    with pytest.raises(ValueError, match="weights must return real numbers, but returned values"):
        model.predict(X)


def test_weights_whose_sum_is_infinite_count_by_their_ratios():
    even = FALLRegressor(5, weights="uniform", random_state=0).fit(X, y)
    huge = FALLRegressor(5, weights=lambda d: np.full(d.shape, 1e308), random_state=0).fit(X, y)
    assert_allclose(huge.predict(X), even.predict(X))
