"""The problem that the network lasso solves, its objective, and the state of its solver."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .edges import edge_cost, squared_error

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


class Problem(NamedTuple):
    """Samples sorted by node, edges, and the penalties.

    X (n, p), Y (n, m), node (n,): sample i belongs to node[i]; start (G + 1,): node g has the
    samples start[g]:start[g + 1]. heads, tails, limits (E,): the edges and their λ_e. exclusive
    (G,): b_g. penalised (p,): the columns in the exclusive norm. free (G, m, p) or None: False
    where a coefficient is fixed at zero.
    """

    X: Array
    Y: Array
    node: Rows
    start: Rows
    heads: Rows
    tails: Rows
    limits: Array
    exclusive: Array
    penalised: Mask
    free: Mask | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape (G, m, p) of the models."""
        return len(self.start) - 1, self.Y.shape[1], self.X.shape[1]

    @property
    def localized(self) -> bool:
        """Whether there is an exclusive norm."""
        return bool(self.exclusive.any())

    @property
    def n_terms(self) -> int:
        """Number of smoothed norms, at least 1."""
        n_coefficients = int(np.prod(self.shape)) if self.localized else 0
        return max(len(self.limits) + n_coefficients, 1)


class State(NamedTuple):
    """Models W (G, m, p), flows U (E, m, p), signs (G, m, p) of the exclusive norm, and the rest.

    bound is a lower bound on the optimum, mu what each smoothed norm may add to the gap.
    """

    W: Array
    U: Array
    signs: Array
    objective: float
    bound: float
    mu: float
    n_iter: int

    @property
    def gap(self) -> float:
        """Upper bound on objective − optimum."""
        return self.objective - self.bound


def make_problem(
    X: Array,
    Y: Array,
    node: Rows,
    edges: tuple[Rows, Rows],
    limits: NDArray,
    exclusive: NDArray,
    penalised: Mask,
) -> Problem:
    """Sort the samples by node; every node has at least one."""
    order = np.argsort(node, kind="stable")
    counts = np.bincount(node, minlength=len(exclusive))
    start = np.concatenate([[0], np.cumsum(counts)])
    X, Y = np.ascontiguousarray(X[order]), np.ascontiguousarray(Y[order])
    return Problem(X, Y, node[order], start, *edges, limits, exclusive, penalised)


def objective(problem: Problem, W: Array) -> float:
    """The value that is minimised."""
    return smoothed_objective(problem, W, (np.zeros_like(problem.limits), np.zeros(W.shape[:2])))


def smoothed_objective(problem: Problem, W: Array, widths: tuple[Array, Array]) -> float:
    """The objective with √(||.||² + width²) in place of norms: widths (E,) and (G, m)."""
    eps, delta = widths
    value = squared_error(problem.X, problem.Y, problem.node, W)
    value += edge_cost(W, problem.heads, problem.tails, problem.limits, eps)
    if problem.localized:
        sizes = np.sqrt(W[:, :, problem.penalised] ** 2 + delta[:, :, None] ** 2)
        value += problem.exclusive @ (sizes.sum(axis=2) ** 2).sum(axis=1)
    return value
