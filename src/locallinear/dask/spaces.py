"""The feature space of samples in many partitions.

Means and deviations are sums over the same blocks of rows as those of a local fit, whatever the
partitions: blocks inside a partition are summed there, and the few that lie across partitions are
put together for it. So scaled values equal those of a local fit to the last digit, and points that
are equally far there are so here. Ranks come from distinct values with their weights, which are
merged from the partitions. Where a feature has too many values, they are thinned.
"""

from collections.abc import Sequence
from itertools import pairwise

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..geometry.quantile import distribution, space_of_distributions
from ..geometry.spaces import (
    BLOCK,
    AffineSpace,
    Space,
    Term,
    block_sums,
    mean_of_blocks,
    space_of_means,
)
from .graphs import in_groups
from .partition import Table

Array = NDArray[np.float64]
Distribution = tuple[Array, Array]

# Up to so many distinct values of a feature, ranks are exact. Of more, so many are kept.
MAX_VALUES = 100_000
# Distributions that are merged at a time.
FAN_IN = 8


def fit_space_of(
    scaling: str | None,
    tables: Sequence[Delayed],
    counts: Sequence[int],
    origin: Array,
    total_weight: float,
    indicators: NDArray[np.intp] | None = None,
) -> Space:
    """The feature space of `scaling`.

    Parameters
    ----------
    tables : the samples
    counts : how many samples with weight each table has
    origin : (d,) the first sample with weight
    total_weight : the sum of all weights
    indicators : features that are not scaled
    """
    if scaling is None:
        return AffineSpace(np.zeros(len(origin)), np.ones(len(origin)))
    if scaling == "standard":

        def mean_of(term: Term) -> Array:
            return mean_of_blocks(_sums_of_blocks(term, tables, counts), total_weight)

        space = space_of_means(origin, mean_of)
        if indicators is not None:
            space.scale[indicators] = 1.0
        return space
    merged = [delayed(_distributions)(table) for table in tables]
    while len(merged) > 1:
        merged = [delayed(_merge)(*group) for group in in_groups(merged, FAN_IN)]
    (distributions,) = dask.compute(merged[0])
    return space_of_distributions(distributions, total_weight, indicators)


def _sums_of_blocks(term: Term, tables: Sequence[Delayed], counts: Sequence[int]) -> list[Array]:
    """The weighted sums of a term over each block of all samples with weight, in order."""
    edges = np.concatenate([[0], np.cumsum(counts)])
    n = int(edges[-1])
    tasks, starts = [], []
    for p, (start, stop) in enumerate(pairwise(edges)):
        first = -(-start // BLOCK) * BLOCK
        last = stop if stop == n else stop // BLOCK * BLOCK
        if first < last:
            tasks.append(delayed(_sums_inside)(term, tables[p], first - start, last - start))
            starts.append(first)
    # What is left of each partition is at its ends, in blocks that others have a share in.
    across: dict[int, list[Delayed]] = {}
    for p, (start, stop) in enumerate(pairwise(edges)):
        first, last = -(-start // BLOCK) * BLOCK, stop // BLOCK * BLOCK
        pieces = [(start, min(first, stop))]
        if stop != n and last >= first:
            pieces.append((last, stop))
        for begin, end in pieces:
            if begin < end:
                piece = delayed(_rows_with_weight)(tables[p], begin - start, end - start)
                across.setdefault(begin // BLOCK * BLOCK, []).append(piece)
    for block, found in across.items():
        tasks.append(delayed(_sum_across)(term, *found))
        starts.append(block)
    sums = dask.compute(*tasks)
    return [total for i in np.argsort(starts) for total in sums[i]]


def _rows_with_weight(table: Table, begin: int, end: int) -> Distribution:
    """Some of the samples with weight, counted without the others, and their weights."""
    if table.weights is None:
        return table.X[begin:end], np.ones(end - begin)
    rows = np.flatnonzero(table.weights)[begin:end]
    return table.X[rows], table.weights[rows]


def _sums_inside(term: Term, table: Table, begin: int, end: int) -> list[Array]:
    return block_sums(term, *_rows_with_weight(table, begin, end))


def _sum_across(term: Term, *pieces: Distribution) -> list[Array]:
    return block_sums(term, *(np.concatenate(column) for column in zip(*pieces, strict=True)))


def _distributions(table: Table) -> list[Distribution]:
    """The distinct values of each feature with their weights."""
    X, weights = _rows_with_weight(table, 0, len(table.X))
    return [_thinned(*distribution(column, weights)) for column in X.T]


def _merge(*parts: list[Distribution]) -> list[Distribution]:
    """One distribution per feature from those of several partitions."""
    return [
        _thinned(*distribution(*(np.concatenate(column) for column in zip(*found, strict=True))))
        for found in zip(*parts, strict=True)
    ]


def _thinned(values: Array, mass: Array) -> Distribution:
    """At most `MAX_VALUES` values, which stand for others near them; the outermost stay."""
    if len(values) <= MAX_VALUES:
        return values, mass
    # Groups of equal weight; each is at the value in its middle.
    upto = np.cumsum(mass)
    groups = np.minimum((upto - mass / 2) / upto[-1] * (MAX_VALUES - 2), MAX_VALUES - 3).astype(int)
    groups += 1
    groups[0], groups[-1] = 0, MAX_VALUES - 1
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    stops = np.append(starts[1:], len(values))
    return values[(starts + stops - 1) // 2], np.add.reduceat(mass, starts)
