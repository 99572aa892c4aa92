"""SearchDisplay: the data are those of the search, and drawing shows all of them."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from locallinear import FALLClassifierCV, FALLRegressor, FALLRegressorCV, SearchDisplay

mpl.use("Agg")

POINTS = np.zeros((2, 2))
GRID = {
    "n_neighbors": [20, 1, 5, 400],
    "alpha": [0.01, 1.0, 100.0],
    "anchor_alpha": [0.0, 0.01, 1.0],
    "scaling": ["standard", None],
    "fit_intercept": [True, False],
    "anchor_selection": ["random", POINTS],
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.fixture(scope="module")
def search(data):
    return FALLRegressorCV(GRID, random_state=0, scoring="neg_mean_squared_error").fit(*data)


def test_a_curve_is_the_best_of_all_configurations_with_each_value(search):
    display = SearchDisplay.from_estimator(search, "n_neighbors")
    frame = pd.DataFrame(search.cv_results_)
    errors = -frame.groupby("param_n_neighbors")["mean_test_score"].max()
    assert display.values == ([1, 5, 20, 400],)
    assert_array_equal(display.scores, errors)
    assert np.isnan(display.scores[-1])
    assert display.scores[display.best] == -search.best_score_


def test_a_map_is_the_best_of_all_configurations_with_each_pair(search):
    display = SearchDisplay.from_estimator(search, "alpha", "n_neighbors")
    frame = pd.DataFrame(search.cv_results_)
    best = frame.groupby(["param_alpha", "param_n_neighbors"])["mean_test_score"].max()
    assert_array_equal(display.scores, -best.unstack())
    at = frame.loc[search.best_index_]
    assert display.values[0][display.best[0]] == at["param_alpha"]
    assert display.values[1][display.best[1]] == at["param_n_neighbors"]
    assert display.spread[display.best] == at["std_test_score"]


def test_errors_are_shown_for_scores_that_are_negative_errors(search, data):
    assert SearchDisplay.from_estimator(search, "alpha").score_name == "mean squared error"
    scores = SearchDisplay.from_estimator(search, "alpha", error=False)
    assert_allclose(scores.scores.max(), search.best_score_)
    other = FALLRegressorCV({"alpha": [1, 2]}, random_state=0).fit(*data)
    assert SearchDisplay.from_estimator(other, "alpha").score_name == "R²"
    classes = FALLClassifierCV({"alpha": [1, 2]}, random_state=0).fit(data[0], data[1] > 0)
    assert SearchDisplay.from_estimator(classes, "alpha").score_name == "accuracy"


@pytest.mark.parametrize("name", GRID)
def test_a_curve_of_every_parameter_is_drawn(search, name):
    display = SearchDisplay.from_estimator(search, name)
    axis = plt.figure().subplots()
    assert display.plot(ax=axis) is display
    assert display.ax_ is axis
    assert display.figure_ is axis.figure
    assert_array_equal(display.artists_["line"].get_ydata(), display.scores)
    assert axis.get_xlabel() == name
    display.figure_.canvas.draw()


def test_axes_are_logarithmic_where_values_span_decades(search):
    scale = {
        name: SearchDisplay.from_estimator(search, name).plot().ax_.get_xscale()
        for name in ("alpha", "anchor_alpha", "n_neighbors")
    }
    assert scale == {"alpha": "log", "anchor_alpha": "symlog", "n_neighbors": "log"}


@pytest.mark.parametrize(
    "pair", [("alpha", "n_neighbors"), ("anchor_selection", "scaling"), ("fit_intercept", "alpha")]
)
def test_a_map_of_two_parameters_names_its_ticks_and_values(search, pair):
    display = SearchDisplay.from_estimator(search, *pair).plot(cmap="magma")
    display.figure_.canvas.draw()
    assert display.artists_["image"].get_cmap().name == "magma"
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert len(ticks) == len(set(ticks)) == len(display.values[0])
    assert len(display.artists_["numbers"]) == np.isfinite(display.scores).sum()


def test_missing_cells_are_marked(search):
    curve = SearchDisplay.from_estimator(search, "n_neighbors").plot()
    assert_array_equal(curve.artists_["missing"].get_xdata(), [400])
    drawn = SearchDisplay.from_estimator(search, "alpha", "n_neighbors").plot()
    assert_array_equal(drawn.artists_["missing"].get_ydata(), [3, 3, 3])
    assert drawn.artists_["image"].get_array().mask.sum() == 3


def test_a_large_map_has_no_crowd_of_numbers_and_ticks(data):
    grid = {"alpha": list(np.logspace(-3, 3, 40)), "n_neighbors": list(range(1, 30))}
    search = FALLRegressorCV(grid, random_state=0).fit(*data)
    display = SearchDisplay.from_estimator(search, "alpha", "n_neighbors").plot()
    assert "numbers" not in display.artists_
    assert len(display.ax_.get_xticks()) <= 12


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "one or two parameters"),
        (("alpha", "alpha"), "one or two parameters"),
        (("alpha", "scaling", "n_neighbors"), "one or two parameters"),
        (("n_anchors",), r"\['n_anchors'\] cannot be shown.*'n_neighbors'"),
    ],
)
def test_parameters_that_cannot_be_shown_are_named(search, names, words):
    with pytest.raises(ValueError, match=words):
        SearchDisplay.from_estimator(search, *names)


def test_a_search_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        SearchDisplay.from_estimator(FALLRegressorCV(), "alpha")


def test_a_model_without_a_search_is_refused_by_name(data):
    with pytest.raises(TypeError, match="a search such as FALLRegressorCV, but got a FALLReg"):
        SearchDisplay.from_estimator(FALLRegressor(random_state=0).fit(*data), "alpha")
