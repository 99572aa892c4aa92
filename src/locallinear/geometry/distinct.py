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
    rows = _sorted_by(Z[:, 0], None if weights is None else flat_nonzero(weights > 0))
    first = at(Z[:, 0], rows)
    same, never = first[1:] == first[:-1], xp.zeros_like(rows[:1], dtype=xp.bool)
    starts = xp.concat([~never, ~same])
    if bool(xp.any(same)):
        tied = xp.concat([same, never]) | xp.concat([never, same])
        ordered = rows[tied]
        for feature in reversed(range(Z.shape[1])):
            ordered = _sorted_by(Z[:, feature], ordered)
        rows[tied], points = ordered, at(Z, ordered)
        starts[tied] = xp.concat([~never, xp.any(points[1:, :] != points[:-1, :], axis=1)])
    mass = xp.ones_like(first) if weights is None else at(weights, rows)
    if bool(xp.all(starts)):
        return rows, mass
    ends = xp.concat([starts[1:], ~never])
    total = cumulative_sum(xp.astype(mass, xp.float64), axis=0)[ends]
    return rows[starts], xp.concat([total[:1], total[1:] - total[:-1]])


def _sorted_by(values: Array, rows: Array | None) -> Array:
    """Row numbers, all or those given, by these values (n,); equal ones stay in their order."""
    xp = namespace(values)
    if rows is None:
        return xp.argsort(values, stable=True)
    return at(rows, xp.argsort(at(values, rows), stable=True))
