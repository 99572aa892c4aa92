"""What users may pass to the network lasso beside samples: graphs, and their pull with alpha."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from ..checks.arguments import check_graph, check_not_negative
from ..checks.inputs import LARGEST, finite_numbers
from ..checks.values import check_even

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def check_weighted_graph(graph: Any, n_samples: int) -> tuple[tuple[Rows, Rows], Array]:
    """Edges (E,), each once, and weights (E,) of a symmetric non-negative (n, n) matrix."""
    graph = check_graph(_as_sparse(graph), n_samples)
    difference = abs(graph - graph.T)
    if difference.nnz and difference.max() > 1e-10 * graph.data.max():
        raise ValueError(
            "graph must be symmetric, but weights of (j, k) and (k, j) differ by up to "
            f"{difference.max():g}; pass graph.maximum(graph.T), or (graph + graph.T) / 2"
        )
    upper = sparse.triu(graph, k=1, format="coo")
    return (upper.row.astype(np.intp), upper.col.astype(np.intp)), upper.data


def check_query_graph(graph: Any, shape: tuple[int, int]) -> tuple[Rows, Array]:
    """Neighbours and weights (q, K) of the rows of a (q, n) matrix; a weight of 0 pads rows."""
    graph = _as_sparse(graph)
    if graph.shape != shape:
        raise ValueError(
            f"graph must have a row for each of the {shape[0]} queries and a column for each of "
            f"the {shape[1]} training samples, but has shape {graph.shape}"
        )
    check_not_negative(graph)
    counts = np.diff(graph.indptr)
    filled = np.arange(max(counts.max(initial=0), 1)) < counts[:, None]
    neighbors, weights = np.zeros(filled.shape, dtype=np.intp), np.zeros(filled.shape)
    neighbors[filled], weights[filled] = graph.indices, graph.data
    return neighbors, weights


def check_edge_penalties(alpha: float, weights: Array) -> Array:
    """The penalties alpha · weight (E,), whose squares must be finite and not zero."""
    with np.errstate(over="ignore", under="ignore"):
        penalties = alpha * weights
    if penalties.size and not 1 / LARGEST <= penalties.min() <= penalties.max() <= LARGEST:
        raise ValueError(
            f"alpha times the weights of the graph must lie between {1 / LARGEST} and {LARGEST}, "
            f"but goes from {penalties.min():.3g} to {penalties.max():.3g}; change alpha, or "
            "multiply the features or the graph by a power of ten"
        )
    return penalties


def _as_sparse(graph: Any) -> sparse.csr_array:
    check_even(graph, "graph")
    if not sparse.issparse(graph) and np.ndim(graph) != 2:
        raise ValueError(
            "graph must be a sparse matrix or an array with one row and one column per sample, "
            f"but is a {type(graph).__name__} of {np.ndim(graph)} dimensions; "
            "sklearn.neighbors.kneighbors_graph makes one, and sample weights are not supported"
        )
    if sparse.issparse(graph):
        finite_numbers(graph.data, "graph")
    else:
        graph = finite_numbers(graph, "graph")
    graph = check_array(graph, accept_sparse="csr", dtype=np.float64, input_name="graph")
    return sparse.csr_array(graph)
