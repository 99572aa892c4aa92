"""What the two search structures, `KDTree` and `Scan`, have in common.

A structure holds the searchable rows from `start` to `stop` of an array of points. Its method
`candidates` returns rows that certainly include the nearest points and all points that tie with
the last of them. So the caller can order the candidates by distance and row, and the answer is the
same for both structures.
"""

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# If more candidates than this tie for one query, the structure takes those that it finds first.
MAX_CANDIDATES = 256


def max_candidates(n_neighbors: int) -> int:
    """Number of candidates per query above which ties are no longer complete."""
    return max(MAX_CANDIDATES, 2 * n_neighbors)


def searchable_rows(searchable: Mask | None, start: int, stop: int) -> Rows:
    """Row numbers from start to stop that may be found."""
    if searchable is None:
        return np.arange(start, stop)
    return start + np.flatnonzero(searchable[start:stop])
