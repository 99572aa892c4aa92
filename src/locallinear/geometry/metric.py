"""Learned feature weights: a feature weighs more in distances if the target changes more with it.

Between near samples i and j, the squared difference of the targets is regressed on the squared
differences of the features,

    (y_i − y_j)² ≈ Σ_f w_f² (x_if − x_jf)² + noise,

by least squares with w_f² ≥ 0, all in standard deviations. A feature that is unrelated to the
target gets no weight, and of several equal features one is enough. New weights give new
neighbourhoods and so new pairs. Therefore a few rounds follow, and each moves the weights half the
way (in logarithms) to the solution for its pairs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.optimize import nnls

from ..arrays import AnyArray, at, namespace, to_numpy
from ..kernels.local.combine import cut_at
from ..runtime.threads import in_threads, one_blas_thread
from .distinct import distinct_rows
from .neighbors import Neighbors
from .spaces import standardised

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Pairs of this many samples, the centres, with their nearest samples are enough for any data.
MAX_CENTRES = 2000
N_NEAR = 21
# Of more different samples, the pairs come from so many.
MAX_SAMPLES = 50_000
# Memory of the differences of a block of pairs.
BLOCK_BYTES = 4 * 2**20
# Of more features, only those get a weight that say most of the target, each by itself.
MAX_FEATURES = 500
# Every weight is at least this part of the largest, so that later rounds can raise it again.
SMALLEST = 0.02


def learn_metric(
    Z: AnyArray, Y: AnyArray, weights: AnyArray | None, rounds: int, n_jobs: int | None = None
) -> tuple[Array, Array]:
    """Weights (d,) for features in standard deviations, and the standard deviations (d,).

    The weights do not depend on the units or origins of Z and Y. Nor do they depend on the order of
    the samples, except where samples are equally far from one another.

    Parameters
    ----------
    Z, Y : inputs (n, d) and targets (n, m)
    weights : (n,) sample weights, or None
    rounds : how often the weights and the neighbourhoods are updated
    """
    if weights is not None:
        counts = weights > 0
        Z, Y, weights = Z[counts], Y[counts], weights[counts]
    if Z.shape[0] > MAX_SAMPLES:
        some, counts = _different_samples(Z, Y, weights)
        some, counts = (each[:: -(-some.shape[0] // MAX_SAMPLES)] for each in (some, counts))
        Z, Y = at(Z, some), at(Y, some)
        weights = None if bool(namespace(Z).all(counts == 1)) else counts
    # So few samples are sent from a device to the processor, where the small problems are solved.
    Z, Y = np.asarray(to_numpy(Z), dtype=float), np.asarray(to_numpy(Y), dtype=float)
    weights = None if weights is None else np.asarray(to_numpy(weights), dtype=float)
    rows, mass = distinct_rows(Z, weights)
    stride = -(-len(rows) // MAX_CENTRES)
    centres, mass = rows[::stride], mass[::stride]
    sample_weights = np.ones(len(Z)) if weights is None else weights
    X, scale = standardised(Z, weights)
    Y, _ = standardised(Y, weights)
    n_near = min(N_NEAR, len(Z))
    feature_weights = np.ones(X.shape[1])
    with one_blas_thread():
        for _ in range(rounds):
            points = X * feature_weights
            near = Neighbors(points).query(points[centres], n_near, n_jobs)[1]
            pair_weights = mass[:, None] * cut_at(sample_weights[near], N_NEAR)
            solution = _explain_differences(X, Y, centres, near, pair_weights, n_jobs)
            feature_weights = _with_unit_mean_square(np.sqrt(feature_weights * solution))
    return feature_weights, scale


def _different_samples(
    Z: AnyArray, Y: AnyArray, weights: AnyArray | None
) -> tuple[AnyArray, AnyArray]:
    """One row number per different sample, in lexicographic order, and how often it counts."""
    rows, counts = distinct_rows(Z, weights)
    if rows.shape[0] == Z.shape[0]:
        return rows, counts
    return distinct_rows(namespace(Z).concat([Z, Y], axis=1), weights)


def _explain_differences(
    X: Array, Y: Array, centres: Rows, near: Rows, pair_weights: Array, n_jobs: int | None
) -> Array:
    """Feature weights (d,) that explain the differences between centres and their near samples."""
    pairs, n_threads = Pairs(X, Y, centres, near, pair_weights), effective_n_jobs(n_jobs)
    squares = np.zeros(X.shape[1])
    if len(squares) <= MAX_FEATURES:
        squares[:] = _least_squares(pairs, n_threads)
    else:
        some = _most_related(pairs, n_threads)
        squares[some] = _least_squares(replace(pairs, X=X[:, some]), n_threads)
    if not squares.any():
        return np.ones(len(squares))
    found = np.sqrt(squares)
    return _with_unit_mean_square(np.maximum(found, SMALLEST * found.max()))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a centre and a sample near it, with their weights (centres, n_near)."""

    X: Array
    Y: Array
    centres: Rows
    near: Rows
    weights: Array

    def blocks(self) -> list[slice]:
        """The centres in blocks: the differences of all pairs need many times the data's memory."""
        step = max(1, BLOCK_BYTES // (8 * self.near.shape[1] * (self.X.shape[1] + 1)))
        return [slice(start, start + step) for start in range(0, len(self.centres), step)]

    def differences(self, block: slice) -> tuple[Array, Array, Array]:
        """Squared differences (p, d + 1) of a block, the last one for the noise: all are one.

        Then those of the targets (p,), and the weights (p,).
        """
        X, Y, d = self.X, self.Y, self.X.shape[1]
        others, centre = self.near[block], self.centres[block, None]
        out = np.ones((others.size, d + 1))
        # `take` leaves Python's lock to other threads, an index does not.
        gaps = X.take(others, axis=0) - X.take(centre, axis=0)
        np.square(gaps, out=out[:, :d].reshape(gaps.shape))
        target = np.square(Y.take(others, axis=0) - Y.take(centre, axis=0)).sum(axis=2).ravel()
        return out, target, self.weights[block].ravel()


def _least_squares(pairs: Pairs, n_threads: int) -> Array:
    """Squares (d,) of the weights, none negative: a (d + 1)² problem for any number of pairs."""

    def equations(block: slice) -> tuple[Array, Array]:
        differences, target, weights = pairs.differences(block)
        weighted = differences.T * weights
        return weighted @ differences, weighted @ target

    gram, moment = _summed(equations, pairs.blocks(), n_threads)
    scale = np.sqrt(np.diag(gram) / pairs.weights.sum())
    scale[scale == 0] = 1.0
    gram, moment = gram / np.outer(scale, scale), moment / scale
    factor = np.linalg.cholesky(gram + 1e-9 * np.trace(gram) * np.eye(len(gram)))
    squares: Array = nnls(factor.T, np.linalg.solve(factor, moment))[0] / scale
    return squares[:-1]


def _most_related(pairs: Pairs, n_threads: int) -> Rows:
    """The features whose differences correlate most with those of the target, in order."""

    def sums(block: slice) -> tuple[Array, Array, Array, Array]:
        differences, target, weights = pairs.differences(block)
        weighted = differences.T * weights
        squares = np.einsum("fp,pf->f", weighted, differences)
        return weighted.sum(axis=1), squares, weighted @ target, weights @ target

    total, squares, products, target = _summed(sums, pairs.blocks(), n_threads)
    mass = pairs.weights.sum()
    variances = np.maximum(squares - total**2 / mass, 0.0)[:-1]
    varies = variances > 1e-12 * squares[:-1]
    related = np.zeros(len(variances))
    np.divide((products - total * target / mass)[:-1], np.sqrt(variances), related, where=varies)
    return np.sort(np.argsort(-related, kind="stable")[:MAX_FEATURES])


def _summed(function: Callable, blocks: list[slice], n_threads: int) -> list[Any]:
    """The sums of what a function returns for each block, in one order whatever the threads do."""
    out: list[Any] = []
    for first in range(0, len(blocks), n_threads):  # no more results at a time than threads
        for found in in_threads(function, blocks[first : first + n_threads], n_threads):
            out = [a + b for a, b in zip(out, found, strict=True)] if out else list(found)
    return out


def _with_unit_mean_square(weights: Array) -> Array:
    """Weights scaled to a mean square of one, so that distances keep their scale."""
    return weights / np.sqrt(np.mean(weights**2))
