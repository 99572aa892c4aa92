"""Elastic nets on Gram matrices, exactly: coordinate descent finishes with a linear solve.

    min_w ½ wᵀ G w − cᵀ w + l1 ||w||₁ + ½ l2 ||w||²

Coordinate descent finds the signs of the solution quickly and its digits slowly. Given the
signs, the solution is one linear system; if it keeps the signs and no zero coefficient has to
move, it is the optimum. Where G is singular on the support (a lasso with collinear features), a
move along its null space drops a feature. The lasso always starts from zero, so that its
solution, where it is not unique, is always the same.

Plain loops throughout: numba compiles them in a fraction of the time of array expressions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import njit

Array = NDArray[np.float64]

SWEEPS_BETWEEN_SOLVES = 4
# A zero coefficient may stay if its gradient is within the penalty, up to the rounding of the sum
# that the gradient is; after many rounds, up to a multiple of that. A wider tolerance would admit
# several supports where features are nearly collinear.
ROUNDING = 5e-16
# Rounds of descent, and the tolerance, of the first, second and third attempt.
ROUNDS = (15, 30, 5_000)
TOLERANCES = (ROUNDING, ROUNDING, 100 * ROUNDING)
# A pivot below this share of its diagonal counts as zero.
SINGULAR = 1e-13


class Scratch(NamedTuple):
    """Memory that the steps of all solutions share, for d coefficients of which s are not zero."""

    gradient: Array  # (d,) c − G w
    support: NDArray[np.intp]  # (s,) which coefficients are not zero
    L: Array  # (s, s) Cholesky factor of G + l2 I on the support
    inverse: Array  # (s,) one over the diagonal of L
    solution: Array  # (s,) the solution for the signs of w
    direction: Array  # (s,) where to move from w


@njit(cache=True, nogil=True)
def solve_path(gram: Array, moment: Array, alphas: Array, l1_ratio: float) -> Array:
    """Solutions for k problems with m right-hand sides each and several penalties.

    Parameters
    ----------
    gram : (k, d, d), moment : (k, d, m)
    alphas : penalties, the largest first: each solution is the start of the next
    l1_ratio : share of the absolute values in the penalty

    Returns
    -------
    coefs : (len(alphas), k, d, m)
    """
    k, d, m = moment.shape
    coefs = np.empty((alphas.size, k, d, m))
    gradient, inverse, solution, direction = np.empty((4, d))
    support, L = np.empty(d, dtype=np.intp), np.empty((d, d))
    scratch = Scratch(gradient, support, L, inverse, solution, direction)
    c, w = np.empty(d), np.empty(d)
    for problem in range(k):
        for target in range(m):
            for j in range(d):
                c[j], w[j] = moment[problem, j, target], 0.0
            for a in range(alphas.size):
                if l1_ratio == 1.0:
                    w[:] = 0.0
                l1, l2 = alphas[a] * l1_ratio, alphas[a] * (1.0 - l1_ratio)
                _solve(gram[problem], c, l1, l2, w, scratch)
                for j in range(d):
                    coefs[a, problem, j, target] = w[j]
    return coefs


@njit(cache=True, nogil=True)
def _solve(G, c, l1, l2, w, scratch):
    """Minimise in place, from w.

    Where several supports are optimal up to rounding, the first attempt can fail to decide
    between them; the next one starts from zero, so that the solution does not depend on w.
    """
    # Most often the signs of the last solution are those of this one.
    if _solve_support(G, c, l1, l2, w, scratch, ROUNDING):
        return
    for attempt in range(3):
        if attempt == 1:
            w[:] = 0.0
        if _descend(G, c, l1, l2, w, scratch, ROUNDS[attempt], TOLERANCES[attempt]):
            return


@njit(cache=True, nogil=True)
def _descend(G, c, l1, l2, w, scratch, rounds, tolerance):
    """Sweeps and solves in turn, in place; True once w is the optimum up to the tolerance."""
    d, gradient = c.size, scratch.gradient
    still = 0.0  # moves up to this are rounding
    for i in range(d):
        still = max(still, ROUNDING * abs(c[i]))
    for _ in range(rounds):
        for i in range(d):
            gradient[i] = c[i]
        for j in range(d):
            if w[j] != 0.0:
                for i in range(d):
                    gradient[i] -= G[j, i] * w[j]
        moved = 0.0
        for _ in range(SWEEPS_BETWEEN_SOLVES):
            moved = _sweep(G, l1, l2, w, gradient)
            if moved <= still:
                break
        if _solve_support(G, c, l1, l2, w, scratch, tolerance):
            return True
        if moved <= still:
            return False
    return False


@njit(cache=True, nogil=True)
def _sweep(G, l1, l2, w, gradient):
    """One pass of coordinate descent; returns the largest move in units of the gradient."""
    d = w.size
    moved = 0.0
    for j in range(d):
        curvature = G[j, j] + l2
        if G[j, j] <= 0.0 or curvature <= 0.0:
            w[j] = 0.0
            continue
        rho = gradient[j] + G[j, j] * w[j]
        new = np.sign(rho) * max(abs(rho) - l1, 0.0) / curvature
        step = new - w[j]
        if step != 0.0:
            w[j] = new
            for i in range(d):
                gradient[i] -= G[j, i] * step
            moved = max(moved, abs(step) * curvature)
    return moved


@njit(cache=True, nogil=True)
def _solve_support(G, c, l1, l2, w, scratch, tolerance):
    """Solve exactly on the signs of w; True if the result is the optimum.

    A solution that would cross zero is followed only up to there, which does not raise the
    objective, and the coefficient that reached zero leaves the support.
    """
    support, direction = scratch.support, scratch.direction
    while True:
        size = _find_support(w, support)
        if size == 0:
            break
        step, leaving = 1.0 if _direct(G, c, l1, l2, w, size, scratch) else np.inf, -1
        for a in range(size):
            j = support[a]
            if direction[a] * w[j] < 0.0 and -w[j] / direction[a] < step:
                step, leaving = -w[j] / direction[a], j
        if not np.isfinite(step):
            return False
        if leaving < 0:
            # Not w plus the direction: the digits would depend on w.
            for a in range(size):
                w[support[a]] = scratch.solution[a]
            break
        for a in range(size):
            w[support[a]] += step * direction[a]
        w[leaving] = 0.0
    return _zeros_stay(G, c, l1, w, support[:size], tolerance)


@njit(cache=True, nogil=True)
def _find_support(w, support):
    """List the coefficients that are not zero; returns how many there are."""
    size = 0
    for j in range(w.size):
        if w[j] != 0.0:
            support[size] = j
            size += 1
    return size


@njit(cache=True, nogil=True)
def _zeros_stay(G, c, l1, w, support, tolerance):
    """Whether the gradient of every coefficient outside the support is within the penalty."""
    for j in range(w.size):
        if w[j] == 0.0 and G[j, j] > 0.0:
            g, magnitude = c[j], abs(c[j])
            for i in support:
                term = G[j, i] * w[i]
                g -= term
                magnitude += abs(term)
            if abs(g) > l1 + tolerance * magnitude:
                return False
    return True


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _direct(G, c, l1, l2, w, size, scratch):
    """Find where to move on the support: to the solution for these signs, where it is unique.

    The solution u of (G + l2 I) u = c − l1 sign(w) is found by Cholesky, the direction is u − w,
    and True is returned. If the matrix is singular, the direction is along its null space, which
    leaves the fit as it is, towards a smaller ||w||₁, and False is returned.
    """
    _, support, L, inverse, u, direction = scratch
    for a in range(size):
        row = G[support[a]]
        diagonal = row[support[a]] + l2
        left = diagonal
        for b in range(a):
            product = 0.0
            for e in range(b):
                product += L[a, e] * L[b, e]
            L[a, b] = (row[support[b]] - product) * inverse[b]
            left -= L[a, b] * L[a, b]
        if left <= SINGULAR * diagonal:
            _along_null_space(w, a, size, scratch)
            return False
        L[a, a] = np.sqrt(left)
        inverse[a] = 1.0 / L[a, a]
    for a in range(size):
        known = 0.0
        for b in range(a):
            known += L[a, b] * u[b]
        u[a] = (c[support[a]] - l1 * np.sign(w[support[a]]) - known) * inverse[a]
    for a in range(size - 1, -1, -1):
        u[a] *= inverse[a]
        for b in range(a):
            u[b] -= L[a, b] * u[a]
    for a in range(size):
        direction[a] = u[a] - w[support[a]]
    return True


@njit(cache=True, nogil=True)
def _along_null_space(w, a, size, scratch):
    """Column a of the support is a combination of those before it: L₀ᵀ v₀ = −(row a), v_a = 1."""
    _, support, L, inverse, _, direction = scratch
    for b in range(a + 1, size):
        direction[b] = 0.0
    direction[a] = 1.0
    slope = np.sign(w[support[a]])
    for b in range(a - 1, -1, -1):
        direction[b] = -L[a, b]
        for e in range(b + 1, a):
            direction[b] -= L[e, b] * direction[e]
        direction[b] *= inverse[b]
        slope += direction[b] * np.sign(w[support[b]])
    if slope > 0.0:
        for b in range(a + 1):
            direction[b] = -direction[b]
