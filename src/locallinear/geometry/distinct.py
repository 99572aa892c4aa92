"""Distinct points, in an order that depends on the points alone."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def distinct_rows(Z: Array, weights: Array | None) -> tuple[Rows, Array]:
    """One row number per distinct point with weight, in lexicographic order, and the weights.

    What is drawn from these rows depends neither on the order of the samples nor on whether a
    sample is repeated or has a larger weight.
    """
    weighted = None if weights is None else np.flatnonzero(weights > 0)
    first = Z[:, 0].copy() if weighted is None else Z[weighted, 0]
    rows = np.argsort(first, kind="stable")
    first = first[rows]
    # In continuous data the first feature orders nearly all points; only ties need the others.
    tied = np.concatenate([[False], first[1:] == first[:-1]])
    del first  # worth freeing where there are millions of samples
    tied |= np.concatenate([tied[1:], [False]])
    if weighted is not None:
        rows = weighted[rows]
    if tied.any():
        tied_rows = rows[tied]
        rows[tied] = tied_rows[np.lexsort(Z[tied_rows].T[::-1])]
    new = np.ones(len(rows), dtype=bool)
    candidates = np.flatnonzero(tied[1:]) + 1
    new[candidates] = (Z[rows[candidates]] != Z[rows[candidates - 1]]).any(axis=1)
    mass = np.ones(len(rows)) if weights is None else weights[rows]
    if new.all():
        return rows, mass
    return rows[new], np.add.reduceat(mass, np.flatnonzero(new))
