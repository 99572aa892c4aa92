"""Distinct points, in an order that depends on the points alone."""

import numpy as np

from ..arrays import AnyArray as Array
from ..arrays import at, cumulative_sum, flat_nonzero, is_numpy, namespace


def distinct_rows(Z: Array, weights: Array | None) -> tuple[Array, Array]:
    """One row number per distinct point with weight, in lexicographic order, and the weights.

    What is drawn from these rows depends neither on the order of the samples nor on whether a
    sample is repeated or has a larger weight.
    """
    if not is_numpy(Z):
        return _distinct_on_device(Z, weights)
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


def _distinct_on_device(Z: Array, weights: Array | None) -> tuple[Array, Array]:
    """The same with the functions that all arrays have: sorts that keep the order of equal rows."""
    xp = namespace(Z)
    weights = xp.ones_like(Z[:, 0]) if weights is None else weights
    weighted = flat_nonzero(weights > 0)
    rows = at(weighted, xp.argsort(at(Z[:, 0], weighted), stable=True))
    first = at(Z[:, 0], rows)
    if bool(xp.all(first[1:] != first[:-1])):
        return rows, at(weights, rows)
    rows = weighted
    for feature in reversed(range(Z.shape[1])):
        rows = at(rows, xp.argsort(at(Z[:, feature], rows), stable=True))
    ordered = at(Z, rows)
    differs = xp.any(ordered[1:, :] != ordered[:-1, :], axis=1)
    always = xp.ones_like(rows[:1], dtype=xp.bool)
    total = cumulative_sum(at(weights, rows), axis=0)[xp.concat([differs, always])]
    mass = xp.concat([total[:1], total[1:] - total[:-1]])
    return rows[xp.concat([always, differs])], mass
