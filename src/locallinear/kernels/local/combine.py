"""A query's model: the weighted average of its neighbours' models (the paper's Algorithm 2).

For a query x and its K neighbours j with weights a_j,

    W_pred = Σ_j a_j A_{l_j}  +  Σ_j a_j x̃_j r_jᵀ / (λ + s_j)  =  R_pred + C_pred.

A prediction W_predᵀ x̃ needs only the scalars x̃_jᵀ x̃, never the models themselves.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


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
    # The inputs come first: a weight grows with the inverse square of them, and times a residual
    # it could overflow where the product of all three does not.
    scale = correction_weights(x, weights, alpha, constant)[:, :, None]
    correction[:, :-1] = (x * scale).swapaxes(1, 2) @ residuals
    correction[:, -1] = ((constant * scale) * residuals).sum(axis=1)
    return anchor_part, correction


def margins(scores: Array) -> Array:
    """How far each class's score is behind the best other class's, (q, m); below 0: ahead of it."""
    if scores.shape[1] == 1:
        return np.full(scores.shape, -np.inf)
    best = np.sort(scores, axis=1)[:, -2:]
    rival = np.where(scores == best[:, 1:], best[:, :1], best[:, 1:])
    return rival - scores
