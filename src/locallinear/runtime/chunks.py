"""Temporary arrays: how large they may be."""

from collections.abc import Iterator

from sklearn import get_config

from ..arrays import AnyArray, is_numpy

# Beyond a few megabytes a temporary array falls out of the processor's cache, and larger
# chunks are slower as well as larger; `working_memory` can only make them smaller.
CACHE_BYTES = 4 * 2**20

# A device has no cache that matters, and starting a computation on it costs more.
DEVICE_BYTES = 2**30

# Larger tables, of all anchors and samples, are held in blocks of at most this size.
BLOCK_BYTES = 32 * 2**20


def largest_chunk(like: AnyArray) -> int:
    """Bytes of the largest temporary array, where an array is."""
    return CACHE_BYTES if is_numpy(like) else DEVICE_BYTES


def row_chunks(
    n_rows: int, row_bytes: int, first: int = 0, like: AnyArray | None = None
) -> Iterator[slice]:
    """Cut the rows from first on into slices whose temporary arrays are small.

    `row_bytes` is the size of these arrays per row, and `like` an array that says where they are.
    """
    largest = CACHE_BYTES if like is None else largest_chunk(like)
    budget = min(largest, int(get_config()["working_memory"] * 2**20))
    step = max(1, budget // max(row_bytes, 1))
    for start in range(first, n_rows, step):
        yield slice(start, min(start + step, n_rows))
