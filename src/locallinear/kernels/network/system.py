"""The linear systems of the network lasso's Newton steps, by conjugate gradients.

Arrays (n, m, p) have a multiple of four columns. Importing this module imports numba.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from .multigrid import build_hierarchy, make_space, v_cycle
from .quads import LANES, add_scaled, dot, exchange, subtract

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
    residual = _held(system, system.b.copy())
    space = make_space(hierarchy, x.shape)
    z, image = np.empty_like(x), np.empty_like(x)
    v_cycle(hierarchy, space, residual, z)
    direction = _held(system, z).copy()
    size = first = np.vdot(residual, z)
    for _ in range(_STEPS):
        if not size > rtol**2 * first:
            break
        _multiply(system, direction, image)
        _advance(x, residual, direction, image, size)
        v_cycle(hierarchy, space, residual, z)
        size = _turn(direction, _held(system, z), residual, size)
    return x


def _preconditioner(system):
    """Multigrid knows scalar edge weights only: the mean curvature over all directions."""
    n, m, p = system.b.shape
    weights = system.weights * np.maximum(1 - system.lost, 1e-12)
    if len(system.slopes) == 0:
        rows = np.sqrt(2) * system.X[None]
        nothing = np.zeros((1, n, p))
        return build_hierarchy(system.heads, system.tails, weights, rows, system.start, nothing)
    owner = np.concatenate([system.node, np.arange(n)])
    order = np.argsort(owner, kind="stable")
    rows = np.stack(
        [np.concatenate([np.sqrt(2) * system.X, system.slopes[:, t]])[order] for t in range(m)]
    )
    start = system.start + np.arange(n + 1)
    diagonal = np.ascontiguousarray(system.diagonal.transpose(1, 0, 2))
    return build_hierarchy(system.heads, system.tails, weights, rows, start, diagonal)


def _multiply(system, V, out):
    """The system's matrix times V."""
    edges = system.heads, system.tails, system.weights, system.A, system.B
    _product(system.X, system.node, *edges, V, out)
    if len(system.slopes):
        along = (system.slopes * V).sum(axis=2, keepdims=True)
        out += system.diagonal * V + along * system.slopes
    _held(system, out)


@njit(cache=True, fastmath=_FAST)
def _product(X, node, heads, tails, weights, A, B, V, out):
    """The edges' and samples' parts, without storing the edges' differences."""
    m, p = V.shape[1:]
    q, fours = m * p, m * p // LANES
    v, o, a, b, x = V.ravel(), out.ravel(), A.ravel(), B.ravel(), X.ravel()
    for c in range(len(o)):
        o[c] = 0.0
    step = np.empty(q)
    for e in range(len(heads)):
        j, k, at, weight = heads[e] * q, tails[e] * q, e * q, weights[e]
        for c in range(0, q, LANES):
            subtract(step, c, v, j + c, v, k + c)
        along_a = -0.5 * weight * dot(a, at, step, 0, fours)
        along_b = -0.5 * weight * dot(b, at, step, 0, fours)
        for c in range(0, q, LANES):
            terms = weight, step, c, along_b, a, at + c, along_a, b, at + c
            exchange(o, j + c, k + c, *terms)
    for i in range(len(X)):
        for t in range(m):
            at = node[i] * q + t * p
            ahead = 2 * dot(x, i * p, v, at, p // LANES)
            for c in range(0, p, LANES):
                add_scaled(o, at + c, x, i * p + c, ahead)


def _held(system, values):
    """The values, in place, with zeros where a coefficient is not free."""
    if len(system.free):
        values *= system.free
    return values


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
