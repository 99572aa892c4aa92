"""Probabilities of classes from linear scores, and the fit of the map between them.

With π the nearest point of the probability simplex to the scores s of m classes,

    log p_c  =  slope · s_c + power · log((n π_c + 1) / (n + m)) + constant.

Both terms grow with the score, so the order of the classes is that of their scores. With slope 0
and power 1, p is π after one more sample of each class: no probability is exactly 0 or 1.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from ...arrays import AnyArray as Array
from ...arrays import cumulative_sum, namespace, pick

TIE_DECIMALS = 11

# With these bounds the least probability is above what rounding leaves of 1 − p = 0.
MOST_SLOPE, MOST_POWER, MOST_SAMPLES = 20.0, 1.0, 1e6


def centered(scores: Array) -> Array:
    """Scores relative to the largest of their row, at least −1, rounded.

    A class that is behind by 1 or more is as unlikely as can be, and far from the data scores grow
    without bound. Scores that differ by rounding alone are made equal: which class wins a tie must
    not depend on the order in which sums were formed.
    """
    xp = namespace(scores)
    behind = xp.clip(scores - xp.max(scores, axis=1, keepdims=True), -1.0, None)
    if hasattr(behind, "round"):
        return behind.round(decimals=TIE_DECIMALS)
    return xp.round(behind * 10.0**TIE_DECIMALS) / 10.0**TIE_DECIMALS


def nearest_probabilities(scores: Array) -> Array:
    """Each row's nearest point of the probability simplex, which keeps the order of classes.

    The projection is max(score − t, 0) with the t that makes the row sum to one. A shift of all
    scores does not change it, and relative to the largest one they keep their precision; one that
    is smaller by 1 or more gets nothing.
    """
    xp, scores = namespace(scores), centered(scores)
    ordered = -xp.sort(-scores, axis=1)
    place = cumulative_sum(xp.ones_like(ordered), axis=1)
    excess = (cumulative_sum(ordered, axis=1) - 1.0) / place
    n_positive = xp.count_nonzero(ordered > excess, axis=1)
    threshold = pick(excess, n_positive[:, None] - 1)
    positive = xp.clip(scores - threshold, 0.0, None)
    return positive / xp.sum(positive, axis=1, keepdims=True)


def smoothed(probabilities: Array, n: float) -> Array:
    """Probabilities (.., m) that n samples gave, after one more sample of each class."""
    n = min(n, MOST_SAMPLES)
    return (n * probabilities + 1.0) / (n + probabilities.shape[-1])


def class_probabilities(scores: Array, n: float, slope: float = 0.0, power: float = 1.0) -> Array:
    """Probabilities (q, m) of scores (q, m); none is 0 or 1 where there are two classes or more.

    Parameters
    ----------
    scores : (q, m)
    n : number of samples behind the map, above 0
    slope, power : of the map, from `fit_probability_map`; by default the smoothed projection
    """
    if (slope, power) == (0.0, 1.0):
        return smoothed(nearest_probabilities(scores), n)
    xp, terms = namespace(scores), _terms(scores, n)
    logits = slope * terms[0, ...] + power * terms[1, ...]
    odds = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return odds / xp.sum(odds, axis=1, keepdims=True)


def fit_probability_map(scores: Array, Y: Array, weights: Array) -> tuple[float, float, float]:
    """n, slope and power that make the targets likeliest, given scores of unseen samples.

    Platt's targets, which have one more sample of each class, stand for Y: where every sample is
    on the right side, the likeliest slope would be infinite.

    Parameters
    ----------
    scores : (n, m) of samples by models that were fitted without them
    Y, weights : (n, m) one-hot targets and (n,) sample weights, not all 0
    """
    n = float(weights.sum())
    targets, terms = smoothed(Y, n), _terms(scores, n)

    def loss(parameters: Array) -> tuple[float, Array]:
        log_p = log_softmax(np.tensordot(parameters, terms, axes=1), axis=1)
        value = -weights @ (targets * log_p).sum(axis=1)
        return value / n, np.einsum("n,nm,fnm->f", weights, np.exp(log_p) - targets, terms) / n

    found = minimize(
        loss, [3.0, 0.3], jac=True, method="L-BFGS-B", bounds=[(0, MOST_SLOPE), (0, MOST_POWER)]
    )
    slope, power = found.x.tolist()
    return n, slope, power


def _terms(scores: Array, n: float) -> Array:
    """What slope and power multiply, (2, q, m)."""
    xp = namespace(scores)
    return xp.stack([centered(scores), xp.log(smoothed(nearest_probabilities(scores), n))])
