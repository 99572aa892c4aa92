"""Learned feature weights: a feature weighs more in distances if the target changes more with it.

Between near samples i and j, the squared difference of the targets is regressed on the squared
differences of the features,

    (y_i − y_j)² ≈ Σ_f w_f² (x_if − x_jf)² + noise,

by least squares with w_f² ≥ 0, all in standard deviations. A feature that is unrelated to the
target gets no weight, and of several equal features one is enough. New weights give new
neighbourhoods and so new pairs. Therefore a few rounds follow, and each moves the weights half the
way (in logarithms) to the solution for its pairs.
"""

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
    d = X.shape[1]
    # Least squares by the normal equations: a (d + 1)² problem for any number of pairs.
    gram, moment = _normal_equations(X, Y, centres, near, pair_weights, n_jobs)
    scale = np.sqrt(np.diag(gram) / pair_weights.sum())
    scale[scale == 0] = 1.0
    gram, moment = gram / np.outer(scale, scale), moment / scale
    factor = np.linalg.cholesky(gram + 1e-9 * np.trace(gram) * np.eye(d + 1))
    squares = nnls(factor.T, np.linalg.solve(factor, moment))[0][:d] / scale[:d]
    if not squares.any():
        return np.ones(d)
    found = np.sqrt(squares)
    return _with_unit_mean_square(np.maximum(found, SMALLEST * found.max()))


def _normal_equations(
    X: Array, Y: Array, centres: Rows, near: Rows, pair_weights: Array, n_jobs: int | None
) -> tuple[Array, Array]:
    """Gram matrix (d + 1, d + 1) and right-hand side (d + 1,); the last entry is for the noise.

    The differences of all pairs need many times the memory of the data, so the centres come in
    blocks.
    """
    d, n_near = X.shape[1], near.shape[1]
    step = max(1, BLOCK_BYTES // (8 * n_near * (d + 1)))
    blocks = [slice(start, start + step) for start in range(0, len(centres), step)]

    def equations(block: slice) -> tuple[Array, Array]:
        others, centre = near[block], centres[block, None]
        differences = np.ones((others.size, d + 1))
        # `take` leaves Python's lock to other threads, an index does not.
        gaps = X.take(others, axis=0) - X.take(centre, axis=0)
        np.square(gaps, out=differences[:, :d].reshape(gaps.shape))
        target = np.square(Y.take(others, axis=0) - Y.take(centre, axis=0)).sum(axis=2).ravel()
        weighted = differences.T * pair_weights[block].ravel()
        return weighted @ differences, weighted @ target

    found = in_threads(equations, blocks, effective_n_jobs(n_jobs))
    gram, moment = np.zeros((d + 1, d + 1)), np.zeros(d + 1)
    for of_block, right in found:  # in one order, whatever the threads do
        gram += of_block
        moment += right
    return gram, moment


def _with_unit_mean_square(weights: Array) -> Array:
    """Weights scaled to a mean square of one, so that distances keep their scale."""
    return weights / np.sqrt(np.mean(weights**2))
