"""Elastic nets on Gram matrices, exactly: coordinate descent finishes with a linear solve.

    min_w ½ wᵀ G w − cᵀ w + l1 ||w||₁ + ½ l2 ||w||²

Coordinate descent finds the signs of the solution quickly and its digits slowly. Given the
signs, the solution is one linear system; if it keeps the signs and no zero coefficient wants to
move, it is the optimum. Where G is singular on the support (a lasso with collinear features),
coordinate descent goes on to its own end from a start that is always zero, so that the solution,
although not unique, is always the same.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]

SWEEPS_BETWEEN_SOLVES = 4
MAX_ROUNDS = 5_000
KKT_SLACK = 1e-11
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
    w = np.zeros(d)
    gradient = np.empty(d)
    for anchor in range(k):
        for target in range(m):
            c = moment[anchor, :, target].copy()
            w[:] = 0.0
            for a in order:
                if l1_ratio == 1.0:
                    w[:] = 0.0
                l1, l2 = alphas[a] * l1_ratio, alphas[a] * (1.0 - l1_ratio)
                _solve(gram[anchor], c, l1, l2, w, gradient)
                coefs[a, anchor, :, target] = w
    return coefs


@njit(cache=True, nogil=True)
def _solve(G, c, l1, l2, w, gradient):
    """Minimise in place from w; gradient is scratch space of length d."""
    d = c.size
    slack = KKT_SLACK * np.max(np.abs(c))
    if np.max(np.abs(c)) <= l1:
        w[:] = 0.0
        return
    for _ in range(MAX_ROUNDS):
        for i in range(d):
            gradient[i] = c[i]
        for j in range(d):
            if w[j] != 0.0:
                for i in range(d):
                    gradient[i] -= G[j, i] * w[j]
        moved = 0.0
        for _ in range(SWEEPS_BETWEEN_SOLVES):
            moved = _sweep(G, l1, l2, w, gradient)
            if moved <= slack * 1e-3:
                break
        if _solve_support(G, c, l1, l2, w, slack) or moved <= slack * 1e-3:
            return


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
def _solve_support(G, c, l1, l2, w, slack):
    """Solve exactly on the signs of w; True if the result is the optimum.

    A solution that would cross zero is followed only up to there, which lowers the objective,
    and the coefficient that reached zero leaves the support.
    """
    d = w.size
    support = np.flatnonzero(w)
    while support.size > 0:
        solution = _solve_spd(G, c, l1, l2, w, support)
        if solution.size == 0:
            return False
        step, leaving = 1.0, -1
        for a in range(support.size):
            j = support[a]
            if solution[a] * w[j] <= 0.0:
                t = w[j] / (w[j] - solution[a])
                if t < step:
                    step, leaving = t, j
        for a in range(support.size):
            j = support[a]
            w[j] += step * (solution[a] - w[j]) if leaving >= 0 else solution[a] - w[j]
        if leaving < 0:
            break
        w[leaving] = 0.0
        support = np.flatnonzero(w)
    for j in range(d):
        if w[j] == 0.0 and G[j, j] > 0.0:
            g = c[j]
            for i in support:
                g -= G[j, i] * w[i]
            if abs(g) > l1 + slack:
                return False
    return True


@njit(cache=True, nogil=True)
def _solve_spd(G, c, l1, l2, w, support):
    """(G + l2 I) u = c − l1 sign(w) on the support by Cholesky; empty if it is singular."""
    size = support.size
    L = np.empty((size, size))
    u = np.empty(size)
    for a in range(size):
        for b in range(a + 1):
            L[a, b] = G[support[a], support[b]]
        L[a, a] += l2
    for a in range(size):
        for b in range(a):
            L[a, b] /= L[b, b]
            for e in range(b + 1, a + 1):
                L[a, e] -= L[a, b] * (L[e, b] if e < a else L[a, b])
        if L[a, a] <= SINGULAR * (G[support[a], support[a]] + l2):
            return np.empty(0)
        L[a, a] = np.sqrt(L[a, a])
    for a in range(size):
        u[a] = c[support[a]] - l1 * np.sign(w[support[a]])
        for b in range(a):
            u[a] -= L[a, b] * u[b]
        u[a] /= L[a, a]
    for a in range(size - 1, -1, -1):
        for b in range(a + 1, size):
            u[a] -= L[b, a] * u[b]
        u[a] /= L[a, a]
    return u
