"""The beginning of a random permutation, without the permutation in memory.

numpy's legacy shuffle swaps, for i from n − 1 down to 1, the entries i and j, where j is the first
of the random 32-bit numbers, cut to the bits of i, that is at most i. So the entry that ends at
place p can be followed backwards through the swaps, and few entries need little memory.
"""

import numpy as np

from .compiler import njit

# The low bits of places by which most j are known not to be followed.
FILTER = 2**20 - 1


@njit(cache=True)
def swaps(raw, i, out):
    """Read the swap partners j of i, i − 1, ... from random numbers into `out`.

    Returns how many were found, and how many numbers that took; `out` has the length of `raw`.
    """
    found = 0
    mask = 1
    while mask < i:
        mask = 2 * mask + 1
    for used in range(len(raw)):
        if i < 1:
            return found, used
        j = raw[used] & mask
        if j <= i:
            out[found] = j
            found += 1
            i -= 1
            if i <= mask >> 1:
                mask >>= 1
    return found, len(raw)


@njit(cache=True)
def follow_back(places, first, partners):
    """Move places back through the swaps of i = first, first − 1, ..., the last of them first.

    Parameters
    ----------
    places : (k,) where the followed entries are after these swaps; updated
    first : the i of the first partner
    partners : (s,) the j of each swap
    """
    followed = np.zeros(FILTER + 1, dtype=np.bool_)
    for place in places:
        followed[place & FILTER] = True
    for s in range(len(partners) - 1, -1, -1):
        i, j = first - s, partners[s]
        if i != j and (followed[i & FILTER] or followed[j & FILTER]):
            for p in range(len(places)):
                if places[p] == i:
                    places[p] = j
                    followed[j & FILTER] = True
                elif places[p] == j:
                    places[p] = i
                    followed[i & FILTER] = True
