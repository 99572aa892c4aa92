"""The paper's theorem: the closed form is the global minimum over model and mixture."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.optimize import minimize

from locallinear import FALLRegressor
from locallinear.kernels.local.probabilities import nearest_probabilities


def objective(x, y, A, alpha, W, p):
    """J_i(W, p) of the paper; x carries the constant feature, A is (k, d, m)."""
    distances = ((W - A) ** 2).sum(axis=(1, 2))
    return ((y - W.T @ x) ** 2).sum() + alpha * p @ distances


@st.composite
def small_problems(draw):
    """A model fitted without scaling on a-priori anchors, and its data with the constant."""
    seed, alpha = draw(st.integers(0, 2**31)), draw(st.sampled_from([1e-2, 0.3, 1.0, 20.0]))
    n, d, m, k = 5, draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X, Y, A = rng.normal(size=(n, d)), rng.normal(size=(n, m)), rng.normal(size=(k, d + 1, m))
    model = FALLRegressor(anchor_models=A, alpha=alpha, n_neighbors=1, scaling=None).fit(X, Y)
    return model, np.column_stack([X, np.ones(n)]), Y, A, rng


def values_at_the_solution(model, X, Y, A):
    k = len(A)
    return [
        objective(x, y, A, model.alpha, W, np.eye(k)[label])
        for x, y, W, label in zip(X, Y, model.local_models(), model.labels_, strict=True)
    ]


@given(small_problems())
def test_no_random_feasible_pair_beats_the_solution(problem):
    model, X, Y, A, rng = problem
    best = values_at_the_solution(model, X, Y, A)
    for i, W in enumerate(model.local_models()):
        for spread in [1e-3, 1e-1, 1.0]:
            for p in rng.dirichlet(np.full(len(A), 0.3), size=20):
                candidate = W + spread * rng.normal(size=W.shape)
                value = objective(X[i], Y[i], A, model.alpha, candidate, p)
                assert value >= best[i] * (1 - 1e-12)


@given(small_problems())
def test_no_mixture_with_its_own_best_model_beats_the_solution(problem):
    model, X, Y, A, rng = problem
    best = values_at_the_solution(model, X, Y, A)
    d = X.shape[1]
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        for p in rng.dirichlet(np.full(len(A), 0.3), size=50):
            mixture = np.tensordot(p, A, axes=1)
            normal = np.outer(x, x) + model.alpha * np.eye(d)
            W = np.linalg.solve(normal, np.outer(x, y) + model.alpha * mixture)
            assert objective(x, y, A, model.alpha, W, p) >= best[i] * (1 - 1e-9)


@settings(max_examples=8)
@given(small_problems())
def test_no_numerical_solver_from_any_start_beats_the_solution(problem):
    model, X, Y, A, rng = problem
    best = values_at_the_solution(model, X, Y, A)
    shape, k = A.shape[1:], len(A)

    def value(theta, x, y):
        p = nearest_probabilities(theta[None, :k])[0]
        return objective(x, y, A, model.alpha, theta[k:].reshape(shape), p)

    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        found = [
            minimize(value, rng.normal(size=k + shape[0] * shape[1]), (x, y)).fun for _ in range(5)
        ]
        assert min(found) >= best[i] * (1 - 1e-6) - 1e-12


@given(small_problems())
def test_the_gradient_vanishes_at_every_local_model(problem):
    model, X, Y, A, _ = problem
    for x, y, W, label in zip(X, Y, model.local_models(), model.labels_, strict=True):
        gradient = np.outer(x, W.T @ x - y) + model.alpha * (W - A[label])
        assert np.abs(gradient).max() <= 1e-12 * (1 + model.alpha)


@pytest.mark.parametrize("assignment_neighbors", [1, 4])
def test_assignment_does_not_depend_on_the_pull_towards_the_anchors(
    make_problem, assignment_neighbors
):
    X, y, _ = make_problem()
    labels = [
        FALLRegressor(
            10,
            anchor_alpha=0.01,
            alpha=alpha,
            assignment_neighbors=assignment_neighbors,
            random_state=0,
        )
        .fit(X, y)
        .labels_
        for alpha in [1e-6, 1.0, 1e6]
    ]
    assert len(np.unique(labels[0])) > 1
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[0], labels[2])


def test_of_very_many_samples_some_decide_and_each_decides_for_itself(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 0, 2 * X[:, 1], -3 * X[:, 2]) + 0.1 * rng.normal(size=300)
    options = {"n_anchors": 8, "n_anchor_neighbors": 40, "random_state": 0}
    expected = FALLRegressor(**options, assignment_neighbors=5).fit(X, y)
    monkeypatch.setattr("locallinear.models.assignment.MAX_DECIDING", 100)
    model = FALLRegressor(**options, assignment_neighbors=5).fit(X, y)
    deciding = np.arange(0, 300, 3)
    residuals = y[:, None] - X @ model.anchor_models_[:, :-1, 0].T - model.anchor_models_[:, -1, 0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for i in range(300):
        order = np.argsort(((Z[deciding] - Z[i]) ** 2).sum(axis=1))
        near = [j for j in deciding[order] if j != i][:4]
        assert model.labels_[i] == np.argmin((residuals[[i, *near]] ** 2).sum(axis=0))
    assert 0.5 < np.mean(model.labels_ == expected.labels_) < 1
    alone = FALLRegressor(**options).fit(X, y)
    assert_array_equal(alone.labels_, np.argmin(residuals**2, axis=1))
