"""The graphs of the network lasso: nearest neighbours, a user's matrix, ties of queries."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from sklearn.utils import check_array, gen_batches

from ..checks.inputs import LARGEST
from ..geometry.neighbors import Neighbors

# Rows nearer than this part of the longest row are the same row up to rounding.
_SAME = 1e-12


def neighbor_graph(X, n_neighbors):
    """K nearest neighbours among the distinct rows, with weights 1/distance.

    Identical rows (distance zero, infinite weight) are one node, and so are rows that differ by
    rounding only; the K nearest of a node are other nodes.

    Returns
    -------
    node : int array (n,)
        The node of every row.
    edges : pair of int arrays (E,)
        Ends of each undirected edge, once.
    weights : array (E,)
    """
    distinct, node = np.unique(X, axis=0, return_inverse=True)
    node = node.reshape(-1)
    heads, tails, distances = _nearest_pairs(distinct, n_neighbors)
    same = distances <= _SAME * np.sqrt((distinct**2).sum(axis=1).max(initial=0))
    if same.any():
        n = len(distinct)
        links = sparse.coo_array((np.ones(same.sum()), (heads[same], tails[same])), shape=(n, n))
        groups = connected_components(links, directed=False)[1].astype(np.intp)
        first = np.unique(groups, return_index=True)[1]
        node = groups[node]
        heads, tails, distances = _nearest_pairs(distinct[first], n_neighbors)
    return node, (heads, tails), 1 / distances


def _nearest_pairs(X, n_neighbors):
    """Pairs (low, high) of which one is among the other's K nearest, and their distances."""
    n = len(X)
    n_neighbors = min(n_neighbors, n - 1)
    if n_neighbors == 0:
        nothing = np.zeros(0, dtype=np.intp)
        return nothing, nothing, np.zeros(0)
    neighbors = Neighbors(X, None, None).query(X, n_neighbors + 1)[1]  # every row is its own
    near, far = np.repeat(np.arange(n), neighbors.shape[1]), neighbors.ravel()
    low, high = np.minimum(near, far), np.maximum(near, far)
    pairs = np.unique((low * n + high)[low < high])
    heads, tails = pairs // n, pairs % n
    distances = np.empty(len(pairs))
    for batch in gen_batches(len(pairs), 2**16):
        distances[batch] = np.linalg.norm(X[heads[batch]] - X[tails[batch]], axis=1)
    return heads, tails, distances


def check_graph(graph, n):
    """Edges, each once, and weights of a symmetric non-negative (n, n) matrix."""
    graph = _as_sparse(graph)
    if graph.shape != (n, n):
        raise ValueError(
            f"Expected a graph of shape ({n}, {n}), a row and a column for each sample of X, got "
            f"{graph.shape}. Pass the adjacency matrix of the samples in the order of X."
        )
    if graph.nnz and graph.data.min() < 0:
        raise ValueError(
            f"Expected non-negative weights in graph, got {graph.data.min():g}. Weights are "
            "strengths of ties: use 0 for none, and turn distances into 1/distance."
        )
    difference = abs(graph - graph.T)
    if difference.nnz and difference.max() > 1e-10 * graph.data.max():
        raise ValueError(
            "Expected a symmetric graph, got weights that differ between (j, k) and (k, j) by up "
            f"to {difference.max():g}. Pass graph.maximum(graph.T), or (graph + graph.T) / 2."
        )
    upper = sparse.triu(graph, k=1, format="coo")
    keep = upper.data > 0
    return (upper.row[keep].astype(np.intp), upper.col[keep].astype(np.intp)), upper.data[keep]


def check_ties(alpha, weights):
    """Pulls alpha · weight along the edges, or a refusal where their squares would be lost."""
    with np.errstate(over="ignore", under="ignore"):
        ties = alpha * weights
    if ties.size and not 1 / LARGEST <= ties.min() <= ties.max() <= LARGEST:
        raise ValueError(
            f"alpha times the weights of the graph must lie between {1 / LARGEST} and {LARGEST}, "
            f"but goes from {ties.min():.3g} to {ties.max():.3g}; change alpha, or multiply the "
            "features or the graph by a power of ten"
        )
    return ties


def _as_sparse(graph):
    if not sparse.issparse(graph) and np.ndim(graph) != 2:
        raise ValueError(
            "Expected a graph, a sparse matrix or an array with a row and a column for each "
            f"sample, got a {type(graph).__name__} of {np.ndim(graph)} dimensions. "
            "sklearn.neighbors.kneighbors_graph makes one; sample weights are not supported."
        )
    graph = check_array(graph, accept_sparse="csr", dtype=np.float64, input_name="graph")
    return sparse.csr_array(graph)


def sort_nodes(X, y, edges, weights):
    """Number the samples of a given graph by their values: the fit must not depend on their order.

    Rounding depends on the order of sums, and where an edge is about to fuse that can decide.
    """
    ties = np.bincount(np.concatenate(edges), np.tile(weights, 2), len(X))
    number = np.empty(len(X), dtype=np.intp)
    number[np.lexsort((ties, *y.T[::-1], *X.T[::-1]))] = np.arange(len(X))
    return number, *_renumber(number, edges, weights)


def order_nodes(node, edges, weights):
    """Number the nodes anew so that tied ones are close in memory.

    On large graphs the solver waits for memory: this order saves it a third of its time.
    """
    n = node.max() + 1
    links = sparse.coo_array((np.ones(len(weights)), edges), shape=(n, n)).tocsr()
    number = np.empty(n, dtype=np.intp)
    number[reverse_cuthill_mckee(links + links.T, symmetric_mode=True)] = np.arange(n)
    return number[node], *_renumber(number, edges, weights)


def _renumber(number, edges, weights):
    """The same edges between nodes with new numbers, sorted."""
    heads, tails = np.sort(number[np.stack(edges)], axis=0)
    order = np.lexsort((tails, heads))
    return (heads[order], tails[order]), weights[order]


def merge_samples(X, y, node, fit_intercept):
    """One row a node: a sum of squares over identical rows is that of their scaled mean.

    Σ ||y_i - Wᵀx||² = c ||mean y - Wᵀx||² + Σ ||y_i - mean y||² for c copies of x; the second
    part is returned beside the rows and targets, scaled by √c.
    """
    counts = np.bincount(node)
    first = np.unique(node, return_index=True)[1]
    means = np.zeros((len(counts), y.shape[1]))
    np.add.at(means, node, y)
    means /= counts[:, None]
    rows = X[first]
    if fit_intercept:
        rows = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    scale = np.sqrt(counts)[:, None]
    return rows * scale, means * scale, ((y - means[node]) ** 2).sum()


def inverse_distances(distances):
    """Weights 1/distance, scaled to at most 1; where some distance is 0, those ones only."""
    nearest = distances.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(nearest > 0, nearest / distances, distances == 0).astype(np.float64)


def check_query_graph(graph, shape):
    """Neighbours and weights (q, K) of the rows of a sparse matrix, padded with weight 0."""
    graph = _as_sparse(graph)
    if graph.shape != shape:
        raise ValueError(
            f"Expected a graph of shape {shape}, a row for each query and a column for each "
            f"training sample, got {graph.shape}. Pass the queries' ties to the training samples."
        )
    if graph.nnz and graph.data.min() < 0:
        raise ValueError(
            f"Expected non-negative weights in graph, got {graph.data.min():g}. Weights are "
            "strengths of ties: use 0 for none, and turn distances into 1/distance."
        )
    counts = np.diff(graph.indptr)
    slots = np.arange(max(counts.max(initial=0), 1))
    filled = slots < counts[:, None]
    neighbors = np.zeros(filled.shape, dtype=np.intp)
    weights = np.zeros(filled.shape)
    neighbors[filled] = graph.indices
    weights[filled] = graph.data
    return neighbors, weights
