"""A k-d tree over points: the faster structure where a query has to visit few points."""

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from .candidates import max_candidates, searchable_rows

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Distances that agree to this precision may be ties that rounding has hidden.
TIE = 1e-12


class KDTree:
    """A k-d tree over the searchable rows from start to stop (see `candidates`)."""

    def __init__(self, points: Array, searchable: Mask | None, start: int, stop: int):
        self.start, self.stop = start, stop
        whole = searchable is None or bool(searchable[start:stop].all())
        self.rows = None if whole else searchable_rows(searchable, start, stop)
        self.tree = cKDTree(points[start:stop] if self.rows is None else points[self.rows])

    def candidates(
        self, X: Array, n_neighbors: int, searchable: Mask | None, n_jobs: int | None
    ) -> Rows:
        """Rows (q, c) that include the nearest points of this part, padded with -1.

        A query asks for more points until the farthest point is clearly farther away than the last
        neighbour.
        """
        workers = effective_n_jobs(n_jobs)
        k = min(n_neighbors + 1, self.tree.n)
        out = np.full((len(X), k), -1, dtype=np.intp)
        undecided = np.arange(len(X))
        while len(undecided) and k:
            distances, position = self.tree.query(X[undecided], k=k, workers=workers)
            distances = distances.reshape(len(undecided), k)
            position = position.reshape(len(undecided), k)
            rows = position + self.start if self.rows is None else self.rows[position]
            farthest = distances[:, -1].copy()
            if searchable is not None:
                removed = ~searchable[rows]
                rows[removed], distances[removed] = -1, np.inf
            out[undecided, :k] = rows
            if k == self.tree.n:
                break
            last = np.partition(distances, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
            more = farthest <= last * (1 + TIE)
            if k >= max_candidates(n_neighbors):
                more &= np.isinf(last)
            undecided = undecided[more]
            if len(undecided):
                k = min(4 * k, self.tree.n)
                found, out = out, np.full((len(X), k), -1, dtype=np.intp)
                out[:, : found.shape[1]] = found
        return out
