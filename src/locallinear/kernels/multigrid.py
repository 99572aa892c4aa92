"""Aggregation multigrid for graph Laplacians whose nodes carry small dense blocks.

The matrix is A = L ⊗ I + blockdiag(Rᵢᵀ Rᵢ + diag(kᵢ)), with L the Laplacian of a weighted
graph and Rᵢ the few rows (samples) that node i owns. One V-cycle on it preconditions the
Newton systems of the network lasso: strongly tied nodes are joined first, so groups that are
about to fuse are solved for as one node, with the Gram matrix of all their samples.

Importing this module imports numba; import it where it is used.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_array

_FAST = {"reassoc", "contract", "nsz"}  # lets dot products vectorise; keeps nan and inf
_NEAR_ONE = 1 - 1e-13  # keeps I - QᵀQ positive under rounding


class Blocks(NamedTuple):
    """Inverses of p x p blocks: S(I - QᵢᵀQᵢ)S with S = diag(scale[i]), or QᵢᵀQᵢ where dense[i].

    Qᵢ are the rows start[i]:start[i + 1] of `factor`.
    """

    factor: np.ndarray
    start: np.ndarray
    scale: np.ndarray
    dense: np.ndarray


class Level(NamedTuple):
    """One grid: its graph in CSR form, its inverse blocks, and the way to the next grid."""

    indptr: np.ndarray
    neighbors: np.ndarray
    weights: np.ndarray
    blocks: Blocks
    aggregates: np.ndarray
    n_aggregates: int


def build_hierarchy(heads, tails, weights, rows, start, diagonal):
    """Grids from the finest to one node a component.

    Parameters
    ----------
    heads, tails : int arrays (E,)
        The edges, each once.
    weights : array (E,)
        Positive weights of the edges.
    rows, start : array (R, p), int array (n + 1,)
        Node i owns rows[start[i]:start[i + 1]].
    diagonal : array (n, p)
        Non-negative diagonal part of the blocks.

    Returns
    -------
    list of Level
    """
    levels = []
    while True:
        n, p = diagonal.shape
        ends = np.concatenate([heads, tails])
        adjacency = csr_array(
            (np.tile(weights, 2), (ends, np.concatenate([tails, heads]))), shape=(n, n)
        )
        degrees = np.bincount(ends, np.tile(weights, 2), minlength=n)
        blocks, rows, diagonal = invert_blocks(rows, start, diagonal, degrees)
        order = np.argsort(-weights, kind="stable")
        aggregates, n_aggregates = _aggregate(heads, tails, order, n)
        graph = adjacency.indptr, adjacency.indices, adjacency.data
        levels.append(Level(*graph, blocks, aggregates, n_aggregates))
        if len(weights) == 0:
            return levels
        heads, tails, weights = _collapse_edges(aggregates[heads], aggregates[tails], weights)
        rows, start = _join_rows(rows, blocks.start, aggregates, n_aggregates)
        joined = np.zeros((n_aggregates, p))
        np.add.at(joined, aggregates, diagonal)
        diagonal = joined


def v_cycle(levels, residual, depth=0):
    """Approximate solution of A w = residual, an (n, m, p) array: symmetric in residual."""
    level = levels[depth]
    graph = level.indptr, level.neighbors, level.weights
    w = np.zeros_like(residual)
    _forward_sweep(*graph, *level.blocks, residual, w)  # type: ignore[call-arg]
    if depth + 1 < len(levels):
        coarse = np.zeros((level.n_aggregates, *residual.shape[1:]))
        _restrict(*graph, level.aggregates, w, coarse)
        w += v_cycle(levels, coarse, depth + 1)[level.aggregates]
        _backward_sweep(*graph, *level.blocks, residual, w)  # type: ignore[call-arg]
    return w


def pseudo_inverses(rows, start):
    """Pseudo-inverse of RᵢᵀRᵢ for every node i, which owns rows[start[i]:start[i + 1]]."""
    nothing = np.zeros((len(start) - 1, rows.shape[1]))
    return invert_blocks(rows, start, nothing, nothing[:, 0])[0]


def apply_blocks(blocks, b):
    """Inverse blocks times b, an array (n, m, p)."""
    w = b.copy()
    _solve_blocks(*blocks, w)  # type: ignore[call-arg]
    return w


@njit(cache=True)
def _solve_blocks(factor, start, scale, dense, w):
    for i in range(len(w)):
        _solve_block(factor, start, scale, dense, i, w[i])


@njit(cache=True, fastmath=_FAST)
def _solve_block(factor, start, scale, dense, i, w):
    """Apply the inverse of block i to w (m, p) in place."""
    m, p = w.shape
    first, last = start[i], start[i + 1]
    for t in range(m):
        if dense[i]:
            z = np.zeros(p)
            for k in range(first, last):
                dot = 0.0
                for c in range(p):
                    dot += factor[k, c] * w[t, c]
                for c in range(p):
                    z[c] += dot * factor[k, c]
            for c in range(p):
                w[t, c] = z[c]
            continue
        z = np.empty(p)
        for c in range(p):
            w[t, c] *= scale[i, c]
            z[c] = w[t, c]
        for k in range(first, last):
            dot = 0.0
            for c in range(p):
                dot += factor[k, c] * w[t, c]
            for c in range(p):
                z[c] -= dot * factor[k, c]
        for c in range(p):
            w[t, c] = z[c] * scale[i, c]


@njit(cache=True, fastmath=_FAST)
def _forward_sweep(indptr, neighbors, weights, factor, start, scale, dense, b, w):
    """Block Gauss-Seidel from w = 0: only nodes already visited contribute."""
    n, m, p = b.shape
    for i in range(n):
        w[i] = b[i]
        for e in range(indptr[i], indptr[i + 1]):
            j = neighbors[e]
            if j < i:
                for t in range(m):
                    for c in range(p):
                        w[i, t, c] += weights[e] * w[j, t, c]
        _solve_block(factor, start, scale, dense, i, w[i])


@njit(cache=True, fastmath=_FAST)
def _restrict(indptr, neighbors, weights, aggregates, w, coarse):
    """Sum over each aggregate the residual that a forward sweep from zero leaves.

    Node i was solved exactly with the values of its earlier neighbours, so what is left of
    its equation is the pull of the later ones.
    """
    n, m, p = w.shape
    for i in range(n):
        a = aggregates[i]
        for e in range(indptr[i], indptr[i + 1]):
            j = neighbors[e]
            if j > i:
                for t in range(m):
                    for c in range(p):
                        coarse[a, t, c] += weights[e] * w[j, t, c]


@njit(cache=True, fastmath=_FAST)
def _backward_sweep(indptr, neighbors, weights, factor, start, scale, dense, b, w):
    n, m, p = b.shape
    for i in range(n - 1, -1, -1):
        w[i] = b[i]
        for e in range(indptr[i], indptr[i + 1]):
            j = neighbors[e]
            for t in range(m):
                for c in range(p):
                    w[i, t, c] += weights[e] * w[j, t, c]
        _solve_block(factor, start, scale, dense, i, w[i])


@njit(cache=True)
def _aggregate(heads, tails, order, n):
    """Join nodes along their strongest edges: every node with an edge gets company.

    An edge, taken in order, starts an aggregate when both its ends are free and draws in a
    free end when the other is taken; it never joins two aggregates, which bounds their size
    on all but star-like graphs.
    """
    aggregates = np.full(n, -1)
    count = 0
    for e in order:
        j, k = heads[e], tails[e]
        if aggregates[j] < 0 and aggregates[k] < 0:
            aggregates[j] = aggregates[k] = count
            count += 1
        elif aggregates[j] < 0:
            aggregates[j] = aggregates[k]
        elif aggregates[k] < 0:
            aggregates[k] = aggregates[j]
    for i in range(n):
        if aggregates[i] < 0:
            aggregates[i] = count
            count += 1
    return aggregates, count


def _collapse_edges(heads, tails, weights):
    """Edges between aggregates, parallel ones summed and inner ones dropped."""
    keep = heads != tails
    low = np.minimum(heads, tails)[keep]
    high = np.maximum(heads, tails)[keep]
    pairs, where = np.unique(low * (high.max(initial=0) + 1) + high, return_inverse=True)
    width = high.max(initial=0) + 1
    return pairs // width, pairs % width, np.bincount(where, weights[keep], len(pairs))


def _join_rows(rows, start, aggregates, n_aggregates):
    """The rows of each aggregate: those of its nodes."""
    owner = aggregates[np.repeat(np.arange(len(start) - 1), np.diff(start))]
    counts = np.bincount(owner, minlength=n_aggregates)
    return rows[np.argsort(owner, kind="stable")], np.concatenate([[0], np.cumsum(counts)])


def invert_blocks(rows, start, diagonal, degrees):
    """Factors of the inverse blocks, and the blocks as the next grid feels them.

    Block i is Gᵢ + δᵢ I, with Gᵢ = RᵢᵀRᵢ + diag(kᵢ) and δᵢ the degree. Fewer rows than
    columns: Woodbury, with Q = diag(σ / √(1 + σ²)) V from the singular values R S = U diag(σ) V,
    S² = (δ + k)⁻¹. Otherwise, and for nodes without edges, the (pseudo-)inverse from the
    singular values of the block's rows. Gram matrices are never formed: features whose scales
    differ by 1e8 and more are common, and squares of that are below rounding.

    A common move of an aggregate reaches the data of node i through its edges, springs of
    stiffness δᵢ in series with Gᵢ. So the next grid gets δ - δ (G + δ)⁻¹ δ in place of G:
    with the plain Galerkin sum, stiff data (large features) would hold the aggregate still
    although each node can give way on its own.
    """
    p = diagonal.shape[1]
    counts = np.diff(start)
    dense = (counts >= p) | (degrees <= 0)
    sizes = np.where(dense & (diagonal.max(axis=1) > 0), p, np.minimum(counts, p))
    factor_start = np.concatenate([[0], np.cumsum(sizes)])
    factor = np.zeros((factor_start[-1], p))
    soft = np.zeros((factor_start[-1], p))
    scale = 1 / np.sqrt(np.where(dense[:, None], 1, diagonal + degrees[:, None]))
    _factorise(rows, start, diagonal, degrees, dense, scale, factor_start, factor, soft)
    stiffness = degrees[:, None] * diagonal * scale**2
    stiffness[dense] = 0  # held in the rows
    return Blocks(factor, factor_start, scale, dense), soft, stiffness


@njit(cache=True, fastmath=_FAST)
def _factorise(rows, start, diagonal, degrees, dense, scale, factor_start, factor, soft):
    p = rows.shape[1]
    for i in range(len(start) - 1):
        own = rows[start[i] : start[i + 1]]
        first, last = factor_start[i], factor_start[i + 1]
        if dense[i]:
            _factorise_dense(own, diagonal[i], degrees[i], factor[first:last], soft[first:last])
            continue
        for k in range(len(own)):
            for c in range(p):
                factor[first + k, c] = own[k, c] * scale[i, c]
        if len(own) == 1:
            square = np.sum(factor[first] ** 2)
            if square > 0:
                factor[first] *= np.sqrt(min(1 / (1 + square), _NEAR_ONE / square))
        elif len(own) > 1:
            _, values, vectors = np.linalg.svd(factor[first:last], False)
            for k in range(len(own)):
                square = values[k] ** 2
                factor[first + k] = vectors[k] * np.sqrt(min(square / (1 + square), _NEAR_ONE))
        for k in range(first, last):
            for c in range(p):
                soft[k, c] = degrees[i] * factor[k, c] * scale[i, c]


@njit(cache=True)
def _factorise_dense(rows, diagonal, degree, factor, soft):
    if len(factor) == 0:
        return
    if len(factor) == 1 and len(rows) == 1 and degree <= 0:
        square = np.sum(rows[0] ** 2)
        factor[0] = rows[0] / square if square > 0 else rows[0]
        return
    stacked = np.concatenate((rows, np.diag(np.sqrt(diagonal)))) if diagonal.max() > 0 else rows
    if len(stacked) > rows.shape[1]:
        stacked = np.linalg.qr(stacked)[1]
    _, values, vectors = np.linalg.svd(stacked, False)
    for c in range(len(factor)):
        square = values[c] ** 2 + degree
        if degree > 0:
            soft[c] = vectors[c] * (values[c] * np.sqrt(degree / square))
        if degree > 0 or values[c] > 1e-10 * values[0]:
            factor[c] = vectors[c] / np.sqrt(square)
