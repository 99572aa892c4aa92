"""Choosing a model's parameters on the training part, by the mean error over fixed folds.

A search is a function ``(model, X, y, folds, seed, n_jobs) → Tuned``. Two kinds exist:
exhaustive ones, which score every configuration of the model's space, and Optuna's sampler, the
paper's way, which scores as many as fit into a time budget.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import NearestNeighbors

from .. import FALLRegressorCV
from ..runtime.extras import extra
from ..runtime.interrupts import interrupts_end_it
from ..tune import suggest_params

Array = NDArray[np.float64]
Params = dict[str, Any]
Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]
Search = Callable[..., "Tuned"]


@dataclass(frozen=True)
class Model:
    """An entry of the comparison.

    Attributes
    ----------
    name, title : str
        In commands and the store; in tables.
    make : callable (params, X) → estimator
        X is the data that the estimator will be fitted to.
    spaces : tuple of dict
        Grids whose union is searched, as in scikit-learn's ParameterGrid.
    exhaustive : callable or None
        How the whole space is searched; None where it is too large, and Optuna is used.
    fixed : dict
        Parameters of the tuner "fixed".
    """

    name: str
    title: str
    make: Callable[[Params, Array], Any]
    spaces: tuple[dict[str, list], ...]
    exhaustive: Search | None
    fixed: Params = field(default_factory=dict)

    @property
    def n_configurations(self) -> int:
        """Size of the search space."""
        return sum(prod(len(values) for values in space.values()) for space in self.spaces)


@dataclass(frozen=True)
class Tuned:
    """Result of a search: the best parameters, their error, and how many were scored."""

    params: Params
    cv_mse: float
    n_scored: int


def score(model: Model, params: Params, X: Array, y: Array, folds: Folds) -> float:
    """Mean over the folds of the mean squared error; infinite where a fit fails.

    A kernel matrix that is singular to rounding counts as a failure: scikit-learn would go over to
    a least-squares solution, which takes hours per fit on the two large sets.
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


def search_grid(
    model: Model, X: Array, y: Array, folds: Folds, seed: int = 0, n_jobs: int | None = None
) -> Tuned:
    """Score every configuration, by one fit and prediction per fold."""
    grid = [params for space in model.spaces for params in ParameterGrid(space)]
    errors = [score(model, params, X, y, folds) for params in grid]
    return best_of(model, grid, errors)


def search_neighbors(
    model: Model, X: Array, y: Array, folds: Folds, seed: int = 0, n_jobs: int | None = None
) -> Tuned:
    """Score KNN's space by one neighbour search per fold: each K is a prefix of the largest.

    Where several samples are equally far at the K-th rank, a search for K alone may keep others of
    them; neither choice is better.
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


def neighbor_weights(distances: Array, weights: str) -> Array:
    """Weights of sorted neighbours as in scikit-learn: exact matches share all the weight."""
    if weights == "uniform":
        return np.ones_like(distances)
    exact = distances == 0
    with np.errstate(divide="ignore"):
        return np.where(exact.any(axis=1, keepdims=True), exact, 1 / distances)


def prefix_means(values: Array, weights: Array) -> Array:
    """Weighted means of the first 1, 2, ... K values of each row, (q, K)."""
    return np.cumsum(weights * values, axis=1) / np.cumsum(weights, axis=1)


def search_fall(
    model: Model, X: Array, y: Array, folds: Folds, seed: int = 0, n_jobs: int | None = None
) -> Tuned:
    """Score FALL's whole space at once, by the library's own search.

    Its anchors are a random order of each fold's samples, where the paper takes the first ones;
    both are uniform draws, since the split has shuffled the samples.
    """
    (space,) = model.spaces
    search = FALLRegressorCV(
        grid={**space, "scaling": [None]},
        cv=folds,
        max_samples=None,
        scoring="neg_mean_squared_error",
        random_state=seed,
        n_jobs=n_jobs,
    )
    with interrupts_end_it():  # a part of the space is no result
        search.fit(X, y)
    params = {name: search.best_params_[name] for name in space}
    return Tuned(params, -float(search.best_score_), int(search.n_configurations_))


def search_optuna(
    model: Model,
    X: Array,
    y: Array,
    folds: Folds,
    seed: int = 0,
    n_jobs: int | None = None,
    *,
    budget: float,
) -> Tuned:
    """Optuna's tree-structured Parzen estimator for ``budget`` seconds, the paper's way.

    There are no more trials than the space has configurations, and no configuration is scored
    twice. A trial that has begun is finished, and at least one is.
    """
    optuna = extra("optuna", "tune", "Searches by the tuner 'optuna'")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    scored: dict[str, tuple[Params, float]] = {}
    estimator = model.make(model.fixed, X)

    def objective(trial: Any) -> float:
        params = suggest_params(trial, model.spaces, estimator)
        key = repr(sorted(params.items()))
        if key not in scored:
            scored[key] = params, score(model, params, X, y, folds)
        return scored[key][1]

    end = time.monotonic() + budget

    def stop_at_the_end(study: Any, trial: Any) -> None:
        # Optuna's own timeout may pass before the first trial.
        if time.monotonic() >= end:
            study.stop()

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, model.n_configurations, callbacks=[stop_at_the_end])
    grid, errors = zip(*scored.values(), strict=True)
    return best_of(model, grid, errors)


def best_of(model: Model, grid: Sequence[Params], errors: Sequence[float] | Array) -> Tuned:
    """The configuration with the least error, the first of equals."""
    best = int(np.argmin(errors))
    if not np.isfinite(errors[best]):
        raise RuntimeError(f"No configuration of {model.title} could be fitted to this data.")
    return Tuned(dict(grid[best]), float(errors[best]), len(grid))
