"""A query's model: the weighted average of its neighbours' models (the paper's Algorithm 2).

For a query x and its K neighbours j with weights a_j,

    W_pred = Σ_j a_j A_{l_j}  +  Σ_j a_j x̃_j r_jᵀ / (λ + s_j)  =  R_pred + C_pred.

A prediction W_predᵀ x̃ needs only the scalars x̃_jᵀ x̃, never the models themselves.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

TIE_DECIMALS = 11


def cut_at(weights: Array, total: float) -> Array:
    """Weights of neighbours, nearest first, cut where their sum reaches the total.

    A neighbourhood of K counts a sample of weight v as v samples, so that weights of whole
    numbers mean the same as repeated rows. Weights of at most 1 are not cut.
    """
    before = np.cumsum(weights, axis=1) - weights
    return np.clip(total - before, 0.0, weights)


def distance_weights(distances: Array, rule: str) -> Array:
    """Relative weights, "uniform" or by "distance", of neighbours at distances (q, K).

    With 1/d, an exact match takes all the weight and several share it.
    """
    if rule == "uniform":
        return np.ones_like(distances)
    nearest = distances[:, :1]
    # Relative to the nearest, so that 1/d can neither overflow nor vanish.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(nearest > 0, nearest / distances, distances == 0)


def normalised(weights: Array) -> Array:
    """Rows that sum to one; a row without weight is spread evenly."""
    total = weights.sum(axis=1, keepdims=True)
    even = np.full_like(weights, 1.0 / weights.shape[1])
    return np.divide(weights, total, out=even, where=total > 0)


def correction_weights(x: Array, weights: Array, alpha: float, constant: float) -> Array:
    """a_j / (λ + s_j) for the neighbours x (q, K, d)."""
    return weights / (alpha + constant + np.einsum("qkd,qkd->qk", x, x))


def predict(
    X: Array,
    x: Array,
    residuals: Array,
    labels: Labels,
    weights: Array,
    models: Array,
    alpha: float,
    constant: float,
) -> Array:
    """Predictions (q, m) of the averaged models.

    Parameters
    ----------
    X : (q, d) queries
    x, residuals, labels, weights : of each query's neighbours, (q, K, d), (q, K, m), (q, K) twice
    models : (k, d + 1, m) anchor models
    alpha, constant : λ, and the value of the constant feature
    """
    inner = np.einsum("qkd,qd->qk", x, X) + constant
    inner *= correction_weights(x, weights, alpha, constant)
    out = np.einsum("qk,qkm->qm", inner, residuals)
    for target in range(out.shape[1]):
        by_anchor = X @ models[:, :-1, target].T + models[:, -1, target]
        chosen = np.take_along_axis(by_anchor, labels, axis=1)
        out[:, target] += np.einsum("qk,qk->q", weights, chosen)
    return out


def averaged_models(
    x: Array,
    residuals: Array,
    labels: Labels,
    weights: Array,
    models: Array,
    alpha: float,
    constant: float,
) -> tuple[Array, Array]:
    """R_pred and C_pred of each query, each (q, d + 1, m); arguments as for `predict`."""
    anchor_part = np.einsum("qk,qkdm->qdm", weights, models[labels])
    correction = np.empty_like(anchor_part)
    scaled = correction_weights(x, weights, alpha, constant)[:, :, None] * residuals
    correction[:, :-1] = x.swapaxes(1, 2) @ scaled
    correction[:, -1] = constant * scaled.sum(axis=1)
    return anchor_part, correction


def nearest_probabilities(scores: Array) -> Array:
    """Each row's nearest point of the probability simplex, which keeps the order of classes.

    The projection is max(score − t, 0) with the t that makes the row sum to one. A shift of all
    scores does not change it, and relative to the largest one they keep their precision; one that
    is smaller by 1 or more gets nothing. Scores that differ by rounding alone are made equal:
    which class wins a tie must not depend on the order in which sums were formed.
    """
    scores = np.maximum(scores - scores.max(axis=1, keepdims=True), -1.0).round(TIE_DECIMALS)
    ordered = -np.sort(-scores, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, scores.shape[1] + 1)
    n_positive = np.count_nonzero(ordered > excess, axis=1)
    threshold = np.take_along_axis(excess, n_positive[:, None] - 1, axis=1)
    positive = np.maximum(scores - threshold, 0.0)
    return positive / positive.sum(axis=1, keepdims=True)


def margins(scores: Array) -> Array:
    """How far each class's score is behind the best other class's, (q, m); below 0: ahead of it."""
    if scores.shape[1] == 1:
        return np.full(scores.shape, -np.inf)
    best = np.sort(scores, axis=1)[:, -2:]
    rival = np.where(scores == best[:, 1:], best[:, :1], best[:, 1:])
    return rival - scores
