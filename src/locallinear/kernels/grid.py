"""Predictions of all configurations at once, compiled.

Configurations that differ only in the number of anchors, in λ or in the number of neighbours
share nearly all their work:

- random anchors are nested, so one pass over the anchors with a running minimum gives every
  sample's anchor at every number of anchors;
- neighbours are sorted, so one pass over them with running sums gives the prediction at every
  number of neighbours;
- λ enters only through 1/(λ + s_j): all values of λ are carried side by side, in lanes.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .lanes import LANES, add_errors_of, add_scaled
from .local_models import TIE

Array = NDArray[np.float64]
Labels = NDArray[np.int32]


@njit(cache=True, nogil=True)
def running_best(errors, residuals, first, floor, best, labels, own, levels, out_labels, out_own):
    """Go on from earlier anchors with a block of b more; take notes at the levels.

    Parameters
    ----------
    errors : (n, b), residuals : (m, n, b), of the anchors first to first + b
    floor : (n,) error below which all is rounding
    best : (n,), labels : (n,), own : (n, m), the state after the anchors so far, updated
    levels : increasing numbers of anchors at which to take notes
    out_labels : (levels, n), out_own : (m, levels, n), the notes
    """
    n, b = errors.shape
    m = residuals.shape[0]
    for i in range(n):
        smallest, label = best[i], labels[i]
        start = 0
        for note in range(levels.size):
            if levels[note] <= first:
                continue
            stop = min(levels[note] - first, b)
            for anchor in range(start, stop):
                e = errors[i, anchor]
                if e * (1.0 + TIE) + floor[i] < smallest:
                    smallest, label = e, first + anchor
            if label >= first:
                for t in range(m):
                    own[i, t] = residuals[t, i, label - first]
            if levels[note] - first <= b:
                out_labels[note, i] = label
                for t in range(m):
                    out_own[t, note, i] = own[i, t]
            start = stop
            if start == b:
                break
        best[i], labels[i] = smallest, label


@njit(cache=True, nogil=True)
def best_at_levels(fitted, intercepts, Y, floor, levels, labels, own):
    """Each sample's anchor by its own error, for several numbers of anchors in one pass.

    Parameters
    ----------
    fitted : (m, n, k) the anchors' predictions without intercepts : (m, k)
    Y : (n, m) targets; floor : (n,) error below which all is rounding
    levels : increasing numbers of anchors
    labels : (n, levels), own : (m, n, levels), filled: the anchor, and the residual from it
    """
    m, n, k = fitted.shape
    errors = np.empty(k)
    for i in range(n):
        errors[:] = 0.0
        for t in range(m):
            for anchor in range(k):
                residual = Y[i, t] - (fitted[t, i, anchor] + intercepts[t, anchor])
                errors[anchor] += residual * residual
        bound, label, start = np.inf, 0, 0  # below the bound, an error is more than tied
        for note in range(levels.size):
            for anchor in range(start, levels[note]):
                if errors[anchor] < bound:
                    bound, label = (errors[anchor] - floor[i]) / (1.0 + TIE), anchor
            start = levels[note]
            labels[i, note] = label
            for t in range(m):
                own[t, i, note] = Y[i, t] - (fitted[t, i, label] + intercepts[t, label])


@njit(cache=True, nogil=True)
def summed_over(errors, near, shares):
    """Sum errors (n, k) over each sample's A nearest, with shares (n, A)."""
    n, A = near.shape
    k = errors.shape[1]
    out = np.zeros((n, k))
    for i in range(n):
        for a in range(A):
            share = shares[i, a]
            row = near[i, a]
            for anchor in range(k):
                out[i, anchor] += share * errors[row, anchor]
    return out


@njit(cache=True, nogil=True)
def correction_factors(inner, squares, weights, alphas):
    """a_j x̃_jᵀx̃ / (λ + s_j) for neighbours (q, K) and all λ, (q, K, L)."""
    q, K = inner.shape
    out = np.empty((q, K, alphas.size))
    for i in range(q):
        for j in range(K):
            top = weights[i, j] * inner[i, j]
            for t in range(alphas.size):
                out[i, j, t] = top / (alphas[t] + squares[i, j])
    return out


@njit(inline="always")
def _add_neighbors(i, first, stop, given, anchors, lanes):
    """Add neighbours of query i to the sums over anchors (c,) and corrections (c, L).

    `given` are the first six arguments of `predict_levels`. Returns what the weights of these
    neighbours sum to.
    """
    by_anchor, near, weights, factors, labels, own = given
    K, L = factors.shape[1:]
    total = 0.0
    for j in range(first, stop):
        total += weights[i, j]
        # Unsigned: a position that cannot be negative need not be tested for it.
        row = np.uintp(near[i, j])
        for a in range(anchors.size):
            anchors[a] += weights[i, j] * by_anchor[i, np.uintp(labels[row, a])]
        for g in range(0, L, LANES):
            for a in range(anchors.size):
                add_scaled(  # type: ignore[call-arg]
                    lanes, a * L + g, factors, (i * K + j) * L + g, own[row, a]
                )
    return total


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def predict_levels(by_anchor, near, weights, factors, labels, own, levels, out):
    """One target's predictions for every number of neighbours, of anchors, and λ.

    Parameters
    ----------
    by_anchor : (q, k) the anchors' predictions for the queries
    near : (q, K) rows of the neighbours, nearest first; weights : (q, K) theirs
    factors : (q, K, L) from `correction_factors`, L a multiple of LANES
    labels, own : (n, c) each sample's anchor and residual at c numbers of anchors
    levels : increasing numbers of neighbours, the last at most K
    out : (q, levels, c, L), filled
    """
    given = by_anchor, near, weights, factors, labels, own
    anchors, lanes = np.empty(labels.shape[1]), np.empty((labels.shape[1], factors.shape[2]))
    for i in range(by_anchor.shape[0]):
        anchors[:] = 0.0
        lanes[:, :] = 0.0
        total, first = 0.0, 0
        for note in range(levels.size):
            total += _add_neighbors(i, first, levels[note], given, anchors, lanes)
            first = levels[note]
            scale = 1.0 / total
            for a in range(anchors.size):
                for t in range(lanes.shape[1]):
                    out[i, note, a, t] = (anchors[a] + lanes[a, t]) * scale


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def add_errors(by_anchor, near, weights, factors, labels, own, levels, y, counts, squared, sums):
    """Errors of the predictions that `predict_levels` makes, summed over the queries.

    Parameters
    ----------
    by_anchor, near, weights, factors, labels, own, levels : as for `predict_levels`
    y : (q,) the targets; counts : (q,) how often each query counts
    squared : whether errors are squared or absolute
    sums : (levels, c, L), added to
    """
    given = by_anchor, near, weights, factors, labels, own
    anchors, lanes = np.empty(labels.shape[1]), np.empty((labels.shape[1], factors.shape[2]))
    for i in range(by_anchor.shape[0]):
        anchors[:] = 0.0
        lanes[:, :] = 0.0
        total, first = 0.0, 0
        for note in range(levels.size):
            total += _add_neighbors(i, first, levels[note], given, anchors, lanes)
            first = levels[note]
            scale = 1.0 / total
            c, L = lanes.shape
            for a in range(c):
                for g in range(0, L, LANES):
                    at = (note * c + a) * L + g
                    add_errors_of(  # type: ignore[call-arg]
                        sums, at, lanes, a * L + g, anchors[a], scale, y[i], counts[i], squared
                    )
