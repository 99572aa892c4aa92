"""The linear systems of the network lasso's Newton steps, by conjugate gradients.

Arrays (n, m, p) have a multiple of four columns. Importing this module imports numba.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from locallinear.kernels.multigrid import build_hierarchy, make_space, v_cycle
from locallinear.kernels.quads import LANES, add_scaled, dot, exchange, subtract

_FAST = {"reassoc", "contract", "nsz"}
_STEPS = 500


class System(NamedTuple):
    """Σ_e B_eᵀ C_e B_e + 2 Σ_i x_i x_iᵀ + diag(diagonal) + slopes slopesᵀ, and its right side.

    C_e = weight_e (I - (A_e B_eᵀ + B_e A_eᵀ) / 2), and weight_e times 1 - lost_e is its mean
    over all directions. diagonal and slopes (n, m, p) are empty without an exclusive norm, and
    free (n, m, p) is empty where no coefficient is held at zero.
    """

    X: np.ndarray
    node: np.ndarray
    start: np.ndarray
    heads: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    lost: np.ndarray
    A: np.ndarray
    B: np.ndarray
    diagonal: np.ndarray
    slopes: np.ndarray
    free: np.ndarray
    b: np.ndarray


def solve_system(system, rtol):
    """Solve over the free coefficients until the preconditioned residual is rtol of the first.

    The loop is not compiled: as one function with what it calls, it ran at half the speed.
    """
    hierarchy = _preconditioner(system)
    x = np.zeros_like(system.b)
    residual = system.b.copy()
    _hold(system.free, residual)
    space = make_space(hierarchy, x.shape)
    z, image = np.empty_like(x), np.empty_like(x)
    v_cycle(hierarchy, space, residual, z)
    _hold(system.free, z)
    direction = z.copy()
    size = first = np.vdot(residual, z)
    for _ in range(_STEPS):
        if not size > rtol**2 * first:
            break
        _multiply(system, direction, image)
        _hold(system.free, image)
        _advance(x, residual, direction, image, size)
        v_cycle(hierarchy, space, residual, z)
        _hold(system.free, z)
        size = _turn(direction, z, residual, size)
    return x


@njit(cache=True)
def _preconditioner(system):
    """Multigrid knows scalar edge weights only: the mean curvature over all directions."""
    n, m, p = system.b.shape
    weights = system.weights * np.maximum(1 - system.lost, 1e-12)
    if len(system.slopes) == 0:
        rows = np.sqrt(2) * system.X.reshape(1, len(system.X), p)
        nothing = np.zeros((1, n, p))
        return build_hierarchy(system.heads, system.tails, weights, rows, system.start, nothing)
    start = system.start + np.arange(n + 1)
    rows = np.empty((m, start[n], p))
    diagonal = np.empty((m, n, p))
    for t in range(m):
        diagonal[t] = system.diagonal[:, t]
        for i in range(n):
            own = system.X[system.start[i] : system.start[i + 1]]
            rows[t, start[i] : start[i + 1] - 1] = np.sqrt(2) * own
            rows[t, start[i + 1] - 1] = system.slopes[i, t]
    return build_hierarchy(system.heads, system.tails, weights, rows, start, diagonal)


@njit(cache=True, fastmath=_FAST)
def _multiply(system, V, out):
    """The system's matrix times V, without storing the edges' differences."""
    n, m, p = V.shape
    q, fours = m * p, m * p // LANES
    v, o, A, B = V.ravel(), out.ravel(), system.A.ravel(), system.B.ravel()
    out[:] = 0
    if len(system.slopes):
        _multiply_norm(system.diagonal, system.slopes, V, out)
    step = np.empty(q)
    for e in range(len(system.heads)):
        j, k, weight = system.heads[e] * q, system.tails[e] * q, system.weights[e]
        for c in range(0, q, LANES):
            subtract(step, c, v, j + c, v, k + c)
        a = -0.5 * weight * dot(A, e * q, step, 0, fours)
        b = -0.5 * weight * dot(B, e * q, step, 0, fours)
        for c in range(0, q, LANES):
            exchange(o, j + c, k + c, weight, step, c, b, A, e * q + c, a, B, e * q + c)
    X = system.X.ravel()
    for i in range(len(system.X)):
        for t in range(m):
            at = system.node[i] * q + t * p
            ahead = 2 * dot(X, i * p, v, at, p // LANES)
            for c in range(0, p, LANES):
                add_scaled(o, at + c, X, i * p + c, ahead)


@njit(cache=True, fastmath=_FAST)
def _multiply_norm(diagonal, slopes, V, out):
    n, m, p = V.shape
    for i in range(n):
        for t in range(m):
            along = 0.0
            for c in range(p):
                along += slopes[i, t, c] * V[i, t, c]
            for c in range(p):
                out[i, t, c] = diagonal[i, t, c] * V[i, t, c] + along * slopes[i, t, c]


def _hold(free, values):
    """Zero what is not free."""
    if len(free):
        values *= free


@njit(cache=True, fastmath=_FAST)
def _advance(x, residual, direction, image, size):
    curvature = 0.0
    a, b, c, d = x.ravel(), residual.ravel(), direction.ravel(), image.ravel()
    for i in range(len(a)):
        curvature += c[i] * d[i]
    length = size / curvature
    for i in range(len(a)):
        a[i] += length * c[i]
        b[i] -= length * d[i]


@njit(cache=True, fastmath=_FAST)
def _turn(direction, z, residual, size):
    """The next direction, in place; returns the new <residual, z>."""
    a, b, c = direction.ravel(), z.ravel(), residual.ravel()
    updated = 0.0
    for i in range(len(a)):
        updated += b[i] * c[i]
    for i in range(len(a)):
        a[i] = b[i] + updated / size * a[i]
    return updated
