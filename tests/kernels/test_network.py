import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.optimize import minimize

from locallinear.kernels.network.blocks import pseudo_inverses
from locallinear.kernels.network.contract import contract
from locallinear.kernels.network.dual import lower_bound, make_routes
from locallinear.kernels.network.geometric_median import geometric_median_weights
from locallinear.kernels.network.multigrid import build_hierarchy, make_space, v_cycle
from locallinear.kernels.network.problem import State, make_problem, objective
from locallinear.kernels.network.solver import solve
from locallinear.kernels.network.system import System, solve_system

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=20, deadline=None)


def random_system(rng, n, p, stiffness=1.0):
    """A ring with chords, one row per node, and their matrix."""
    heads = np.concatenate([np.arange(n), rng.integers(0, n - 2, n // 2)])
    tails = np.concatenate([np.roll(np.arange(n), -1), np.full(n // 2, n - 1)])
    weights = 10 ** rng.uniform(-2, 2, len(heads))
    rows = rng.normal(size=(n, p)) * stiffness
    laplacian = np.zeros((n, n))
    for j, k, c in zip(heads, tails, weights, strict=True):
        laplacian[[j, k], [j, k]] += c
        laplacian[[j, k], [k, j]] -= c
    blocks = block_diag(*[np.outer(x, x) for x in rows])
    matrix = np.kron(laplacian, np.eye(p)) + blocks
    return (heads, tails, weights, rows, np.arange(n + 1), np.zeros((n, p))), matrix


def random_problem(seed, exclusive=0.0):
    rng = np.random.default_rng(seed)
    (heads, tails, weights, X, _, _), _ = random_system(rng, 12, 3)
    return rng, make_problem(
        X,
        rng.normal(size=(12, 2)),
        np.arange(12),
        (heads, tails),
        weights,
        np.full(12, exclusive),
        np.array([True, True, False]),
    )


# Oracle


@few
@given(seed=seeds)
def test_geometric_median_has_the_least_weighted_distance(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(1, 5, 3))
    weights = rng.uniform(0.1, 1, size=(1, 5))

    def cost(z):
        return weights[0] @ np.linalg.norm(points[0] - z, axis=1)

    found = geometric_median_weights(points, weights)[0] @ points[0]
    starts = [*points[0], points[0].mean(axis=0)]
    best = min(minimize(cost, z, method="Nelder-Mead", tol=1e-12).fun for z in starts)
    assert cost(found) <= best * (1 + 1e-8)


@pytest.mark.parametrize("stiffness", [1e-3, 1.0, 1e4])
def test_a_multigrid_cycle_is_symmetric_and_near_the_inverse(stiffness):
    rng = np.random.default_rng(0)
    (*edges, rows, start, diagonal), matrix = random_system(rng, 40, 4, stiffness)
    levels = build_hierarchy(*edges, rows[None], start, diagonal[None])
    space = make_space(levels, (40, 1, 4))
    unit = np.eye(160).reshape(160, 40, 1, 4)
    inverse = np.empty_like(unit)
    for b, w in zip(unit, inverse, strict=True):
        v_cycle(levels, space, b, w)
    inverse = inverse.reshape(160, 160)
    assert inverse == pytest.approx(inverse.T, rel=1e-8, abs=1e-10 * np.abs(inverse).max())
    values = np.linalg.eigvals(inverse @ matrix).real
    assert values.min() > 0.02
    assert values.max() < 4


@pytest.mark.parametrize("exclusive", [True, False])
def test_a_newton_system_is_solved_like_its_dense_matrix(exclusive):
    rng = np.random.default_rng(0)
    n, m, p = 12, 2, 4
    (heads, tails, weights, X, _, _), _ = random_system(rng, n, p)
    A, B = rng.normal(size=(2, len(heads), m, p)) / (2 * m * p)
    diagonal, slopes = np.abs(rng.normal(size=(2, n, m, p))) if exclusive else (None, None)
    free = rng.uniform(size=(n, m, p)) < 0.8 if exclusive else None
    loss = (A * B).sum(axis=(1, 2)) / (m * p)
    b = rng.normal(size=(n, m, p))
    problem = make_problem(
        X,
        np.zeros((n, m)),
        np.arange(n),
        (heads, tails),
        np.ones(len(heads)),
        np.full(n, float(exclusive)),
        np.ones(p, bool),
    )._replace(free=free)
    system = System(problem, weights, loss, A, B, diagonal, slopes, b)

    matrix = np.kron(np.eye(n), np.zeros((m * p, m * p)))
    for e, (j, k, c) in enumerate(zip(heads, tails, weights, strict=True)):
        a, d = A[e].ravel(), B[e].ravel()
        curvature = c * (np.eye(m * p) - (np.outer(a, d) + np.outer(d, a)) / 2)
        difference = np.kron(np.eye(n)[j] - np.eye(n)[k], np.eye(m * p))
        matrix += difference.T @ curvature @ difference
    matrix += block_diag(*[np.kron(np.eye(m), 2 * np.outer(x, x)) for x in X])
    keep = np.ones(b.size, bool)
    if exclusive:
        matrix += np.diag(diagonal.ravel())
        matrix += block_diag(*[np.outer(s, s) for s in slopes.reshape(n * m, p)])
        keep = free.ravel()
    expected = np.zeros(b.size)
    expected[keep] = np.linalg.solve(matrix[np.ix_(keep, keep)], b.ravel()[keep])
    assert solve_system(system, 1e-10).ravel() == pytest.approx(expected, abs=1e-6)


def test_pseudo_inverses_solve_least_squares_for_features_of_very_different_scales():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 4)) * [1e-4, 1, 1e3, 1e4]
    blocks = pseudo_inverses(rows, np.array([0, 30]))
    inverse = blocks.factor.T @ blocks.factor
    scale = np.array([1e-4, 1, 1e3, 1e4])
    expected = np.linalg.inv((rows / scale).T @ (rows / scale)) / np.outer(scale, scale)
    assert inverse == pytest.approx(expected, rel=1e-4)


# Limits


def test_a_point_with_most_of_the_weight_is_the_median_exactly():
    points = np.random.default_rng(0).normal(size=(1, 4, 2))
    weights = np.array([[0.1, 5.0, 0.2, 0.3]])
    assert geometric_median_weights(points, weights).tolist() == [[0, 1, 0, 0]]


def test_the_median_of_three_points_on_a_line_is_the_middle_one():
    points = np.array([[[0.0], [10.0], [1.0]]])
    assert geometric_median_weights(points, np.ones((1, 3))).tolist() == [[0, 0, 1]]


def test_copies_of_a_point_add_their_weights():
    points = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])
    weights = np.array([[0.8, 1.0, 1.0, 0.8]])
    best = geometric_median_weights(points, weights)[0] @ points[0]
    assert best.tolist() == [0, 0]


# Invariances


@few
@given(seed=seeds, exclusive=st.sampled_from([0.0, 0.5]))
def test_every_bound_is_below_every_objective(seed, exclusive):
    rng, problem = random_problem(seed, exclusive)
    flows = rng.normal(size=(len(problem.limits), 2, 3)) * problem.limits[:, None, None]
    duals = rng.normal(size=(12, 2))
    bound = lower_bound(problem, make_routes(problem), flows, duals)
    best = solve(problem, 1e-8, 200)
    assert bound <= best.objective * (1 + 1e-9)
    assert bound <= objective(problem, rng.normal(size=problem.shape))


@few
@given(seed=seeds)
def test_the_gap_of_a_solution_is_within_the_tolerance(seed):
    _, problem = random_problem(seed)
    solution = solve(problem, 1e-6, 200)
    assert solution.converged
    assert solution.labels.dtype == np.intp  # products of two of them must not overflow
    assert 0 <= solution.gap <= 1e-6 * solution.objective
    assert solution.models.shape == (12, 3, 2)
    W = np.ascontiguousarray(solution.models.swapaxes(1, 2))
    assert solution.objective == pytest.approx(objective(problem, W), rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_joining_near_duplicates_costs_next_to_nothing(scale):
    # Nodes 0 and 1 have models that are equal but for rounding, and nearly the same inputs:
    # to keep both predictions to the last digit would take an enormous model.
    rng = np.random.default_rng(0)
    X = scale * rng.normal(size=(4, 3))
    X[1] = X[0] + 1e-7 * scale * rng.normal(size=3)
    W = rng.normal(size=(4, 1, 3))
    W[1] = W[0] + 1e-9 * rng.normal(size=3)
    y = np.einsum("np,nmp->nm", X, W)
    edges = np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3])
    problem = make_problem(X, y, np.arange(4), edges, np.ones(4), np.zeros(4), np.ones(3, bool))
    before = objective(problem, W)
    state = State(W, np.zeros((4, 1, 3)), np.zeros_like(W), before, 0.0, 1e-9, 0)
    closed = np.array([True, False, False, False])
    _, joined, groups = contract(problem, state, closed, np.zeros(W.shape, dtype=bool))
    np.testing.assert_array_equal(groups, [0, 0, 1, 2])
    assert joined.objective == pytest.approx(before, rel=1e-6)


def test_joined_models_predict_where_their_mean_would_not():
    # Large features: models within 1e-3 of each other differ by thousands in their predictions.
    X = 1e6 * np.array([[1.0, 0.0], [0.0, 1.0]])
    W = np.array([[[1.0, 2.0]], [[1.001, 2.001]]])
    y = np.einsum("np,nmp->nm", X, W)
    edges = np.array([0]), np.array([1])
    problem = make_problem(X, y, np.arange(2), edges, np.ones(1), np.zeros(2), np.ones(2, bool))
    state = State(W, np.zeros((1, 1, 2)), np.zeros_like(W), objective(problem, W), 0.0, 1e-9, 0)
    _, joined, _ = contract(problem, state, np.array([True]), np.zeros(W.shape, dtype=bool))
    np.testing.assert_allclose(joined.W, [[[1.0, 2.001]]], rtol=1e-12)
