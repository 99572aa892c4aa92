"""X and y of a table's model, as users pass them: frames, arrays, and the name of a column."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import validate_data

from ..checks.arguments import check_groups, check_sample_weights
from ..checks.values import check_even, check_not_masked
from .cells import pandas_module
from .encoding import Encoding
from .table import Table, TableError, array_names, as_table, collected
from .targets import read_text
from .wanted import Wanted, check_types


def read_inputs(
    estimator: BaseEstimator, X: Any, y: Any, types: dict[str, Wanted] | None
) -> tuple[Table, Any, dict[str, Wanted]]:
    """The table of X, the targets, and kinds of columns.

    Sets `n_features_in_` and `feature_names_in_` of the estimator.
    """
    check_some_targets(estimator, y)
    X, y = collected(X), collected(y)
    named = named_targets(X, y)
    table = X if isinstance(X, Table) else _first_table(estimator, X)
    if named:
        y = targets_in(table if is_classifier(estimator) else read_text(table, named), named)
        table = table.without(named)
    if not len(table):
        raise ValueError(f"Found array with 0 sample(s) (shape={table.frame.shape}): X has no rows")
    if table is X or named:
        estimator.n_features_in_ = len(table.columns)
        estimator.feature_names_in_ = np.array(table.columns, dtype=object)
    kinds = check_types(types, table.columns)
    if not hasattr(estimator, "feature_names_in_") and np.asarray(X).dtype.kind in "biuf":
        kinds = {name: kinds.get(name, "number") for name in table.columns}
    return table, y, kinds


def check_some_targets(estimator: Any, y: Any) -> None:
    """Refuse to do without targets."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; pass "
            "the targets, or the name of a column of X"
        )


def named_targets(X: Any, y: Any) -> list[str]:
    """The columns of X that y names; none where y holds the targets themselves."""
    if isinstance(y, str):
        return [y]
    if not isinstance(y, list) or not y or not all(isinstance(name, str) for name in y):
        return []
    if not hasattr(X, "columns") or len(y) == len(X) or len(set(y)) < len(y):
        return []  # labels, which may be called as columns are
    return y if set(y) <= set(map(str, X.columns)) else []


def rows_with_targets(X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Any, Any, Any]:
    """X, weights and groups without the rows that have no value of a target that y names.

    Such rows cannot teach; a warning says how many there are.
    """
    X = collected(X)
    names = named_targets(X, y)
    if not names:
        return X, sample_weight, groups
    table = as_table(X)
    table.require(names, "the target")
    known = table.frame[names].notna().all(axis=1).to_numpy()
    if known.all() or not known.any():  # without any target, what reads targets says so
        return X, sample_weight, groups
    weights, grouped = (
        check_sample_weights(sample_weight, len(table)),
        check_groups(groups, len(table)),
    )
    warnings.warn(
        f"rows without a target are left out: {len(table) - known.sum()} of {len(table)}",
        stacklevel=6,
    )
    weights, grouped = (None if v is None else v[known] for v in (weights, grouped))
    return table.take(known), weights, grouped


def targets_in(table: Table, names: list[str]) -> Any:
    """Columns of a table that are targets: a Series, or a DataFrame of several."""
    table.require(names, "the target")
    return table.frame[names[0]] if len(names) == 1 else table.frame[names]


def _first_table(estimator: BaseEstimator, X: Any) -> Table:
    """X of a fit as a table."""
    if issparse(X):
        raise TypeError("X is sparse, but a table is dense; pass a DataFrame, or X.toarray()")
    estimator.__dict__.pop("feature_names_in_", None)
    if hasattr(X, "columns"):
        frame = as_table(X)
        estimator.n_features_in_ = len(frame.columns)
        estimator.feature_names_in_ = np.array(frame.columns, dtype=object)
        return frame
    return as_table(_checked_array(estimator, X, reset=True))


def _checked_array(estimator: BaseEstimator, X: Any, *, reset: bool) -> NDArray:
    check_not_masked(X, "X")
    check_even(X, "X")
    values = np.asarray(X)
    numeric = values.dtype.kind in "biufc"
    return validate_data(
        estimator,
        X,
        reset=reset,
        dtype="numeric" if numeric else None,
        ensure_all_finite="allow-nan" if numeric else False,
    )


def copies_of(counted: Table, y: Any, weights: NDArray | None) -> dict[str, str]:
    """Columns to leave out, and why: the target itself, by its name and its values.

    Parameters
    ----------
    counted : the rows with weight
    y, weights : the targets and the weights of all rows
    """
    name = getattr(y, "name", None)
    if name is None or callable(name) or str(name) not in counted.columns:
        return {}
    values = np.asarray(y, dtype=object)
    targets = pandas_module().Series(values if weights is None else values[weights > 0])
    if not (counted.frame[str(name)].astype(object) == targets).all():
        return {}
    return {str(name): "it is the target"}


def check_columns(estimator: BaseEstimator, X: Any, encoding: Encoding) -> Table:
    """Rows to predict as a table with the columns of the fit, in any order."""
    if isinstance(X, Table):
        return X
    if issparse(X):
        raise TypeError("X is sparse, but a table is dense; pass a DataFrame, or X.toarray()")
    X, names = collected(X), getattr(estimator, "feature_names_in_", None)
    if hasattr(X, "columns"):
        table = as_table(X, encoding.missing)
        if names is None:  # fitted on an array: by position
            _check_count(estimator, len(table.columns))
            return Table(table.frame.set_axis(array_names(len(table.columns)), axis=1))
        if not len(table):
            raise TableError(f"{table.name} has no rows.")
        return table
    values = _checked_array(estimator, X, reset=False)
    table = as_table(values, encoding.missing)
    return table if names is None else Table(table.frame.set_axis(list(names), axis=1))


def _check_count(estimator: BaseEstimator, count: int) -> None:
    if count != estimator.n_features_in_:
        raise ValueError(
            f"X has {count} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input; pass the columns of the fit"
        )
