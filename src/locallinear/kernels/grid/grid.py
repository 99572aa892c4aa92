"""Predictions of all configurations at once, compiled.

Configurations that differ only in the number of anchors, in λ or in the number of neighbours
share nearly all their work:

- random anchors are nested, so one pass over the anchors with a running minimum gives every
  sample's anchor at every number of anchors;
- neighbours are sorted, so one pass over them with running sums gives the prediction at every
  number of neighbours;
- λ enters only through 1/(λ + s_j), which multiplies a residual: residuals are read once for
  several values of λ.

A choice is one way in which the samples have chosen their anchors: from which models, and from how
many. Choices are carried side by side, in lanes.
"""

import numpy as np
from numba import njit

from ..local.models import TIE
from .codegen import LANES
from .lanes import MOST_ROWS, add_errors_of, choose_again, put_predictions, put_products


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
def best_at_levels(X, Y, floor, models, levels, labels, own):
    """Each sample's anchor by its own error, for several numbers of anchors in one pass.

    Parameters
    ----------
    X : (d + 1, n) inputs with a constant feature, Y : (m, n) targets, floor : (n,) error below
        which all is rounding; with samples that do not count at the end, up to whole LANES
    models : (p, m, k, d + 1) for p sets of models, the intercept last
    levels : increasing numbers of anchors
    labels : (g, n, 8), own : (m, g, n, 8), filled for p times levels choices, with zeros at the
        end: the anchor, counted through all sets of models, and the residual from it
    """
    samples, m, (n_groups, n, _) = (X, Y, floor), len(Y), labels.shape
    smallest, label, residual = np.empty(LANES), np.empty(LANES), np.empty((m, LANES))
    state = smallest, label, residual, np.empty((MOST_ROWS, m, LANES))
    # What eight samples have chosen, a row a choice.
    chosen = np.zeros((n_groups * LANES, LANES), dtype=np.int32)
    residuals = np.zeros((m, n_groups * LANES, LANES))
    for i in range(0, n, LANES):
        for p in range(len(models)):
            smallest[:], label[:], residual[:] = np.inf, 0.0, 0.0
            first = 0
            for note in range(levels.size):
                choose_again(samples, models[p], (i, first, levels[note]), state)
                first, choice = levels[note], p * levels.size + note
                for sample in range(LANES):
                    chosen[choice, sample] = p * models.shape[2] + np.int32(label[sample])
                for t in range(m):
                    for sample in range(LANES):
                        residuals[t, choice, sample] = residual[t, sample]
        for g, sample in np.ndindex((n_groups, min(LANES, n - i))):
            for place in range(LANES):
                labels[g, i + sample, place] = chosen[g * LANES + place, sample]
            for t in range(m):
                for place in range(LANES):
                    own[t, g, i + sample, place] = residuals[t, g * LANES + place, sample]


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


@njit(cache=True, nogil=True)
def fit_queries(queries, models, first, stop, out):
    """Predictions by all anchors for the queries from first to stop.

    Parameters
    ----------
    queries : (q, d + 1), with a constant feature
    models : (d + 1, k) of all anchors, k a multiple of LANES
    out : (stop − first, k), filled
    """
    put_products(queries, models, first, stop, out)


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def predict_levels(near, weights, factors, levels, scales, by_anchor, labels, own, out):
    """One target's predictions for every number of neighbours, λ, and choice of anchors.

    Parameters
    ----------
    near : (q, K) rows of the neighbours, nearest first; weights : (q, K) theirs
    factors : (q, K, L) from `correction_factors`
    levels : increasing numbers of neighbours, the last at most K
    scales : (q, levels) one over the sum of the weights at each level
    by_anchor : (q, k) the anchors' predictions, from `fit_queries`
    labels, own : (g, n, 8) each sample's anchor and residual, for g groups of eight choices
    out : (q, g, levels, L, 8), filled
    """
    for g, i in np.ndindex((len(labels), len(near))):
        given = near, weights, factors, levels, scales, by_anchor, labels[g], own[g]
        put_predictions(i, given, out[i, g])


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def add_errors(
    near, weights, factors, levels, scales, by_anchor, labels, own, y, counts, squared, sums
):
    """Errors of the predictions that `predict_levels` makes, summed over the queries.

    Parameters
    ----------
    near, weights, factors, levels, scales, by_anchor, labels, own : as for `predict_levels`
    y : (q,) the targets; counts : (q,) how often each query counts
    squared : whether errors are squared or absolute
    sums : (g, levels, L, 8), added to
    """
    for g, i in np.ndindex((len(labels), len(near))):
        given = near, weights, factors, levels, scales, by_anchor, labels[g], own[g]
        query = y[i], np.sqrt(counts[i]) if squared else counts[i], squared
        add_errors_of(i, given, sums[g], query)
