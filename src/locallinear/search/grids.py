"""The configurations that a search tries: grids by name, and checks of users' grids."""

from collections.abc import Iterator
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from ..grids import CLASSES, DEFAULT, PAPER, SIMPLE

Grid = dict[str, list[Any]]

GRIDS: dict[str, Grid] = {"paper": PAPER, "default": DEFAULT, "classes": CLASSES, "simple": SIMPLE}

# Parameters of a model that cannot be searched.
NOT_SEARCHED = {"n_jobs", "random_state"}

# Parameters that can be arrays, and how many axes the arrays have.
ARRAYS = {"anchor_selection": 2, "anchor_models": 3, "neighborhood_features": 1, "indicators": 1}

# Bounds of the parameters: a best value there is not at the edge of a range chosen too small.
LIMITS = {"anchor_l1_ratio": (0, 1), "anchor_alpha": (0,), "metric_iterations": (1,)}
LIMITS |= {"n_anchors": (1,), "n_neighbors": (1,)}
LIMITS |= {"n_anchor_neighbors": (1,), "assignment_neighbors": (1,)}


def named_grid(
    name: str, *, classify: bool, prefer: str = "accurate", argument: str = "grid"
) -> Grid:
    """The grid of a name; "default" depends on what is preferred, and on the targets.

    `argument` is the name by which the error message calls the grid.
    """
    if name == "default" and prefer == "simple":
        return SIMPLE
    if name == "default" and classify:
        return CLASSES
    if name == "classes" and not classify:
        raise ValueError(
            f"{argument}='classes' is for classifiers, and this model predicts numbers; use "
            "'default'"
        )
    return GRIDS[name]


def is_for_classes(grid: Grid) -> bool:
    """Whether a grid is that for classes, or has a part of its values, beside other parameters."""
    return all(
        name in grid and all(value in values for value in grid[name])
        for name, values in CLASSES.items()
    )


def edges(grid: Grid, best: dict[str, Any]) -> Iterator[str]:
    """The best values that are the smallest or largest of a range of three numbers or more."""
    for name, value in best.items():
        numeric = all(isinstance(v, Real) and not isinstance(v, bool) for v in grid[name])
        numbers = sorted(set(grid[name])) if numeric else []
        if len(numbers) > 2 and value not in LIMITS.get(name, ()):
            if value == numbers[0]:
                yield f"{name}={value} is the smallest"
            elif value == numbers[-1]:
                yield f"{name}={value} is the largest"


def check_grid(
    grid: str | dict[str, Any], estimator: BaseEstimator, argument: str = "grid"
) -> Grid:
    """The grid as lists of valid values for the estimator's parameters.

    `argument` is the name by which error messages call the grid.
    """
    if isinstance(grid, str):
        return named_grid(grid, classify=is_classifier(estimator), argument=argument)
    known = sorted(set(estimator.get_params()) - NOT_SEARCHED)
    unknown = [name for name in grid if name not in known]
    if unknown:
        near = get_close_matches(str(unknown[0]), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"{argument} has {unknown}, but only these parameters can be searched: {known}{hint}"
        )
    return {
        name: _check_values(name, values, estimator, f"{argument}[{name!r}]")
        for name, values in grid.items()
    }


def _check_values(name: str, values: Any, estimator: BaseEstimator, argument: str) -> list[Any]:
    if isinstance(values, str | dict) or not np.iterable(values):
        raise ValueError(f"{argument} must be a list of values to try, but is {values!r}")
    values = [v.item() if isinstance(v, np.generic) else v for v in values]
    if not values:
        raise ValueError(f"{argument} is empty; give at least one value or leave it out")
    for value in values:
        axes = ARRAYS.get(name)
        if axes and not isinstance(value, str | None) and np.ndim(value) != axes:
            raise ValueError(
                f"{argument} must be a list whose arrays have {axes} axes, but one has "
                f"{np.ndim(value)}; to try a single array, put it in a list"
            )
        # True and False are integers in Python, but not what a user means by a number.
        if isinstance(value, bool) and "boolean" not in estimator._parameter_constraints[name]:
            raise ValueError(f"{argument} holds {value}, which is no value of {name}")
        try:
            validate_parameter_constraints(
                {name: estimator._parameter_constraints[name]}, {name: value}, "the grid"
            )
        except InvalidParameterError as error:
            raise ValueError(f"{argument} holds a value that is not allowed: {error}") from None
    if ARRAYS.get(name) == 1:  # as tuples, which can be keys of a dict
        return [None if value is None else tuple(np.asarray(value).tolist()) for value in values]
    return values
