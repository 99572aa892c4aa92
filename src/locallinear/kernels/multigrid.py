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

from locallinear.kernels.aggregates import coarsen
from locallinear.kernels.blocks import Blocks, invert_dense, invert_sparse, pseudo_inverse
from locallinear.kernels.quads import LANES, add_rows, add_scaled, dot, multiply

_FAST = {"reassoc", "contract", "nsz"}  # lets dot products vectorise; keeps nan and inf


class Hierarchy(NamedTuple):
    """Grids as in `aggregates.Grids`, and the inverse blocks of their nodes as in `Blocks`.

    Block s size + i is node i's in set s, size being the number of nodes on all grids.
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
    return Hierarchy(*_build(heads, tails, weights, rows, start, diagonal))


@njit(cache=True)
def _build(heads, tails, weights, rows, start, diagonal):
    grids = coarsen(heads, tails, weights, len(start) - 1)
    blocks = _invert(grids, rows, start, diagonal)
    first, indptr, middle, neighbors, strengths, _, parent, _, _ = grids
    factor, ends, scale, dense = blocks
    return first, indptr, middle, neighbors, strengths, parent, factor, ends, scale, dense


@njit(cache=True)
def _invert(grids, rows, start, diagonal):
    """Inverse blocks of all nodes, each from its rows or from its children's soft blocks."""
    size, n_sets, p = grids.first[-1], len(rows), rows.shape[2]
    ends, dense = _plan(grids, start, diagonal, p)
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
                own, held = _joined(grids, i, shift, ends, soft, stiffness)
            degree = grids.degrees[i]
            Q, Z = factor[ends[k] : ends[k + 1]], soft[ends[k] : ends[k + 1]]
            if degree <= 0:
                pseudo_inverse(own, held, Q)
            elif dense[k]:
                invert_dense(own, held, degree, Q, Z)
            else:
                invert_sparse(own, held, degree, scale[k], Q, Z, stiffness[k])
    return Blocks(factor, ends, scale, dense)


@njit(cache=True)
def _plan(grids, start, diagonal, p):
    """Where each block's factor begins, and which blocks are dense."""
    size, n = grids.first[-1], len(start) - 1
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
                held[shift + i] = diagonal[s, i].max() > 0
            for j in grids.children[grids.bounds[i] : grids.bounds[i + 1]]:
                count += ends[shift + j + 1] - ends[shift + j]
                held[shift + i] |= held[shift + j] and not dense[shift + j]
            dense[shift + i] = count >= p or grids.degrees[i] <= 0
            full = dense[shift + i] and held[shift + i]
            ends[shift + i + 1] = ends[shift + i] + (p if full else min(count, p))
    return ends, dense


@njit(cache=True)
def _joined(grids, i, shift, ends, soft, stiffness):
    """The soft rows of a node's children one after the other, and the sum of their diagonals."""
    children = grids.children[grids.bounds[i] : grids.bounds[i + 1]] + shift
    count = 0
    for j in children:
        count += ends[j + 1] - ends[j]
    rows = np.empty((count, soft.shape[1]))
    diagonal = np.zeros(soft.shape[1])
    count = 0
    for j in children:
        for k in range(ends[j], ends[j + 1]):
            rows[count] = soft[k]
            count += 1
        diagonal += stiffness[j]
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
    all_b[:n] = residual
    all_b[n:] = 0
    b, w, Q, S = all_b.ravel(), all_w.ravel(), factor.ravel(), scale.ravel()
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
    out[:] = all_w[:n]


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
