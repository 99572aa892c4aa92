"""A query's model: the weighted average of its neighbours' models (the paper's Algorithm 2).

For a query x and its K neighbours j with weights a_j,

    W_pred = Σ_j a_j A_{l_j}  +  Σ_j a_j x̃_j r_jᵀ / (λ + s_j)  =  R_pred + C_pred.

A prediction W_predᵀ x̃ needs only the scalars x̃_jᵀ x̃, never the models themselves.
"""

import numpy as np

from ...arrays import AnyArray as Array
from ...arrays import at, cast, cumulative_sum, einsum, namespace, pick


def cut_at(weights: Array, total: float) -> Array:
    """Weights of neighbours, nearest first, cut where their sum reaches the total.

    A neighbourhood of K counts a sample of weight v as v samples, so that weights of whole
    numbers mean the same as repeated rows. Weights of at most 1 are not cut.
    """
    before = cumulative_sum(weights, axis=1) - weights
    return namespace(weights).clip(total - before, 0.0, weights)


def distance_weights(distances: Array, rule: str) -> Array:
    """Relative weights, "uniform" or by "distance", of neighbours at distances (q, K).

    With 1/d, an exact match takes all the weight and several share it.
    """
    xp = namespace(distances)
    if rule == "uniform":
        return xp.ones_like(distances)
    nearest = distances[:, :1]
    # Relative to the nearest, so that 1/d can neither overflow nor vanish.
    with np.errstate(divide="ignore", invalid="ignore"):
        return xp.where(nearest > 0, nearest / distances, cast(distances == 0, distances))


def normalised(weights: Array) -> Array:
    """Rows that sum to one; a row without weight is spread evenly."""
    xp = namespace(weights)
    total = xp.sum(weights, axis=1, keepdims=True)
    some = total > 0
    return xp.where(some, weights / xp.where(some, total, 1.0), 1.0 / weights.shape[1])


def correction_weights(x: Array, weights: Array, alpha: float, constant: float) -> Array:
    """a_j / (λ + s_j) for the neighbours x (q, K, d)."""
    return weights / (alpha + constant + einsum("qkd,qkd->qk", x, x))


def predict(
    X: Array,
    x: Array,
    residuals: Array,
    labels: Array,
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
    inner = einsum("qkd,qd->qk", x, X) + constant
    inner *= correction_weights(x, weights, alpha, constant)
    out = einsum("qk,qkm->qm", inner, residuals)
    for target in range(out.shape[1]):
        by_anchor = X @ models[:, :-1, target].T + models[:, -1, target]
        chosen = pick(by_anchor, labels)
        out[:, target] += einsum("qk,qk->q", weights, chosen)
    return out


def averaged_models(
    x: Array,
    residuals: Array,
    labels: Array,
    weights: Array,
    models: Array,
    alpha: float,
    constant: float,
) -> tuple[Array, Array]:
    """R_pred and C_pred of each query, each (q, d + 1, m); arguments as for `predict`."""
    xp = namespace(x)
    anchor_part = einsum("qk,qkdm->qdm", weights, at(models, labels))
    # The inputs come first: a weight grows with the inverse square of them, and times a residual
    # it could overflow where the product of all three does not.
    scale = correction_weights(x, weights, alpha, constant)[:, :, None]
    coef = xp.matrix_transpose(x * scale) @ residuals
    intercept = xp.sum((constant * scale) * residuals, axis=1, keepdims=True)
    return anchor_part, xp.concat([coef, intercept], axis=1)


def margins(scores: Array) -> Array:
    """How far each class's score is behind the best other class's, (q, m); below 0: ahead of it."""
    if scores.shape[1] == 1:
        return np.full(scores.shape, -np.inf)
    best = np.sort(scores, axis=1)[:, -2:]
    rival = np.where(scores == best[:, 1:], best[:, :1], best[:, 1:])
    return rival - scores
