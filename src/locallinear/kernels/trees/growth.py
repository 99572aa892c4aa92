"""What all growing trees need: chance, sums over the samples of a node, and its partition.

Chance is a function of a seed alone, so that a tree does not depend on the trees beside it, nor on
the thread that grows it. A compiled stream of numbers is needed because trees grow without Python.
"""

import numpy as np

from ..compiler import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def next_word(state):
    """The next of a stream of random 64-bit words (splitmix64), from its state (1,)."""
    state[0] += GOLDEN
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def uniform(state):
    """A random number from 0 to 1, without 1."""
    return (next_word(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def node_sums(targets, mass, rows, first, end, total):
    """Sum of the masses and of the targets' squares; the sums of the targets are written."""
    whole, squares = 0.0, 0.0
    total[:] = 0.0
    for a in range(first, end):
        i = rows[a]
        whole += mass[i]
        for t in range(len(total)):
            total[t] += mass[i] * targets[i, t]
            squares += mass[i] * targets[i, t] ** 2
    return whole, squares


@njit(cache=True, nogil=True)
def partition(ranks, rows, first, end, cut):
    """Put the samples up to the cut first; returns where the others begin."""
    a, b = first, end - 1
    while a <= b:
        if ranks[rows[a]] <= cut:
            a += 1
        else:
            rows[a], rows[b] = rows[b], rows[a]
            b -= 1
    return a
