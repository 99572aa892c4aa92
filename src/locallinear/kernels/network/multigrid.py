"""Aggregation multigrid for graph Laplacians whose nodes have small dense blocks.

The matrix is A = L ⊗ I + blockdiag(R_gᵀ R_g + diag(k_g)), with L the Laplacian of a weighted
graph and R_g (r, p) the few rows (samples) of node g. One V-cycle on it preconditions the Newton
systems of the network lasso: strongly connected nodes are joined first, so groups that are about to
fuse are solved for as one node, with the Gram matrix of all their samples. Where the blocks differ
between targets there is one set of blocks per target, S sets in all, on one graph.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import njit
from . import FAST
from .aggregates import coarsen
from .blocks import invert_dense, invert_sparse, pseudo_inverse

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Hierarchy(NamedTuple):
    """Levels as in `aggregates.Levels`, and the inverses of their nodes' p x p blocks.

    Block s size + i is that of node i in set s, where size is the number of nodes on all levels.
    Its inverse is S(I - QᵢᵀQᵢ)S with S = diag(scale[i]), or QᵢᵀQᵢ where dense[i]; Qᵢ are the rows
    start[i]:start[i + 1] of `factor`.
    """

    first: Rows
    indptr: Rows
    middle: Rows
    neighbors: Rows
    weights: Array
    parent: Rows
    factor: Array
    start: Rows
    scale: Array
    dense: NDArray[np.bool_]


class Space(NamedTuple):
    """Working memory of a cycle: right-hand sides and values on all levels."""

    b: Array
    w: Array


def build_hierarchy(
    heads: Rows, tails: Rows, weights: Array, rows: Array, start: Rows, diagonal: Array
) -> Hierarchy:
    """Levels from the given graph to one node per component, with inverse blocks.

    Parameters
    ----------
    heads, tails, weights : (E,) the edges, each once, and their positive weights
    rows, start : (S, n, p), (G + 1,): in set s, node g has rows[s, start[g]:start[g + 1]]
    diagonal : (S, G, p) non-negative diagonal part of the blocks
    """
    levels = coarsen(heads, tails, weights, len(start) - 1)
    blocks = _invert(levels.degrees, levels.children, levels.bounds, rows, start, diagonal)
    return Hierarchy(*levels[:5], levels.parent, *blocks)


@njit(cache=True, nogil=True)
def _invert(degrees, children, bounds, rows, start, diagonal):
    """Inverse blocks of all nodes, each from its rows or from its children's coarse rows."""
    size, n_sets, p = len(degrees), len(rows), rows.shape[2]
    ends, dense = _plan(degrees, children, bounds, start, diagonal, p)
    factor = np.zeros((ends[-1], p))
    coarse = np.zeros((ends[-1], p))
    scale = np.ones((n_sets * size, p))
    stiffness = np.zeros((n_sets * size, p))  # where dense, it is part of the coarse rows
    for s in range(n_sets):
        shift = s * size
        for i in range(size):
            k = shift + i
            if i < len(start) - 1:
                own, added = rows[s, start[i] : start[i + 1]], diagonal[s, i]
            else:
                parts = children[bounds[i] : bounds[i + 1]]
                own, added = _joined(parts, shift, ends, coarse, stiffness)
            Q, Z = factor[ends[k] : ends[k + 1]], coarse[ends[k] : ends[k + 1]]
            if degrees[i] <= 0:
                pseudo_inverse(own, added, Q)
            elif dense[k]:
                invert_dense(own, added, degrees[i], Q, Z)
            else:
                invert_sparse(own, added, degrees[i], scale[k], Q, Z, stiffness[k])
    return factor, ends, scale, dense


@njit(cache=True, nogil=True)
def _plan(degrees, children, bounds, start, diagonal, p):
    """Where each block's factor begins, and which blocks are dense."""
    size, n_nodes = len(degrees), len(start) - 1
    n_sets = len(diagonal)
    ends = np.zeros(n_sets * size + 1, dtype=np.int64)
    dense = np.empty(n_sets * size, dtype=np.bool_)
    has_diagonal = np.zeros(n_sets * size, dtype=np.bool_)
    for s in range(n_sets):
        shift = s * size
        for i in range(size):
            k, count = shift + i, 0
            if i < n_nodes:
                count = start[i + 1] - start[i]
                for c in range(p):
                    has_diagonal[k] |= diagonal[s, i, c] > 0
            for j in children[bounds[i] : bounds[i + 1]]:
                count += ends[shift + j + 1] - ends[shift + j]
                has_diagonal[k] |= has_diagonal[shift + j] and not dense[shift + j]
            dense[k] = count >= p or degrees[i] <= 0
            full = dense[k] and has_diagonal[k]
            ends[k + 1] = ends[k] + (p if full else min(count, p))
    return ends, dense


@njit(cache=True, nogil=True)
def _joined(children, shift, ends, coarse, stiffness):
    """The coarse rows of a node's children one after the other, and the sum of their diagonals."""
    count, p = 0, coarse.shape[1]
    for j in children:
        count += ends[shift + j + 1] - ends[shift + j]
    rows = np.empty((count, p))
    diagonal = np.zeros(p)
    count = 0
    for j in children:
        for k in range(ends[shift + j], ends[shift + j + 1]):
            for c in range(p):
                rows[count, c] = coarse[k, c]
            count += 1
        for c in range(p):
            diagonal[c] += stiffness[shift + j, c]
    return rows, diagonal


def make_space(hierarchy: Hierarchy, shape: tuple[int, ...]) -> Space:
    """Working memory for cycles on arrays of this shape (G, m, p)."""
    b = np.empty((hierarchy.first[-1], *shape[1:]))
    return Space(b, np.empty_like(b))


def v_cycle(hierarchy: Hierarchy, space: Space, residual: Array, out: Array) -> None:
    """Approximate solution of A w = residual, both (G, m, p): symmetric in residual."""
    space.b[: len(residual)] = residual
    space.b[len(residual) :] = 0.0
    # Array by array: a call with a named tuple of them takes numba ten times as long.
    _cycle(*hierarchy, *space)
    out[:] = space.w[: len(residual)]


@njit(cache=True, nogil=True, fastmath=FAST)
def _cycle(
    first, indptr, middle, neighbors, weights, parent, factor, start, scale, dense,
    b, w,
):  # fmt: skip
    """Down: a forward Gauss-Seidel sweep from zero per level. Up: add the next level, sweep back.

    A forward sweep solves node i exactly with the values of its neighbours of lower numbers, so
    what is left of its equation is the pull of the others: that goes to the next level.
    """
    m, p = b.shape[1:]
    n_levels = len(first) - 1
    stride = 0 if len(dense) == first[n_levels] else first[n_levels]
    total = np.empty((m, p))
    for level in range(n_levels):
        for i in range(first[level], first[level + 1]):
            _pull(b, i, neighbors, weights, indptr[i], middle[i], w, total)
            _solve_blocks(factor, start, scale, dense, stride, i, total, w)
        if level + 1 < n_levels:
            for i in range(first[level], first[level + 1]):
                _pull(b, parent[i], neighbors, weights, middle[i], indptr[i + 1], w, total)
                for t in range(m):
                    for c in range(p):
                        b[parent[i], t, c] = total[t, c]
    for level in range(n_levels - 2, -1, -1):
        for i in range(first[level], first[level + 1]):
            for t in range(m):
                for c in range(p):
                    w[i, t, c] += w[parent[i], t, c]
        for i in range(first[level + 1] - 1, first[level] - 1, -1):
            _pull(b, i, neighbors, weights, indptr[i], indptr[i + 1], w, total)
            _solve_blocks(factor, start, scale, dense, stride, i, total, w)


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def _pull(b, i, neighbors, weights, begin, end, w, total):
    """Total = b_i + Σ_e weight_e w_neighbour(e) over the edges begin:end."""
    m, p = total.shape
    for t in range(m):
        for c in range(p):
            total[t, c] = b[i, t, c]
    for e in range(begin, end):
        j, weight = neighbors[e], weights[e]
        for t in range(m):
            for c in range(p):
                total[t, c] += weight * w[j, t, c]


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def _solve_blocks(factor, start, scale, dense, stride, i, b, w):
    """w_i = inverse blocks of node i times b (m, p), which is overwritten."""
    m, p = b.shape
    for t in range(m):
        k = i + t * stride
        if dense[k]:
            for c in range(p):
                w[i, t, c] = 0.0
            for row in range(start[k], start[k + 1]):
                product = 0.0
                for c in range(p):
                    product += factor[row, c] * b[t, c]
                for c in range(p):
                    w[i, t, c] += product * factor[row, c]
        else:
            for c in range(p):
                b[t, c] *= scale[k, c]
                w[i, t, c] = b[t, c]
            for row in range(start[k], start[k + 1]):
                product = 0.0
                for c in range(p):
                    product += factor[row, c] * b[t, c]
                for c in range(p):
                    w[i, t, c] -= product * factor[row, c]
            for c in range(p):
                w[i, t, c] *= scale[k, c]
