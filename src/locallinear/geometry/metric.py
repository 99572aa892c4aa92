"""Learned weights: features count as much as the target moves with them.

Between near samples i and j the squared difference of the targets is explained by the squared
differences of the features,

    (y_i − y_j)² ≈ Σ_f w_f² (x_if − x_jf)² + noise,

by least squares with w_f² ≥ 0, all in standard deviations. A feature that says nothing about the
target gets no weight, and of several that say the same one is enough. With the weights the
neighbourhoods change, and with them the pairs, so a few rounds follow, each going half the way
(in logarithms) to what its pairs say.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from ..kernels.local.combine import cut_at
from .distinct import distinct_rows
from .neighbors import Neighbors
from .spaces import ROUNDING

Array = NDArray[np.float64]

# Pairs of this many samples with their nearest are enough, however many samples there are.
MAX_CENTRES = 2000
N_NEAR = 21
# The differences of a block of pairs take this much memory.
BLOCK_BYTES = 4 * 2**20
# No feature is left out for good: its weight is at least this part of the largest.
SMALLEST = 0.02


def learn_metric(
    Z: Array, Y: Array, weights: Array | None, rounds: int, n_jobs: int | None = None
) -> tuple[Array, Array]:
    """Weights (d,) of the features, and the features' standard deviations.

    A weight is for a feature in standard deviations. So they do not depend on the units or
    origins of Z and Y, nor on the order of samples that are not equally far from one another.
    """
    rows, mass = distinct_rows(Z, weights)
    stride = -(-len(rows) // MAX_CENTRES)
    centres, mass = rows[::stride], mass[::stride]
    v = np.ones(len(Z)) if weights is None else weights
    searchable = None if weights is None else weights > 0
    X, scale = standardised(Z, v)
    Y, _ = standardised(Y, v)
    n_near = min(N_NEAR, int(np.count_nonzero(v)))
    importance = np.ones(X.shape[1])
    for _ in range(rounds):
        points = X * importance
        near = Neighbors(points, searchable, n_jobs).query(points[centres], n_near)[1]
        shares = mass[:, None] * cut_at(v[near], N_NEAR)
        found = _pair_weights(X, Y, centres, near, shares)
        importance = _unit(np.sqrt(importance * found))
    return importance, scale


def _pair_weights(X: Array, Y: Array, centres, near, shares: Array) -> Array:
    """Weights of the features that explain the differences between samples and their near ones."""
    d = X.shape[1]
    # Least squares through the normal equations: a (d + 1)² problem however many pairs there are.
    gram, moment = _normal_equations(X, Y, centres, near, shares)
    scale = np.sqrt(np.diag(gram) / shares.sum())
    scale[scale == 0] = 1.0
    gram, moment = gram / np.outer(scale, scale), moment / scale
    factor = np.linalg.cholesky(gram + 1e-9 * np.trace(gram) * np.eye(d + 1))
    squares = nnls(factor.T, np.linalg.solve(factor, moment))[0][:d] / scale[:d]
    if not squares.any():
        return np.ones(d)
    found = np.sqrt(squares)
    return _unit(np.maximum(found, SMALLEST * found.max()))


def _normal_equations(X: Array, Y: Array, centres, near, shares: Array) -> tuple[Array, Array]:
    """Gram matrix (d + 1, d + 1) and right-hand side (d + 1,), the last entry for the noise.

    The pairs' differences are many times the data: a block of centres at a time.
    """
    d, n_near = X.shape[1], near.shape[1]
    gram, moment = np.zeros((d + 1, d + 1)), np.zeros(d + 1)
    step = max(1, BLOCK_BYTES // (8 * n_near * (d + 1)))
    for start in range(0, len(centres), step):
        block = slice(start, start + step)
        pairs, own = near[block], centres[block, None]
        differences = np.ones((pairs.size, d + 1))
        np.square(X[pairs] - X[own], out=differences[:, :d].reshape(*pairs.shape, d))
        target = np.square(Y[pairs] - Y[own]).sum(axis=2).ravel()
        weighted = differences.T * shares[block].ravel()
        gram += weighted @ differences
        moment += weighted @ target
    return gram, moment


def _unit(weights: Array) -> Array:
    """Weights whose mean square is one, so that distances keep their scale."""
    return weights / np.sqrt(np.mean(weights**2))


def standardised(X: Array, weights: Array) -> tuple[Array, Array]:
    """X with mean 0 and variance 1, and the standard deviations; constant columns stay near 0.

    Rows without weight count as if they were not there, whatever they hold.
    """
    counts = weights > 0
    origin = X[np.argmax(counts)]
    X = np.where(counts[:, None], X - origin, 0.0)
    X -= np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average(X**2, axis=0, weights=weights))
    scale[scale <= ROUNDING * np.abs(origin)] = 1.0
    return X / scale, scale
