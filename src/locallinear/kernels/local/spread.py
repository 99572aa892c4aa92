"""How far targets lie from predictions: a scale per row, and quantiles of errors in that scale.

The scale of a row is σ = exp(bᵀ f) of few features f, such as the logarithm of its neighbours'
errors. Scores are errors divided by scales. Conformal quantiles of the scores, times the scale of
a new row, say how far its target may lie from its prediction.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]

# Above 1, a few samples with tiny errors would decide, and large scales would explode.
LARGEST_EXPONENT = 1.0
# Part of the mean error that is added to errors whose ratio is taken.
SOFTENING = 0.05
# Levels that reach a score up to this part of the sum of weights reach it: the rest is rounding.
ROUNDING = 1e-9
# The share of a normal distribution within one standard deviation of its middle.
WITHIN_ONE = 0.6827


def fit_exponents(errors: Array, features: Array, weights: Array) -> Array:
    """The exponents b ≥ 0, (p,), that make absolute errors (n,) most likely.

    They minimise the mean of log σ + |e| / σ, the likelihood of two-sided exponential errors, with
    a constant in σ that is left out of the result. `features` are (n, p), `weights` (n,).
    """
    weights = weights / weights.sum()
    unit = weights @ errors
    if unit == 0:
        return np.zeros(features.shape[1])
    relative = errors / unit
    design = np.column_stack([features, np.ones(len(features))])

    def objective(b: Array) -> tuple[float, Array]:
        logs = design @ b
        ratios = relative * np.exp(-logs)
        return float(weights @ (logs + ratios)), design.T @ (weights * (1.0 - ratios))

    p = features.shape[1]
    bounds = [(0.0, LARGEST_EXPONENT)] * p + [(-50.0, 50.0)]
    found = minimize(objective, np.zeros(p + 1), jac=True, bounds=bounds, method="L-BFGS-B")
    return found.x[:-1]


def mean_growth(small: Array, large: Array, weights: Array | None = None) -> float:
    """How many times as large as `small` errors (n,) the `large` ones of the same samples are.

    It is the geometric mean of their ratios, at least 1: samples are compared with themselves, and
    a few large errors do not decide. Small parts of the mean error make no ratio extreme. `weights`
    are (n,).
    """
    soft = SOFTENING * np.average(small, weights=weights)
    if soft == 0:
        return 1.0
    ratios = np.log((large + soft) / (small + soft))
    return max(1.0, float(np.exp(np.average(ratios, weights=weights))))


def conformal_quantiles(scores: Array, weights: Array, levels: Array) -> Array:
    """Quantiles of the scores (n,) that hold for one more draw, for levels (l,): (l,).

    From the median up it is the ⌈p (n + 1)⌉-th smallest score, and below it the ⌊p (n + 1)⌋-th;
    with weights (n,), which count scores, the one where their sum reaches that. Levels that so few
    scores cannot reach have the smallest or the largest score.
    """
    counted = weights > 0
    scores, weights = scores[counted], weights[counted]
    order = np.argsort(scores, kind="stable")
    upward, counts = scores[order], np.cumsum(weights[order])
    total, slack = counts[-1] + 1.0, ROUNDING * (counts[-1] + 1.0)
    last = len(scores) - 1
    above = np.searchsorted(counts, levels * total - slack)
    # From above: as many scores are larger than the lower quantile as smaller than the upper one.
    before = counts - weights[order]
    below = np.searchsorted(before, levels * total - 1.0 + slack, side="right") - 1
    return upward[np.clip(np.where(levels >= 0.5, above, below), 0, last)]


def typical_spread(values: Array, shares: Array) -> Array:
    """How far values (q, K, ...) with shares (q, K) lie from their middle: (q, ...).

    It is the distance from the median that contains 68 % of them, the standard deviation if they
    are normal, and at most the largest distance from their mean. A few that lie elsewhere do not
    count: where one neighbour in ten is of another regime, the others say what holds here.
    """
    middle = share_quantile(values, shares, 0.5)
    typical = share_quantile(np.abs(values - middle[:, None]), shares, WITHIN_ONE)
    mean = np.einsum("qk,qk...->q...", shares, values)
    largest = share_quantile(np.abs(values - mean[:, None]), shares, 1.0)
    return np.minimum(typical, largest)


def share_quantile(values: Array, shares: Array, level: float) -> Array:
    """The smallest of values (q, K, ...) up to which the shares (q, K) add up to a level, (q, ...).

    Shares sum to one.
    """
    order = np.argsort(values, axis=1)
    wide = shares.reshape(*shares.shape, *(1,) * (values.ndim - 2))
    ordered = np.take_along_axis(np.broadcast_to(wide, values.shape), order, axis=1)
    place = np.count_nonzero(np.cumsum(ordered, axis=1) < level - 1e-9, axis=1, keepdims=True)
    place = np.minimum(place, values.shape[1] - 1)
    chosen = np.take_along_axis(order, place, axis=1)
    return np.take_along_axis(values, chosen, axis=1)[:, 0]
