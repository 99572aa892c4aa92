"""Spaces for Optuna: the same values as the grids of the searches."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import ParameterGrid

from locallinear import FALLClassifier, FALLRegressor
from locallinear.grids import CLASSES, DEFAULT, PAPER
from locallinear.search import grids as _grids
from locallinear.tune import suggest_params

optuna = pytest.importorskip("optuna", reason="optuna is an extra")


@pytest.fixture
def study():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))


def ask(study, grid, n):
    return [suggest_params(study.ask(), grid) for _ in range(n)]


@pytest.mark.parametrize("name", ["paper", "default"])
def test_suggestions_are_values_of_the_grid_and_reach_all_of_them(study, name):
    grid = _grids.GRIDS[name]
    suggested = ask(study, name, 150)
    for parameter, values in grid.items():
        assert {params[parameter] for params in suggested} == set(values), parameter
    assert all(set(params) == set(grid) for params in suggested)


def test_a_classifier_gets_the_grid_that_its_search_has_by_the_same_name(study):
    seen = {suggest_params(study.ask(), "default", FALLClassifier())["alpha"] for _ in range(60)}
    assert seen == set(CLASSES["alpha"]) != set(DEFAULT["alpha"])


def test_the_paper_is_the_default(study):
    assert set(suggest_params(study.ask())) == set(PAPER)


def test_even_steps_are_numbers_and_the_rest_categories(study):
    trial = study.ask()
    suggest_params(trial, "paper")
    kinds = {name: type(space).__name__ for name, space in trial.distributions.items()}
    assert kinds["n_neighbors"] == kinds["n_anchors"] == "IntDistribution"
    assert (
        kinds["alpha"] == kinds["fit_intercept"] == kinds["scaling"] == ("CategoricalDistribution")
    )


def test_arrays_and_functions_come_from_the_grid_as_they_are(study):
    points = np.zeros((2, 10))
    grid = {"weights": [np.ones_like, "uniform"], "anchor_selection": [points], "alpha": [2]}
    for params in ask(study, grid, 5):
        assert params["weights"] in grid["weights"]
        assert params["anchor_selection"] is points
        assert params["alpha"] == 2


def test_the_best_parameters_of_a_study_make_an_estimator(study):
    X, y = load_diabetes(return_X_y=True)

    def objective(trial):
        model = FALLRegressor(**suggest_params(trial), random_state=0)
        return -model.fit(X[:300], y[:300]).score(X[300:], y[300:])

    study.optimize(objective, n_trials=3)
    model = FALLRegressor(**study.best_params, random_state=0).fit(X[:300], y[:300])
    assert -model.score(X[300:], y[300:]) == study.best_value


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ("everything", "grid must be one of"),
        ({"neighbours": [1]}, "neighbours"),
        ({"alpha": []}, "empty"),
        ({"alpha": [-1]}, "alpha"),
    ],
)
def test_bad_grids_are_refused_by_name(study, grid, words):
    with pytest.raises(ValueError, match=words):
        suggest_params(study.ask(), grid)


KERNELS = (
    {"kernel": ["rbf"], "alpha": [0.1, 1.0, 10.0], "gamma": [0.01, 1.0]},
    {"kernel": ["poly"], "alpha": [0.1, 10.0], "degree": [1, 2, 3]},
)


def test_several_grids_of_any_estimator_are_suggested_in_union(study):
    suggested = [suggest_params(study.ask(), KERNELS, KernelRidge()) for _ in range(150)]
    seen = {tuple(sorted(params.items())) for params in suggested}
    assert seen == {tuple(sorted(params.items())) for params in ParameterGrid(list(KERNELS))}


def test_numbers_of_several_grids_are_suggested_in_their_order(study):
    trial = study.ask()
    params = suggest_params(trial, [{"alpha": [0.1, 1.0, 10.0], "fit_intercept": [True, False]}])
    assert type(trial.distributions["alpha[0]"]).__name__ == "IntDistribution"
    assert type(trial.distributions["fit_intercept[0]"]).__name__ == "CategoricalDistribution"
    assert params["alpha"] == [0.1, 1.0, 10.0][trial.params["alpha[0]"]]


def test_bad_grids_of_another_estimator_are_refused_by_name(study):
    with pytest.raises(ValueError, match="gama"):
        suggest_params(study.ask(), [{"gama": [1.0]}], KernelRidge())
