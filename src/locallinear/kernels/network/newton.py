"""One Newton step on the smoothed optimality conditions of the network lasso.

With D = W_j − W_k, η = √(||D||² + ε²) and flows U, the condition η U = λ D is linearised in both D
and U, which gives the edge the curvature (λ/η)(I − (A Bᵀ + B Aᵀ)/2), A = U/λ, B = D/η. The
coefficients of the exclusive norm are treated in the same way, with s = w/√(w² + δ²) and signs in
[-1, 1]. The linear system is solved by conjugate gradients with a multigrid cycle.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import njit
from . import FAST
from .edges import add_samples, curved_difference, divergence, linearise, predict_samples
from .problem import Problem, State
from .system import System, solve_system

Array = NDArray[np.float64]


class Step(NamedTuple):
    """A direction (G, m, p) with the slope of the smoothed objective, and the new dual variables.

    flows (E, m, p) and duals (n, m) = 2 (y − prediction) are in balance up to the linear solver's
    error. signs (G, m, p) are those of the exclusive norm.
    """

    direction: Array
    slope: float
    flows: Array
    duals: Array
    signs: Array


def smoothing_widths(problem: Problem, W: Array, mu: float, widest: float) -> tuple[Array, Array]:
    """Widths ε (E,) of the edges and δ (G, m) of the coefficients.

    Each smoothed norm adds at most mu to the gap: λ ε <= mu, and 2 b ||w||₁ δ <= mu.
    """
    edges = np.minimum(mu / problem.limits, widest)
    if not problem.localized:
        return edges, np.zeros(W.shape[:2])
    sums = np.abs(W[:, :, problem.penalised]).sum(axis=2)
    b = problem.exclusive[:, None]
    slope = 2 * b * sums + np.sqrt(2 * b * mu)
    return edges, np.divide(mu, slope, out=np.zeros_like(slope), where=slope > 0)


def newton_step(problem: Problem, state: State, widths: tuple[Array, Array], rtol: float) -> Step:
    """Solve the linearised conditions at the state's W, U and signs; see the module's text.

    rtol bounds the linear system's residual, relative and in the preconditioner's norm.
    """
    X, node, heads, tails = problem.X, problem.node, problem.heads, problem.tails
    W, (eps, delta) = state.W, widths
    flows, weights, loss, A, B = linearise(W, state.U, heads, tails, problem.limits, eps)
    gradient = divergence(flows, heads, tails, len(W))
    add_samples(X, node, 2 * (predict_samples(X, node, W) - problem.Y), gradient)
    norm = _linearised_norm(problem, W, state.signs, delta)
    if norm is not None:
        gradient += norm.gradient
    diagonal, slopes = (None, None) if norm is None else (norm.diagonal, norm.slopes)
    system = System(problem, weights, loss, A, B, diagonal, slopes, -gradient)
    direction = solve_system(system, rtol)
    _add_curved(direction, heads, tails, weights, A, B, flows)
    duals = 2 * (problem.Y - predict_samples(X, node, W + direction))
    signs = state.signs
    if norm is not None:
        signs = _next_signs(problem, W + direction, direction, norm, delta)
    return Step(direction, float(np.vdot(gradient, direction)), flows, duals, signs)


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_curved(V, heads, tails, weights, A, B, flows):
    """Add the curvature times V_j − V_k to each edge's flow."""
    width = V.shape[1] * V.shape[2]
    V, flows = V.reshape(-1, width), flows.reshape(-1, width)
    A, B = A.reshape(-1, width), B.reshape(-1, width)
    flow = np.empty(width)
    for e in range(len(heads)):
        curved_difference(V, A, B, weights[e], e, heads[e], tails[e], flow)
        for c in range(width):
            flows[e, c] += flow[c]


class _Norm(NamedTuple):
    """Gradient of the exclusive norm and its curvature diag(diagonal) + slopes slopesᵀ."""

    gradient: Array
    diagonal: Array
    slopes: Array


def _linearised_norm(problem: Problem, W: Array, signs: Array, delta: Array) -> _Norm | None:
    if not problem.localized:
        return None
    b = problem.exclusive[:, None, None]
    sizes = np.sqrt(W**2 + delta[:, :, None] ** 2)
    s = np.where(problem.penalised, W / sizes, 0)
    total = np.where(problem.penalised, sizes, 0).sum(axis=2, keepdims=True)
    diagonal = np.where(problem.penalised, 2 * b * total * (1 - signs * s) / sizes, 0)
    return _Norm(2 * b * total * s, diagonal, np.sqrt(2 * b) * s)


def _next_signs(problem: Problem, W: Array, direction: Array, norm: _Norm, delta: Array) -> Array:
    """The norm's gradient after the step, as it was linearised, over that of ||w||₁ at W."""
    b = problem.exclusive[:, None, None]
    along = (norm.slopes * direction).sum(axis=2, keepdims=True)
    gradient = norm.gradient + norm.diagonal * direction + norm.slopes * along
    sizes = np.sqrt(W[:, :, problem.penalised] ** 2 + delta[:, :, None] ** 2)
    return np.clip(gradient / (2 * b * sizes.sum(axis=2, keepdims=True)), -1, 1)
