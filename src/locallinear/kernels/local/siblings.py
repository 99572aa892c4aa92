"""Predictions of models that differ in their anchors alone, compiled.

They have the same neighbours j with the same weights a_j, and so the same factors
a_j x̃_jᵀx̃ / (λ + s_j) of the corrections. A model of its own adds only its labels, its residuals
and its anchors (see `combine` for the equations). Axis letters: q queries, n samples, d features,
m targets, k anchors, K neighbours.
"""

import numpy as np

from ..compiler import njit


@njit(cache=True, nogil=True)
def correction_factors(Z, samples, near, weights, alpha, constant):
    """a_j x̃_jᵀx̃ / (λ + s_j) of the neighbours, (q, K).

    Parameters
    ----------
    Z, samples : (q, d) queries and (n, d) samples
    near, weights : (q, K) rows of the neighbours and their weights
    alpha, constant : λ, and the value of the constant feature
    """
    q, K = near.shape
    out = np.empty((q, K))
    for i in range(q):
        for a in range(K):
            j = near[i, a]
            inner, square = constant, alpha + constant
            for f in range(Z.shape[1]):
                inner += Z[i, f] * samples[j, f]
                square += samples[j, f] ** 2
            out[i, a] = weights[i, a] * inner / square
    return out


@njit(cache=True, nogil=True)
def predict_one(Z, near, weights, factors, residuals, labels, models, out):
    """Predictions of one model, written to `out` (q, m).

    Parameters
    ----------
    Z, near, weights : as for `correction_factors`, which gives the factors (q, K)
    residuals, labels : (n, m) and (n,) of the samples
    models : (k, d + 1, m) of the anchors, the intercept last
    """
    q, K = near.shape
    d, m = Z.shape[1], out.shape[1]
    for i in range(q):
        for t in range(m):
            total = 0.0
            for a in range(K):
                j = near[i, a]
                model = models[labels[j]]
                by_anchor = model[d, t]
                for f in range(d):
                    by_anchor += model[f, t] * Z[i, f]
                total += weights[i, a] * by_anchor + factors[i, a] * residuals[j, t]
            out[i, t] = total
