"""Aggregation multigrid for graph Laplacians whose nodes carry small dense blocks.

The matrix is A = L ⊗ I + blockdiag(Rᵢᵀ Rᵢ + diag(kᵢ)), with L the Laplacian of a weighted
graph and Rᵢ the few rows (samples) that node i owns. One V-cycle on it preconditions the
Newton systems of the network lasso: strongly tied nodes are joined first, so groups that are
about to fuse are solved for as one node, with the Gram matrix of all their samples. Where the
blocks differ between targets there is a set of blocks a target, on one graph.

Rows have a multiple of four columns. Importing this module imports numba; import it where it is
used.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from .aggregates import coarsen
from .blocks import invert_dense, invert_sparse, pseudo_inverse
from .quads import LANES, add_rows, add_scaled, dot, multiply

_FAST = {"reassoc", "contract", "nsz"}  # lets dot products vectorise; keeps nan and inf


class Hierarchy(NamedTuple):
    """Grids as in `aggregates.Grids`, and the inverses of their nodes' p x p blocks.

    Block s size + i is node i's in set s, size being the number of nodes on all grids. Its
    inverse is S(I - QᵢᵀQᵢ)S with S = diag(scale[i]), or QᵢᵀQᵢ where dense[i], with Qᵢ the rows
    start[i]:start[i + 1] of `factor`.
    """

    first: np.ndarray
    indptr: np.ndarray
    middle: np.ndarray
    neighbors: np.ndarray
    weights: np.ndarray
    parent: np.ndarray
    factor: np.ndarray
    start: np.ndarray
    scale: np.ndarray
    dense: np.ndarray


class Space(NamedTuple):
    """Working space of a cycle: right-hand sides and values on all grids, and for block solves.

    rows are the numbers of the factor's rows, dots their products, zero (p,) zeros.
    """

    b: np.ndarray
    w: np.ndarray
    rows: np.ndarray
    dots: np.ndarray
    zero: np.ndarray


def build_hierarchy(heads, tails, weights, rows, start, diagonal):
    """Grids from the finest to one node a component.

    Parameters
    ----------
    heads, tails : int arrays (E,)
        The edges, each once.
    weights : array (E,)
        Positive weights of the edges.
    rows, start : array (S, R, p), int array (n + 1,)
        In set s, node i owns rows[s, start[i]:start[i + 1]].
    diagonal : array (S, n, p)
        Non-negative diagonal part of the blocks.

    Returns
    -------
    Hierarchy
    """
    grids = coarsen(heads, tails, weights, len(start) - 1)
    shape = grids.degrees, grids.children, grids.bounds
    blocks = _invert(*shape, rows, start, diagonal)
    return Hierarchy(*grids[:5], grids.parent, *blocks)  # type: ignore[call-arg]


@njit(cache=True)
def _invert(degrees, children, bounds, rows, start, diagonal):
    """Inverse blocks of all nodes, each from its rows or from its children's soft blocks."""
    size, n_sets, p = len(degrees), len(rows), rows.shape[2]
    ends, dense = _plan(degrees, children, bounds, start, diagonal, p)
    factor = np.zeros((ends[-1], p))
    soft = np.zeros((ends[-1], p))
    scale = np.ones((n_sets * size, p))
    stiffness = np.zeros((n_sets * size, p))  # where dense, it is held in the soft rows
    for s in range(n_sets):
        shift = s * size
        for i in range(size):
            k = shift + i
            if i < len(start) - 1:
                own, held = rows[s, start[i] : start[i + 1]], diagonal[s, i]
            else:
                parts = children[bounds[i] : bounds[i + 1]]
                own, held = _joined(parts, shift, ends, soft, stiffness)
            Q, Z = factor[ends[k] : ends[k + 1]], soft[ends[k] : ends[k + 1]]
            if degrees[i] <= 0:
                pseudo_inverse(own, held, Q)
            elif dense[k]:
                invert_dense(own, held, degrees[i], Q, Z)
            else:
                invert_sparse(own, held, degrees[i], scale[k], Q, Z, stiffness[k])
    return factor, ends, scale, dense


@njit(cache=True)
def _plan(degrees, children, bounds, start, diagonal, p):
    """Where each block's factor begins, and which blocks are dense."""
    size, n = len(degrees), len(start) - 1
    n_sets = len(diagonal)
    ends = np.zeros(n_sets * size + 1, dtype=np.int64)
    dense = np.empty(n_sets * size, dtype=np.bool_)
    held = np.zeros(n_sets * size, dtype=np.bool_)
    for s in range(n_sets):
        shift = s * size
        for i in range(size):
            count = 0
            if i < n:
                count = start[i + 1] - start[i]
                for c in range(p):
                    held[shift + i] |= diagonal[s, i, c] > 0
            for j in children[bounds[i] : bounds[i + 1]]:
                count += ends[shift + j + 1] - ends[shift + j]
                held[shift + i] |= held[shift + j] and not dense[shift + j]
            dense[shift + i] = count >= p or degrees[i] <= 0
            full = dense[shift + i] and held[shift + i]
            ends[shift + i + 1] = ends[shift + i] + (p if full else min(count, p))
    return ends, dense


@njit(cache=True)
def _joined(children, shift, ends, soft, stiffness):
    """The soft rows of a node's children one after the other, and the sum of their diagonals."""
    count, p = 0, soft.shape[1]
    for j in children:
        count += ends[shift + j + 1] - ends[shift + j]
    rows = np.empty((count, p))
    diagonal = np.zeros(p)
    count = 0
    for j in children:
        for k in range(ends[shift + j], ends[shift + j + 1]):
            for c in range(p):
                rows[count, c] = soft[k, c]
            count += 1
        for c in range(p):
            diagonal[c] += stiffness[shift + j, c]
    return rows, diagonal


def make_space(hierarchy, shape):
    """Working space for cycles on arrays of this shape (n, m, p)."""
    b = np.empty((hierarchy.first[-1], *shape[1:]))
    count = len(hierarchy.factor)
    return Space(b, np.empty_like(b), np.arange(count), np.empty(count), np.zeros(shape[2]))


def v_cycle(hierarchy, space, residual, out):
    """Approximate solution of A w = residual, an (n, m, p) array: symmetric in residual."""
    # One array after the other: numba takes tenfold the time to look into tuples.
    _cycle(*hierarchy, *space, residual, out)  # type: ignore[call-arg]


@njit(cache=True, fastmath=_FAST)
def _cycle(
    first, indptr, middle, neighbors, weights, parent, factor, start, scale, dense,
    all_b, all_w, rows, dots, zero, residual, out,
):  # fmt: skip
    """Down: a forward Gauss-Seidel sweep from zero a grid. Up: add the next grid, sweep back.

    A forward sweep solves node i exactly with the values of its earlier neighbours, so what is
    left of its equation is the pull of the later ones: that goes to the next grid.
    """
    n, m, p = residual.shape
    q, n_grids = m * p, len(first) - 1
    stride = 0 if len(dense) == first[n_grids] else first[n_grids]
    b, w, Q, S = all_b.ravel(), all_w.ravel(), factor.ravel(), scale.ravel()
    given, found = residual.ravel(), out.ravel()
    for c in range(n * q):
        b[c] = given[c]
    for c in range(n * q, len(b)):
        b[c] = 0.0
    for grid in range(n_grids):
        for i in range(first[grid], first[grid + 1]):
            _pull(neighbors, weights, indptr[i], middle[i], b, i * q, w, w, i * q, q)
            for t in range(m):
                k = i + t * stride
                _solve_block(Q, start, S, dense, k, rows, dots, zero, w, i * q + t * p, p)
        if grid + 1 < n_grids:
            for i in range(first[grid], first[grid + 1]):
                a = parent[i] * q
                _pull(neighbors, weights, middle[i], indptr[i + 1], b, a, w, b, a, q)
    for grid in range(n_grids - 2, -1, -1):
        for i in range(first[grid], first[grid + 1]):
            for c in range(0, q, LANES):
                add_scaled(w, i * q + c, w, parent[i] * q + c, 1.0)
        for i in range(first[grid + 1] - 1, first[grid] - 1, -1):
            _pull(neighbors, weights, indptr[i], indptr[i + 1], b, i * q, w, w, i * q, q)
            for t in range(m):
                k = i + t * stride
                _solve_block(Q, start, S, dense, k, rows, dots, zero, w, i * q + t * p, p)
    for c in range(n * q):
        found[c] = w[c]


@njit(cache=True, fastmath=_FAST, inline="always")
def _pull(neighbors, weights, begin, end, base, start, w, out, at, q):
    """out[at : at + q] = base[start : start + q] + Σ weight w_neighbour over places of edges."""
    for c in range(0, q, LANES):
        add_rows(out, at + c, base, start + c, w, c, q, neighbors, weights, begin, end)


@njit(cache=True, fastmath=_FAST, inline="always")
def _solve_block(factor, start, scale, dense, i, rows, dots, zero, w, at, p):
    """Apply inverse block i to w[at : at + p] in place; arrays are flat."""
    begin, end = start[i], start[i + 1]
    if dense[i]:
        for k in range(begin, end):
            dots[k] = dot(factor, k * p, w, at, p // LANES)
        for c in range(0, p, LANES):
            add_rows(w, at + c, zero, c, factor, c, p, rows, dots, begin, end)
    else:
        for c in range(0, p, LANES):
            multiply(w, at + c, scale, i * p + c)
        for k in range(begin, end):
            dots[k] = -dot(factor, k * p, w, at, p // LANES)
        for c in range(0, p, LANES):
            add_rows(w, at + c, w, at + c, factor, c, p, rows, dots, begin, end)
            multiply(w, at + c, scale, i * p + c)
