"""The searches' spaces for Optuna, for those who tune the way the paper does.

Needs nothing but what the trial offers, so Optuna itself (the extra `tune`) is the user's.
"""

from typing import Any

import numpy as np

from .models.estimators import FALLRegressor
from .search.grids import GRIDS, check_grid


def suggest_params(trial, grid: str | dict[str, list] = "paper") -> dict[str, Any]:
    """Let a trial of Optuna choose one configuration of a grid.

    Parameters
    ----------
    trial : optuna.Trial
    grid : {"paper", "default"} or dict of lists, default="paper"
        As for `FALLRegressorCV`. Whole numbers in even steps are suggested as such, so that a
        sampler knows what lies between what; all else as categories, arrays and functions by
        their number in the list.

    Returns
    -------
    params : dict
        For `FALLRegressor` and `FALLClassifier`; `study.best_params` are then the best of them,
        where the grid holds neither arrays nor functions.

    Examples
    --------
    >>> import optuna
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from locallinear import FALLRegressor
    >>> from locallinear.tune import suggest_params
    >>> X, y = load_diabetes(return_X_y=True)
    >>> def objective(trial):
    ...     model = FALLRegressor(**suggest_params(trial), random_state=0)
    ...     return cross_val_score(model, X, y, cv=3).mean()
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(direction="maximize")
    >>> study.optimize(objective, n_trials=3)
    >>> best = FALLRegressor(**study.best_params, random_state=0).fit(X, y)
    """
    if isinstance(grid, str) and grid not in GRIDS:
        raise ValueError(f"grid must be one of {sorted(GRIDS)} or a dict, but is {grid!r}")
    values = check_grid(grid, FALLRegressor())
    return {name: _suggest(trial, name, values[name]) for name in values}


def _suggest(trial, name: str, values: list):
    steps = set(np.diff(values)) if all(type(value) is int for value in values) else set()
    if len(steps) == 1 and (step := int(steps.pop())) > 0:
        return trial.suggest_int(name, values[0], values[-1], step=step)
    if all(value is None or isinstance(value, str | bool | int | float) for value in values):
        return trial.suggest_categorical(name, values)
    # Optuna stores what it suggests, and arrays and functions cannot be stored.
    return values[trial.suggest_categorical(f"{name}_number", list(range(len(values))))]
