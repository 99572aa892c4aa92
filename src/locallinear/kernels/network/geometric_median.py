"""The weighted geometric median of each query's K neighbours, for all queries at once.

A neighbour's model is a point here, with all its coefficients as D coordinates.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAX_STEPS = 1000


def geometric_median_weights(points: Array, weights: Array, tol: float = 1e-9) -> Array:
    """Shares of the points (q, K) whose average has the least weighted sum of distances to them.

    First every given point is tested: it is the median if and only if the others pull at it
    with no more than its own weight, and then the answer is that point exactly. Elsewhere the
    distances are smooth and Weiszfeld's iteration converges. Both work on the K x K squared
    distances, so that D matters only once.

    Parameters
    ----------
    points : (q, K, D)
    weights : (q, K), not negative, and not all zero in a row
    tol : the iteration stops when no share changes by more

    Returns
    -------
    shares : (q, K), not negative; rows sum to one
    """
    centred = points - points[:, :1]
    squares = np.einsum("qkd,qkd->qk", centred, centred)
    gram = np.einsum("qid,qjd->qij", centred, centred)
    between = np.maximum(squares[:, :, None] + squares[:, None, :] - 2 * gram, 0)
    # Rounding leaves copies of a point at about 1e-16 of the largest square.
    between[between <= 1e-14 * between.max(axis=(1, 2), keepdims=True)] = 0
    pull, mass = _pulls(between, weights)
    slack = np.where(weights > 0, mass - pull, -np.inf)
    nearest = np.argmax(slack, axis=1)
    best = np.eye(weights.shape[1])[nearest]
    inner = np.flatnonzero(slack.max(axis=1) < 0)
    if inner.size:
        best[inner] = _weiszfeld(between[inner], weights[inner], tol)
    return best


def _pulls(between: Array, weights: Array) -> tuple[Array, Array]:
    """How hard the other points pull at each point, and the weight at that point, (q, K) both."""
    apart = between > 0
    mass = np.where(apart, 0, weights[:, None, :]).sum(axis=2)
    ratio = np.where(apart, weights[:, None, :] / np.sqrt(np.where(apart, between, 1)), 0)
    # ||Σ_j a_j (p_j - p_k)||² from <p_j - p_k, p_l - p_k> = (b_jk + b_kl - b_jl) / 2
    total = ratio.sum(axis=2)
    square = total * (ratio * between).sum(axis=2)
    square -= np.einsum("qkj,qjl,qkl->qk", ratio, between, ratio, optimize=True) / 2
    return np.sqrt(np.maximum(square, 0)), mass


def _weiszfeld(between: Array, weights: Array, tol: float) -> Array:
    """Weiszfeld's iteration where no given point is the median; starts at the mean."""
    result = weights / weights.sum(axis=1, keepdims=True)
    active = np.arange(len(result))
    for _ in range(MAX_STEPS):
        current = result[active]
        square = np.einsum("qij,qj->qi", between[active], current)
        square -= np.einsum("qi,qi->q", square, current)[:, None] / 2
        distance = np.sqrt(np.maximum(square, np.finfo(float).tiny))
        moved = weights[active] / distance
        moved /= moved.sum(axis=1, keepdims=True)
        result[active] = moved
        active = active[np.abs(moved - current).max(axis=1) > tol]
        if active.size == 0:
            break
    return result
