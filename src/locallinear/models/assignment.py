"""Which anchor each sample takes (the paper's Theorem 3), and its residual from that anchor.

A sample takes the anchor with the smallest squared error: its own, or summed over its nearest
samples. Samples keep their residual in place of their target, which is residual plus model.
"""

import numpy as np
from numpy.typing import NDArray

from ..geometry.nearness import Index
from ..kernels.local import models as local_models
from ..kernels.local.combine import cut_at
from ..runtime.chunks import row_chunks
from .samples import Samples

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def assign_samples(
    samples: Samples, neighbors: Index, models: Array, first: int, Y: Array, total: int
) -> None:
    """Write labels and residuals of the samples from row `first` on, whose targets are Y.

    Parameters
    ----------
    models : (k, d + 1, m) of the anchors
    total : `assignment_neighbors`
    """
    Z, n_near = samples["Z"], min(total, samples.n_searchable)
    k, d, m = len(models), Z.shape[1], Y.shape[1]
    for block in row_chunks(len(Y), n_near * 16):  # neighbours are searched for many at once
        if n_near > 1:
            near = neighbors.query(samples.points[first:][block], n_near)[1]
        for chunk in row_chunks(block.stop, n_near * (k * (m + 1) + d) * 8, block.start):
            here, y = slice(first + chunk.start, first + chunk.stop), Y[chunk]
            residuals = local_models.anchor_residuals(Z[here], y, models)
            if n_near == 1:
                errors = local_models.squared_errors(residuals)
            else:
                around = near[chunk.start - block.start : chunk.stop - block.start]
                errors = near_errors(samples, models, around, total, first, Y)
            labels = local_models.best_anchors(errors, local_models.tie_floor(y))
            samples["labels"][here] = labels
            samples["residuals"][here] = local_models.own_residuals(residuals, labels)


def assign_labelled(
    samples: Samples,
    neighbors: Index,
    models: Array,
    Z: Array,
    points: Array,
    Y: Array,
    total: int,
) -> Rows:
    """The best anchor of q labelled samples that are not stored, (q,).

    Z (q, d) are their inputs in the feature space, and `points` where they are for the search.
    """
    stored, n_others = samples["Z"], total - 1
    n_near = min(total, samples.n_searchable)
    labels = np.empty(len(Z), dtype=np.intp)
    for chunk in row_chunks(len(Z), n_near * (len(models) * 2 + Z.shape[1]) * 8):
        errors = local_models.squared_errors(
            local_models.anchor_residuals(Z[chunk], Y[chunk], models)
        )
        if n_others:
            # A stored sample with the same inputs is this one; otherwise it joins the near ones.
            near = neighbors.query(points[chunk], n_near)[1]
            known = (stored[near] == Z[chunk, None]).all(axis=2).any(axis=1)
            whole = near_errors(samples, models, near, total, len(stored), Y)
            errors += near_errors(samples, models, near[:, :n_others], n_others, len(stored), Y)
            errors = np.where(known[:, None], whole, errors)
        labels[chunk] = local_models.best_anchors(errors, local_models.tie_floor(Y[chunk]))
    return labels


def near_errors(
    samples: Samples, models: Array, near: Rows, total: int, first: int, Y: Array
) -> Array:
    """Squared errors of all anchors, summed over the samples near each of c, (c, k).

    `near` (c, A) are rows of samples, whose targets from row `first` on are Y; `total` bounds the
    sum of their weights.
    """
    rows, inverse = np.unique(near, return_inverse=True)
    targets = np.empty((len(rows), Y.shape[1]))
    old = rows < first
    targets[old] = stored_targets(samples, models, rows[old])
    targets[~old] = Y[rows[~old] - first]
    errors = local_models.squared_errors(
        local_models.anchor_residuals(samples["Z"][rows], targets, models)
    )
    shares = assignment_shares(near, samples.get("weights"), total)
    return local_models.summed_errors(errors, inverse.reshape(near.shape), shares)


def assignment_shares(near: Rows, weights: Array | None, total: int) -> Array:
    """How much each of the near samples (c, A) counts in the choice of an anchor, (c, A).

    The sum of their sample weights ends at `total`.
    """
    return np.ones(near.shape) if weights is None else cut_at(weights[near], total)


def mean_target(samples: Samples, models: Array) -> Array:
    """The mean of the samples' targets, by their weights, (m,)."""
    rows, weights = samples.rows(), samples.get("weights")
    total, mass = np.zeros(models.shape[2]), 0.0
    for chunk in row_chunks(len(rows), 2 * models[0].nbytes):
        here = rows[chunk]
        v = np.ones(len(here)) if weights is None else weights[here]
        total += v @ stored_targets(samples, models, here)
        mass += v.sum()
    return total / mass


def stored_targets(samples: Samples, models: Array, rows: Rows) -> Array:
    """The targets (c, m) of stored samples: residual plus the anchor's model."""
    own = models[samples["labels"][rows]]
    fitted = np.einsum("nd,ndm->nm", samples["Z"][rows], own[:, :-1])
    return samples["residuals"][rows] + fitted + own[:, -1]
