"""Scores of predictions: each partition is checked and summed up where it is."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning

from ..checks.arguments import check_some_weight
from .inputs import check_comparable, partitions_of
from .partition import Table
from .tables import checked_tables

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sums:
    """What a score has to know of one partition.

    Attributes
    ----------
    n : int
    weight : the sum of the weights
    mean : array (m,)
        The mean of the targets.
    around, errors : arrays (m,)
        Weighted sums of squares: around that mean, and of what predictions miss.
    """

    n: int
    weight: float
    mean: Array
    around: Array
    errors: Array


def r2_of(
    like: BaseEstimator, X: Any, y: Any, sample_weight: Any, predicted: da.Array, n_targets: int
) -> float:
    """The mean R² of the targets, as scikit-learn computes it."""
    parts = _of_partitions(_sums, like, n_targets, X, y, sample_weight, predicted)
    if sum(part.n for part in parts) < 2:  # as scikit-learn does
        warnings.warn("R² needs at least two rows, but X has one", UndefinedMetricWarning, 3)
        return float("nan")
    weights = np.array([part.weight for part in parts])[:, None]
    means = np.array([part.mean for part in parts])
    mean = (weights * means).sum(axis=0) / weights.sum()
    spread = sum(part.around for part in parts) + (weights * (means - mean) ** 2).sum(axis=0)
    errors = sum(part.errors for part in parts)
    # scikit-learn's values where a target does not vary.
    flat = np.where(errors == 0, 1.0, 0.0)
    return float(np.mean(1 - np.divide(errors, spread, out=1 - flat, where=spread > 0)))


def accuracy_of(
    like: BaseEstimator, X: Any, y: Any, sample_weight: Any, predicted: da.Array, classes: NDArray
) -> float:
    """The share of right predictions."""
    parts = _of_partitions(_hits, like, None, X, y, sample_weight, predicted, classes)
    return sum(hits for hits, _ in parts) / sum(weight for _, weight in parts)


def _of_partitions(
    count: Callable,
    like: BaseEstimator,
    n_targets: int | None,
    X: Any,
    y: Any,
    sample_weight: Any,
    predicted: da.Array,
    *given: Any,
) -> list[Any]:
    """What `count` returns for each partition with rows, after the checks of a fit.

    Parameters
    ----------
    count : a function of a partition's number, targets, weights, predictions, and of `given`
    like, n_targets : as for `tables.read_tables`
    predicted : the predictions of X
    """
    inputs = partitions_of(X, "X")
    tables = checked_tables(inputs, y, sample_weight, like, n_targets)
    said = partitions_of(predicted, "y", inputs).partitions
    tasks = [
        delayed(_counted)(count, number, *part, *given)
        for number, part in enumerate(zip(tables, said, strict=True))
    ]
    found = [part for part in dask.compute(*tasks) if part is not None]
    if not found:
        raise ValueError("X must have at least one row, but all partitions are empty")
    check_some_weight(np.array([weight for weight, _ in found]))
    return [sums for _, sums in found]


def _counted(
    count: Callable,
    number: int,
    table: Table,
    predicted: NDArray,
    *given: Any,
) -> tuple[float, Any] | None:
    """The weight of a partition and what `count` returns for it; None where it has no rows."""
    if not len(table.X):
        return None
    weights = np.ones(len(table.X)) if table.weights is None else table.weights
    return float(weights.sum()), count(number, table.y, weights, predicted, *given)


def _sums(_: int, y: Array, weights: Array, predicted: Array) -> Sums:
    weight = weights.sum()
    mean = weights @ y / weight if weight else np.zeros(y.shape[1])
    errors = weights @ (y - predicted.reshape(y.shape)) ** 2
    return Sums(len(y), float(weight), mean, weights @ (y - mean) ** 2, errors)


def _hits(
    number: int, y: NDArray, weights: Array, predicted: NDArray, classes: NDArray
) -> tuple[float, float]:
    """The weight of the rows that are predicted rightly, and of all rows."""
    check_comparable(number, y, classes)
    return float(weights @ (y == predicted)), float(weights.sum())
