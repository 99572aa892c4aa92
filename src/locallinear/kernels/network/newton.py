"""One Newton step on the smoothed optimality conditions of the network lasso.

With D = W_j - W_k, η = √(||D||² + ε²) and flows U, the condition η U = λ D is linearised in
both, which gives the edge the curvature (λ/η)(I - (A Bᵀ + B Aᵀ)/2), A = U/λ, B = D/η. The
coefficients of the exclusive norm are treated alike, with s = w/√(w² + δ²) and signs in
[-1, 1]. The linear system is solved by conjugate gradients with a multigrid cycle.
"""

from typing import NamedTuple

import numpy as np

from .edges import (
    add_curved,
    add_samples,
    divergence,
    linearise,
    misfit,
    predict_samples,
    tie_cost,
)
from .quads import padded
from .system import System, solve_system


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
    if not problem.exclusive.any():
        return edges, np.zeros(W.shape[:2])
    sums = np.abs(W[:, :, problem.penalised]).sum(axis=2)
    b = problem.exclusive[:, None]
    slope = 2 * b * sums + np.sqrt(2 * b * mu)
    return edges, np.divide(mu, slope, out=np.zeros_like(slope), where=slope > 0)


def smoothed_objective(problem, W, widths):
    """The objective with every norm ||.|| replaced by √(||.||² + width²)."""
    eps, delta = widths
    value = misfit(problem.X, problem.y, problem.node, W)
    value += tie_cost(W, problem.heads, problem.tails, problem.limits, eps)
    if problem.exclusive.any():
        sizes = np.sqrt(W[:, :, problem.penalised] ** 2 + delta[:, :, None] ** 2)
        value += problem.exclusive @ (sizes.sum(axis=2) ** 2).sum(axis=1)
    return value


def newton_step(problem, W, U, signs, widths, rtol):
    """Solve the linearised conditions at (W, U, signs); see the module's text.

    rtol bounds the linear system's residual, relative and in the preconditioner's norm.
    """
    X, node = problem.X, problem.node
    heads, tails, p = problem.heads, problem.tails, X.shape[1]
    penalty = _exclusive_curvature(problem, W, signs, widths[1])
    flows, weights, lost, A, B = linearise(W, U, heads, tails, problem.limits, widths[0], padded(p))
    gradient = divergence(flows, heads, tails, len(W))
    add_samples(X, node, 2 * (predict_samples(X, node, W) - problem.y), gradient)
    gradient += penalty.gradient
    system = System(
        _widened(X),
        node,
        problem.start,
        heads,
        tails,
        weights,
        lost,
        A,
        B,
        _widened(penalty.diagonal),
        _widened(penalty.slopes),
        _widened(np.zeros((0, *W.shape[1:])) if problem.free is None else problem.free),
        _widened(-gradient),
    )
    direction = np.ascontiguousarray(solve_system(system, rtol)[:, :, :p])
    add_curved(direction, heads, tails, weights, A, B, flows)
    return Step(
        direction,
        np.vdot(gradient, direction),
        flows,
        2 * (problem.y - predict_samples(X, node, W + direction)),
        _next_signs(problem, W, direction, penalty, widths[1]),
    )


def _widened(values):
    """Zeros after the last column, so that rows are whole fours."""
    p = values.shape[-1]
    wide = np.zeros((*values.shape[:-1], padded(p)))
    wide[..., :p] = values
    return wide


class _Penalty(NamedTuple):
    """Gradient of the exclusive norm and its curvature diag(diagonal) + slopes slopesᵀ."""

    gradient: np.ndarray
    diagonal: np.ndarray
    slopes: np.ndarray


def _exclusive_curvature(problem, W, signs, delta):
    if not problem.exclusive.any():
        nothing = np.zeros((0, *W.shape[1:]))
        return _Penalty(np.zeros((1, 1, 1)), nothing, nothing)
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
