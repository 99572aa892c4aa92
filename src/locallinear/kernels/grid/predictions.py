"""Predictions of all configurations at once, compiled.

Configurations that differ only in the number of anchors, in their penalty, in λ or in the number
of neighbours share nearly all their work:

- neighbours are sorted, so one pass over them with running sums gives the prediction at every
  number of neighbours;
- λ enters only through 1/(λ + s_j), which multiplies a residual: a residual is read once for all
  L values of λ;
- a choice is one way in which the samples have chosen their anchors: from which models, and from
  how many. All C choices lie side by side as the last axis, so that the innermost loops run over
  numbers that are neighbours in memory, several at a time.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler import njit

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Products and sums may be rounded together; their order stays as written.
FASTMATH = {"contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def predict(
    near: Rows,
    weights: Array,
    factors: Array,
    neighbor_counts: Rows,
    scales: Array,
    by_anchor: Array,
    labels: NDArray[np.int32],
    own: Array,
    out: Array,
) -> None:
    """One target's predictions for every number of neighbours, λ and choice of anchors.

    Parameters
    ----------
    near : (q, K) rows of the neighbours, nearest first; weights : (q, K)
    factors : (q, K, L) weight_j x̃_jᵀx̃ / (λ + s_j)
    neighbor_counts : (v,) increasing numbers of neighbours, at most K
    scales : (q, v) one over the sum of the weights of so many neighbours
    by_anchor : (q, k) predictions by the anchors of all choices
    labels, own : (n, C) each sample's anchor and its residual from it, for each choice
    out : (v, q, L, C), filled
    """
    n_choices, n_alphas = labels.shape[1], factors.shape[2]
    anchor_sums, corrections = np.empty(n_choices), np.empty((n_alphas, n_choices))
    for i in range(len(near)):
        anchor_sums[:], corrections[:], first = 0.0, 0.0, 0
        for v, stop in enumerate(neighbor_counts):
            part = slice(first, stop)
            query = near[i, part], weights[i, part], factors[i, part], by_anchor[i]
            _add_neighbors(query, labels, own, anchor_sums, corrections)
            first = stop
            for a in range(n_alphas):
                for c in range(n_choices):
                    out[v, i, a, c] = scales[i, v] * (anchor_sums[c] + corrections[a, c])


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def add_errors(
    near: Rows,
    weights: Array,
    factors: Array,
    neighbor_counts: Rows,
    scales: Array,
    by_anchor: Array,
    labels: NDArray[np.int32],
    own: Array,
    y: Array,
    counts: Array,
    squared: bool,
    sums: Array,
) -> None:
    """Errors of the predictions that `predict` makes, summed over the queries.

    Parameters
    ----------
    near, weights, factors, neighbor_counts, scales, by_anchor, labels, own : as for `predict`
    y : (q,) the targets; counts : (q,) how often each query counts
    squared : whether errors are squared or absolute
    sums : (v, L, C), added to
    """
    n_choices, n_alphas = labels.shape[1], factors.shape[2]
    anchor_sums, corrections = np.empty(n_choices), np.empty((n_alphas, n_choices))
    for i in range(len(near)):
        anchor_sums[:], corrections[:], first = 0.0, 0.0, 0
        for v, stop in enumerate(neighbor_counts):
            part = slice(first, stop)
            query = near[i, part], weights[i, part], factors[i, part], by_anchor[i]
            _add_neighbors(query, labels, own, anchor_sums, corrections)
            first, scale = stop, scales[i, v]
            for a in range(n_alphas):
                for c in range(n_choices):
                    # The anchors' error first, so that it is zero where they predict exactly.
                    error = (scale * anchor_sums[c] - y[i]) + scale * corrections[a, c]
                    sums[v, a, c] += counts[i] * (error * error if squared else abs(error))


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _add_neighbors(query, labels, own, anchor_sums, corrections):
    """Add the next neighbours of a query to its sums (C,) and (L, C)."""
    near, weights, factors, by_anchor = query
    n_alphas, n_choices = corrections.shape
    for j, row in enumerate(near):
        for c in range(n_choices):
            anchor_sums[c] += weights[j] * by_anchor[labels[row, c]]
        for a in range(n_alphas):
            for c in range(n_choices):
                corrections[a, c] += factors[j, a] * own[row, c]
