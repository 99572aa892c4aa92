"""Which anchor each of many samples takes: the one with the smallest error.

A sample decides for itself, or near samples decide with it. Many samples are compared by compiled
code, a part of them per thread; few samples, and arrays on a device, by tables of errors.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..arrays import is_numpy, namespace
from ..kernels.local import models as local_models
from ..runtime.chunks import CACHE_BYTES, largest_chunk, row_chunks
from ..runtime.threads import in_threads, thread_parts

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# So many errors of samples and anchors are compared before compiled code is loaded.
FEW_ERRORS = 2**16


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


def choose(
    Z: Array, Y: Array, models: Array, votes: Votes | None, n_threads: int = 1
) -> tuple[Rows, Array]:
    """Each sample's anchor (n,) and its residuals from it (n, m).

    Without votes each sample decides for itself.
    """
    if not is_numpy(Z) or Z.shape[0] * models.shape[0] <= FEW_ERRORS:
        return _choose_by_tables(Z, Y, models, votes)
    from ..kernels.local.choosing import choose_alone, write_residuals  # compiled

    floor, tie = local_models.tie_floor(Y), local_models.tie_of(Y)
    labels, residuals = np.zeros(len(Y), dtype=np.intp), np.empty_like(Y)
    by_feature = np.ascontiguousarray(models.transpose(2, 1, 0))
    if votes is not None:
        _count_votes(Z, Y, by_feature, votes, floor, tie, labels, n_threads)

    def finish(part: slice) -> None:
        if votes is None:
            choose_alone(Z[part], Y[part], by_feature, floor[part], 1 + tie, labels[part])
        write_residuals(Z[part], Y[part], by_feature, labels[part], residuals[part])

    in_threads(finish, thread_parts(len(Y), n_threads), n_threads)
    return labels, residuals


def _count_votes(
    Z: Array,
    Y: Array,
    models: Array,
    votes: Votes,
    floor: Array,
    tie: float,
    labels: Rows,
    n_threads: int,
) -> None:
    """Write each sample's anchor to `labels` (n,); `models` are (m, d + 1, k).

    Some anchors at a time are compared, so that their errors are in the processor's cache.
    """
    from ..kernels.local.choosing import choose_by_votes, write_errors  # compiled

    n, u, k = len(Y), len(votes.Y), models.shape[2]
    own = np.zeros(n) if votes.own is None else votes.own
    best = np.full(n, np.inf)

    def fill(block: Array, table: Array, part: slice) -> None:
        write_errors(votes.Z[part], votes.Y[part], block, table[part])

    def decide(first: int, block: Array, table: Array, part: slice) -> None:
        counted = votes.near[part], votes.shares[part], own[part]
        of_samples = Z[part], Y[part], block, floor[part]
        choose_by_votes(table, *counted, *of_samples, first, 1 + tie, best[part], labels[part])

    step = max(1, n_threads * CACHE_BYTES // (u * 8))
    for first in range(0, k, step):
        block = np.ascontiguousarray(models[:, :, first : first + step])
        table = np.empty((u, block.shape[2]))
        in_threads(partial(fill, block, table), thread_parts(u, n_threads), n_threads)
        in_threads(partial(decide, first, block, table), thread_parts(n, n_threads), n_threads)


def _choose_by_tables(Z: Array, Y: Array, models: Array, votes: Votes | None) -> tuple[Rows, Array]:
    """The same for arrays of any kind, by tables of some anchors and some samples at a time."""
    (n, m), k, xp = Y.shape, models.shape[0], namespace(Y)
    floor = local_models.tie_floor(Y)
    best, chosen = xp.full_like(floor, xp.inf), xp.empty_like(Y)
    labels = xp.zeros_like(floor, dtype=xp.int64)
    step = k
    if votes is not None:
        step = max(1, largest_chunk(Z) // (votes.Z.shape[0] * (m + 1) * 8))
    for first in range(0, k, step):
        block = models[first : min(first + step, k), ...]
        if votes is not None:
            table = local_models.squared_errors(
                local_models.anchor_residuals(votes.Z, votes.Y, block)
            )
        for chunk in row_chunks(n, block.shape[0] * (m + 3) * 8, like=Z):
            residuals = local_models.anchor_residuals(Z[chunk, ...], Y[chunk, ...], block)
            if votes is None or votes.own is not None:
                errors = local_models.squared_errors(residuals)
            if votes is not None:
                near, shares = votes.near[chunk, ...], votes.shares[chunk, ...]
                summed = local_models.summed_errors(table, near, shares)
                own = votes.own
                errors = summed if own is None else summed + own[chunk, None] * errors
            now = labels[chunk]
            local_models.choose_again(errors, floor[chunk], first, best[chunk], now)
            _keep_own(chosen[chunk, ...], residuals, now, first)
    return labels, chosen


def _keep_own(chosen: Array, residuals: Array, labels: Rows, first: int) -> None:
    """Write the residuals (m, c, b) of samples whose anchor is `first` or a later one, (c, m)."""
    xp = namespace(chosen)
    is_new = labels >= first
    own = local_models.own_residuals(residuals, xp.where(is_new, labels - first, 0))
    chosen[...] = xp.where(is_new[:, None], own, chosen)
