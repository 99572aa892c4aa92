"""Who is near whom: with `structures`, the one place that knows trees, scans and graphs.

`Neighbors` answers one question, exactly: which K of the stored points are nearest to a query,
and how far. Ties are broken by the lower row, so that the structure behind it, chosen for speed,
is not seen in the results (of more than a few hundred tied points, some are taken). Points can be
appended and removed: one structure holds the points it was built on, a second small one the
points since, the newest few are scanned, and all is built anew once the rest has grown to a
quarter of the first.

Other ways of being near come in here: a learned metric by the points it is given, anything else by
a class with the same `update` and `query`, as the leaves of a forest in `forest`.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..runtime.chunks import row_chunks
from .structures import Scan, Tree, in_cells

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


def neighbor_sets(graph: csr_array, rows: Rows, searchable: Mask | None) -> tuple[Rows, Mask]:
    """Neighbours of some rows in a graph: (k, K) rows, and which of them are padding.

    A row without a searchable neighbour is its own only one.
    """
    sets = [graph.indices[graph.indptr[i] : graph.indptr[i + 1]] for i in rows]
    if searchable is not None:
        sets = [s[searchable[s]] for s in sets]
    sets = [s if len(s) else np.array([i]) for s, i in zip(sets, rows, strict=True)]
    neighbors = np.zeros((len(rows), max(map(len, sets))), dtype=np.intp)
    padding = np.ones(neighbors.shape, dtype=bool)
    for out, pad, s in zip(neighbors, padding, sets, strict=True):
        out[: len(s)], pad[: len(s)] = s, False
    return neighbors, padding


class Neighbors:
    """The K nearest of a growing and shrinking set of points.

    Parameters
    ----------
    points : (n, d) array, kept by reference
    searchable : (n,) mask of the rows that may be found, or None for all
    n_jobs : threads of a query, as in scikit-learn: None is one for a tree and all for a scan
    """

    def __init__(self, points: Array, searchable: Mask | None, n_jobs: int | None):
        self.points = points
        self.searchable = searchable
        self.n_jobs = n_jobs
        self._parts: list[Tree | Scan] = []

    def update(self, points: Array, searchable: Mask | None) -> None:
        """Take note of appended rows, of removed ones, or of new memory for all of them."""
        moved = not np.may_share_memory(points, self.points)
        self.points, self.searchable = points, searchable
        if moved:
            self._parts = []  # or they would keep the old memory alive
            self.build()

    def query(self, X: Array, n_neighbors: int) -> tuple[Array, Rows]:
        """Distances and rows of the nearest points, both (q, K), nearest first.

        There must be at least n_neighbors searchable rows.
        """
        self.build()
        asked = n_neighbors, self.searchable, self.n_jobs
        found = [part.candidates(X, *asked) for part in self._parts]
        rows = found[0] if len(found) == 1 else np.concatenate(found, axis=1)
        usual = n_neighbors + 1
        crowded = (rows[:, usual:] >= 0).any(axis=1)
        if crowded.all() or rows.shape[1] <= 2 * usual:
            return self._nearest(X, rows, n_neighbors)
        # A few queries with many ties should not make all others wide.
        distances = np.empty((len(X), n_neighbors))
        nearest = np.empty(distances.shape, dtype=np.intp)
        for group, width in ((crowded, rows.shape[1]), (~crowded, usual)):
            candidates = rows[group, :width]
            distances[group], nearest[group] = self._nearest(X[group], candidates, n_neighbors)
        return distances, nearest

    def _nearest(self, X: Array, rows: Rows, n_neighbors: int) -> tuple[Array, Rows]:
        """Order candidates (q, c), -1 for none, by exact distance and row, and keep the first."""
        distances = np.empty(rows.shape)
        for chunk in row_chunks(len(X), rows.shape[1] * X.shape[1] * 8):
            offset = self.points[rows[chunk]] - X[chunk, None, :]
            np.einsum("qcd,qcd->qc", offset, offset, out=distances[chunk])
        np.sqrt(distances, out=distances)
        distances[rows < 0] = np.inf
        order = np.lexsort((rows, distances), axis=1)[:, :n_neighbors]
        return np.take_along_axis(distances, order, 1), np.take_along_axis(rows, order, 1)

    def build(self) -> None:
        """Cover all rows: with a large part, a recent part and the newest few."""
        n = len(self.points)
        if not self._parts or n - self._parts[0].stop > max(1024, self._parts[0].stop // 4):
            self._parts = [self._structure(0, n)]
            return
        large, *rest = self._parts
        recent = next((part for part in rest if isinstance(part, Tree)), None)
        stop = recent.stop if recent else large.stop
        if n - stop > max(64, (stop - large.stop) // 8):
            recent = Tree(self.points, self.searchable, large.stop, n)
        parts = [large, recent] if recent else [large]
        if n > parts[-1].stop:
            parts.append(Scan(self.points, self.searchable, parts[-1].stop, n))
        self._parts = parts

    def _structure(self, start: int, stop: int) -> "Tree | Scan":
        if tree_pays(self.points[start:stop]):
            return Tree(self.points, self.searchable, start, stop)
        return Scan(self.points, self.searchable, start, stop)


def tree_pays(points: Array) -> bool:
    """Whether a tree is expected to answer a query faster than a scan of all points.

    A scan's time grows with the points and features, less so where it goes by cells. A tree's grows
    steeply with the dimension in which the points really vary, more so where that is hidden in many
    features, and slowly with their number. Both in microseconds, with constants that were measured
    (benchmarks/neighbors.py).
    """
    n, d = points.shape
    varying = min(max(intrinsic_dimension(points), 1.0), d)
    tree = np.exp(0.05 + 0.72 * varying) * (n / 1e5) ** 0.45 * (d / varying) ** 1.4
    a_point = 3.4e-3 + 1.1e-4 * d
    if in_cells(points):
        a_point = min(a_point, 6e-5 * d * varying**0.4)
    return bool(tree < 9 + n * a_point)


def intrinsic_dimension(points: Array) -> float:
    """In how many dimensions the points vary: how fast neighbours near as points are added."""
    sample = points[:: max(1, len(points) // 4096)][:4096]
    queries = sample[::16]
    thinned = 16
    if len(sample) < 16 * thinned:
        return float(points.shape[1])
    sample, queries = sample - sample.mean(axis=0), queries - sample.mean(axis=0)
    norms = np.einsum("nd,nd->n", sample, sample)
    squares = norms + norms[::16, None] - 2 * (queries @ sample.T)
    sparse = np.median(np.partition(squares[:, ::thinned], 5, axis=1)[:, 5])
    dense = np.median(np.partition(squares, 5, axis=1)[:, 5])
    if not 0 < dense < sparse:
        return float(points.shape[1])
    return float(2 * np.log(thinned) / np.log(sparse / dense))
