"""Temporary arrays: how large they are, and memory that is used again."""

import math
import threading
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

# Beyond a few megabytes a temporary array falls out of the processor's cache, and larger
# chunks are slower as well as larger; `working_memory` can only make them smaller.
CACHE_BYTES = 4 * 2**20
LINE_BYTES = 64

# Larger tables, of all anchors and samples, are held in blocks of at most this size.
BLOCK_BYTES = 32 * 2**20

# How many numbers the compiled functions of a search take at a time.
LANES = 8


def row_chunks(n_rows: int, row_bytes: int, first: int = 0) -> Iterator[slice]:
    """Cut the rows from first on into slices whose temporary arrays, row_bytes a row, are small."""
    budget = min(CACHE_BYTES, int(get_config()["working_memory"] * 2**20))
    step = max(1, budget // max(row_bytes, 1))
    for start in range(first, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def whole_lanes(n: int) -> int:
    """The next multiple of LANES."""
    return n + -n % LANES


class Scratch(threading.local):
    """Arrays by name that a thread fills again and again.

    Memory that comes and goes in every step of a loop is handed back to the system each time, and
    made anew: on a short step that takes as long as the work. Each array begins where a line of the
    cache does, so that eight numbers are never in two.
    """

    def __init__(self):
        self._kept: dict[str, NDArray] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: type = np.float64) -> NDArray:
        """An array of this shape, with whatever was left in it; it is good until the next one."""
        size = math.prod(shape)
        kept = self._kept.get(name)
        if kept is None or kept.size < size or kept.dtype != dtype:
            n_bytes = size * np.dtype(dtype).itemsize
            memory = np.empty(n_bytes + LINE_BYTES, dtype=np.uint8)
            start = -memory.ctypes.data % LINE_BYTES
            kept = self._kept[name] = memory[start : start + n_bytes].view(dtype)
        return kept[:size].reshape(shape)
