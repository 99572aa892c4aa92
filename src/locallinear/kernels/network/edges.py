"""Sums over samples and edges.

Models W are (G, m, p); flows U and differences D of models are (E, m, p).
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler import njit
from . import FAST

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@njit(cache=True, nogil=True, fastmath=FAST)
def differences(W: Array, heads: Rows, tails: Rows) -> Array:
    """D_e = W_head − W_tail, (E, m, p)."""
    D = np.empty((len(heads), W.shape[1], W.shape[2]))
    for e in range(len(heads)):
        j, k = heads[e], tails[e]
        for t in range(W.shape[1]):
            for c in range(W.shape[2]):
                D[e, t, c] = W[j, t, c] - W[k, t, c]
    return D


@njit(cache=True, nogil=True, fastmath=FAST)
def divergence(U: Array, heads: Rows, tails: Rows, n_nodes: int) -> Array:
    """The adjoint of `differences`: flows out of each node less those into it, (G, m, p)."""
    out = np.zeros((n_nodes, U.shape[1], U.shape[2]))
    for e in range(len(heads)):
        j, k = heads[e], tails[e]
        for t in range(U.shape[1]):
            for c in range(U.shape[2]):
                out[j, t, c] += U[e, t, c]
                out[k, t, c] -= U[e, t, c]
    return out


@njit(cache=True, nogil=True)
def sum_by(groups: Rows, values: Array, n_groups: int) -> Array:
    """Sums of the arrays values[i] (m, p) with equal groups[i], (n_groups, m, p)."""
    m, p = values.shape[1:]
    out = np.zeros((n_groups, m, p))
    for i in range(len(groups)):
        for t in range(m):
            for c in range(p):
                out[groups[i], t, c] += values[i, t, c]
    return out


@njit(cache=True, nogil=True, fastmath=FAST)
def norms(D: Array) -> Array:
    """||D_e||_F of each edge, (E,)."""
    out = np.empty(len(D))
    for e in range(len(D)):
        square = 0.0
        for t in range(D.shape[1]):
            for c in range(D.shape[2]):
                square += D[e, t, c] * D[e, t, c]
        out[e] = np.sqrt(square)
    return out


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_error(X: Array, Y: Array, node: Rows, W: Array) -> float:
    """Σ_i ||y_i − W_{g(i)}ᵀ x_i||²."""
    total = 0.0
    for i in range(len(X)):
        for t in range(W.shape[1]):
            residual = Y[i, t]
            for c in range(W.shape[2]):
                residual -= W[node[i], t, c] * X[i, c]
            total += residual * residual
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def edge_cost(W: Array, heads: Rows, tails: Rows, limits: Array, widths: Array) -> float:
    """Σ_e λ_e √(||D_e||² + ε_e²) for widths ε (E,)."""
    total = 0.0
    for e in range(len(heads)):
        square = widths[e] * widths[e]
        for t in range(W.shape[1]):
            for c in range(W.shape[2]):
                difference = W[heads[e], t, c] - W[tails[e], t, c]
                square += difference * difference
        total += limits[e] * np.sqrt(square)
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def linearise(
    W: Array, U: Array, heads: Rows, tails: Rows, limits: Array, widths: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """What a Newton step needs from the edges: λ D / η, λ / η, the mean loss of curvature, A and B.

    η = √(||D||² + ε²), A = U / λ and B = D / η. The loss is <A, B> / (m p): the curvature
    I − (A Bᵀ + B Aᵀ) / 2 is 1 less this, on average over all directions.
    """
    m, p = W.shape[1:]
    flows = np.empty((len(heads), m, p))
    weights, loss = np.empty(len(heads)), np.empty(len(heads))
    A, B = np.empty((len(heads), m, p)), np.empty((len(heads), m, p))
    for e in range(len(heads)):
        j, k, limit = heads[e], tails[e], limits[e]
        square = widths[e] ** 2
        for t in range(m):
            for c in range(p):
                difference = W[j, t, c] - W[k, t, c]
                square += difference * difference
                flows[e, t, c] = difference
        eta = np.sqrt(square)
        weights[e] = limit / eta
        product = 0.0
        for t in range(m):
            for c in range(p):
                A[e, t, c] = U[e, t, c] / limit
                B[e, t, c] = flows[e, t, c] / eta
                product += A[e, t, c] * B[e, t, c]
                flows[e, t, c] *= weights[e]
        loss[e] = product / (m * p)
    return flows, weights, loss, A, B


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def curved_difference(
    V: Array, A: Array, B: Array, weight: float, e: int, j: int, k: int, out: Array
) -> None:
    """C (V_j − V_k) of edge e, written to out (m p,), with C = weight (I − (A Bᵀ + B Aᵀ) / 2).

    V (G, m p), A and B (E, m p) have one row per node or edge: one loop over a row is compiled to
    faster code than two loops over targets and columns.
    """
    along_a, along_b = 0.0, 0.0
    for c in range(len(out)):
        difference = V[j, c] - V[k, c]
        along_a += A[e, c] * difference
        along_b += B[e, c] * difference
    along_a, along_b = along_a / 2, along_b / 2
    for c in range(len(out)):
        out[c] = weight * (V[j, c] - V[k, c] - along_b * A[e, c] - along_a * B[e, c])


@njit(cache=True, nogil=True, fastmath=FAST)
def predict_samples(X: Array, node: Rows, W: Array) -> Array:
    """W_{g(i)}ᵀ x_i of each sample, (n, m)."""
    out = np.zeros((len(X), W.shape[1]))
    for i in range(len(X)):
        for t in range(W.shape[1]):
            product = 0.0
            for c in range(W.shape[2]):
                product += W[node[i], t, c] * X[i, c]
            out[i, t] = product
    return out


@njit(cache=True, nogil=True, fastmath=FAST)
def add_samples(X: Array, node: Rows, V: Array, out: Array) -> None:
    """Add v_i x_iᵀ to the array (m, p) of sample i's node: the adjoint of `predict_samples`."""
    for i in range(len(X)):
        g = node[i]
        for t in range(V.shape[1]):
            for c in range(X.shape[1]):
                out[g, t, c] += V[i, t] * X[i, c]
