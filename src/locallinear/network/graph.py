"""The graph of the network lasso: which samples are nodes, and which nodes have edges.

A graph is node (n,), the node of each sample; edges, two arrays (E,) of nodes with each undirected
edge once; and weights (E,).
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from ..geometry.neighbors import Neighbors
from ..runtime.chunks import row_chunks

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Edges = tuple[Rows, Rows]

# Rows nearer than this part of the longest row are the same row up to rounding.
SAME = 1e-12


def neighbor_graph(X: Array, n_neighbors: int) -> tuple[Rows, Edges, Array]:
    """K nearest neighbours among the distinct rows, with weights 1/distance.

    Identical rows (distance zero, infinite weight) are one node, and so are rows that differ by
    rounding only; the K nearest of a node are other nodes.
    """
    distinct, node = np.unique(X, axis=0, return_inverse=True)
    node = node.reshape(-1)
    heads, tails, distances = _nearest_pairs(distinct, n_neighbors)
    same = distances <= SAME * np.sqrt((distinct**2).sum(axis=1).max(initial=0))
    if same.any():
        n = len(distinct)
        links = sparse.coo_array((np.ones(same.sum()), (heads[same], tails[same])), shape=(n, n))
        groups = connected_components(links, directed=False)[1].astype(np.intp)
        first = np.unique(groups, return_index=True)[1]
        node = groups[node]
        heads, tails, distances = _nearest_pairs(distinct[first], n_neighbors)
    return node, (heads, tails), 1 / distances


def _nearest_pairs(X: Array, n_neighbors: int) -> tuple[Rows, Rows, Array]:
    """Pairs (low, high) of which one is among the other's K nearest, and their distances."""
    n, K = len(X), min(n_neighbors, len(X) - 1)
    neighbors = Neighbors(X).query(X, K + 1)[1]  # every row is its own neighbour
    near, far = np.repeat(np.arange(n), K + 1), neighbors.ravel()
    low, high = np.minimum(near, far), np.maximum(near, far)
    pairs = np.unique((low * n + high)[low < high])
    heads, tails = pairs // n, pairs % n
    distances = np.empty(len(pairs))
    for chunk in row_chunks(len(pairs), 3 * X[:1].nbytes):
        distances[chunk] = np.linalg.norm(X[heads[chunk]] - X[tails[chunk]], axis=1)
    return heads, tails, distances


def sort_nodes(X: Array, Y: Array, edges: Edges, weights: Array) -> tuple[Rows, Edges, Array]:
    """One node per sample, numbered by the samples' values: a fit must not depend on their order.

    Rounding depends on the order of sums, and can decide whether an edge fuses.
    """
    degrees = np.bincount(np.concatenate(edges), np.tile(weights, 2), len(X))
    number = np.empty(len(X), dtype=np.intp)
    number[np.lexsort((degrees, *Y.T[::-1], *X.T[::-1]))] = np.arange(len(X))
    return number, *_renumber(number, edges, weights)


def order_nodes(node: Rows, edges: Edges, weights: Array) -> tuple[Rows, Edges, Array]:
    """Number the nodes anew so that neighbours are close in memory.

    On large graphs the solver waits for memory: this order saves a third of its time.
    """
    n = node.max() + 1
    links = sparse.coo_array((np.ones(len(weights)), edges), shape=(n, n)).tocsr()
    number = np.empty(n, dtype=np.intp)
    number[reverse_cuthill_mckee(links + links.T, symmetric_mode=True)] = np.arange(n)
    return number[node], *_renumber(number, edges, weights)


def _renumber(number: Rows, edges: Edges, weights: Array) -> tuple[Edges, Array]:
    """The same edges between nodes with new numbers, sorted."""
    heads, tails = np.sort(number[np.stack(edges)], axis=0)
    order = np.lexsort((tails, heads))
    return (heads[order], tails[order]), weights[order]


def merge_samples(
    X: Array, Y: Array, node: Rows, fit_intercept: bool
) -> tuple[Array, Array, float]:
    """One row per node: a sum of squares over identical rows is that of their scaled mean.

    For c copies of x, Σ ||y_i − Wᵀx||² = c ||mean y − Wᵀx||² + Σ ||y_i − mean y||². Returns rows
    with the constant and targets, both times √c, and the second part, which no model can lower.
    """
    counts = np.bincount(node)
    first = np.unique(node, return_index=True)[1]
    means = np.zeros((len(counts), Y.shape[1]))
    np.add.at(means, node, Y)
    means /= counts[:, None]
    rows = X[first]
    if fit_intercept:
        rows = np.column_stack([rows, np.ones(len(rows))])
    scale = np.sqrt(counts)[:, None]
    return rows * scale, means * scale, ((Y - means[node]) ** 2).sum()
