"""The problem that the network lasso solves, and its objective.

Importing this module imports numba; import it where it is used. Models are arrays (n, m, p).
"""

from typing import NamedTuple

import numpy as np

from .edges import misfit, tie_cost


class Problem(NamedTuple):
    """Samples sorted by node, edges, and the penalties.

    X (N, p), y (N, m), node (N,): sample i belongs to node[i]; start (n + 1,): node g owns the
    samples start[g]:start[g + 1]. heads, tails, limits (E,): edges and their λ_e. exclusive
    (n,): b_g. penalised (p,): features in the exclusive norm. free (n, m, p) or None: False
    where a coefficient is held at zero.
    """

    X: np.ndarray
    y: np.ndarray
    node: np.ndarray
    start: np.ndarray
    heads: np.ndarray
    tails: np.ndarray
    limits: np.ndarray
    exclusive: np.ndarray
    penalised: np.ndarray
    free: np.ndarray | None = None

    @property
    def shape(self):
        """Shape (n, m, p) of the models."""
        return len(self.start) - 1, self.y.shape[1], self.X.shape[1]

    @property
    def n_terms(self):
        """Number of smoothed norms, at least 1."""
        n_coefficients = np.prod(self.shape) if self.exclusive.any() else 0
        return max(len(self.limits) + n_coefficients, 1)


def make_problem(X, y, node, edges, limits, exclusive, penalised):
    """Sort the samples by node. Every node has a sample; `exclusive` (n,) is b_g."""
    order = np.argsort(node, kind="stable")
    counts = np.bincount(node, minlength=len(exclusive))
    X, y = np.ascontiguousarray(X[order]), np.ascontiguousarray(y[order])
    start = np.concatenate([[0], np.cumsum(counts)])
    heads, tails = edges
    return Problem(X, y, node[order], start, heads, tails, limits, exclusive, penalised)


def objective(problem, W):
    """The value that is minimised."""
    X, y, heads, tails, limits = problem.X, problem.y, problem.heads, problem.tails, problem.limits
    value = misfit(X, y, problem.node, W)
    value += tie_cost(W, heads, tails, limits, np.zeros_like(limits))
    if problem.exclusive.any():
        sums = np.abs(W[:, :, problem.penalised]).sum(axis=2)
        value += problem.exclusive @ (sums**2).sum(axis=1)
    return value
