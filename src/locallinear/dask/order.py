"""The distinct samples of all partitions in lexicographic order: how many, and which are where.

A local model draws its anchors by their place in this order. Here each partition sorts its own
samples, and sends a range of the order to each of several buckets, where equal samples of different
partitions meet. A bucket keeps only the numbers of its samples, in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..geometry.distinct import distinct_rows
from .partition import Part

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# About how many bytes a bucket sorts, and how many buckets there are at most.
BUCKET_BYTES = 32 * 2**20
MAX_BUCKETS = 128
# Samples of each partition per bucket that decide where buckets begin.
KEYS_PER_BUCKET = 16


@dataclass(frozen=True, eq=False)
class Order:
    """The distinct samples with weight, in lexicographic order.

    Attributes
    ----------
    buckets : list of Delayed
        Sample numbers of consecutive ranges of the order.
    counts : array
        How many each bucket has.
    """

    buckets: list[Delayed]
    counts: Rows

    def __len__(self) -> int:
        return int(self.counts.sum())

    def numbers(self, places: Rows) -> Rows:
        """The numbers of the samples at these places of the order."""
        edges = np.concatenate([[0], np.cumsum(self.counts)])
        of = np.searchsorted(edges, places, side="right") - 1
        asked = np.unique(of)
        found = dask.compute(
            *(delayed(np.take)(self.buckets[b], places[of == b] - edges[b]) for b in asked)
        )
        out = np.empty(len(places), dtype=np.intp)
        for b, numbers in zip(asked, found, strict=True):
            out[of == b] = numbers
        return out


def order_of(
    parts: Sequence[Delayed], firsts: Sequence[int], features: Rows | None, n_bytes: int
) -> Order:
    """The order of samples in a feature space, or of their values in some features.

    Parameters
    ----------
    parts, firsts : partitions, and the number of the first sample of each
    n_bytes : the size of all samples
    """
    n_buckets = max(1, min(len(parts), MAX_BUCKETS, -(-n_bytes // BUCKET_BYTES)))
    runs = [delayed(_sorted_rows)(part, features) for part in parts]
    if n_buckets == 1:
        keys = np.empty((0, 1))
    else:
        runs = list(dask.persist(*runs))
        pairs = zip(parts, runs, strict=True)
        sampled = dask.compute(*(delayed(_keys)(*pair, features, n_buckets) for pair in pairs))
        keys = _bucket_starts(sampled, n_buckets)
    pieces = [
        delayed(_cut, nout=n_buckets)(part, run, first, features, keys, n_buckets)
        for part, run, first in zip(parts, runs, firsts, strict=True)
    ]
    buckets = dask.persist(
        *(delayed(_merge)(*(of_part[b] for of_part in pieces)) for b in range(n_buckets))
    )
    counts = dask.compute(*(delayed(len)(bucket) for bucket in buckets))
    return Order(list(buckets), np.array(counts, dtype=np.intp))


def _values(part: Part, rows: Rows, features: Rows | None) -> Array:
    return part.columns["Z"][rows if features is None else np.ix_(rows, features)]


def _sorted_rows(part: Part, features: Rows | None) -> Rows:
    """The distinct samples of a partition in order, as rows of the partition."""
    Z = part.columns["Z"]
    if not part.n_searchable:
        return np.empty(0, dtype=np.intp)
    return distinct_rows(Z if features is None else Z[:, features], part.columns.get("weights"))[0]


def _keys(part: Part, rows: Rows, features: Rows | None, n_buckets: int) -> tuple[Array, float]:
    """Some samples of a partition, evenly over its order, and how many each stands for."""
    size = min(len(rows), KEYS_PER_BUCKET * n_buckets)
    some = rows[(np.arange(size) * len(rows)) // max(size, 1)]
    return _values(part, some, features), len(rows) / max(size, 1)


def _bucket_starts(sampled: Sequence[tuple[Array, float]], n_buckets: int) -> Array:
    """Where all buckets but the first begin, so that they get about equally many samples."""
    keys = np.concatenate([keys for keys, _ in sampled])
    mass = np.concatenate([np.full(len(keys), each) for keys, each in sampled])
    order = np.lexsort(keys.T[::-1])
    upto = np.cumsum(mass[order])
    wanted = upto[-1] * np.arange(1, n_buckets) / n_buckets
    return keys[order[np.searchsorted(upto, wanted)]]


def _cut(
    part: Part, rows: Rows, first: int, features: Rows | None, starts: Array, n_buckets: int
) -> list[tuple[Array, Rows]]:
    """The samples of a partition for each bucket, and their numbers."""
    edges = np.zeros(n_buckets + 1, dtype=np.intp)
    edges[-1] = len(rows)
    values = _values(part, rows, features)
    if n_buckets > 1:
        edges[1:-1] = np.searchsorted(_comparable(values), _comparable(starts))
    return [(values[a:b].copy(), first + rows[a:b]) for a, b in pairwise(edges)]


def _comparable(points: Array) -> NDArray:
    """Points as records, which numpy compares field by field: (n,)."""
    fields = np.dtype([(f"f{j}", np.float64) for j in range(points.shape[1])])
    return np.ascontiguousarray(points).view(fields)[:, 0]


def _merge(*pieces: tuple[Array, Rows]) -> Rows:
    """The numbers of the distinct samples of a bucket, in order; of equal ones the first."""
    values = np.concatenate([piece[0] for piece in pieces])
    numbers = np.concatenate([piece[1] for piece in pieces])
    return numbers[distinct_rows(values, None)[0]] if len(numbers) else numbers
