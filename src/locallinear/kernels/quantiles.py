"""Quantiles of values that count as often as their weights say."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Sums of weights are equal up to this part of all of them.
ROUNDING = 1e-9


def weighted_quantiles(values: Array, weights: Array, levels: Array) -> Array:
    """Quantiles (l, ...) of values (n, ...) with weights (n,), not all 0, for levels (l,).

    Where weights are whole numbers, they are those of `numpy.quantile` for repeated values. Others
    are taken relative to their mean, since it matters there how many values there are.
    """
    counted = weights > 0
    values, weights = values[counted], weights[counted]
    if (weights != np.round(weights)).any():
        weights = weights / weights.mean()
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
