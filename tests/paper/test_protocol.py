import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn import kernel_ridge
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.utils import Bunch
from threadpoolctl import threadpool_info

from locallinear import FALLRegressorCV
from locallinear.grids import PAPER
from locallinear.paper import protocol, published, tuning
from locallinear.paper.models import MODELS
from locallinear.paper.protocol import DATASETS, Run, evaluate, load, plan
from locallinear.paper.summary import summarize
from locallinear.paper.tuning import (
    score,
    search_fall,
    search_grid,
    search_neighbors,
    search_optuna,
)

RUN = Run("random", "fish", "ridge", "exhaustive", 0.0, 0)


@pytest.fixture
def small(monkeypatch):
    """A small set in place of "fish", with repeated inputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    X[60:90] = X[:30]
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=120)
    stand_in = protocol.Dataset("fish", "Fish", lambda: Bunch(data=X, target=y))
    monkeypatch.setitem(DATASETS, "fish", stand_in)
    load.cache_clear()
    yield X, y
    load.cache_clear()


def folds_of(X):
    return list(KFold(3).split(X))


# --- oracles ------------------------------------------------------------------------------------


def assert_published(dataset, model, published_model):
    """Fifty runs give the paper's mean and spread."""
    folder = os.environ.get("LOCALLINEAR_DATA")
    if not folder or not (Path(folder) / "concrete.csv").exists():
        pytest.skip("LOCALLINEAR_DATA names no folder with the data sets")
    runs = plan([dataset], [model], "exhaustive", 60, 50)
    ours = summarize([evaluate(run)["mse"] for run in runs])
    mean, spread = published.ERRORS[dataset, published_model]
    assert ours.mean == pytest.approx(mean, rel=0.001, abs=0.006)
    assert ours.spread == pytest.approx(spread, rel=0.002, abs=0.011)


@pytest.mark.parametrize(
    ("dataset", "model"),
    [
        ("concrete", "knn"),
        ("concrete", "ridge"),
        ("concrete", "lasso"),
        ("aquatic", "knn"),
        ("aquatic", "ridge"),
        ("fish", "knn"),
        ("fish", "lasso"),
    ],
)
def test_baselines_over_fifty_splits_are_the_published_ones(dataset, model):
    assert_published(dataset, model, model)


def test_published_kernel_ridge_is_that_of_a_linear_kernel(monkeypatch):
    # With a linear kernel, kernel ridge is ridge without an intercept.
    (space,) = MODELS["ridge"].spaces
    linear = replace(MODELS["ridge"], spaces=({**space, "fit_intercept": [False]},))
    monkeypatch.setitem(MODELS, "ridge", linear)
    assert_published("aquatic", "ridge", "kernel_ridge")


def test_run_is_grid_search_and_refit_on_the_split_of_its_seed(small):
    X, y = small
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.1, random_state=7)
    reference = GridSearchCV(
        MODELS["ridge"].make({}, X_train),
        list(MODELS["ridge"].spaces),
        cv=KFold(3),
        scoring="neg_mean_squared_error",
    ).fit(X_train, y_train)
    result = evaluate(Run("random", "fish", "ridge", "exhaustive", 0.0, 7))
    assert result["params"] == reference.best_params_
    assert result["cv_mse"] == pytest.approx(-reference.best_score_)
    assert result["mse"] == pytest.approx(np.mean((reference.predict(X_test) - y_test) ** 2))
    assert (result["n_train"], result["n_test"], result["n_scored"]) == (108, 12, 14)


def test_neighbor_search_at_once_is_the_loop_over_the_grid(small):
    X, y = small
    X = X + np.linspace(0, 1e-3, len(X))[:, None]  # all distinct
    X[40:60] = X[:20]  # distances of zero between the first two folds, and no ties
    folds = folds_of(X)[:2]
    at_once = search_neighbors(MODELS["knn"], X, y, folds)
    loop = search_grid(MODELS["knn"], X, y, folds)
    assert at_once.params == loop.params
    assert at_once.cv_mse == pytest.approx(loop.cv_mse)
    assert at_once.n_scored == loop.n_scored == 20


def test_spaces_have_the_sizes_of_the_paper():
    sizes = {name: model.n_configurations for name, model in MODELS.items()}
    assert sizes == {
        "fall": 1_078_000,
        "network_lasso": 14,
        "knn": 20,
        "kernel_ridge": 539,
        "ridge": 14,
        "lasso": 14,
    }


# --- splits -------------------------------------------------------------------------------------


def test_grouped_split_and_folds_keep_equal_inputs_together(small):
    X, _, groups = load("fish")
    for seed in range(5):
        train, test = protocol.split_samples(len(X), groups, seed, "grouped")
        assert sorted([*train, *test]) == list(range(len(X)))
        assert not set(groups[train]) & set(groups[test])
        for left, right in protocol.split_folds(len(train), groups[train], "grouped"):
            assert not set(groups[train][left]) & set(groups[train][right])


def test_grouped_split_shuffles_the_training_part(small):
    _, _, groups = load("fish")
    train, _ = protocol.split_samples(len(groups), groups, 0, "grouped")
    assert not np.array_equal(train, np.sort(train))


def test_same_run_gives_the_same_result(small):
    first, again = evaluate(RUN), evaluate(RUN)
    assert (first["mse"], first["params"]) == (again["mse"], again["params"])


# --- tuners -------------------------------------------------------------------------------------


def test_plan_gives_kernel_ridge_to_optuna_and_leaves_the_budget_to_it():
    runs = plan(["fish"], ["knn", "kernel_ridge"], "exhaustive", 60, 2)
    assert [(run.model, run.tuner, run.budget, run.seed) for run in runs] == [
        ("knn", "exhaustive", 0.0, 0),
        ("knn", "exhaustive", 0.0, 1),
        ("kernel_ridge", "optuna", 60.0, 0),
        ("kernel_ridge", "optuna", 60.0, 1),
    ]


def test_optuna_stays_in_the_space_and_depends_on_the_seed_alone(small):
    pytest.importorskip("optuna", reason="the tuner needs Optuna")
    X, y = small
    model = MODELS["ridge"]
    first = search_optuna(model, X, y, folds_of(X), seed=3, budget=600)
    again = search_optuna(model, X, y, folds_of(X), seed=3, budget=600)
    assert first == again
    assert first.n_scored <= model.n_configurations
    assert all(first.params[name] in values for name, values in model.spaces[0].items())
    assert first.cv_mse >= search_grid(model, X, y, folds_of(X)).cv_mse


def test_optuna_stops_at_its_budget_after_the_trial_in_hand(small):
    pytest.importorskip("optuna", reason="the tuner needs Optuna")
    X, y = small
    tuned = search_optuna(MODELS["kernel_ridge"], X, y, folds_of(X), budget=1e-6)
    assert tuned.n_scored == 1
    names = set(tuned.params)
    assert names in ({"kernel", "alpha", "gamma"}, {"kernel", "alpha", "degree", "coef0"})


def test_fixed_tuner_takes_the_parameters_of_the_entry(small):
    result = evaluate(Run("random", "fish", "knn", "fixed", 0.0, 0))
    assert result["params"] == MODELS["knn"].fixed
    assert result["n_scored"] == 0


def test_every_fixed_configuration_lies_in_the_searched_space():
    for model in MODELS.values():
        assert any(
            set(model.fixed) == set(space)
            and all(model.fixed[name] in values for name, values in space.items())
            for space in model.spaces
        ), model.name


def test_configuration_that_cannot_be_solved_scores_infinity(small):
    X, y = small
    # Equal rows and no penalty to speak of: the kernel matrix is singular.
    params = {"kernel": "poly", "alpha": 1e-300, "degree": 1, "coef0": 1.0}
    assert score(MODELS["kernel_ridge"], params, X, y, folds_of(X)) == float("inf")


def test_kernel_ridge_solves_on_one_thread(monkeypatch):
    # Two crash on Superconductivity, with all of the process.
    seen = []
    solve = kernel_ridge._solve_cholesky_kernel

    def watched(*arguments):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return solve(*arguments)

    monkeypatch.setattr(kernel_ridge, "_solve_cholesky_kernel", watched)
    X = np.random.default_rng(0).normal(size=(20, 3))
    MODELS["kernel_ridge"].make({"kernel": "rbf"}, X).fit(X, X[:, 0])
    assert set(seen) == {1}


def test_models_are_made_with_the_parameters_given():
    for name in ("knn", "kernel_ridge", "ridge", "lasso"):
        estimator = MODELS[name].make(MODELS[name].fixed, np.zeros((5, 2)))
        assert MODELS[name].fixed.items() <= clone(estimator).get_params().items()
    assert isinstance(MODELS["kernel_ridge"].make({}, None), KernelRidge)


def test_anchors_of_fall_are_the_first_training_samples_in_raw_units(small):
    X, y = small
    params = {**MODELS["fall"].fixed, "n_anchors": 20}
    model = MODELS["fall"].make(params, X).fit(X, y)
    np.testing.assert_array_equal(model.anchor_points_, X[:20])
    assert model.scaling is None


def test_fall_is_searched_in_the_paper_s_space_by_squared_error(small, monkeypatch):
    asked = {}

    class Recorder:
        """Stands in for the library's search, whose million configurations take a while."""

        def __init__(self, **parameters):
            asked.update(parameters)

        def fit(self, X, y):
            self.best_params_ = {**MODELS["fall"].fixed, "n_anchors": 40}
            self.best_score_, self.n_configurations_ = -2.5, 1_078_000
            return self

    monkeypatch.setattr(tuning, "FALLRegressorCV", Recorder)
    result = evaluate(Run("random", "fish", "fall", "exhaustive", 0.0, 4), n_jobs=2)
    assert (result["cv_mse"], result["n_scored"]) == (2.5, 1_078_000)
    assert result["params"]["n_anchors"] == 40
    assert asked["grid"] == PAPER
    assert asked["scoring"] == "neg_mean_squared_error"
    assert (asked["random_state"], asked["n_jobs"]) == (4, 2)
    assert [len(test) for _, test in asked["cv"]] == [36, 36, 36]


def test_interrupted_search_of_fall_is_an_interrupt_and_no_result(small, monkeypatch):
    X, y = small
    calls = []

    def interrupted_scorer(estimator, X, y):
        calls.append(1)
        if len(calls) > 12:
            raise KeyboardInterrupt
        return 0.0

    def interrupted_search(**parameters):
        return FALLRegressorCV(**{**parameters, "scoring": interrupted_scorer})

    monkeypatch.setattr(tuning, "FALLRegressorCV", interrupted_search)
    space = {"n_anchor_neighbors": [10, 20], "alpha": [0.1, 1.0], "fit_intercept": [True, False]}
    with pytest.raises(KeyboardInterrupt) as caught:
        search_fall(replace(MODELS["fall"], spaces=(space,)), X, y, folds_of(X))
    assert "interrupted; the best of" in str(caught.value.__cause__)  # the search kept its best


def test_warnings_of_the_final_fit_are_recorded(small, monkeypatch):
    from locallinear.paper import models

    monkeypatch.setattr(models, "LASSO_MAX_ITER", 1)
    monkeypatch.setitem(MODELS["lasso"].fixed, "alpha", 1e-9)
    result = evaluate(Run("random", "fish", "lasso", "fixed", 0.0, 0))
    assert result["warnings"] == "ConvergenceWarning"
