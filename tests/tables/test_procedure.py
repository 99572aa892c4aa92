"""The procedure behind a table: rows are drawn from all folds, and judged as time allows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from locallinear import (
    FALLClassifierCV,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    TableRegressor,
)
from locallinear.grids import CLASSES, SIMPLE
from locallinear.runtime.budgets import Budget
from locallinear.tables import procedure
from locallinear.tables.procedure import (
    Task,
    drawn_rows,
    fold_numbers,
    make_estimator,
    sampled_rows,
)


def task_of(n, seed=0, budget=None):
    y = np.random.default_rng(0).normal(size=n)
    folds = fold_numbers(y, False, seed)
    X = pd.DataFrame({"a": y})
    return Task(X, y, False, None, folds, (), "accurate", None, seed, 0, Budget(budget))


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_drawn_rows_are_of_all_folds(seed):
    task = task_of(20_000, seed)
    for rows in (sampled_rows(task), drawn_rows(task, 2000)):
        shares = np.bincount(task.folds[rows]) / len(rows)
        assert np.abs(shares - 1 / 3).max() < 0.05
        assert len(np.unique(rows)) == len(rows)


def test_a_short_time_judges_one_fold_of_many_rows(monkeypatch):
    monkeypatch.setattr(procedure, "MOST_SEARCHED", 60)
    task = task_of(200)
    X = pd.DataFrame({"a": task.y, "b": np.random.default_rng(1).normal(size=200)})
    short = TableRegressor(FALLRegressor(5), target="identity", time_budget=1e-6, random_state=0)
    some = short.fit(X, task.y).cv_prediction_
    assert_array_equal(np.isfinite(some), short.folds_ == 0)
    assert np.isfinite(short.cv_score_)
    assert_array_equal(short.table_model.out_of_fold[0], some)  # which the page shows
    whole = short.set_params(time_budget=None).fit(X, task.y)
    assert np.isfinite(whole.cv_prediction_).all()


def test_of_very_many_rows_some_are_judged_drawn_at_random(monkeypatch):
    monkeypatch.setattr(procedure, "MOST_SEARCHED", 60)
    monkeypatch.setattr(procedure, "LEAST_JUDGED", 10)
    task = task_of(200)
    X = pd.DataFrame({"a": task.y, "b": np.random.default_rng(1).normal(size=200)})
    short = TableRegressor(FALLRegressor(5), target="identity", time_budget=1e-6, random_state=0)
    judged = np.flatnonzero(np.isfinite(short.fit(X, task.y).cv_prediction_))
    fold = np.flatnonzero(short.folds_ == 0)
    assert len(judged) == 10
    assert set(judged) <= set(fold)
    assert set(judged) != set(fold[:10])


@pytest.mark.parametrize(("own", "given"), [(None, [9.0]), (5.0, [])])
def test_a_search_without_a_budget_of_its_own_has_that_of_the_table(own, given, monkeypatch):
    seconds = []
    fit_within = FALLRegressorCV.fit_within

    def noted(self, budget, *samples):
        if self.time_budget is None:
            seconds.append(budget.seconds)
        return fit_within(self, budget, *samples)

    monkeypatch.setattr(FALLRegressorCV, "fit_within", noted)
    task = task_of(60)
    search = FALLRegressorCV({"n_neighbors": [3, 5]}, time_budget=own)
    TableRegressor(search, target="identity", time_budget=9.0).fit(task.X, task.y)
    assert seconds == given


# --- The grids that estimators of a user's own name ----------------------------------------------


@pytest.mark.parametrize(
    ("given", "grid"),
    [
        (FALLClassifierCV("default"), CLASSES),
        (FALLClassifierCV("classes"), CLASSES),
        (FALLClassifierCV("default", prefer="simple"), SIMPLE),
        (FALLEnsembleClassifier(search="default"), CLASSES),
        (FALLEnsembleClassifier(search="classes"), CLASSES),
        (FALLEnsembleClassifier(search="simple"), SIMPLE),
    ],
    ids=str,
)
def test_a_grid_for_classes_has_the_same_name_in_a_table(given, grid):
    task = replace(task_of(60), y=np.arange(60) % 2, classify=True)
    made = make_estimator(given, task)
    assert made.get_params()["search" if hasattr(given, "search") else "grid"] == grid


@pytest.mark.parametrize(
    ("given", "why"),
    [(FALLRegressorCV("classes"), "grid='cl"), (FALLEnsembleRegressor(search="classes"), "search")],
)
def test_a_regressor_of_a_table_has_no_grid_for_classes(given, why):
    with pytest.raises(ValueError, match=why):
        make_estimator(given, task_of(60))
