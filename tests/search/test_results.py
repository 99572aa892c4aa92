"""What a search finds: named grids, results in GridSearchCV's columns, the best estimator."""

import gc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, ParameterGrid, cross_val_score

import locallinear
from locallinear import (
    FALLClassifierCV,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
)
from locallinear.grids import DEFAULT, PAPER
from locallinear.search import folds, grids, results
from locallinear.search.search import Search
from searches import GRID, SIZE, quiet_loop

# The named grids


def test_the_grid_of_classes_is_refused_for_numbers():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    for model in (FALLRegressorCV("classes"), FALLEnsembleRegressor(search="classes")):
        with pytest.raises(ValueError, match="='classes' is for classifiers, and this model"):
            model.fit(X, y)


def test_the_papers_grid_has_its_million_configurations_on_raw_features():
    assert len(ParameterGrid(PAPER)) == 1_078_000
    assert PAPER["scaling"] == [None]


@pytest.mark.parametrize("grid", ["paper", "default"])
@pytest.mark.parametrize("search", [FALLRegressorCV, FALLClassifierCV])
def test_a_named_grid_searches_its_own_values(grid, search):
    X, y = load_iris(return_X_y=True)
    model = search(grid, time_budget=1e-6, random_state=0).fit(X, y)
    classify = search is FALLClassifierCV
    expected = grids.named_grid(grid, prefer="accurate", classify=classify)
    assert set(model.best_params_) == set(expected)
    assert all(value in expected[name] for name, value in model.best_params_.items())
    assert len(model.cv_results_["mean_test_score"]) == len(ParameterGrid(expected))


def test_the_default_grid_can_be_built_on(samples):
    grid = DEFAULT | {"scaling": ["standard"]}
    model = FALLRegressorCV(grid, time_budget=1e-6, random_state=0).fit(*samples)
    assert 2 * len(ParameterGrid(grid)) == len(ParameterGrid(DEFAULT))
    assert model.best_params_.keys() == DEFAULT.keys()
    assert model.best_params_["scaling"] == "standard"


def test_memory_of_a_search_is_free_when_it_ends(samples):
    before = {id(thing) for thing in gc.get_objects()}  # of other tests, whose errors are kept
    gc.disable()  # a collection would hide cycles, which may live long in a program that rests
    try:
        model = FALLRegressorCV({"neighborhood": ["euclidean", "forest"]}).fit(*samples)
        made = [thing for thing in gc.get_objects() if id(thing) not in before]
        assert not [thing for thing in made if isinstance(thing, folds.Fold)]
        assert model.n_configurations_ == 2
    finally:
        gc.enable()


def test_a_named_grid_cannot_be_changed_through_a_result(samples):
    before = repr(grids.GRIDS)
    model = FALLRegressorCV(time_budget=1e-6, random_state=0).fit(*samples)
    model.best_params_.clear()
    assert repr(grids.GRIDS) == before


def test_an_empty_grid_scores_the_estimator_as_it_is(samples):
    model = FALLRegressorCV({}, random_state=0).fit(*samples)
    assert model.best_params_ == {}
    scores = cross_val_score(FALLRegressor(random_state=0), *samples, cv=3)
    assert_allclose(model.best_score_, scores.mean(), rtol=1e-9)


# Results


def test_results_have_the_columns_of_grid_search_and_a_reason(fitted_search):
    scores = ["split0_test_score", "split1_test_score", "split2_test_score"]
    scores += ["mean_test_score", "std_test_score", "rank_test_score", "reason"]
    assert set(fitted_search.cv_results_) == {f"param_{name}" for name in GRID} | set(scores)
    assert all(len(column) == SIZE for column in fitted_search.cv_results_.values())
    assert fitted_search.n_splits_ == 3
    assert fitted_search.n_configurations_ == SIZE
    assert (fitted_search.cv_results_["reason"] == "").all()


def test_results_are_in_the_order_of_parameter_grid(fitted_search):
    for name in GRID:
        expected = [parameters[name] for parameters in ParameterGrid(GRID)]
        assert_array_equal(fitted_search.cv_results_[f"param_{name}"], expected)


def test_the_best_is_the_first_of_the_highest_mean_scores(fitted_search):
    mean = fitted_search.cv_results_["mean_test_score"]
    assert fitted_search.best_index_ == np.argmax(mean)
    assert fitted_search.best_score_ == mean.max()
    assert fitted_search.cv_results_["rank_test_score"][fitted_search.best_index_] == 1
    assert list(ParameterGrid(GRID))[fitted_search.best_index_] == fitted_search.best_params_


def test_ranks_are_those_of_grid_search(samples):
    grid = {"n_neighbors": [2, 40, 500], "n_anchors": [5, 1000, 2000]}
    search = FALLRegressorCV(grid, random_state=0).fit(*samples)
    loop = quiet_loop(GridSearchCV(FALLRegressor(random_state=0), grid, cv=3), *samples)
    assert_array_equal(search.cv_results_["rank_test_score"], loop.cv_results_["rank_test_score"])


def test_equal_scores_have_equal_means_however_many_there_are():
    for scores in np.random.default_rng(0).random((20, 10, 1)):
        alone, many = results._mean(scores), results._mean(scores.repeat(9, axis=1))
        assert_array_equal(many, np.repeat(alone, 9))
        assert_allclose(results._spread(scores, alone), scores.std(axis=0), rtol=1e-14)


def test_ranks_of_many_scores_with_ties_and_missing_ones(samples):
    grid = {
        "n_neighbors": [*range(1, 31), 500],
        "alpha": [*np.logspace(-2, 2, 15), 1.0, 1.0],
        "n_anchors": [5, 10, 1000, 2000],
    }
    results = FALLRegressorCV(grid, random_state=0).fit(*samples).cv_results_
    mean = results["mean_test_score"]
    assert len(np.unique(mean)) < np.count_nonzero(np.isfinite(mean)) < len(mean)
    expected = rankdata(np.where(np.isfinite(mean), -mean, np.inf), method="min")
    assert_array_equal(results["rank_test_score"], expected)


def test_the_best_estimator_is_fitted_on_all_samples(fitted_search, samples):
    model = FALLRegressor(**fitted_search.best_params_, random_state=0).fit(*samples)
    assert fitted_search.best_estimator_.n_samples_fit_ == len(samples[0])
    assert_array_equal(fitted_search.predict(samples[0]), model.predict(samples[0]))
    assert_array_equal(fitted_search.explain(samples[0]).coef, model.explain(samples[0]).coef)


def test_a_million_rows_make_a_frame():
    model = FALLRegressorCV("paper", time_budget=1e-6, random_state=0)
    frame = pd.DataFrame(model.fit(*load_diabetes(return_X_y=True)).cv_results_)
    assert len(frame) == 1_078_000
    assert frame["mean_test_score"].count() == model.n_configurations_
    # Numbers are columns of numbers, so that a frame can be sorted and grouped quickly.
    objects = {name for name in frame if frame[name].dtype.kind not in "ifb"}
    assert objects == {"param_scaling", "reason"}


def test_columns_keep_the_values_of_the_grid(samples):
    points = np.zeros((2, 3))
    grid = {"anchor_selection": ["random", points], "fit_intercept": [True], "alpha": [1, 0.5]}
    results = FALLRegressorCV(grid, random_state=0).fit(*samples).cv_results_
    selections = results["param_anchor_selection"].tolist()
    assert [selections[0], selections[2]] == ["random", "random"]
    assert selections[1] is selections[3] is points
    assert results["param_fit_intercept"].dtype == bool
    assert results["param_alpha"].dtype == float
    assert_array_equal(results["param_alpha"], [1, 1, 0.5, 0.5])


def test_rounds_of_learning_make_no_work_where_nothing_is_learned(samples, monkeypatch):
    cells = []
    score_cell = Search._score_cell
    monkeypatch.setattr(
        Search, "_score_cell", lambda *given: cells.append(given) or score_cell(*given)
    )
    grid = {"neighborhood": ["euclidean", "learned"], "metric_iterations": [1, 2, 5]}
    search = FALLRegressorCV(grid, random_state=0).fit(*samples)
    assert len(cells) == 4
    loop = GridSearchCV(FALLRegressor(random_state=0), grid, cv=3).fit(*samples)
    assert_allclose(
        search.cv_results_["mean_test_score"], loop.cv_results_["mean_test_score"], rtol=1e-9
    )
    assert search.n_configurations_ == 6
    assert (search.cv_results_["reason"] == "").all()


def test_a_search_shows_and_saves_its_best_estimator(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    search = FALLRegressorCV({"n_neighbors": [5, 10]}, random_state=0).fit(X, y)
    assert_array_equal(search.labels_, search.best_estimator_.labels_)
    assert_array_equal(search.local_models([3]), search.best_estimator_.local_models([3]))
    search.save(tmp_path / "model")
    assert_array_equal(locallinear.load(tmp_path / "model").predict(X), search.predict(X))


# Many samples


def test_of_many_samples_some_choose_the_parameters_and_all_make_the_model(samples):
    X, y = samples
    some = np.sort(np.random.RandomState(0).permutation(len(X))[:60])
    model = FALLRegressorCV(GRID, max_samples=60, random_state=0).fit(X, y)
    alone = FALLRegressorCV(GRID, random_state=0).fit(X[some], y[some])
    assert_array_equal(model.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    assert model.best_estimator_.n_samples_fit_ == len(X)


def test_splits_that_are_given_as_rows_are_used_whole(samples):
    X, y = samples
    splits = [(np.arange(45), np.arange(45, 90)), (np.arange(45, 90), np.arange(45))]
    scores = [
        FALLRegressorCV(GRID, cv=splits, max_samples=most, random_state=0).fit(X, y).best_score_
        for most in (10, None)
    ]
    assert scores[0] == scores[1]


def test_every_class_is_among_the_samples_that_choose():
    X, y = load_iris(return_X_y=True)
    keep = np.r_[0:100, 100:103]  # three samples of the last class
    model = FALLClassifierCV({"n_neighbors": [2, 3]}, max_samples=30, random_state=0)
    with pytest.warns(UserWarning, match="least populated class"):
        model.fit(X[keep], y[keep])
    assert model.classes_.tolist() == [0, 1, 2]


def test_no_splits_are_refused(samples):
    with pytest.raises(ValueError, match="cv must give at least one split"):
        FALLRegressorCV(GRID, cv=[]).fit(*samples)
