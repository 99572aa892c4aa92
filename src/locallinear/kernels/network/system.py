"""The linear systems of the network lasso's Newton steps, by conjugate gradients."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import njit
from . import FAST
from .edges import curved_difference
from .multigrid import Hierarchy, build_hierarchy, make_space, v_cycle
from .problem import Problem

Array = NDArray[np.float64]

MAX_STEPS = 500


class System(NamedTuple):
    """Σ_e B_eᵀ C_e B_e + 2 Σ_i x_i x_iᵀ + diag(diagonal) + slopes slopesᵀ, and its right side b.

    Unknown are the problem's coefficients that are free. C_e = weight_e (I − (A_e B_eᵀ + B_e A_eᵀ)
    / 2) is weight_e (1 − loss_e) on average over all directions. weights and loss are (E,), A and
    B (E, m, p), b (G, m, p); diagonal and slopes (G, m, p) are None without an exclusive norm.
    """

    problem: Problem
    weights: Array
    loss: Array
    A: Array
    B: Array
    diagonal: Array | None
    slopes: Array | None
    b: Array


def solve_system(system: System, rtol: float) -> Array:
    """Solve until the preconditioned residual is rtol of the first, (G, m, p).

    The loop is not compiled: in one compiled function with all that it calls, it took twice as
    long.
    """
    hierarchy = _preconditioner(system)
    x = np.zeros_like(system.b)
    residual = _fixed_to_zero(system, system.b.copy())
    space = make_space(hierarchy, x.shape)
    z, image = np.empty_like(x), np.empty_like(x)
    v_cycle(hierarchy, space, residual, z)
    direction = _fixed_to_zero(system, z).copy()
    size = first = np.vdot(residual, z)
    for _ in range(MAX_STEPS):
        if not size > rtol**2 * first:
            break
        _multiply(system, direction, image)
        _advance(x, residual, direction, image, size)
        v_cycle(hierarchy, space, residual, z)
        size = _turn(direction, _fixed_to_zero(system, z), residual, size)
    return x


def _preconditioner(system: System) -> Hierarchy:
    """Multigrid takes scalar edge weights only: the mean curvature over all directions."""
    problem, (n_nodes, m, p) = system.problem, system.b.shape
    weights = system.weights * np.maximum(1 - system.loss, 1e-12)
    edges = problem.heads, problem.tails, weights
    if system.diagonal is None or system.slopes is None:
        rows = np.sqrt(2) * problem.X[None]
        return build_hierarchy(*edges, rows, problem.start, np.zeros((1, n_nodes, p)))
    owner = np.concatenate([problem.node, np.arange(n_nodes)])
    order = np.argsort(owner, kind="stable")
    rows = np.stack(
        [np.concatenate([np.sqrt(2) * problem.X, system.slopes[:, t]])[order] for t in range(m)]
    )
    start = problem.start + np.arange(n_nodes + 1)
    diagonal = np.ascontiguousarray(system.diagonal.transpose(1, 0, 2))
    return build_hierarchy(*edges, rows, start, diagonal)


def _multiply(system: System, V: Array, out: Array) -> None:
    """The system's matrix times V."""
    problem = system.problem
    edges = problem.heads, problem.tails, system.weights, system.A, system.B
    _multiply_edges(*edges, V, out)
    _add_squares(problem.X, problem.node, V, out)
    if system.diagonal is not None and system.slopes is not None:
        along = (system.slopes * V).sum(axis=2, keepdims=True)
        out += system.diagonal * V + along * system.slopes
    _fixed_to_zero(system, out)


@njit(cache=True, nogil=True, fastmath=FAST)
def _multiply_edges(heads, tails, weights, A, B, V, out):
    """Σ_e B_eᵀ C_e B_e V, without storing the edges' differences."""
    width = V.shape[1] * V.shape[2]
    V, out = V.reshape(-1, width), out.reshape(-1, width)
    A, B = A.reshape(-1, width), B.reshape(-1, width)
    out[:] = 0.0
    flow = np.empty(width)
    for e in range(len(heads)):
        j, k = heads[e], tails[e]
        curved_difference(V, A, B, weights[e], e, j, k, flow)
        for c in range(width):
            out[j, c] += flow[c]
        for c in range(width):
            out[k, c] -= flow[c]


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_squares(X, node, V, out):
    """Add 2 Σ_i x_i x_iᵀ V."""
    for i in range(len(X)):
        g = node[i]
        for t in range(V.shape[1]):
            product = 0.0
            for c in range(V.shape[2]):
                product += X[i, c] * V[g, t, c]
            product *= 2
            for c in range(V.shape[2]):
                out[g, t, c] += product * X[i, c]


def _fixed_to_zero(system: System, values: Array) -> Array:
    """The values, in place, with zeros where a coefficient is not free."""
    if system.problem.free is not None:
        values *= system.problem.free
    return values


@njit(cache=True, nogil=True, fastmath=FAST)
def _advance(x, residual, direction, image, size):
    """Go along the direction to the least error, in place; image is the matrix times it."""
    curvature = 0.0
    x, residual, direction, image = x.ravel(), residual.ravel(), direction.ravel(), image.ravel()
    for i in range(len(x)):
        curvature += direction[i] * image[i]
    length = size / curvature
    for i in range(len(x)):
        x[i] += length * direction[i]
        residual[i] -= length * image[i]


@njit(cache=True, nogil=True, fastmath=FAST)
def _turn(direction, z, residual, size):
    """The next direction, in place; returns the new <residual, z>."""
    direction, z, residual = direction.ravel(), z.ravel(), residual.ravel()
    updated = 0.0
    for i in range(len(z)):
        updated += z[i] * residual[i]
    for i in range(len(z)):
        direction[i] = z[i] + updated / size * direction[i]
    return updated
