"""Coarser and coarser graphs: every node is joined to its strongest neighbour."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import njit

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Levels(NamedTuple):
    """The graphs of all levels in one set of arrays: level l has the nodes first[l]:first[l + 1].

    The neighbours of node i are neighbors[indptr[i] : indptr[i + 1]], those with a lower number
    up to middle[i]; degrees[i] is the sum of the edges' weights. parent[i] is the node of the next
    level that i is part of (itself on the last), and children[bounds[i] : bounds[i + 1]] are the
    nodes of the level before that are part of i.
    """

    first: Rows
    indptr: Rows
    middle: Rows
    neighbors: Rows
    weights: Array
    degrees: Array
    parent: Rows
    children: Rows
    bounds: Rows


def coarsen(heads: Rows, tails: Rows, weights: Array, n_nodes: int) -> Levels:
    """Levels from the graph itself, with edges of these weights, to one node per component."""
    return Levels(*_coarsen(heads, tails, weights, n_nodes))


@njit(cache=True, nogil=True)
def _coarsen(heads, tails, weights, n_nodes):
    levels = []
    sizes = [n_nodes]
    while True:
        graph, degrees = _adjacency(heads, tails, weights, n_nodes)
        aggregates, count = _aggregate(graph[0], graph[2], graph[3])
        members, bounds = _members(aggregates, count)
        levels.append((*graph, degrees, aggregates, members, bounds))
        if len(heads) == 0 or count == n_nodes:  # no node is joined where the weights are nan
            return _concatenate(levels, sizes)
        heads, tails, weights = _collapse_edges(
            graph[0], graph[2], graph[3], aggregates, members, bounds
        )
        n_nodes = count
        sizes.append(count)


@njit(cache=True, nogil=True)
def _concatenate(levels, sizes):
    """The fields of `Levels`: numbers of nodes and positions are shifted by those before them."""
    n_edges = 0
    first = np.zeros(len(sizes) + 1, dtype=np.int64)
    for level in range(len(sizes)):
        n_edges += len(levels[level][2])
        first[level + 1] = first[level] + sizes[level]
    size = first[-1]
    indptr, middle = np.zeros(size + 1, dtype=np.int64), np.empty(size, dtype=np.int64)
    neighbors, weights = np.empty(n_edges, dtype=np.int64), np.empty(n_edges)
    degrees, parent = np.empty(size), np.arange(size)
    children, bounds = np.empty(size, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    edge = 0
    for level in range(len(sizes)):
        starts, middles, others, values, sums, aggregates, members, ends = levels[level]
        begin, end = first[level], first[level + 1]
        for i in range(end - begin):
            indptr[begin + i + 1] = starts[i + 1] + edge
            middle[begin + i] = middles[i] + edge
            degrees[begin + i] = sums[i]
        for e in range(len(others)):
            neighbors[edge + e] = others[e] + begin
            weights[edge + e] = values[e]
        if level + 1 < len(sizes):
            for i in range(end - begin):
                parent[begin + i] = aggregates[i] + end
                children[begin + i] = members[i] + begin
            for a in range(sizes[level + 1]):
                bounds[end + a + 1] = ends[a + 1] + begin
        edge += len(others)
    return first, indptr, middle, neighbors, weights, degrees, parent, children, bounds


@njit(cache=True, nogil=True)
def _adjacency(heads, tails, weights, n_nodes):
    """Neighbours of every node, lower numbers first, and the nodes' degrees."""
    before = np.zeros(n_nodes, dtype=np.int64)
    after = np.zeros(n_nodes, dtype=np.int64)
    degrees = np.zeros(n_nodes)
    for e in range(len(heads)):
        j, k = min(heads[e], tails[e]), max(heads[e], tails[e])
        after[j] += 1
        before[k] += 1
        degrees[j] += weights[e]
        degrees[k] += weights[e]
    indptr = np.zeros(n_nodes + 1, dtype=np.int64)
    middle = np.empty(n_nodes, dtype=np.int64)
    for i in range(n_nodes):
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


@njit(cache=True, nogil=True)
def _aggregate(indptr, neighbors, weights):
    """The aggregate of each node, and how many there are: every node and its strongest neighbour.

    From node to strongest neighbour the edges get stronger (equal ones are ordered by their
    ends), so each walk ends at two nodes of which each is the other's strongest neighbour.
    """
    n_nodes = len(indptr) - 1
    strongest = np.full(n_nodes, -1)
    for i in range(n_nodes):
        best = -1.0
        for e in range(indptr[i], indptr[i + 1]):
            j, k = neighbors[e], strongest[i]
            tie = weights[e] == best and (min(i, j), max(i, j)) < (min(i, k), max(i, k))
            if weights[e] > best or tie:
                best = weights[e]
                strongest[i] = j
    aggregates = np.full(n_nodes, -1)
    count = 0
    for i in range(n_nodes):
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


@njit(cache=True, nogil=True)
def _members(aggregates, count):
    """Nodes sorted by aggregate: aggregate a has members[bounds[a] : bounds[a + 1]]."""
    bounds = np.zeros(count + 1, dtype=np.int64)
    for a in aggregates:
        bounds[a + 1] += 1
    for a in range(count):
        bounds[a + 1] += bounds[a]
    following = bounds.copy()
    members = np.empty(len(aggregates), dtype=np.int64)
    for i in range(len(aggregates)):
        members[following[aggregates[i]]] = i
        following[aggregates[i]] += 1
    return members, bounds


@njit(cache=True, nogil=True)
def _collapse_edges(indptr, neighbors, weights, aggregates, members, bounds):
    """Edges between aggregates: the weights of parallel edges are added, inner edges dropped."""
    heads = np.empty(len(neighbors) // 2, dtype=np.int64)
    tails = np.empty_like(heads)
    sums = np.zeros(len(heads))
    edge_to = np.full(len(bounds) - 1, -1)  # from aggregate a, where it is at least `begin`
    count = 0
    for a in range(len(bounds) - 1):
        begin = count
        for i in members[bounds[a] : bounds[a + 1]]:
            for e in range(indptr[i], indptr[i + 1]):
                other = aggregates[neighbors[e]]
                if other <= a:
                    continue
                if edge_to[other] < begin:
                    edge_to[other] = count
                    heads[count], tails[count] = a, other
                    count += 1
                sums[edge_to[other]] += weights[e]
    return heads[:count], tails[:count], sums[:count]
