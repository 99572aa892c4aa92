"""Anchors are drawn from a permutation of all samples; here only its beginning is in memory."""

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]

# Fewer samples than this are permuted as a whole, and more than numpy's shuffle draws 32 bits for.
WHOLE = 1_000_000
MOST = 2**32
# Up to so many samples all swaps are kept; of more they are drawn twice.
KEPT = 50_000_000
# Random numbers per block.
BLOCK = 2**22


def first_of_permutation(random: np.random.RandomState, n: int, k: int) -> Rows:
    """What ``random.permutation(n)[:k]`` returns, in memory that does not grow with n.

    The generator goes on as it would after the permutation.
    """
    if n <= WHOLE or n > MOST:
        return random.permutation(n)[:k]
    from ..kernels.shuffle import follow_back, swaps  # compiled

    partners, blocks, i = np.empty(BLOCK, dtype=np.uint32), [], n - 1
    while i > 0:
        state = random.get_state(legacy=False)
        found, used = swaps(_numbers(random), i, partners)
        blocks.append((state, i, partners[:found].copy() if n <= KEPT else None))
        i -= found
    random.set_state(state)
    _numbers(random, used)  # no more than the permutation takes
    end = random.get_state(legacy=False)
    places = np.arange(min(k, n))
    for state, i, kept in reversed(blocks):
        if kept is None:
            random.set_state(state)
            found, _ = swaps(_numbers(random), i, partners)
            kept = partners[:found]
        follow_back(places, i, kept)
    random.set_state(end)
    return places


def _numbers(random: np.random.RandomState, size: int = 0) -> NDArray[np.uint32]:
    return random.randint(0, 2**32, size or BLOCK, dtype=np.uint32)
