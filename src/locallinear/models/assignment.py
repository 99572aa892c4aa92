"""Which anchor each sample takes (the paper's Theorem 3), and its residual from that anchor.

A sample takes the anchor with the smallest squared error: its own, or summed over its nearest
samples. Samples keep their residual in place of their target, which is residual plus model.
Where there are very many samples, only some of them count as the nearest.
"""

from collections.abc import Sequence

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from ..arrays import at, cast, empty, flat_nonzero, is_numpy, moved, namespace
from ..geometry.nearness import Geometry, Index
from ..geometry.neighbors import leave_out
from ..kernels.local import models as local_models
from ..kernels.local.combine import cut_at
from ..runtime.chunks import row_chunks
from .choice import Votes, choose
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

    # Models side by side, and threads within each where these are fewer.
    n_threads = -(-effective_n_jobs(n_jobs) // len(fitted))

    def assign(of_model: Samples, models: Array) -> None:
        labels, residuals = choose(samples["Z"], Y, models, votes, n_threads)
        of_model["labels"][...] = cast(labels, of_model["labels"])
        of_model["residuals"][...] = residuals

    # Written in place, which another process could not do.
    Parallel(n_jobs, require="sharedmem")(delayed(assign)(*each) for each in fitted)


def deciding_index(
    geometry: Geometry, samples: Samples, neighbors: Index
) -> tuple[Index, Rows | None]:
    """What finds the samples whose errors decide the anchors of all samples, and their rows.

    Where all samples decide, that is `neighbors`, and there are no rows: None.
    """
    if samples.n_searchable <= MAX_DECIDING:
        return neighbors, None
    mask = samples.searchable
    rows = samples.rows() if mask is None else flat_nonzero(mask)
    deciding = rows[:: -(-rows.shape[0] // MAX_DECIDING)]
    return geometry.index(at(samples.points, deciding), None), deciding


def _find_votes(
    samples: Samples,
    neighbors: Index,
    deciding: Rows | None,
    Y: Array,
    total: int,
    n_jobs: int | None,
) -> Votes:
    """The samples whose errors decide, found by their nearness."""
    weights = samples.get("weights")
    near = nearest_deciding(samples, neighbors, deciding, total, n_jobs)
    if deciding is None:
        shares = cast(assignment_shares(near, weights, total), Y)
        return Votes(samples["Z"], Y, near, shares, None)
    shares = cast(assignment_shares(with_itself(near, deciding), weights, total), Y)
    others = shares[:, 1:]
    if is_numpy(others):
        others = np.ascontiguousarray(others)
    return Votes(at(samples["Z"], deciding), at(Y, deciding), near, others, shares[:, 0])


def nearest_deciding(
    samples: Samples, neighbors: Index, deciding: Rows | None, total: int, n_jobs: int | None
) -> NDArray[np.int32]:
    """The samples whose errors decide each sample's anchor, nearest first, (n, A).

    Parameters as for `assign_all`. Where only some decide, these are positions among them, of
    the A nearest beside the sample itself.
    """
    n, points = samples.n_stored, samples.points
    A, xp = min(total, samples.n_searchable), namespace(points)
    near = empty((n, A), xp.empty_like(points[:, 0], dtype=xp.int32))
    for block in row_chunks(n, A * 16, like=points):
        near[block, ...] = cast(neighbors.query(points[block, ...], A, n_jobs)[1], near)
    if deciding is None:
        return near
    return without_itself(near, deciding, moved(np.arange(n), points))


def with_itself(near: NDArray[np.int32], deciding: Rows) -> Rows:
    """The rows of each sample itself and of the nearest others, which decide its anchor, (n, A).

    `near` (n, A − 1) are positions of these others in `deciding`.
    """
    rows = moved(np.arange(near.shape[0]), near)
    return namespace(near).concat([rows[:, None], at(deciding, near)], axis=1)


def without_itself(near: NDArray[np.int32], deciding: Rows, rows: Rows) -> NDArray[np.int32]:
    """The A − 1 nearest samples beside each sample itself, from its A nearest.

    `near` (c, A) are positions in `deciding`, which are rows of samples, as are `rows` (c,).
    """
    return leave_out(near, at(deciding, near), rows)[0]


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
    k = max(models.shape[0] for _, models in fitted)
    (n, m), Z = Y.shape, samples["Z"]
    row_bytes = n_near * (k * (m + 1) + Z.shape[1]) * 8
    for block in row_chunks(n, n_near * 16, like=Z):  # neighbours are searched for many at once
        near = None
        if n_near > 1:
            points = samples.points[first + block.start : first + block.stop, ...]
            near = neighbors.query(points, n_near, n_jobs)[1]
        for chunk in row_chunks(block.stop, row_bytes, block.start, like=Z):
            around = None
            if near is not None:
                around = near[chunk.start - block.start : chunk.stop - block.start, ...]
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
    here, y = slice(first + chunk.start, first + chunk.stop), Y[chunk, ...]
    residuals = local_models.anchor_residuals(samples["Z"][here, ...], y, models)
    if near is None:
        errors = local_models.squared_errors(residuals)
    else:
        errors = near_errors(samples, models, near, total, first, Y)
    labels = local_models.best_anchors(errors, local_models.tie_floor(y))
    samples["labels"][here] = cast(labels, samples["labels"])
    samples["residuals"][here, ...] = local_models.own_residuals(residuals, labels)


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
    n_stored, xp = stored.shape[0], namespace(Z)
    labels = xp.empty_like(Z[:, 0], dtype=xp.int64)
    row_bytes = n_near * (models.shape[0] * 2 + Z.shape[1]) * 8
    for chunk in row_chunks(Z.shape[0], row_bytes, like=Z):
        z, y = Z[chunk, ...], Y[chunk, ...]
        errors = local_models.squared_errors(local_models.anchor_residuals(z, y, models))
        if n_others:
            # A stored sample with the same inputs is this one; otherwise it joins the near ones.
            near = neighbors.query(points[chunk, ...], n_near, n_jobs)[1]
            known = xp.any(xp.all(at(stored, near) == z[:, None, :], axis=2), axis=1)
            whole = near_errors(samples, models, near, total, n_stored, Y)
            errors += near_errors(samples, models, near[:, :n_others], n_others, n_stored, Y)
            errors = xp.where(known[:, None], whole, errors)
        labels[chunk] = local_models.best_anchors(errors, local_models.tie_floor(y))
    return labels


def near_errors(
    samples: Samples, models: Array, near: Rows, total: int, first: int, Y: Array
) -> Array:
    """Squared errors of all anchors, summed over the samples near each of c, (c, k).

    `near` (c, A) are rows of samples, whose targets from row `first` on are Y; `total` bounds the
    sum of their weights.
    """
    rows, inverse = namespace(near).unique_inverse(near)
    targets = empty((rows.shape[0], Y.shape[1]), Y)
    old = rows < first
    targets[old] = stored_targets(samples, models, rows[old])
    targets[~old] = at(Y, rows[~old] - first)
    errors = local_models.squared_errors(
        local_models.anchor_residuals(at(samples["Z"], rows), targets, models)
    )
    shares = cast(assignment_shares(near, samples.get("weights"), total), errors)
    return local_models.summed_errors(errors, inverse, shares)


def assignment_shares(near: NDArray[np.integer], weights: Array | None, total: int) -> Array:
    """How much each of the near samples (c, A) counts in the choice of an anchor, (c, A).

    The sum of their sample weights ends at `total`.
    """
    if weights is not None:
        return cut_at(at(weights, near), total)
    xp = namespace(near)
    return np.ones(near.shape) if is_numpy(near) else xp.ones_like(near, dtype=xp.float64)


def mean_target(samples: Samples, models: Array) -> Array:
    """The mean of the samples' targets, by their weights, (m,)."""
    rows, weights = samples.rows(), samples.get("weights")
    xp = namespace(models)
    total, mass = xp.zeros_like(models[0, 0, :]), 0.0
    for chunk in row_chunks(rows.shape[0], 2 * models.shape[1] * models.shape[2] * 8, like=models):
        here = rows[chunk]
        targets = stored_targets(samples, models, here)
        v = xp.ones_like(targets[:, 0]) if weights is None else at(weights, here)
        total += v @ targets
        mass += float(xp.sum(v))
    return total / mass


def stored_targets(samples: Samples, models: Array, rows: Rows) -> Array:
    """The targets (c, m) of stored samples: residual plus the anchor's model."""
    Z, residuals, labels = (at(samples[name], rows) for name in ("Z", "residuals", "labels"))
    return local_models.stored_targets(Z, residuals, labels, models)
