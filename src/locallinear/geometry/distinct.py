"""Distinct points, in an order that depends on nothing but the points."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def distinct_rows(Z: Array, weights: Array | None) -> tuple[Rows, Array]:
    """One row of each distinct point that has weight, in lexicographic order, and their weights.

    The order depends on the points alone, so that what is drawn from them depends neither on the
    order of the samples nor on whether one is repeated or weighs more.
    """
    weighed = None if weights is None else np.flatnonzero(weights > 0)
    first = Z[:, 0].copy() if weighed is None else Z[weighed, 0]
    rows = np.argsort(first, kind="stable")
    first = first[rows]
    # The first feature orders nearly all points of continuous data; only its ties need the rest.
    tied = np.concatenate([[False], first[1:] == first[:-1]])
    del first  # of a million samples, arrays that are not needed any more are worth freeing
    tied |= np.concatenate([tied[1:], [False]])
    if weighed is not None:
        rows = weighed[rows]
    if tied.any():
        among = rows[tied]
        rows[tied] = among[np.lexsort(Z[among].T[::-1])]
    new = np.ones(len(rows), dtype=bool)
    candidates = np.flatnonzero(tied[1:]) + 1
    new[candidates] = (Z[rows[candidates]] != Z[rows[candidates - 1]]).any(axis=1)
    mass = np.ones(len(rows)) if weights is None else weights[rows]
    if new.all():
        return rows, mass
    return rows[new], np.add.reduceat(mass, np.flatnonzero(new))
