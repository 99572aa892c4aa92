"""Each sample's choice among anchors by their errors, compiled: one pass, without Python's lock."""

import numpy as np

from ..compiler import njit


@njit(cache=True, nogil=True)
def choose_in_turn(errors, floor, first, factor, best, labels):
    """One anchor after the other takes a sample over if factor √e + floor < √best, in place.

    Parameters
    ----------
    errors : (n, b) of the anchors first to first + b
    floor, factor : (n,), and 1 plus the part by which roots of equal errors may differ
    best, labels : (n,) the error of the chosen anchor, and which it is; both updated
    """
    for i in range(len(errors)):
        smallest, label = best[i], labels[i]
        for anchor in range(errors.shape[1]):
            error = errors[i, anchor]
            if error < smallest and np.sqrt(error) * factor + floor[i] < np.sqrt(smallest):
                smallest, label = error, first + anchor
        best[i], labels[i] = smallest, label
