"""Quantiles of values that count as often as their weights say."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Sums of weights are equal up to this part of all of them.
ROUNDING = 1e-9


def as_counts(weights: Array) -> Array:
    """Weights (n,), not all 0, that say how often values are repeated.

    Whole numbers do. Others are taken relative to their mean: there are as many repetitions as
    values with weight.
    """
    if (weights == np.round(weights)).all():
        return weights
    return weights * np.count_nonzero(weights) / weights.sum()


def weighted_quantiles(values: Array, weights: Array, levels: Array) -> Array:
    """Quantiles (l, ...) of values (n, ...) with weights (n,), not all 0, for levels (l,).

    They are those of `numpy.quantile` for values that are repeated as `as_counts` says.
    """
    counted = weights > 0
    values, weights = values[counted], as_counts(weights)[counted]
    order = np.argsort(values, axis=0, kind="stable")
    ordered, upto = np.take_along_axis(values, order, axis=0), np.cumsum(weights[order], axis=0)
    slack = ROUNDING * weights.sum()

    def repeated(place: float) -> Array:
        """The value at a whole place among the repeated values in order."""
        row = np.minimum(np.count_nonzero(upto <= place + slack, axis=0), len(ordered) - 1)
        return np.take_along_axis(ordered, row[None], axis=0)[0]

    out = np.empty((len(levels), *values.shape[1:]))
    for i, place in enumerate(levels * (weights.sum() - 1.0)):
        below = np.floor(place)
        low, high = repeated(below), repeated(below + 1)
        out[i] = low + (place - below) * (high - low)
    return out
