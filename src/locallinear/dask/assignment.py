"""The anchor of each sample (the paper's Theorem 3), chosen where the sample is.

With `assignment_neighbors` above 1, the errors of near samples decide as well. A local model lets
at most `MAX_DECIDING` samples decide, so these can be sent to every partition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..geometry.neighbors import Neighbors
from ..kernels.local import models as local_models
from ..kernels.local.combine import cut_at
from ..models.assignment import MAX_DECIDING, assignment_shares, without_itself
from ..models.choice import Votes, choose
from ..runtime.chunks import row_chunks
from ..runtime.threads import one_blas_thread
from .graphs import sized
from .neighbors import Found
from .partition import Part

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@sized
@dataclass(frozen=True, eq=False)
class Deciding:
    """The samples whose errors decide the anchors of all.

    Attributes
    ----------
    Z, points, targets : arrays (u, d), (u, d) and (u, m)
    weights : array (u,) or None
    numbers : array (u,)
        Their numbers among all samples.
    everyone : bool
        Whether these are all samples with weight.
    """

    Z: Array
    points: Array
    targets: Array
    weights: Array | None
    numbers: Rows
    everyone: bool


def deciding_samples(
    parts: Sequence[Delayed], firsts: Sequence[int], counts: Sequence[int]
) -> Delayed:
    """The deciding samples of all partitions; `counts` are their samples with weight."""
    stride = -(-sum(counts) // MAX_DECIDING)
    before = np.concatenate([[0], np.cumsum(counts)])[:-1]
    pieces = [
        delayed(_deciding_of)(part, first, -int(skipped) % stride, stride)
        for part, first, skipped in zip(parts, firsts, before, strict=True)
    ]
    return delayed(_gather)(stride == 1, *pieces)


def _deciding_of(part: Part, first: int, start: int, stride: int) -> Deciding:
    """Every so many samples with weight, from one of them on."""
    mask = part.searchable
    rows = np.arange(len(part)) if mask is None else np.flatnonzero(mask)
    rows = rows[start::stride]
    columns, weights = part.columns, part.columns.get("weights")
    return Deciding(
        columns["Z"][rows],
        part.points[rows],
        columns["targets"][rows],
        None if weights is None else weights[rows],
        first + rows,
        stride == 1,
    )


def _gather(everyone: bool, *pieces: Deciding) -> Deciding:
    names = ["Z", "points", "targets", "numbers"]
    if pieces[0].weights is not None:
        names.append("weights")
    found: dict[str, Any] = {
        name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in names
    }
    found.setdefault("weights", None)
    return Deciding(**found, everyone=everyone)


def assign(part: Part, first: int, models: Array, deciding: Deciding | None, total: int) -> Part:
    """The samples of a partition with their anchors; `total` is `assignment_neighbors`."""
    Z, Y = part.columns["Z"], part.columns["targets"]
    with one_blas_thread():
        votes = None
        if deciding is not None and min(total, len(deciding.Z)) > 1 and len(Z):
            votes = _votes(part, first, deciding, total)
        return part.assigned(*choose(Z, Y, models, votes))


def _votes(part: Part, first: int, deciding: Deciding, total: int) -> Votes:
    """The samples whose errors decide for a partition, found by their nearness."""
    n, A, points = len(part), min(total, len(deciding.Z)), part.points
    index = Neighbors(deciding.points)
    near = np.empty((n, A), dtype=np.int32)
    for block in row_chunks(n, A * 16):
        near[block] = index.query(points[block], A, 1)[1]
    of_deciding = deciding.weights
    if deciding.everyone:
        shares = assignment_shares(near, of_deciding, total)
        return Votes(deciding.Z, deciding.targets, near, shares, None)
    near = without_itself(near, deciding.numbers, first + np.arange(n))
    shares = np.ones((n, A))
    if of_deciding is not None:
        own = part.columns["weights"]
        shares = cut_at(np.column_stack([own, of_deciding[near]]), total)
    others = np.ascontiguousarray(shares[:, 1:])
    return Votes(deciding.Z, deciding.targets, near, others, shares[:, 0])


def assign_new(part: Part, models: Array, found: Found, total: int) -> Part:
    """New samples with their anchors, decided by the samples that were found near each."""
    Z, Y = part.columns["Z"], part.columns["targets"]
    labels, residuals = np.empty(len(Z), dtype=np.intp), np.empty_like(Y)
    row_bytes = found.rows.shape[1] * (len(models) * (Y.shape[1] + 1) + Z.shape[1]) * 8
    with one_blas_thread():
        for chunk in row_chunks(len(Z), row_bytes):
            _, one, inverse = np.unique(found.rows[chunk], return_index=True, return_inverse=True)
            near_Z, near_Y = (
                found.columns[name][chunk].reshape(-1, width)[one]
                for name, width in (("Z", Z.shape[1]), ("targets", Y.shape[1]))
            )
            errors = local_models.squared_errors(
                local_models.anchor_residuals(near_Z, near_Y, models)
            )
            near = inverse.reshape(-1, found.rows.shape[1])
            weights = found.columns.get("weights")
            shares = np.ones(near.shape) if weights is None else cut_at(weights[chunk], total)
            summed = local_models.summed_errors(errors, near, shares)
            labels[chunk] = local_models.best_anchors(summed, local_models.tie_floor(Y[chunk]))
            own = local_models.anchor_residuals(Z[chunk], Y[chunk], models)
            residuals[chunk] = local_models.own_residuals(own, labels[chunk])
    return part.assigned(labels, residuals)
