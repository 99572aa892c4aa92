"""Coarser and coarser graphs: every node is joined to its strongest neighbour.

Importing this module imports numba; import it where it is used.
"""

from typing import NamedTuple

import numpy as np
from numba import njit


class Grids(NamedTuple):
    """All grids, one after the other: grid l has the nodes first[l]:first[l + 1].

    The neighbours of node i are neighbors[indptr[i] : indptr[i + 1]], those before i up to
    middle[i]; degrees[i] is the sum of their weights. parent[i] is the node of the next grid
    that i is part of (itself on the last), and children[bounds[i] : bounds[i + 1]] are the
    nodes of the grid before that are part of i.
    """

    first: np.ndarray
    indptr: np.ndarray
    middle: np.ndarray
    neighbors: np.ndarray
    weights: np.ndarray
    degrees: np.ndarray
    parent: np.ndarray
    children: np.ndarray
    bounds: np.ndarray


def coarsen(heads, tails, weights, n):
    """Grids from the finest, n nodes with these edges, to one node a component."""
    return Grids(*_coarsen(heads, tails, weights, n))


@njit(cache=True)
def _coarsen(heads, tails, weights, n):
    levels = []
    sizes = [n]
    while True:
        graph, degrees = _adjacency(heads, tails, weights, n)
        aggregates, count = _aggregate(graph[0], graph[2], graph[3])
        members, bounds = _members(aggregates, count)
        levels.append((*graph, degrees, aggregates, members, bounds))
        if len(heads) == 0 or count == n:  # without progress, the weights are no numbers
            return _flatten(levels, sizes)
        heads, tails, weights = _collapse_edges(
            graph[0], graph[2], graph[3], aggregates, members, bounds
        )
        n = count
        sizes.append(n)


@njit(cache=True)
def _flatten(levels, sizes):
    """One array a field over all grids, with numbers of nodes and places shifted to match."""
    n_edges = 0
    first = np.zeros(len(sizes) + 1, dtype=np.int64)
    for grid in range(len(sizes)):
        n_edges += len(levels[grid][2])
        first[grid + 1] = first[grid] + sizes[grid]
    size = first[-1]
    indptr, middle = np.zeros(size + 1, dtype=np.int64), np.empty(size, dtype=np.int64)
    neighbors, weights = np.empty(n_edges, dtype=np.int64), np.empty(n_edges)
    degrees, parent = np.empty(size), np.arange(size)
    children, bounds = np.empty(size, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    edge = 0
    for grid in range(len(sizes)):
        starts, middles, others, values, sums, aggregates, members, ends = levels[grid]
        begin, end = first[grid], first[grid + 1]
        for i in range(end - begin):
            indptr[begin + i + 1] = starts[i + 1] + edge
            middle[begin + i] = middles[i] + edge
            degrees[begin + i] = sums[i]
        for e in range(len(others)):
            neighbors[edge + e] = others[e] + begin
            weights[edge + e] = values[e]
        if grid + 1 < len(sizes):
            for i in range(end - begin):
                parent[begin + i] = aggregates[i] + end
                children[begin + i] = members[i] + begin
            for a in range(sizes[grid + 1]):
                bounds[end + a + 1] = ends[a + 1] + begin
        edge += len(others)
    return first, indptr, middle, neighbors, weights, degrees, parent, children, bounds


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
    for a in range(count):
        bounds[a + 1] += bounds[a]
    fill = bounds.copy()
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
