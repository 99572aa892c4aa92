"""Compiled loops over samples and edges for the network lasso's Newton systems.

Models are arrays (n, m, p): node, target, feature. Importing this module imports numba.
"""

import numpy as np
from numba import njit

_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, fastmath=_FAST)
def differences(W, heads, tails):
    """D_e = W_head - W_tail, an array (E, m, p)."""
    D = np.empty((len(heads), W.shape[1], W.shape[2]))
    for e in range(len(heads)):
        a, b = W[heads[e]], W[tails[e]]
        for t in range(W.shape[1]):
            for c in range(W.shape[2]):
                D[e, t, c] = a[t, c] - b[t, c]
    return D


@njit(cache=True, fastmath=_FAST)
def divergence(U, heads, tails, n):
    """The adjoint of `differences`: edge values summed at their ends."""
    out = np.zeros((n, U.shape[1], U.shape[2]))
    for e in range(len(heads)):
        a, b = out[heads[e]], out[tails[e]]
        for t in range(U.shape[1]):
            for c in range(U.shape[2]):
                a[t, c] += U[e, t, c]
                b[t, c] -= U[e, t, c]
    return out


@njit(cache=True)
def sum_by(index, values, length):
    """Sums of the arrays values[i] (m, p) with equal index[i], an array (length, m, p)."""
    m, p = values.shape[1:]
    out = np.zeros((length, m, p))
    for i in range(len(index)):
        for t in range(m):
            for c in range(p):
                out[index[i], t, c] += values[i, t, c]
    return out


@njit(cache=True, fastmath=_FAST)
def norms(D):
    """Frobenius norm of each edge's array."""
    out = np.empty(len(D))
    for e in range(len(D)):
        total = 0.0
        for t in range(D.shape[1]):
            for c in range(D.shape[2]):
                total += D[e, t, c] * D[e, t, c]
        out[e] = np.sqrt(total)
    return out


@njit(cache=True, fastmath=_FAST)
def misfit(X, y, node, W):
    """Σ ||y_i - W_node(i)ᵀ x_i||²."""
    total = 0.0
    for i in range(len(X)):
        for t in range(W.shape[1]):
            residual = y[i, t]
            for c in range(W.shape[2]):
                residual -= W[node[i], t, c] * X[i, c]
            total += residual * residual
    return total


@njit(cache=True, fastmath=_FAST)
def tie_cost(W, heads, tails, limits, widths):
    """Σ_e λ_e √(||D_e||² + width_e²)."""
    total = 0.0
    for e in range(len(heads)):
        square = widths[e] * widths[e]
        for t in range(W.shape[1]):
            for c in range(W.shape[2]):
                step = W[heads[e], t, c] - W[tails[e], t, c]
                square += step * step
        total += limits[e] * np.sqrt(square)
    return total


@njit(cache=True, fastmath=_FAST)
def linearise(W, U, heads, tails, limits, widths, wide):
    """What a Newton step needs of the edges: λ D / η, λ / η, the curvature's loss, A and B.

    η = √(||D||² + width²), A = U / λ and B = D / η. The loss is <A, B> over the number of
    directions. A and B have `wide` columns, of which the last may be zero.
    """
    m, p = W.shape[1:]
    flows = np.empty((len(heads), m, p))
    weights, lost = np.empty(len(heads)), np.empty(len(heads))
    A, B = np.zeros((len(heads), m, wide)), np.zeros((len(heads), m, wide))
    for e in range(len(heads)):
        j, k, limit = heads[e], tails[e], limits[e]
        square = widths[e] ** 2
        for t in range(m):
            for c in range(p):
                step = W[j, t, c] - W[k, t, c]
                square += step * step
                flows[e, t, c] = step
        eta = np.sqrt(square)
        weights[e] = limit / eta
        product = 0.0
        for t in range(m):
            for c in range(p):
                A[e, t, c] = U[e, t, c] / limit
                B[e, t, c] = flows[e, t, c] / eta
                product += A[e, t, c] * B[e, t, c]
                flows[e, t, c] *= weights[e]
        lost[e] = product / (m * p)
    return flows, weights, lost, A, B


@njit(cache=True, fastmath=_FAST)
def add_curved(V, heads, tails, weights, A, B, flows):
    """Add C_e (V_j - V_k) to each edge's flow, C_e = weight_e (I - (A_e B_eᵀ + B_e A_eᵀ) / 2)."""
    m, p = V.shape[1:]
    for e in range(len(heads)):
        j, k = heads[e], tails[e]
        a = 0.0
        b = 0.0
        for t in range(m):
            for c in range(p):
                step = V[j, t, c] - V[k, t, c]
                a += A[e, t, c] * step
                b += B[e, t, c] * step
        for t in range(m):
            for c in range(p):
                bent = 0.5 * (A[e, t, c] * b + B[e, t, c] * a)
                flows[e, t, c] += weights[e] * (V[j, t, c] - V[k, t, c] - bent)


@njit(cache=True, fastmath=_FAST)
def predict_samples(X, node, W):
    """W_node(i)ᵀ x_i for every sample, an array (N, m)."""
    out = np.zeros((len(X), W.shape[1]))
    for i in range(len(X)):
        w = W[node[i]]
        for t in range(W.shape[1]):
            dot = 0.0
            for c in range(W.shape[2]):
                dot += w[t, c] * X[i, c]
            out[i, t] = dot
    return out


@njit(cache=True, fastmath=_FAST)
def add_samples(X, node, v, out):
    """Add v_i x_iᵀ to the model of sample i's node: the adjoint of `predict_samples`."""
    for i in range(len(X)):
        o = out[node[i]]
        for t in range(v.shape[1]):
            for c in range(X.shape[1]):
                o[t, c] += v[i, t] * X[i, c]
