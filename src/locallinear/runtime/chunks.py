"""Temporary arrays: how large they may be."""

from collections.abc import Iterator

from sklearn import get_config

# Beyond a few megabytes a temporary array falls out of the processor's cache, and larger
# chunks are slower as well as larger; `working_memory` can only make them smaller.
CACHE_BYTES = 4 * 2**20

# Larger tables, of all anchors and samples, are held in blocks of at most this size.
BLOCK_BYTES = 32 * 2**20


def row_chunks(n_rows: int, row_bytes: int, first: int = 0) -> Iterator[slice]:
    """Cut the rows from first on into slices whose temporary arrays are small.

    `row_bytes` is the size of these arrays per row.
    """
    budget = min(CACHE_BYTES, int(get_config()["working_memory"] * 2**20))
    step = max(1, budget // max(row_bytes, 1))
    for start in range(first, n_rows, step):
        yield slice(start, min(start + step, n_rows))
