"""The distinct samples of all partitions in lexicographic order: how many, and which are where.

A local model draws its anchors by their place in this order. Here each partition sorts its own
samples. Partitions that are at one place together send a range of the order to each of several
buckets, where equal samples of different partitions meet. A bucket keeps only the numbers of its
samples, in order, and where that is asked for, how often each counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..geometry.distinct import distinct_rows
from .graphs import Layer, bundles_of, in_groups, settled
from .partition import Part

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
# Samples by number or row, and how often each counts, if that is asked for.
Counted = tuple[Rows, Array | None]
# The values of samples, and the samples.
Piece = tuple[Array, Counted]
# The features that order samples, None for all, and whether their targets do as well.
Columns = tuple[Rows | None, bool]

# About how many bytes a bucket sorts, and how many buckets there are at most.
BUCKET_BYTES = 64 * 2**20
MAX_BUCKETS = 128
# About how many bytes of samples one task sends to the buckets.
CUT_BYTES = 256 * 2**20
# Samples of each partition per bucket that decide where buckets begin.
KEYS_PER_BUCKET = 16


@dataclass(frozen=True, eq=False)
class Order:
    """The distinct samples with weight, in lexicographic order.

    Attributes
    ----------
    buckets : list of Delayed
        Samples by number, each of `Counted`, in consecutive ranges of the order. They may not be
        computed yet.
    expected : int
        How many samples there are if no two partitions have the same one; 0 if nobody counted.
    """

    buckets: list[Delayed]
    expected: int

    @cached_property
    def counts(self) -> Rows:
        """How many samples each bucket has."""
        found = dask.compute(*(delayed(_size)(bucket) for bucket in self.buckets))
        return np.array(found, dtype=np.intp)

    def __len__(self) -> int:
        return int(self.counts.sum())

    def samples(self, places: Rows) -> Counted:
        """The numbers of the samples at these places of the order, and how often each counts."""
        edges = np.concatenate([[0], np.cumsum(self.counts)])
        of = np.searchsorted(edges, places, side="right") - 1
        asked = np.unique(of)
        found = dask.compute(
            *(delayed(_taken)(self.buckets[b], places[of == b] - edges[b]) for b in asked)
        )
        back = np.argsort(np.concatenate([np.flatnonzero(of == b) for b in asked]))
        return _taken(_joined(found), back)


def order_of(
    parts: Sequence[Delayed],
    firsts: Sequence[int],
    features: Rows | None,
    n_bytes: int,
    *,
    with_targets: bool = False,
) -> Order:
    """The order of samples in a feature space, or of their values in some features.

    Parameters
    ----------
    parts, firsts : partitions, and the number of the first sample of each
    n_bytes : the size of all samples
    with_targets : whether samples are different where only their targets are, and counted
    """
    columns = features, with_targets
    n_buckets = max(1, min(len(parts), MAX_BUCKETS, -(-n_bytes // BUCKET_BYTES)))
    runs = [delayed(_sorted_rows)(part, columns) for part in parts]
    keys, expected = np.empty((0, 1)), 0
    if n_buckets > 1:
        runs = list(dask.persist(*runs))
        pairs = zip(parts, runs, strict=True)
        sampled = dask.compute(*(delayed(_keys)(*pair, columns, n_buckets) for pair in pairs))
        keys, expected = _bucket_starts(sampled, n_buckets), sum(n for _, n in sampled)
    layer, pieces = Layer("order"), []
    together = max(1, CUT_BYTES * len(parts) // n_bytes)
    bundles = bundles_of(settled(parts))
    for some in (some for bundle in bundles for some in in_groups(bundle, together)):
        given = [each for p in some for each in (parts[p], runs[p])]
        numbered = tuple(firsts[p] for p in some)
        cut = layer.task(_cut, numbered, columns, keys, n_buckets, *given)
        pieces.append(layer.entries(cut, n_buckets))
    merged = [layer.task(_merge, *of_bucket) for of_bucket in zip(*pieces, strict=True)]
    return Order(list(dask.persist(*layer.results(merged))), expected)


def _size(bucket: Counted) -> int:
    return len(bucket[0])


def _taken(samples: Counted, places: Any) -> Counted:
    numbers, counts = samples
    return numbers[places], None if counts is None else counts[places]


def _values(part: Part, columns: Columns, rows: Rows | slice = slice(None)) -> Array:
    """What the order of samples goes by: their inputs, and perhaps their targets."""
    features, with_targets = columns
    Z = part.columns["Z"][rows]
    values = Z if features is None else Z[:, features]
    return np.hstack([values, part.columns["targets"][rows]]) if with_targets else values


def _sorted_rows(part: Part, columns: Columns) -> Counted:
    """The distinct samples of a partition in order, as rows of the partition."""
    if not part.n_searchable:
        return np.empty(0, dtype=np.intp), np.empty(0) if columns[1] else None
    rows, counts = distinct_rows(_values(part, columns), part.columns.get("weights"))
    return rows, counts if columns[1] else None


def _keys(part: Part, run: Counted, columns: Columns, n_buckets: int) -> tuple[Array, int]:
    """Some samples of a partition, evenly over its order, and how many samples there are."""
    rows, _ = run
    size = min(len(rows), KEYS_PER_BUCKET * n_buckets)
    some = rows[(np.arange(size) * len(rows)) // max(size, 1)]
    return _values(part, columns, some), len(rows)


def _bucket_starts(sampled: Sequence[tuple[Array, int]], n_buckets: int) -> Array:
    """Where all buckets but the first begin, so that they get about equally many samples."""
    keys = np.concatenate([keys for keys, _ in sampled])
    mass = np.concatenate([np.full(len(keys), n / max(len(keys), 1)) for keys, n in sampled])
    order = np.lexsort(keys.T[::-1])
    upto = np.cumsum(mass[order])
    wanted = upto[-1] * np.arange(1, n_buckets) / n_buckets
    return keys[order[np.searchsorted(upto, wanted)]]


def _cut(
    firsts: Sequence[int], columns: Columns, starts: Array, n_buckets: int, *given: Any
) -> list[Piece]:
    """The samples of some partitions for each bucket, and their numbers.

    `given` are the partitions and their rows in order, in turn; `firsts` the number of the first
    sample of each.
    """
    pieces: list[list[Piece]] = [[] for _ in range(n_buckets)]
    for first, part, run in zip(firsts, given[::2], given[1::2], strict=True):
        rows, counts = run
        edges = np.zeros(n_buckets + 1, dtype=np.intp)
        edges[-1] = len(rows)
        values = _values(part, columns, rows)
        if n_buckets > 1:
            edges[1:-1] = np.searchsorted(_comparable(values), _comparable(starts))
        for of_bucket, (a, b) in zip(pieces, pairwise(edges), strict=True):
            of_bucket.append((values[a:b], _taken((first + rows, counts), slice(a, b))))
    return [_together(of_bucket) for of_bucket in pieces]


def _joined(samples: Sequence[Counted]) -> Counted:
    numbers, counts = zip(*samples, strict=True)
    return np.concatenate(numbers), None if counts[0] is None else np.concatenate(counts)


def _together(pieces: Sequence[Piece]) -> Piece:
    values, samples = zip(*pieces, strict=True)
    return np.concatenate(values), _joined(samples)


def _comparable(points: Array) -> NDArray:
    """Points as records, which numpy compares field by field: (n,)."""
    fields = np.dtype([(f"f{j}", np.float64) for j in range(points.shape[1])])
    return np.ascontiguousarray(points).view(fields)[:, 0]


def _merge(*pieces: Piece) -> Counted:
    """The numbers of the distinct samples of a bucket, in order; of equal ones the first."""
    values, (numbers, counts) = _together(pieces)
    if not len(numbers):
        return numbers, counts
    rows, total = distinct_rows(values, counts)
    return numbers[rows], None if counts is None else total
