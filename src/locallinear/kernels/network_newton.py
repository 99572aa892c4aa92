"""One Newton step on the smoothed optimality conditions of the network lasso.

With D = W_j - W_k, η = √(||D||² + ε²) and flows U, the condition η U = λ D is linearised in
both, which gives the edge the curvature (λ/η)(I - (A Bᵀ + B Aᵀ)/2), A = U/λ, B = D/η. The
coefficients of the exclusive norm are treated alike, with s = w/√(w² + δ²) and signs in
[-1, 1]. The linear system is solved by conjugate gradients with a multigrid cycle.
"""

from typing import NamedTuple

import numpy as np

from locallinear.kernels.edges import (
    add_product,
    add_samples,
    advance,
    curve,
    differences,
    divergence,
    norms,
    predict_samples,
    turn,
)
from locallinear.kernels.multigrid import build_hierarchy, v_cycle

_CG_STEPS = 500


class Step(NamedTuple):
    """Where to go (direction, with the slope of the smoothed objective), and the new duals.

    flows (E, m, p) balance duals (N, m) = 2 (y - prediction) up to the linear solver's error.
    """

    direction: np.ndarray
    slope: float
    flows: np.ndarray
    duals: np.ndarray
    signs: np.ndarray


def smoothing_widths(problem, W, mu, scale):
    """Widths ε (E,) of the edges and δ (n, m) of the coefficients.

    Each smoothed norm adds at most mu to the gap: λ ε <= mu, and 2 b ||w||₁ δ <= mu.
    """
    edges = np.minimum(mu / problem.limits, scale)
    sums = np.abs(W[:, :, problem.penalised]).sum(axis=2)
    b = problem.exclusive[:, None]
    slope = 2 * b * sums + np.sqrt(2 * b * mu)
    return edges, np.divide(mu, slope, out=np.zeros_like(slope), where=slope > 0)


def smoothed_objective(problem, W, widths):
    """The objective with every norm ||.|| replaced by √(||.||² + width²)."""
    eps, delta = widths
    residual = problem.y - predict_samples(problem.X, problem.node, W)
    D = norms(differences(W, problem.heads, problem.tails))
    value = np.vdot(residual, residual) + problem.limits @ np.sqrt(D**2 + eps**2)
    if problem.exclusive.any():
        sizes = np.sqrt(W[:, :, problem.penalised] ** 2 + delta[:, :, None] ** 2)
        value += problem.exclusive @ (sizes.sum(axis=2) ** 2).sum(axis=1)
    return value


def newton_step(problem, W, U, signs, widths, rtol):
    """Solve the linearised conditions at (W, U, signs); see the module's text.

    rtol bounds the linear system's residual, relative and in the preconditioner's norm.
    """
    X, node = problem.X, problem.node
    heads, tails, limits = problem.heads, problem.tails, problem.limits
    D = differences(W, heads, tails)
    eta = np.sqrt(norms(D) ** 2 + widths[0] ** 2)
    weights = limits / eta
    A, B = U / limits[:, None, None], D / eta[:, None, None]
    penalty = _exclusive_curvature(problem, W, signs, widths[1])

    gradient = divergence(weights[:, None, None] * D, heads, tails, len(W))
    add_samples(X, node, 2 * (predict_samples(X, node, W) - problem.y), gradient)
    gradient += penalty.gradient

    def product(V):
        out = np.zeros_like(V)
        if problem.exclusive.any():
            along = (penalty.slopes * V).sum(axis=2, keepdims=True)
            out += penalty.diagonal * V + penalty.slopes * along
        add_product(V, X, node, heads, tails, weights, A, B, out)
        return out

    # The cycle knows scalar edge weights only: the mean curvature over all directions.
    lost = (A * B).sum(axis=(1, 2)) / np.prod(problem.shape[1:])
    precondition = _preconditioner(problem, weights * np.maximum(1 - lost, 1e-12), penalty)
    direction = _conjugate_gradients(product, precondition, -gradient, problem.free, rtol)

    flows = weights[:, None, None] * D
    flows += curve(differences(direction, heads, tails), weights, A, B)
    return Step(
        direction,
        np.vdot(gradient, direction),
        flows,
        2 * (problem.y - predict_samples(X, node, W + direction)),
        _next_signs(problem, W, direction, penalty, widths[1]),
    )


class _Penalty(NamedTuple):
    """Gradient of the exclusive norm and its curvature diag(diagonal) + slopes slopesᵀ."""

    gradient: np.ndarray
    diagonal: np.ndarray
    slopes: np.ndarray


def _exclusive_curvature(problem, W, signs, delta):
    if not problem.exclusive.any():
        zero = np.zeros((1, 1, 1))
        return _Penalty(zero, zero, zero)
    b = problem.exclusive[:, None, None]
    sizes = np.sqrt(W**2 + delta[:, :, None] ** 2)
    s = np.where(problem.penalised, W / sizes, 0)
    total = np.where(problem.penalised, sizes, 0).sum(axis=2, keepdims=True)
    curvature = np.where(problem.penalised, 2 * b * total * (1 - signs * s) / sizes, 0)
    return _Penalty(2 * b * total * s, curvature, np.sqrt(2 * b) * s)


def _next_signs(problem, W, direction, penalty, delta):
    if not problem.exclusive.any():
        return np.zeros((1, 1, 1))
    b = problem.exclusive[:, None, None]
    along = (penalty.slopes * direction).sum(axis=2, keepdims=True)
    gradient = penalty.gradient + penalty.diagonal * direction + penalty.slopes * along
    sizes = np.sqrt((W + direction)[:, :, problem.penalised] ** 2 + delta[:, :, None] ** 2)
    return np.clip(gradient / (2 * b * sizes.sum(axis=2, keepdims=True)), -1, 1)


def _preconditioner(problem, weights, penalty):
    """One multigrid cycle; for the localized lasso one a target, whose blocks differ."""
    n, m, p = problem.shape
    rows = np.sqrt(2) * problem.X
    if not problem.exclusive.any():
        grids = build_hierarchy(
            problem.heads, problem.tails, weights, rows, problem.start, np.zeros((n, p))
        )
        return lambda residual: v_cycle(grids, residual)
    owner = np.concatenate([problem.node, np.arange(n)])
    order = np.argsort(owner, kind="stable")
    start = problem.start + np.arange(n + 1)
    hierarchies = [
        build_hierarchy(
            problem.heads,
            problem.tails,
            weights,
            np.concatenate([rows, penalty.slopes[:, t]])[order],
            start,
            np.ascontiguousarray(penalty.diagonal[:, t]),
        )
        for t in range(m)
    ]
    return lambda residual: np.concatenate(
        [
            v_cycle(grids, np.ascontiguousarray(residual[:, t : t + 1]))
            for t, grids in enumerate(hierarchies)
        ],
        axis=1,
    )


def _conjugate_gradients(product, precondition, b, free, rtol):
    """Solve product(x) = b over the free coefficients."""

    def restrict(values):
        return values if free is None else np.where(free, values, 0)

    x = np.zeros_like(b)
    residual = restrict(b)
    z = restrict(precondition(residual))
    direction = z.copy()
    size = first = np.vdot(residual, z)
    for _ in range(_CG_STEPS):
        if not size > rtol**2 * first:
            break
        advance(x, residual, direction, restrict(product(direction)), size)
        size = turn(direction, restrict(precondition(residual)), residual, size)
    return x
