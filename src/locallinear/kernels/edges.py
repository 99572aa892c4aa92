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
def curve(D, weights, A, B):
    """C_e D_e with C_e = weight_e (I - (A_e B_eᵀ + B_e A_eᵀ) / 2), an array like D."""
    out = np.empty_like(D)
    for e in range(len(D)):
        a = 0.0
        b = 0.0
        for t in range(D.shape[1]):
            for c in range(D.shape[2]):
                a += A[e, t, c] * D[e, t, c]
                b += B[e, t, c] * D[e, t, c]
        for t in range(D.shape[1]):
            for c in range(D.shape[2]):
                out[e, t, c] = weights[e] * (D[e, t, c] - 0.5 * (A[e, t, c] * b + B[e, t, c] * a))
    return out


@njit(cache=True, fastmath=_FAST)
def add_product(W, X, node, heads, tails, weights, A, B, out):
    """Add (Σ_e B_eᵀ C_e B_e + 2 Σ_i x_i x_iᵀ) W to out without storing the edges' differences."""
    n, m, p = W.shape
    size = m * p
    step = np.empty(size)
    V, result = W.reshape(n, size), out.reshape(n, size)
    flat_A, flat_B = A.reshape(len(A), size), B.reshape(len(B), size)
    for e in range(len(heads)):
        j, k, weight = heads[e], tails[e], weights[e]
        a = 0.0
        b = 0.0
        for c in range(size):
            step[c] = V[j, c] - V[k, c]
            a += flat_A[e, c] * step[c]
            b += flat_B[e, c] * step[c]
        a *= 0.5 * weight
        b *= 0.5 * weight
        for c in range(size):
            g = weight * step[c] - flat_A[e, c] * b - flat_B[e, c] * a
            result[j, c] += g
            result[k, c] -= g
    for i in range(len(X)):
        k = node[i]
        for t in range(m):
            dot = 0.0
            for c in range(p):
                dot += W[k, t, c] * X[i, c]
            for c in range(p):
                out[k, t, c] += 2 * dot * X[i, c]


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


@njit(cache=True, fastmath=_FAST)
def advance(x, residual, direction, image, size):
    """One step of conjugate gradients along direction, in place."""
    curvature = 0.0
    a, b, c, d = x.ravel(), residual.ravel(), direction.ravel(), image.ravel()
    for i in range(len(a)):
        curvature += c[i] * d[i]
    length = size / curvature
    for i in range(len(a)):
        a[i] += length * c[i]
        b[i] -= length * d[i]


@njit(cache=True, fastmath=_FAST)
def turn(direction, z, residual, size):
    """The next direction of conjugate gradients, in place; returns the new <residual, z>."""
    a, b, c = direction.ravel(), z.ravel(), residual.ravel()
    updated = 0.0
    for i in range(len(a)):
        updated += b[i] * c[i]
    for i in range(len(a)):
        a[i] = b[i] + updated / size * a[i]
    return updated
