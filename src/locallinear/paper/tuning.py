"""Choosing a model's parameters on the training part, by the mean error over fixed folds.

A search is a function ``(model, X, y, folds, seed, n_jobs) → Tuned``. Two kinds exist:
exhaustive ones, which score every configuration of the model's space, and Optuna's sampler, the
paper's way, which scores as many as fit into a time budget.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import NearestNeighbors

Search = Callable[..., "Tuned"]


@dataclass(frozen=True)
class Tuned:
    """What a search found: the best parameters, their error, and how many were scored."""

    params: dict[str, Any]
    cv_mse: float
    n_scored: int


def score(model, params, X, y, folds) -> float:
    """Mean over the folds of the mean squared error; infinite where a fit fails.

    A kernel matrix that is singular to rounding counts as a failure: scikit-learn then goes over
    to a least-squares solution whose cost, on the two large sets, is hours a fit.
    """
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="Singular matrix in solving dual problem")
        for train, test in folds:
            try:
                estimator = model.make(params, X[train]).fit(X[train], y[train])
                errors.append(mean_squared_error(y[test], estimator.predict(X[test])))
            except (np.linalg.LinAlgError, ValueError, UserWarning):
                return float("inf")
    return float(np.mean(errors))


def search_grid(model, X, y, folds, seed=0, n_jobs=None) -> Tuned:
    """Score every configuration, one fit and prediction a fold."""
    grid = [params for space in model.spaces for params in ParameterGrid(space)]
    errors = [score(model, params, X, y, folds) for params in grid]
    return best_of(model, grid, errors)


def search_neighbors(model, X, y, folds, seed=0, n_jobs=None) -> Tuned:
    """KNN's space from one neighbour search a fold: every K is a prefix of the largest.

    Where several samples are equally far at the K-th place, a search for K alone may keep others
    of them; neither choice is better.
    """
    (space,) = model.spaces
    grid = [
        {"n_neighbors": n_neighbors, "weights": weights}
        for n_neighbors in space["n_neighbors"]
        for weights in space["weights"]
    ]
    largest = max(space["n_neighbors"])
    errors = np.zeros(len(grid))
    for train, test in folds:
        index = NearestNeighbors(n_neighbors=min(largest, len(train))).fit(X[train])
        distances, neighbors = index.kneighbors(X[test])
        predictions = {
            weights: prefix_means(y[train][neighbors], neighbor_weights(distances, weights))
            for weights in space["weights"]
        }
        for i, params in enumerate(grid):
            if params["n_neighbors"] > len(train):
                errors[i] = np.inf
                continue
            predicted = predictions[params["weights"]][:, params["n_neighbors"] - 1]
            errors[i] += mean_squared_error(y[test], predicted) / len(folds)
    return best_of(model, grid, errors)


def neighbor_weights(distances, weights):
    """Weights of sorted neighbours as in scikit-learn: exact matches share all the weight."""
    if weights == "uniform":
        return np.ones_like(distances)
    exact = distances == 0
    with np.errstate(divide="ignore"):
        return np.where(exact.any(axis=1, keepdims=True), exact, 1 / distances)


def prefix_means(values, weights):
    """Weighted means of the first 1, 2, ... K values of each row, (q, K)."""
    return np.cumsum(weights * values, axis=1) / np.cumsum(weights, axis=1)


def search_fall(model, X, y, folds, seed=0, n_jobs=None) -> Tuned:
    """FALL's whole space at once, by the library's own search.

    Its anchors are a random order of each fold's samples, where the paper takes the first ones;
    both are uniform draws, since the split has shuffled the samples.
    """
    from .. import FALLRegressorCV
    from ..search.search import STOPPED

    (space,) = model.spaces
    with warnings.catch_warnings():  # an interrupted search keeps its best, but this run does not
        warnings.filterwarnings("ignore", "The search was interrupted")
        search = FALLRegressorCV(
            grid={**space, "scaling": [None]},
            cv=folds,
            scoring="neg_mean_squared_error",
            random_state=seed,
            n_jobs=n_jobs,
        ).fit(X, y)
    if (search.cv_results_["reason"] == STOPPED).any():
        raise KeyboardInterrupt  # a part of the space is no result here
    params = {name: search.best_params_[name] for name in space}
    return Tuned(params, -float(search.best_score_), int(search.n_configurations_))


def search_optuna(model, X, y, folds, seed=0, n_jobs=None, *, budget: float) -> Tuned:
    """Optuna's tree-structured Parzen estimator for ``budget`` seconds, the paper's way.

    No more trials than the space has configurations, and none is scored twice. A trial that has
    begun is finished, and one always is.
    """
    try:
        import optuna
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "The tuner 'optuna' needs Optuna: pip install 'locallinear[tune]'."
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    scored: dict[str, tuple[dict, float]] = {}

    def objective(trial) -> float:
        params = suggest(trial, model.spaces)
        key = repr(sorted(params.items()))
        if key not in scored:
            scored[key] = params, score(model, params, X, y, folds)
        return scored[key][1]

    end = time.monotonic() + budget

    def stop_at_the_end(study, trial) -> None:
        # Not Optuna's own time-out, which may pass before the first trial.
        if time.monotonic() >= end:
            study.stop()

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, model.n_configurations, callbacks=[stop_at_the_end])
    grid, errors = zip(*scored.values(), strict=True)
    return best_of(model, grid, errors)


def suggest(trial, spaces) -> dict[str, Any]:
    """One configuration. Numbers are suggested by their place in the list, which keeps order."""
    which = trial.suggest_categorical("space", range(len(spaces))) if len(spaces) > 1 else 0
    params = {}
    for name, values in spaces[which].items():
        if isinstance(values[0], bool | str):
            params[name] = trial.suggest_categorical(f"{name}[{which}]", values)
        else:
            place = trial.suggest_int(f"{name}[{which}]", 0, len(values) - 1)
            params[name] = values[place]
    return params


def best_of(model, grid, errors) -> Tuned:
    """The configuration with the least error, the first of equals."""
    best = int(np.argmin(errors))
    if not np.isfinite(errors[best]):
        raise RuntimeError(f"No configuration of {model.title} could be fitted to this data.")
    return Tuned(dict(grid[best]), float(errors[best]), len(grid))
