"""Searches however the work is cut, and among other tools."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from mapie.regression import SplitConformalRegressor
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallinear import (
    FALLClassifier,
    FALLClassifierCV,
    FALLRegressorCV,
)
from locallinear.grids import DEFAULT
from locallinear.runtime import chunks
from locallinear.search import anchor_sets, folds
from searches import GRID, SMALL, same_results
from sklearn_checks import check_all

# The result does not depend on how the work is cut


def test_results_do_not_depend_on_n_jobs(fitted_search, samples):
    for n_jobs in (2, 5, -1):
        same_results(
            fitted_search, FALLRegressorCV(GRID, n_jobs=n_jobs, random_state=0).fit(*samples)
        )


def test_results_do_not_depend_on_chunks(fitted_search, samples, monkeypatch):
    with sklearn.config_context(working_memory=1e-3):
        other = FALLRegressorCV(GRID, random_state=0).fit(*samples)
    same_results(fitted_search, other, rtol=1e-10)
    monkeypatch.setattr(chunks, "CACHE_BYTES", 2000)
    monkeypatch.setattr(anchor_sets, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(folds, "BLOCK_BYTES", 2000)
    same_results(fitted_search, FALLRegressorCV(GRID, random_state=0).fit(*samples), rtol=1e-10)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_results_of_a_classifier_do_not_depend_on_how_the_work_is_cut(monkeypatch, scoring):
    X, y = load_iris(return_X_y=True)
    grid = {"n_neighbors": [2, 9], "assignment_neighbors": [1, 4], "alpha": [1, 10]}
    weight = np.random.default_rng(0).random(len(X))
    search = FALLClassifierCV(grid, scoring=scoring, random_state=0)
    whole = search.fit(X, y, weight)
    same_results(whole, clone(search).set_params(n_jobs=2).fit(X, y, weight))
    monkeypatch.setattr(chunks, "CACHE_BYTES", 2000)
    monkeypatch.setattr(anchor_sets, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(folds, "BLOCK_BYTES", 2000)
    same_results(whole, clone(search).fit(X, y, weight), rtol=1e-10)


def test_two_searches_with_the_same_seed_are_the_same(fitted_search, samples):
    same_results(fitted_search, FALLRegressorCV(GRID, random_state=0).fit(*samples))
    a, b = (
        FALLRegressorCV(GRID, random_state=np.random.RandomState(3)).fit(*samples) for _ in range(2)
    )
    same_results(a, b)
    assert isinstance(a.best_estimator_.random_state, int)


def test_without_a_seed_all_configurations_have_the_same_anchors(samples):
    model = FALLRegressorCV({"alpha": [1.0, 1.0, 1.0]}).fit(*samples)
    assert len(set(model.cv_results_["mean_test_score"])) == 1
    # The seed that was drawn is kept, so that the best can be made again.
    assert_array_equal(
        clone(model.best_estimator_).fit(*samples).predict(samples[0]), model.predict(samples[0])
    )


# Among other tools


@pytest.mark.parametrize("name", ["FALLRegressorCV", "FALLClassifierCV"])
def test_scikit_learns_checks_all_pass_and_none_is_skipped(name):
    """With all neighbourhoods of the default grid: its other values take the same paths."""
    grid = {"neighborhood": DEFAULT["neighborhood"], "n_neighbors": [3, 5], "n_anchors": [30]}
    check_all(name, {"grid": grid})


# Of the 9,000 for classes, those with up to 20 neighbours: a split has 33 samples to fit on.
@pytest.mark.parametrize(("kind", "scored"), [(FALLRegressorCV, 14_400), (FALLClassifierCV, 5_400)])
def test_the_default_grid_is_searched_on_few_samples(kind, scored):
    X, y = load_iris(return_X_y=True)
    model = kind(random_state=0).fit(X[::3], y[::3])
    assert model.n_configurations_ == scored
    assert model.score(X, y) > 0.8


def test_it_nests_in_cross_validation(samples):
    search = FALLRegressorCV(SMALL, random_state=0)
    scores = cross_val_score(search, *samples, cv=3, error_score="raise")
    assert scores.mean() > 0.6
    groups = np.arange(90) // 3
    search.set_params(cv=sklearn.model_selection.GroupKFold(2))
    scores = cross_val_score(search, *samples, cv=3, params={"groups": groups}, error_score="raise")
    assert scores.mean() > 0.6


def test_it_works_in_a_pipeline(samples):
    pipeline = make_pipeline(StandardScaler(), FALLRegressorCV(SMALL, random_state=0))
    assert pipeline.fit(*samples).score(*samples) > 0.8
    pipeline.set_params(fallregressorcv__cv=4)
    assert pipeline.fit(*samples)[-1].n_splits_ == 4


def test_it_works_under_conformal_intervals(samples):
    X, y = samples
    conformal = SplitConformalRegressor(
        FALLRegressorCV(SMALL, random_state=0), confidence_level=0.8, prefit=False
    )
    conformal.fit(X[:60], y[:60]).conformalize(X[60:], y[60:])
    points, intervals = conformal.predict_interval(X)
    assert ((intervals[:, 0, 0] <= points) & (points <= intervals[:, 1, 0])).all()


def test_a_grid_search_over_the_search(samples):
    outer = GridSearchCV(FALLRegressorCV(random_state=0), {"grid": [SMALL, {}]}, cv=2)
    assert outer.fit(*samples).best_params_["grid"] in (SMALL, {})


def test_a_search_predicts_the_classes_of_its_best_configuration():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = FALLClassifierCV(SMALL, random_state=0).fit(X, names)
    assert_array_equal(model.classes_, np.unique(names))
    best = FALLClassifier(**model.best_params_, random_state=0).fit(X, names)
    assert_array_equal(model.predict_proba(X), model.best_estimator_.predict_proba(X))
    assert_array_equal(model.predict(X), best.predict(X))
    assert model.explain(X[:2]).target_names == list(model.classes_)
    assert_allclose(
        cross_val_predict(model, X, names, method="predict_proba", cv=2).sum(axis=1), 1.0
    )


def test_clones_and_pickles(fitted_search, samples):
    copy = pickle.loads(pickle.dumps(fitted_search))
    assert_array_equal(copy.predict(samples[0]), fitted_search.predict(samples[0]))
    same_results(copy, fitted_search)
    fresh = clone(fitted_search)
    assert not hasattr(fresh, "best_params_")
    assert fresh.get_params() == fitted_search.get_params()
    assert fresh.grid == GRID


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_the_results_of_arrays_and_their_names(fitted_search, samples, library):
    X, y = samples
    columns = dict(zip("abc", X.T, strict=True))
    table = pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)
    model = FALLRegressorCV(GRID, random_state=0).fit(table, y)
    same_results(model, fitted_search)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert_allclose(model.predict(table), fitted_search.predict(X), rtol=1e-12)
    assert model.explain(table[:2]).feature_names == ["a", "b", "c"]


def test_a_name_is_not_enough_to_predict_before_fitting():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        FALLRegressorCV().predict([[0.0]])
