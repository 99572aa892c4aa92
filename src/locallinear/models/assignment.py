"""Which anchor each sample takes (the paper's Theorem 3), and its residual from that anchor.

A sample takes the anchor with the smallest squared error: its own, or summed over its nearest
samples. Samples keep their residual in place of their target, which is residual plus model.
Where there are very many samples, only some of them count as the nearest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..geometry.nearness import Index
from ..kernels.local import models as local_models
from ..kernels.local.combine import cut_at
from ..runtime.chunks import CACHE_BYTES, row_chunks
from .samples import Samples

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


# Of more samples, so many decide the anchors of all, beside each sample itself.
MAX_DECIDING = 100_000


def assign_all(
    fitted: Sequence[tuple[Samples, Array]],
    neighbors: Index,
    deciding: Rows | None,
    Y: Array,
    total: int,
    n_jobs: int | None,
) -> None:
    """Write labels and residuals of all samples, whose targets are Y (n, m).

    Parameters
    ----------
    fitted : samples, and models (k, d + 1, m) of the anchors, of models with the same inputs
        Neighbours are searched once for all of them.
    neighbors, deciding : finds neighbours among the rows of `deciding`, None for all
    total : `assignment_neighbors`
    n_jobs : threads, of the search and over the models
    """
    samples = fitted[0][0]
    votes = None
    if min(total, samples.n_searchable) > 1:
        votes = _find_votes(samples, neighbors, deciding, Y, total, n_jobs)

    def assign(of_model: Samples, models: Array) -> None:
        labels, residuals = choose(samples["Z"], Y, models, votes)
        of_model["labels"][:] = labels
        of_model["residuals"][:] = residuals

    # Written in place, which another process could not do.
    Parallel(n_jobs, require="sharedmem")(delayed(assign)(*each) for each in fitted)


def deciding_rows(samples: Samples) -> Rows | None:
    """The rows whose errors decide the anchors of all samples; None for all of them."""
    if samples.n_searchable <= MAX_DECIDING:
        return None
    mask = samples.searchable
    rows = samples.rows() if mask is None else np.flatnonzero(mask)
    return rows[:: -(-len(rows) // MAX_DECIDING)]


@dataclass(frozen=True, eq=False)
class Votes:
    """How much the errors of samples decide the anchor of each sample.

    Parameters
    ----------
    Z, Y : (u, d) and (u, m) inputs and targets of the samples that decide
    near, shares : (n, A) which of these are near each sample, and how much each counts
    own : (n,) how much each sample itself counts, where it is not among them; or None
    """

    Z: Array
    Y: Array
    near: NDArray[np.int32]
    shares: Array
    own: Array | None


def _find_votes(
    samples: Samples,
    neighbors: Index,
    deciding: Rows | None,
    Y: Array,
    total: int,
    n_jobs: int | None,
) -> Votes:
    """The samples whose errors decide, found by their nearness."""
    n, points, weights = len(samples["Z"]), samples.points, samples.get("weights")
    A = min(total, samples.n_searchable)
    near = np.empty((n, A), dtype=np.int32)
    for block in row_chunks(n, A * 16):
        near[block] = neighbors.query(points[block], A, n_jobs)[1]
    if deciding is None:
        return Votes(samples["Z"], Y, near, assignment_shares(near, weights, total), None)
    # The sample itself first, then the nearest others.
    near = without_itself(near, deciding, np.arange(n))
    shares = assignment_shares(np.column_stack([np.arange(n), deciding[near]]), weights, total)
    return Votes(
        samples["Z"][deciding],
        Y[deciding],
        near,
        np.ascontiguousarray(shares[:, 1:]),
        shares[:, 0],
    )


def without_itself(near: NDArray[np.int32], deciding: Rows, rows: Rows) -> NDArray[np.int32]:
    """The A − 1 nearest samples beside each sample itself, from its A nearest.

    `near` (c, A) are positions in `deciding`, which are rows of samples, as are `rows` (c,).
    """
    others = deciding[near] != rows[:, None]
    others[others.all(axis=1), -1] = False
    return near[others].reshape(len(near), near.shape[1] - 1)


def choose(Z: Array, Y: Array, models: Array, votes: Votes | None) -> tuple[Rows, Array]:
    """Each sample's anchor (n,) and its residuals from it (n, m).

    Without votes each sample decides for itself. Some anchors at a time are compared for some
    samples at a time, so that all errors of these are in the processor's cache.
    """
    (n, m), k = Y.shape, len(models)
    floor = local_models.tie_floor(Y)
    best, labels, chosen = np.full(n, np.inf), np.zeros(n, dtype=np.intp), np.empty((n, m))
    step = k
    if votes is not None:
        step = max(1, CACHE_BYTES // (len(votes.Z) * (m + 1) * 8))
    for first in range(0, k, step):
        block = models[first : first + step]
        if votes is not None:
            table = local_models.squared_errors(
                local_models.anchor_residuals(votes.Z, votes.Y, block)
            )
        for chunk in row_chunks(n, len(block) * (m + 3) * 8):
            residuals = local_models.anchor_residuals(Z[chunk], Y[chunk], block)
            if votes is None or votes.own is not None:
                errors = local_models.squared_errors(residuals)
            if votes is not None:
                summed = local_models.summed_errors(table, votes.near[chunk], votes.shares[chunk])
                own = votes.own
                errors = summed if own is None else summed + own[chunk, None] * errors
            now = labels[chunk]
            local_models.choose_again(errors, floor[chunk], first, best[chunk], now)
            new = np.flatnonzero(now >= first)
            chosen[chunk.start + new] = residuals[:, new, now[new] - first].T
    return labels, chosen


def assign_new(
    fitted: Sequence[tuple[Samples, Array]],
    neighbors: Index,
    first: int,
    Y: Array,
    total: int,
    n_jobs: int | None,
) -> None:
    """Write labels and residuals of the samples from row `first` on, which were added to others.

    Parameters as for `assign_all`; Y are the targets of the new samples.
    """
    samples, n_near = fitted[0][0], min(total, fitted[0][0].n_searchable)
    k, d, m = max(len(models) for _, models in fitted), samples["Z"].shape[1], Y.shape[1]
    for block in row_chunks(len(Y), n_near * 16):  # neighbours are searched for many at once
        near = None
        if n_near > 1:
            near = neighbors.query(samples.points[first:][block], n_near, n_jobs)[1]
        for chunk in row_chunks(block.stop, n_near * (k * (m + 1) + d) * 8, block.start):
            around = None
            if near is not None:
                around = near[chunk.start - block.start : chunk.stop - block.start]
            for of_model, models in fitted:
                _assign_chunk(of_model, models, first, chunk, Y, around, total)


def _assign_chunk(
    samples: Samples,
    models: Array,
    first: int,
    chunk: slice,
    Y: Array,
    near: Rows | None,
    total: int,
) -> None:
    """Write labels and residuals of a chunk; `near` (c, A) are samples whose errors decide."""
    here, y = slice(first + chunk.start, first + chunk.stop), Y[chunk]
    residuals = local_models.anchor_residuals(samples["Z"][here], y, models)
    if near is None:
        errors = local_models.squared_errors(residuals)
    else:
        errors = near_errors(samples, models, near, total, first, Y)
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
    n_jobs: int | None,
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
            near = neighbors.query(points[chunk], n_near, n_jobs)[1]
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


def assignment_shares(near: NDArray[np.integer], weights: Array | None, total: int) -> Array:
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
    residuals, labels = samples["residuals"][rows], samples["labels"][rows]
    return local_models.stored_targets(samples["Z"][rows], residuals, labels, models)
