"""Optuna: let a trial choose a configuration from the grids of the searches.

The module needs only the trial, so users import Optuna (the extra `tune`) themselves.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from .models.estimators import FALLRegressor
from .search.grids import GRIDS, check_grid

Grid = dict[str, list]


def suggest_params(
    trial: Any, grid: str | Grid | Sequence[Grid] = "paper", estimator: Any = None
) -> dict[str, Any]:
    """Let a trial of Optuna choose one configuration of a grid.

    Parameters
    ----------
    trial : optuna.Trial
    grid : {"paper", "default", "classes", "simple"}, dict of lists, or sequence of such dicts, \
            default="paper"
        A name or a dict is a grid as for `FALLRegressorCV`, or, if the estimator is a classifier,
        for `FALLClassifierCV`. Whole numbers in even steps are
        suggested as numbers, so that a sampler knows their order; all other values are suggested
        as categories, arrays and functions by their position in the list.

        A sequence of dicts is their union, as in scikit-learn's ParameterGrid: the trial chooses
        a dict first. All numbers are then suggested by their position in the list, so that a
        sampler knows their order in uneven steps too.
    estimator : estimator, optional
        The estimator whose parameters the grid holds; a FALLRegressor by default.

    Returns
    -------
    params : dict
        Parameters of the estimator. `study.best_params` holds the best of them if the grid is not
        a sequence and has no arrays and functions.

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
    if estimator is None:
        estimator = FALLRegressor()
    if isinstance(grid, str | dict):
        values = check_grid(grid, estimator)
        return {name: _suggest(trial, name, values[name]) for name in values}
    grids = [check_grid(one, estimator) for one in grid]
    which = trial.suggest_categorical("space", range(len(grids))) if len(grids) > 1 else 0
    return {
        # One name must have one list of values in all trials of a study.
        name: _suggest(trial, f"{name}[{which}]", values, by_position=True)
        for name, values in grids[which].items()
    }


def _suggest(trial: Any, name: str, values: list, *, by_position: bool = False) -> Any:
    numbers = all(isinstance(value, Real) and not isinstance(value, bool) for value in values)
    if numbers and by_position:
        return values[trial.suggest_int(name, 0, len(values) - 1)]
    steps = set(np.diff(values)) if all(type(value) is int for value in values) else set()
    if len(steps) == 1 and (step := int(steps.pop())) > 0:
        return trial.suggest_int(name, values[0], values[-1], step=step)
    if all(value is None or isinstance(value, str | bool | int | float) for value in values):
        return trial.suggest_categorical(name, values)
    # Optuna stores what it suggests, and it cannot store arrays and functions.
    return values[trial.suggest_categorical(f"{name}_number", list(range(len(values))))]
