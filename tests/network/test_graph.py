import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from locallinear import NetworkLassoRegressor
from locallinear.network.graph import neighbor_graph, order_nodes
from reference_network import random_graph

# Oracle


def test_default_graph_is_the_symmetric_neighbor_graph():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    graph = kneighbors_graph(X, 4, mode="distance")
    graph = graph.maximum(graph.T)
    graph.data = 1 / graph.data
    given_graph = NetworkLassoRegressor(tol=1e-8).fit(X, y, graph)
    default = NetworkLassoRegressor(n_neighbors=4, tol=1e-8).fit(X, y)
    assert default.objective_ == pytest.approx(given_graph.objective_, rel=1e-7)


# Equivalences


def test_self_loops_and_dense_or_sparse_graphs_are_equal():
    rng = np.random.default_rng(0)
    X, y, graph = rng.normal(size=(20, 2)), rng.normal(size=20), random_graph(rng, 20)
    plain = NetworkLassoRegressor().fit(X, y, graph)
    looped = NetworkLassoRegressor().fit(X, y, graph + sparse.eye_array(20))
    dense = NetworkLassoRegressor().fit(X, y, graph.toarray())
    assert np.array_equal(plain.coef_, looped.coef_)
    assert np.array_equal(plain.coef_, dense.coef_)


def test_ordering_the_nodes_keeps_the_graph():
    X = np.random.default_rng(0).normal(size=(50, 2))
    node, (heads, tails), weights = neighbor_graph(X, 3)
    ordered, (new_heads, new_tails), new_weights = order_nodes(node, (heads, tails), weights)
    before, after = np.zeros((50, 50)), np.zeros((50, 50))
    before[heads, tails] = before[tails, heads] = weights
    after[new_heads, new_tails] = after[new_tails, new_heads] = new_weights
    assert np.array_equal(before[node][:, node], after[ordered][:, ordered])


# Errors


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (-np.ones((4, 4)), "graph must hold weights that are not negative"),
        (np.triu(np.ones((4, 4))), "graph must be symmetric"),
        (np.ones((3, 3)), r"for each of the 4 samples, but has shape \(3, 3\)"),
        (np.full((4, 4), np.inf), "graph must hold finite numbers, but entry .* is inf"),
    ],
)
def test_bad_graphs_are_refused(graph, message):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match=message):
        NetworkLassoRegressor().fit(X, np.arange(4.0), graph)
