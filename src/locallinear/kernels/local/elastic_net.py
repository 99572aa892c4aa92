"""Elastic nets on Gram matrices, exactly: coordinate descent finishes with a linear solve.

    min_w ½ wᵀ G w − cᵀ w + l1 ||w||₁ + ½ l2 ||w||²

Coordinate descent finds the signs of the solution quickly and its digits slowly. Given the
signs, the solution is one linear system; if it keeps the signs and no zero coefficient wants to
move, it is the optimum. Where G is singular on the support (a lasso with collinear features), a
move along its null space drops a feature. The lasso always starts from zero, so that its
solution, where it is not unique, is always the same.

Problems of few features are solved eight at a time (`net_lanes`); what is not solved so in a few
rounds is solved alone.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..grid.codegen import LANES
from ..grid.net_lanes import sweep_eight, try_signs

Array = NDArray[np.float64]

SWEEPS_BETWEEN_SOLVES = 4
MAX_ROUNDS = 5_000
# Problems of up to this many features are solved eight at a time, for a few rounds.
MOST_IN_LANES = 32
ROUNDS_IN_LANES = 12
# A zero coefficient may stay if its gradient is within the penalty, up to rounding of the sum that
# it is; after many rounds, up to a multiple of that. Anything wider admits several supports where
# features are nearly collinear.
ROUNDING = 5e-16
PATIENCE = 15
SINGULAR = 1e-13


@njit(cache=True, nogil=True)
def solve_path(gram: Array, moment: Array, alphas: Array, l1_ratio: float) -> Array:
    """Solutions for k problems with m right-hand sides each and several penalties.

    Parameters
    ----------
    gram : (k, d, d), moment : (k, d, m)
    alphas : penalties; from the largest down, each solution starts the next
    l1_ratio : share of the absolute values in the penalty

    Returns
    -------
    coefs : (len(alphas), k, d, m)
    """
    k, d, m = moment.shape
    coefs = np.zeros((alphas.size, k, d, m))
    order = np.argsort(-alphas)
    for target in range(m):
        if d <= MOST_IN_LANES:
            for first in range(0, k, LANES):
                _solve_eight(gram, moment, first, target, alphas, order, l1_ratio, coefs)
        else:
            for anchor in range(k):
                _solve_alone(gram, moment, anchor, target, alphas, order, l1_ratio, coefs)
    return coefs


@njit(cache=True, nogil=True)
def _solve_alone(gram, moment, anchor, target, alphas, order, l1_ratio, coefs):
    """The path of one problem."""
    c = moment[anchor, :, target].copy()
    w, space = np.zeros(c.size), _make_space(c.size)
    for a in order:
        if l1_ratio == 1.0:
            w[:] = 0.0
        _solve(gram[anchor], c, alphas[a] * l1_ratio, alphas[a] * (1.0 - l1_ratio), w, space)
        coefs[a, anchor, :, target] = w


@njit(cache=True, nogil=True)
def _solve_eight(gram, moment, first, target, alphas, order, l1_ratio, coefs):
    """The paths of up to eight problems side by side; those that are left are solved alone."""
    k, d, _ = moment.shape
    n = min(LANES, k - first)
    G, c, w = np.zeros((d * d, LANES)), np.zeros((d, LANES)), np.zeros((d, LANES))
    for lane in range(n):
        c[:, lane] = moment[first + lane, :, target]
        G[:, lane] = gram[first + lane].ravel()
    problem, gradient, done = (G, c), np.empty((d, LANES)), np.empty(LANES)
    space = np.empty((d * d, LANES)), np.empty((d, LANES)), np.empty((d, LANES))
    alone, own_c, own_w = _make_space(d), np.empty(d), np.empty(d)
    for a in order:
        penalty = alphas[a] * l1_ratio, alphas[a] * (1.0 - l1_ratio)
        if l1_ratio == 1.0:
            w[:] = 0.0
        done[:] = 0.0
        for _ in range(ROUNDS_IN_LANES):
            try_signs(problem, penalty, w, done, space, (SINGULAR, ROUNDING))
            if done.min() == 1.0:
                break
            sweep_eight(problem, penalty, w, done, gradient)
        if done.min() < 1.0:
            for lane in range(n):
                if done[lane] < 1.0:
                    own_c[:], own_w[:] = c[:, lane], w[:, lane]
                    _solve(gram[first + lane], own_c, *penalty, own_w, alone)
                    w[:, lane] = own_w
            # The same digits, in whatever way the signs were found.
            try_signs(problem, penalty, w, done, space, (SINGULAR, ROUNDING))
        for lane in range(n):
            coefs[a, first + lane, :, target] = w[:, lane]


@njit(cache=True, nogil=True)
def _make_space(d):
    """Scratch space to solve a problem alone."""
    return np.empty(d), np.empty(d, dtype=np.intp), np.empty((d, d)), np.empty(d), np.empty(d)


@njit(cache=True, nogil=True)
def _solve(G, c, l1, l2, w, space):
    """Minimise in place from w; space is from `_make_space`.

    What cannot be decided from w in a few rounds, since several supports are optimal up to
    rounding, is decided from zero: so the solution does not depend on w.
    """
    if np.max(np.abs(c)) <= l1:
        w[:] = 0.0
        return
    if np.any(w != 0.0):
        # Most often the signs of the last solution are those of this one.
        if _solve_support(G, c, l1, l2, w, space, ROUNDING):
            return
        if _descend(G, c, l1, l2, w, space, PATIENCE, ROUNDING):
            return
    w[:] = 0.0
    if not _descend(G, c, l1, l2, w, space, 2 * PATIENCE, ROUNDING):
        _descend(G, c, l1, l2, w, space, MAX_ROUNDS, 100 * ROUNDING)


@njit(cache=True, nogil=True)
def _descend(G, c, l1, l2, w, space, rounds, rounding):
    """Sweeps and solves in turn, in place; True once w is the optimum up to rounding."""
    d, gradient = c.size, space[0]
    still = ROUNDING * np.max(np.abs(c))
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
        if _solve_support(G, c, l1, l2, w, space, rounding):
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
def _solve_support(G, c, l1, l2, w, space, rounding):
    """Solve exactly on the signs of w; True if the result is the optimum.

    A solution that would cross zero is followed only up to there, which does not raise the
    objective, and the coefficient that reached zero leaves the support.
    """
    d, support, direction = w.size, space[1], space[4]
    while True:
        size = 0
        for j in range(d):
            if w[j] != 0.0:
                support[size] = j
                size += 1
        if size == 0:
            break
        step, leaving = 1.0 if _direct(G, c, l1, l2, w, size, space) else np.inf, -1
        for a in range(size):
            j = support[a]
            if direction[a] * w[j] < 0.0 and -w[j] / direction[a] < step:
                step, leaving = -w[j] / direction[a], j
        if not np.isfinite(step):
            return False
        for a in range(size):
            w[support[a]] += step * direction[a]
        if leaving < 0:
            break
        w[leaving] = 0.0
    for j in range(d):
        if w[j] == 0.0 and G[j, j] > 0.0:
            g, magnitude = c[j], abs(c[j])
            for a in range(size):
                term = G[j, support[a]] * w[support[a]]
                g -= term
                magnitude += abs(term)
            if abs(g) > l1 + rounding * magnitude:
                return False
    return True


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _direct(G, c, l1, l2, w, size, space):
    """Where to move on the support: to the solution for these signs, where it is unique.

    (G + l2 I) u = c − l1 sign(w) is solved by Cholesky, the direction is u − w, and True is
    returned. If the matrix is singular, the direction is along its null space, which leaves the
    fit as it is, towards a smaller ||w||₁, and False is returned.
    """
    _, support, L, inverse, out = space
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
            _along_null_space(w, a, size, space)
            return False
        L[a, a] = np.sqrt(left)
        inverse[a] = 1.0 / L[a, a]
    for a in range(size):
        known = 0.0
        for b in range(a):
            known += L[a, b] * out[b]
        out[a] = (c[support[a]] - l1 * np.sign(w[support[a]]) - known) * inverse[a]
    for a in range(size - 1, -1, -1):
        out[a] *= inverse[a]
        for b in range(a):
            out[b] -= L[a, b] * out[a]
    for a in range(size):
        out[a] -= w[support[a]]
    return True


@njit(cache=True, nogil=True)
def _along_null_space(w, a, size, space):
    """Column a of the support is a combination of those before it: L₀ᵀ v₀ = −(row a), v_a = 1."""
    _, support, L, inverse, out = space
    out[:size] = 0.0
    out[a] = 1.0
    slope = np.sign(w[support[a]])
    for b in range(a - 1, -1, -1):
        out[b] = -L[a, b]
        for e in range(b + 1, a):
            out[b] -= L[e, b] * out[e]
        out[b] *= inverse[b]
        slope += out[b] * np.sign(w[support[b]])
    if slope > 0.0:
        out[: a + 1] *= -1.0
