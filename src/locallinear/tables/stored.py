"""Checks of what a file holds of a table's model, before a model is made of it.

What the file says of columns must have the types that the classes of columns declare, so that no
altered file fails later. The estimator in it checks itself.
"""

from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from ..checks.stored import require
from .amounts import MARKED, MEASURES, OTHER, WAYS
from .cells import TIME_OF_DAY
from .columns import NumberColumn, OrderedColumn
from .dates import CYCLES, DateColumn, is_zone
from .texts import MOST_DIGITS, TextColumn


def check_stored_types(part: Any) -> None:
    """Refuse a part of a model whose attributes are not of the types that its class declares."""
    hints = get_type_hints(type(part))
    for name, value in vars(part).items():
        require(_fits(value, hints[name]), f"it has no valid {name}")


def check_stored_column(column: Any) -> None:
    """Refuse a column whose attributes have the right types, but do not belong together."""
    if isinstance(column, NumberColumn):
        require(column.cells in (*WAYS, MARKED), "it has unknown cells")
        require(column.decimal in ("", *OTHER), "it has an unknown decimal mark")
        require(column.cells != MEASURES or len(column.units) == 1, "it has no valid unit")
    elif isinstance(column, DateColumn):
        require(is_zone(column.zone), "it has an unknown time zone")
        known = CYCLES if column.has_trend else (TIME_OF_DAY,)
        require(set(column.cycles) <= set(known), "it has an unknown cycle")
        require(len(set(column.cycles)) == len(column.cycles), "it has a cycle twice")
        require(not column.has_trend or column.form != TIME_OF_DAY, "it has no cycle")
    elif isinstance(column, OrderedColumn):
        require(0 <= column.fill < max(1, len(column.levels)), "it has no valid level")
    elif isinstance(column, TextColumn):
        require(0 <= column.n_digits <= MOST_DIGITS, "it has no valid length of codes")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value from a file has a type: a plain one, a tuple of one, or one of several."""
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(_fits(part, get_args(hint)[0]) for part in value)
    if isinstance(hint, UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if hint is float:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return plain and abs(value) < np.inf
    return type(value) is hint


def check_stored_attributes(attributes: dict[str, Any], columns: list[str]) -> None:
    """Refuse attributes that cannot belong to a table with these columns."""
    needed = {"best_params_", "cv_prediction_", "cv_score_", "target_names_", "n_features_in_"}
    needed |= {"_folds"}
    require(needed <= set(attributes) <= needed | {"feature_names_in_"}, "it has other attributes")
    require(attributes["n_features_in_"] == len(columns), "it has another number of columns")
    names = attributes.get("feature_names_in_", np.array(columns, dtype=object))
    require(isinstance(names, np.ndarray) and names.tolist() == columns, "its columns differ")
    targets, folds = attributes["target_names_"], attributes["_folds"]
    require(isinstance(targets, list) and targets, "it has no target")
    require(all(isinstance(name, str) for name in targets), "a target has no name")
    require(isinstance(attributes["best_params_"], dict), "it has no parameters")
    require(isinstance(attributes["cv_score_"], float), "its score is no number")
    whole = isinstance(folds, np.ndarray) and folds.ndim == 1 and folds.dtype == np.intp
    require(whole, "its folds are no whole numbers")
    found = attributes["cv_prediction_"]
    numbers = isinstance(found, np.ndarray) and found.dtype == np.float64
    fits = found is None or (numbers and len(found) == len(folds))
    require(fits, "cv_prediction_ does not fit")
