"""Graphs that are none are refused in one sentence."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from locallinear import FALLRegressor, NetworkLassoRegressor

N = 40
X = np.random.default_rng(0).normal(size=(N, 3))
y = X[:, 0]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1j])
def test_graphs_of_no_real_numbers_are_refused(value):
    graph = sparse.csr_array(np.eye(N, k=1) + np.eye(N, k=-1)).astype(type(value))
    graph.data[3] = value
    with pytest.raises(ValueError, match="graph must hold finite real numbers, but holds"):
        FALLRegressor(5).fit(X, y, graph=graph)


@pytest.mark.parametrize("estimator", [FALLRegressor, NetworkLassoRegressor])
def test_negative_weights_of_a_graph_are_refused(estimator):
    graph = sparse.csr_array(-np.eye(N, k=1) - np.eye(N, k=-1))
    with pytest.raises(ValueError, match="graph must hold weights that are not negative, but one"):
        estimator().fit(X, y, graph=graph)


def test_a_masked_graph_is_refused():
    graph = np.ma.array(np.eye(N, k=1) + np.eye(N, k=-1), mask=np.eye(N) > 0)
    with pytest.raises(ValueError, match=r"graph must .* entry \(0, 0\) is masked"):
        NetworkLassoRegressor().fit(X, y, graph)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ([[0, 1], [1]], "graph must have rows of one length, but has rows of 1 and of 2"),
        (
            [[10**400, 1], [1, 0]],
            r"graph must hold finite numbers, but entry \(0, 0\) is inf",
        ),
        ([[0, pd.NA], [pd.NA, 0]], r"graph must hold finite numbers, but entry \(0, 1\) is nan"),
        (pd.NA, "graph must be a sparse matrix or an array with one row and one column per"),
        ([0, 1], "graph must be a sparse matrix or an array with one row and one column per"),
    ],
)
def test_graphs_in_lists_that_are_none_are_refused(graph, words):
    with pytest.raises(ValueError, match=words):
        NetworkLassoRegressor().fit(X[:2], y[:2], graph)
