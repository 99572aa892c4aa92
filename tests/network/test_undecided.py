"""Undecided components: of all optimal models, the one nearest to the model of all samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from locallinear import LocalizedLassoRegressor, NetworkLassoRegressor
from locallinear.kernels.network.problem import make_problem, objective
from locallinear.kernels.network.undecided import nearest_to_all_samples
from reference_network import convex, edges_of


def two_components(rng, large=25, small=3, d=4, m=2):
    """A component that decides its models, and one with fewer samples than coefficients."""
    n = large + small
    X, y = rng.normal(size=(n, d)), rng.normal(size=(n, m))
    part = np.arange(n) >= large
    graph = (part[:, None] == part) & (rng.uniform(size=(n, n)) < 0.4)
    graph |= (np.abs(np.arange(n)[:, None] - np.arange(n)) == 1) & (part[:, None] == part)
    graph = np.triu(graph, k=1) * rng.uniform(0.1, 2, (n, n))
    return X, y, sparse.csr_array(graph + graph.T), part


def projection(X, y, common):
    """By an independent solver: the model nearest to `common` that fits the samples exactly."""
    import cvxpy

    W = cvxpy.Variable(common.shape)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(W - common)), [y == X @ W])
    problem.solve(solver=cvxpy.CLARABEL)
    return W.value


@pytest.mark.parametrize("estimator", [NetworkLassoRegressor, LocalizedLassoRegressor])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_model_is_the_projection_and_the_objective_the_optimum(estimator, alpha, fit_intercept):
    X, y, graph, small = two_components(np.random.default_rng(0))
    options = {"exclusive_alpha": 0.0} if estimator is LocalizedLassoRegressor else {}
    model = estimator(alpha, fit_intercept=fit_intercept, tol=1e-7, **options).fit(X, y, graph)
    rows = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    optimum = convex(rows, y, *edges_of(graph), alpha)
    assert model.objective_ == pytest.approx(optimum, rel=1e-5)
    models = np.concatenate([model.coef_, model.intercept_[:, None]], axis=1)[:, : rows.shape[1]]
    expected = projection(rows[small], y[small], np.linalg.lstsq(rows, y)[0])
    for found in models[small]:
        assert found == pytest.approx(expected, abs=1e-3)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_objective_and_the_differences_stay_and_the_distance_never_grows(seed):
    rng = np.random.default_rng(seed)
    small, d, m = rng.integers(1, 5), rng.integers(2, 6), rng.integers(1, 3)
    X, y, graph, part = two_components(rng, 12, small, d, m)
    edges, weights = edges_of(graph)
    edges = tuple(ends.astype(np.intp) for ends in edges)
    n = len(X)
    problem = make_problem(X, y, np.arange(n), edges, weights, np.zeros(n), np.ones(d, dtype=bool))
    W = rng.normal(size=(n, d, m))
    moved = nearest_to_all_samples(problem, W)
    before, after = (objective(problem, V.swapaxes(1, 2).copy()) for V in (W, moved))
    assert after == pytest.approx(before, rel=1e-9)
    common = np.linalg.lstsq(X, y)[0]
    assert ((moved - common) ** 2).sum() <= ((W - common) ** 2).sum() * (1 + 1e-12)
    assert nearest_to_all_samples(problem, moved) == pytest.approx(moved, abs=1e-9)
    for own in (part, ~part):
        assert np.ptp((moved - W)[own], axis=0) == pytest.approx(0, abs=1e-12)


def test_predictions_near_a_small_component_stay_in_range():
    # y = 100 + sum of the features: the shortest model that fits two samples knows nothing of it.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(62, 8)) + 5
    y = 100 + X.sum(axis=1)
    graph = sparse.lil_array((62, 62))
    for i in range(61):
        if i != 59:
            graph[i, i + 1] = graph[i + 1, i] = 1.0
    model = NetworkLassoRegressor().fit(X, y, graph.tocsr())
    near = X[60:] + rng.normal(size=(2, 8)) / 2
    assert model.predict(near) == pytest.approx(100 + near.sum(axis=1), abs=0.1)
