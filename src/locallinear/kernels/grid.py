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

from .local_models import TIE

Array = NDArray[np.float64]
Labels = NDArray[np.int32]

# λ come in multiples of this, a number that the compiler turns into vector instructions.
LANES = 8


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
    q = by_anchor.shape[0]
    c = labels.shape[1]
    L = factors.shape[2]
    anchor_sum = np.empty(c)
    correction_sum = np.empty((c, L))
    for i in range(q):
        anchor_sum[:] = 0.0
        correction_sum[:, :] = 0.0
        total = 0.0
        j = 0
        for note in range(levels.size):
            while j < levels[note]:
                row = near[i, j]
                w = weights[i, j]
                if w > 0.0:
                    total += w
                    for a in range(c):
                        anchor_sum[a] += w * by_anchor[i, labels[row, a]]
                        r = own[row, a]
                        for g in range(0, L, LANES):
                            for t in range(LANES):
                                correction_sum[a, g + t] += factors[i, j, g + t] * r
                j += 1
            scale = 1.0 / total
            for a in range(c):
                for t in range(L):
                    out[i, note, a, t] = (anchor_sum[a] + correction_sum[a, t]) * scale
