"""Dask arrays and frames as partitions, and the checks of what is in them.

The door of the package: what a collection says about itself is checked at once, what is in a
partition is checked by a task, whose error names the partition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..checks.arguments import check_sample_weights
from ..checks.inputs import (
    check_same_kind,
    kind_of,
    validated_classes,
    validated_queries,
    validated_targets,
)
from ..checks.values import TEXT, is_number_dtype
from .partition import Table

Array = NDArray[np.float64]

KINDS = "a Dask array or a Dask frame"
NAMES = ("X", "y", "sample_weight")


@dataclass(frozen=True, eq=False)
class Collection:
    """The partitions of a Dask array or frame.

    Attributes
    ----------
    partitions : list of Delayed
    sizes : rows per partition, or None where Dask does not know them
    meta : an empty frame or series with the names, or None for an array
    n_columns : int or None
        None for what has one dimension.
    numbers : tuple of bool
        For each column of a frame, and once for an array or a series: whether its type is one of
        numbers.
    """

    partitions: list[Delayed]
    sizes: tuple[int, ...] | None
    meta: Any
    n_columns: int | None
    numbers: tuple[bool, ...]

    @property
    def names(self) -> list[str] | None:
        """The names of the columns, or of the one column; None where there are none."""
        if self.n_columns is not None:
            return None if self.meta is None else [str(name) for name in self.meta.columns]
        name = getattr(self.meta, "name", None)
        return None if name is None else [str(name)]


def partitions_of(values: Any, name: str, like: Collection | None = None) -> Collection:
    """The partitions of X, y or sample_weight.

    With `like`, the partitions of X, both must have the same partitions; an array whose sizes are
    known is cut as X is.
    """
    # A Delayed answers to any name.
    if not is_dask_collection(values) or not isinstance(getattr(values, "ndim", None), int):
        raise TypeError(
            f"{name} must be {KINDS}, but is a {type(values).__name__}; make one with "
            "dask.array.from_array or dask.dataframe.from_pandas, or use the model of locallinear "
            "itself for data in memory"
        )
    if values.ndim not in ((2,) if name == "X" else (1, 2)):
        raise ValueError(f"{name} must have two dimensions, but has {values.ndim}")
    if not isinstance(values, da.Array):
        n_columns = len(values.columns) if values.ndim == 2 else None
        types = values.dtypes if values.ndim == 2 else [values.dtype]
        numbers = tuple(map(is_number_dtype, types))
        found = Collection(list(values.to_delayed()), None, values._meta, n_columns, numbers)
    else:
        found = _blocks_of(values, name, like)
    if like is not None:
        _check_alike(found, name, like)
    return found


def _blocks_of(values: da.Array, name: str, like: Collection | None) -> Collection:
    """The blocks of an array, each with all columns."""
    if values.ndim == 2 and np.isnan(values.shape[1]):
        raise ValueError(f"{name} must say how many columns it has; call its compute_chunk_sizes()")
    if values.ndim == 2 and values.numblocks[1] > 1:
        values = values.rechunk({1: -1})
    known = not any(np.isnan(size) for size in values.chunks[0])
    if known and like is not None and like.sizes is not None:
        n = sum(like.sizes)
        if len(values) != n:
            raise ValueError(
                f"{name} must have one entry per row of X, so {n}, but has {len(values)}"
            )
        values = values.rechunk({0: like.sizes})
    blocks = values.to_delayed()
    sizes = tuple(int(size) for size in values.chunks[0]) if known else None
    numbers = (is_number_dtype(values.dtype),)
    if values.ndim == 2:
        return Collection(list(blocks[:, 0]), sizes, None, values.shape[1], numbers)
    return Collection(list(blocks), sizes, None, None, numbers)


def _check_alike(found: Collection, name: str, like: Collection) -> None:
    """Refuse other partitions than those of X, as far as they are known."""
    if len(found.partitions) != len(like.partitions):
        raise ValueError(
            f"{name} must have the partitions of X, which are {len(like.partitions)}, but has "
            f"{len(found.partitions)}; take both from the same frame, or call "
            "compute_chunk_sizes() on arrays first"
        )


def learn_features(estimator: BaseEstimator, X: Collection) -> None:
    """Set the number of features and, where scikit-learn's rule says so, their names."""
    if X.meta is None:
        estimator.n_features_in_ = X.n_columns
    else:
        validate_data(estimator, X.meta, skip_check_array=True)


def check_known_features(like: BaseEstimator, X: Collection) -> None:
    """Refuse other features than those of the fitted model, as far as the collection names them."""
    if X.meta is not None:
        validate_data(like, X.meta, reset=False, skip_check_array=True)
    elif X.n_columns != like.n_features_in_:
        raise ValueError(
            f"X has {X.n_columns} features, but {type(like).__name__} is expecting "
            f"{like.n_features_in_} features as input; pass the columns that the model was fitted "
            "with"
        )


def check_n_targets(y: Collection, n_targets: int | None) -> None:
    """Refuse a collection with other targets than so many; None is one column of classes."""
    n_columns = y.n_columns or 1
    if n_targets is None and n_columns > 1:
        raise ValueError(f"y must hold one label per sample, but has {n_columns} columns")
    if n_targets is not None and n_columns != n_targets:
        raise ValueError(
            f"y must have the {n_targets} targets of the fitted model, but has {n_columns}"
        )


def check_table(
    number: int,
    like: BaseEstimator,
    n_targets: int | None,
    numbers: Sequence[tuple[bool, ...]],
    X: Any,
    y: Any,
    sample_weight: Any,
) -> Table:
    """The samples of one partition after all checks; an error names the partition.

    Parameters
    ----------
    number : of the partition
    like : an estimator that knows the number of features, and their names if any
    n_targets : the number of targets; None for classes
    numbers : those of the collections of X, y and the weights, if there are any
    """
    with _Naming(number):
        for values, name, of_numbers in zip((X, y, sample_weight), NAMES, numbers, strict=False):
            _check_no_text(values, name, of_numbers)
        lengths = [len(part) for part in (X, y, sample_weight) if part is not None]
        if len(set(lengths)) > 1:
            raise ValueError(
                "X, y and sample_weight must have equally many rows, but have "
                f"{' and '.join(map(str, lengths))}; take them from the same frame or array"
            )
        if not lengths[0]:
            return _empty_table(like, n_targets, X, y, sample_weight)
        validate = validated_classes if n_targets is None else validated_targets
        inputs, targets = validate(like, X, y, reset=False)
        if n_targets is not None:
            targets = np.asarray(targets, dtype=np.float64).reshape(len(inputs), -1)
            if targets.shape[1] != n_targets:
                raise ValueError(f"y must have {n_targets} columns, but has {targets.shape[1]}")
        return Table(inputs, targets, check_sample_weights(sample_weight, len(inputs)))


def _empty_table(
    like: BaseEstimator, n_targets: int | None, X: Any, y: Any, sample_weight: Any
) -> Table:
    """A table without samples: there is nothing to check but the columns."""
    validate_data(like, X, reset=False, skip_check_array=True)
    y = np.asarray(y) if n_targets is None else np.empty((0, n_targets))
    weights = None if sample_weight is None else np.empty(0)
    return Table(np.empty((0, like.n_features_in_)), y, weights)


def check_comparable(number: int, labels: NDArray, classes: NDArray) -> None:
    """Refuse labels of another kind than the model's classes; an error names the partition."""
    with _Naming(number):
        check_same_kind(labels, classes)


def check_rows(number: int, like: BaseEstimator, numbers: tuple[bool, ...], X: Any) -> Array:
    """The queries of one partition after all checks; an error names the partition.

    `numbers` are those of their collection.
    """
    with _Naming(number):
        _check_no_text(X, "X", numbers)
        if not len(X):
            validate_data(like, X, reset=False, skip_check_array=True)
            return np.empty((0, like.n_features_in_))
        return validated_queries(like, X)


def _check_no_text(values: Any, name: str, numbers: tuple[bool, ...]) -> None:
    """Refuse text in a partition of what has numbers elsewhere, also text that reads as one."""
    columns, names = [values], [""]
    if hasattr(values, "columns"):
        columns = [values.iloc[:, j] for j in range(values.shape[1])]
        names = [f"column {str(label)!r} " for label in values.columns]
    for column, label, expected in zip(columns, names, numbers, strict=False):
        cells = np.asarray(column)
        if expected and cells.dtype.kind in "OSUT":
            text = next((cell for cell in cells.flat if isinstance(cell, TEXT)), None)
            if text is not None:
                raise ValueError(
                    f"{name} must hold numbers in every partition, but {label}holds text, such as "
                    f"{str(text)!r}; turn it into numbers"
                )


class _Naming:
    """Context in which an error of the checks gets the number of the partition."""

    def __init__(self, number: int):
        self.number = number

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, TypeError | ValueError):
            same = TypeError if isinstance(error, TypeError) else ValueError
            raise same(f"Partition {self.number}, with rows counted from 0: {error}") from error


def merged_classes(found: Sequence[NDArray]) -> NDArray:
    """All classes, from those of each partition; those of all partitions must be of one kind."""
    kinds = {p: kind_of(labels) for p, labels in enumerate(found) if len(labels)}
    first = next(iter(kinds))
    for p, kind in kinds.items():
        if kind != kinds[first]:
            raise TypeError(
                f"Partition {p}: y must hold labels of one kind, but holds {kind} here and "
                f"{kinds[first]} in partition {first}; turn all labels into text with str"
            )
    return np.unique(np.concatenate([found[p] for p in kinds]))
