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

from locallinear.kernels.blocks import Blocks, invert_blocks, solve_block

_FAST = {"reassoc", "contract", "nsz"}  # lets dot products vectorise; keeps nan and inf


class Hierarchy(NamedTuple):
    """All grids, one after the other: grid l has the nodes first[l]:first[l + 1].

    The neighbours of node i are neighbors[indptr[i] : indptr[i + 1]], those before i up to
    middle[i]; parent[i] is the node of the next grid that i is part of, itself on the last.
    """

    first: np.ndarray
    indptr: np.ndarray
    middle: np.ndarray
    neighbors: np.ndarray
    weights: np.ndarray
    blocks: Blocks
    parent: np.ndarray


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
    Hierarchy
    """
    graphs, inverses, parents, first = [], [], [], [0]
    while True:
        n = len(diagonal)
        graph, degrees = _adjacency(heads, tails, weights, n)
        blocks, rows, diagonal = invert_blocks(rows, start, diagonal, degrees)
        aggregates, n_aggregates = _aggregate(graph[0], graph[2], graph[3])
        graphs.append(graph)
        inverses.append(blocks)
        parents.append(aggregates)
        first.append(first[-1] + n)
        if len(heads) == 0:
            return _flatten(graphs, inverses, parents, np.array(first))
        members, bounds = _members(aggregates, n_aggregates)
        heads, tails, weights = _collapse_edges(
            graph[0], graph[2], graph[3], aggregates, members, bounds
        )
        rows, start, diagonal = _join_blocks(rows, blocks.start, diagonal, members, bounds)


def _flatten(graphs, inverses, parents, first):
    """One array a field over all grids, with numbers of nodes and places shifted to match."""
    edges = np.cumsum([0] + [len(graph[2]) for graph in graphs])
    factors = np.cumsum([0] + [len(blocks.factor) for blocks in inverses])
    blocks = Blocks(
        np.concatenate([blocks.factor for blocks in inverses]),
        _shifted_starts([blocks.start for blocks in inverses], factors),
        np.concatenate([blocks.scale for blocks in inverses]),
        np.concatenate([blocks.dense for blocks in inverses]),
    )
    parents[-1] = np.arange(len(parents[-1])) - len(parents[-1])
    return Hierarchy(
        first,
        _shifted_starts([graph[0] for graph in graphs], edges),
        np.concatenate([graph[1] + k for graph, k in zip(graphs, edges, strict=False)]),
        np.concatenate([graph[2] + k for graph, k in zip(graphs, first, strict=False)]),
        np.concatenate([graph[3] for graph in graphs]),
        blocks,
        np.concatenate([parent + k for parent, k in zip(parents, first[1:], strict=True)]),
    )


def _shifted_starts(starts, shifts):
    parts = [start[:-1] + shift for start, shift in zip(starts, shifts, strict=False)]
    return np.concatenate([*parts, shifts[-1:]])


def v_cycle(hierarchy, residual):
    """Approximate solution of A w = residual, an (n, m, p) array: symmetric in residual."""
    first, indptr, middle, neighbors, weights, blocks, parent = hierarchy
    graph = first, indptr, middle, neighbors, weights
    return _cycle(*graph, *blocks, parent, residual)  # type: ignore[call-arg]


@njit(cache=True, fastmath=_FAST)
def _cycle(
    first, indptr, middle, neighbors, weights, factor, start, scale, dense, parent, residual
):
    """Down: a forward Gauss-Seidel sweep from zero a grid. Up: add the next grid, sweep back.

    A forward sweep solves node i exactly with the values of its earlier neighbours, so what is
    left of its equation is the pull of the later ones: that goes to the next grid.
    """
    n, m, p = residual.shape
    n_grids = len(first) - 1
    b = np.zeros((first[n_grids], m, p))
    b[:n] = residual
    w = np.empty_like(b)
    dots = np.empty(p)
    flat_b, flat_w = b.reshape(len(b), m * p), w.reshape(len(b), m * p)
    for grid in range(n_grids):
        for i in range(first[grid], first[grid + 1]):
            _relax(neighbors, weights, indptr[i], middle[i], flat_b, flat_w, i)
            solve_block(factor, start, scale, dense, i, w, dots)
        if grid + 1 < n_grids:
            for i in range(first[grid], first[grid + 1]):
                a = parent[i]
                for e in range(middle[i], indptr[i + 1]):
                    j, weight = neighbors[e], weights[e]
                    for c in range(m * p):
                        flat_b[a, c] += weight * flat_w[j, c]
    for grid in range(n_grids - 2, -1, -1):
        for i in range(first[grid], first[grid + 1]):
            a = parent[i]
            for c in range(m * p):
                flat_w[i, c] += flat_w[a, c]
        for i in range(first[grid + 1] - 1, first[grid] - 1, -1):
            _relax(neighbors, weights, indptr[i], indptr[i + 1], flat_b, flat_w, i)
            solve_block(factor, start, scale, dense, i, w, dots)
    return w[:n]


@njit(cache=True, fastmath=_FAST)
def _relax(neighbors, weights, begin, end, b, w, i):
    """The right-hand side of node i's equation, given some of its neighbours, in w[i]."""
    for c in range(w.shape[1]):
        w[i, c] = b[i, c]
    for e in range(begin, end):
        j, weight = neighbors[e], weights[e]
        for c in range(w.shape[1]):
            w[i, c] += weight * w[j, c]


@njit(cache=True)
def _adjacency(heads, tails, weights, n):
    """Neighbours of every node, earlier ones first, and the nodes' degrees."""
    before = np.zeros(n, dtype=np.int64)
    after = np.zeros(n, dtype=np.int64)
    degrees = np.zeros(n)
    for e in range(len(heads)):
        j, k = min(heads[e], tails[e]), max(heads[e], tails[e])
        after[j] += 1
        before[k] += 1
        degrees[j] += weights[e]
        degrees[k] += weights[e]
    indptr = np.zeros(n + 1, dtype=np.int64)
    middle = np.empty(n, dtype=np.int64)
    for i in range(n):
        middle[i] = indptr[i] + before[i]
        indptr[i + 1] = middle[i] + after[i]
        before[i], after[i] = indptr[i], middle[i]
    neighbors = np.empty(2 * len(heads), dtype=np.int64)
    values = np.empty(2 * len(heads))
    for e in range(len(heads)):
        j, k = min(heads[e], tails[e]), max(heads[e], tails[e])
        neighbors[after[j]], values[after[j]] = k, weights[e]
        neighbors[before[k]], values[before[k]] = j, weights[e]
        after[j] += 1
        before[k] += 1
    return (indptr, middle, neighbors, values), degrees


@njit(cache=True)
def _aggregate(indptr, neighbors, weights):
    """Join every node to its strongest neighbour: numbers of the aggregates, and their count.

    From node to strongest neighbour the edges get stronger (equal ones are ordered by their
    ends), so each walk ends at two nodes that are each other's strongest.
    """
    n = len(indptr) - 1
    strongest = np.full(n, -1)
    for i in range(n):
        best = -1.0
        for e in range(indptr[i], indptr[i + 1]):
            j, k = neighbors[e], strongest[i]
            tie = weights[e] == best and (min(i, j), max(i, j)) < (min(i, k), max(i, k))
            if weights[e] > best or tie:
                best = weights[e]
                strongest[i] = j
    aggregates = np.full(n, -1)
    count = 0
    for i in range(n):
        j = i
        while aggregates[j] < 0 and strongest[j] >= 0 and strongest[strongest[j]] != j:
            j = strongest[j]
        if aggregates[j] < 0:
            aggregates[j] = count
            if strongest[j] >= 0:
                aggregates[strongest[j]] = count
            count += 1
        label = aggregates[j]
        j = i
        while aggregates[j] < 0:
            aggregates[j] = label
            j = strongest[j]
    return aggregates, count


@njit(cache=True)
def _members(aggregates, count):
    """Nodes sorted by aggregate: aggregate a has members[bounds[a] : bounds[a + 1]]."""
    bounds = np.zeros(count + 1, dtype=np.int64)
    for a in aggregates:
        bounds[a + 1] += 1
    bounds = np.cumsum(bounds)
    fill = bounds[:-1].copy()
    members = np.empty(len(aggregates), dtype=np.int64)
    for i in range(len(aggregates)):
        members[fill[aggregates[i]]] = i
        fill[aggregates[i]] += 1
    return members, bounds


@njit(cache=True)
def _collapse_edges(indptr, neighbors, weights, aggregates, members, bounds):
    """Edges between aggregates, parallel ones summed and inner ones dropped."""
    heads = np.empty(len(neighbors) // 2, dtype=np.int64)
    tails = np.empty_like(heads)
    sums = np.zeros(len(heads))
    place = np.full(len(bounds) - 1, -1)  # of the edge from the current aggregate
    count = 0
    for a in range(len(bounds) - 1):
        begin = count
        for i in members[bounds[a] : bounds[a + 1]]:
            for e in range(indptr[i], indptr[i + 1]):
                other = aggregates[neighbors[e]]
                if other <= a:
                    continue
                if place[other] < begin:
                    place[other] = count
                    heads[count], tails[count] = a, other
                    count += 1
                sums[place[other]] += weights[e]
    return heads[:count], tails[:count], sums[:count]


@njit(cache=True)
def _join_blocks(rows, start, diagonal, members, bounds):
    """The rows of each aggregate are those of its nodes, its diagonal is their sum."""
    joined = np.empty_like(rows)
    joined_start = np.zeros(len(bounds), dtype=np.int64)
    sums = np.zeros((len(bounds) - 1, rows.shape[1]))
    count = 0
    for a in range(len(bounds) - 1):
        for i in members[bounds[a] : bounds[a + 1]]:
            for k in range(start[i], start[i + 1]):
                joined[count] = rows[k]
                count += 1
            sums[a] += diagonal[i]
        joined_start[a + 1] = count
    return joined, joined_start, sums
