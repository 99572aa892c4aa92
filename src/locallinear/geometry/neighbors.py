"""The nearest points, exactly.

`Neighbors` finds the K stored points that are nearest to a query, and their distances. Of points
that are equally far away, the one with the lower row number counts as nearer. So the results do not
depend on the search structure, which is chosen for speed (if more than a few hundred points tie,
some of them are returned). Points can be appended and removed: one structure holds the points that
it was built on, a second small one holds the points added since, and a scan covers the newest few.
All is built again once the rest has grown to a quarter of the first.

`Neighbors` is a value: `update` returns another one, which shares the structures, and whoever uses
the old one goes on finding the old points. A learned metric changes the points that `Neighbors`
gets. Any other kind of nearness needs a class with the same `update`, `build` and `query`, such as
`leaf_neighbors.LeafNeighbors`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..arrays import AnyArray, namespace
from ..runtime.chunks import row_chunks
from .blocks import cells_possible
from .kd_tree import KDTree
from .scan import Scan

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


def neighbor_sets(graph: csr_array, rows: Rows, searchable: Mask | None) -> tuple[Rows, Mask]:
    """Neighbours in a graph of k rows: row numbers (k, K), and which of them are padding.

    The only neighbour of a row without a searchable neighbour is the row itself.
    """
    sets = [graph.indices[graph.indptr[i] : graph.indptr[i + 1]] for i in rows]
    if searchable is not None:
        sets = [members[searchable[members]] for members in sets]
    sets = [
        members if len(members) else np.array([i]) for members, i in zip(sets, rows, strict=True)
    ]
    neighbors = np.zeros((len(rows), max(map(len, sets))), dtype=np.intp)
    padding = np.ones(neighbors.shape, dtype=bool)
    for i, members in enumerate(sets):
        neighbors[i, : len(members)], padding[i, : len(members)] = members, False
    return neighbors, padding


def leave_out(distances: AnyArray, near: AnyArray, rows: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The K neighbours of each query other than its own row, from the K + 1 nearest, nearest first.

    Parameters
    ----------
    distances, near : (q, K + 1) of the nearest
    rows : (q,) the row that a query must not have; where it is not among them, the last one goes
    """
    xp = namespace(near)
    keep = near != rows[:, None]
    # Where none goes, the last one does.
    last = xp.concat([keep[:, :-1] & False, keep[:, -1:]], axis=1)
    keep = keep & ~(xp.all(keep, axis=1, keepdims=True) & last)
    shape = near.shape[0], near.shape[1] - 1
    return xp.reshape(distances[keep], shape), xp.reshape(near[keep], shape)


class Neighbors:
    """Finds the K nearest of a set of points.

    Parameters
    ----------
    points : (n, d) array, kept by reference
    searchable : (n,) mask of the rows that may be found, or None for all
    parts : structures over the first of these rows, if there are some already
    """

    def __init__(
        self, points: Array, searchable: Mask | None = None, parts: Sequence[KDTree | Scan] = ()
    ):
        self.points = points
        self.searchable = searchable
        self._parts = parts

    def update(self, points: Array, searchable: Mask | None) -> "Neighbors":
        """The same for these points: rows were appended or removed, or moved in memory."""
        # Parts of points that have moved would keep the old memory alive.
        parts = self._parts if np.may_share_memory(points, self.points) else ()
        return Neighbors(points, searchable, parts)

    def query(self, X: Array, n_neighbors: int, n_jobs: int | None = None) -> tuple[Array, Rows]:
        """Distances and rows of the nearest points, both (q, K), nearest first.

        There must be at least n_neighbors searchable rows. `n_jobs` are threads as in scikit-learn;
        None is one for a tree and all for a scan.
        """
        parts = self.build()
        found = [part.candidates(X, n_neighbors, self.searchable, n_jobs) for part in parts]
        rows = found[0] if len(found) == 1 else np.concatenate(found, axis=1)
        usual = n_neighbors + 1
        crowded = (rows[:, usual:] >= 0).any(axis=1)
        if crowded.all() or rows.shape[1] <= 2 * usual:
            return self._nearest(X, rows, n_neighbors)
        # A few queries with many ties must not make the tables of all other queries wide.
        distances = np.empty((len(X), n_neighbors))
        nearest = np.empty(distances.shape, dtype=np.intp)
        for group, width in ((crowded, rows.shape[1]), (~crowded, usual)):
            candidates = rows[group, :width]
            distances[group], nearest[group] = self._nearest(X[group], candidates, n_neighbors)
        return distances, nearest

    def _nearest(self, X: Array, rows: Rows, n_neighbors: int) -> tuple[Array, Rows]:
        """Order candidates (q, c), padded with -1, by exact distance and row; keep the first K."""
        distances = np.empty(rows.shape)
        for chunk in row_chunks(len(X), rows.shape[1] * X.shape[1] * 8):
            offset = self.points[rows[chunk]] - X[chunk, None, :]
            np.einsum("qcd,qcd->qc", offset, offset, out=distances[chunk])
        np.sqrt(distances, out=distances)
        distances[rows < 0] = np.inf
        order = np.lexsort((rows, distances), axis=1)[:, :n_neighbors]
        return np.take_along_axis(distances, order, 1), np.take_along_axis(rows, order, 1)

    def build(self) -> Sequence[KDTree | Scan]:
        """Cover all rows with a large part, a recent part and a scan of the newest rows."""
        # Several threads may run this: each works on what it has read, which is always complete.
        n, parts = len(self.points), self._parts
        if parts and parts[-1].stop == n:
            return parts
        if not parts or n - parts[0].stop > max(1024, parts[0].stop // 4):
            kind = KDTree if tree_pays(self.points) else Scan
            self._parts = whole = [kind(self.points, self.searchable, 0, n)]
            return whole
        large, *rest = parts
        recent = next((part for part in rest if isinstance(part, KDTree)), None)
        stop = recent.stop if recent else large.stop
        if n - stop > max(64, (stop - large.stop) // 8):
            recent = KDTree(self.points, self.searchable, large.stop, n)
        cover: list[KDTree | Scan] = [large, recent] if recent else [large]
        if n > cover[-1].stop:
            cover.append(Scan(self.points, self.searchable, cover[-1].stop, n))
        self._parts = cover
        return cover


def tree_pays(points: Array) -> bool:
    """Whether a k-d tree is expected to answer a query faster than a scan.

    The time of a scan grows with the number of points and features, and less so where the scan has
    cells. The time of a tree grows steeply with the intrinsic dimension of the points, more so
    where the points have many more features than that, and slowly with the number of points. Both
    times are in microseconds; benchmarks/neighbors.py measured the constants.
    """
    n, d = points.shape
    dimension = min(max(intrinsic_dimension(points), 1.0), d)
    tree = np.exp(0.05 + 0.72 * dimension) * (n / 1e5) ** 0.45 * (d / dimension) ** 1.4
    scan_per_point = 3.4e-3 + 1.1e-4 * d
    if cells_possible(points):
        scan_per_point = min(scan_per_point, 6e-5 * d * dimension**0.4)
    return bool(tree < 9 + n * scan_per_point)


def intrinsic_dimension(points: Array) -> float:
    """In how many dimensions the points vary.

    Among 16 times as many points, the nearest are closer by a factor of 16^(1 / dimension).
    """
    thinning = 16
    sample = points[:: max(1, len(points) // 4096)][:4096]
    if len(sample) < thinning**2:
        return float(points.shape[1])
    sample = sample - sample.mean(axis=0)
    queries = sample[::thinning]
    norms = np.einsum("nd,nd->n", sample, sample)
    squares = norms + norms[::thinning, None] - 2 * (queries @ sample.T)
    sparse = np.median(np.partition(squares[:, ::thinning], 5, axis=1)[:, 5])
    dense = np.median(np.partition(squares, 5, axis=1)[:, 5])
    if not 0 < dense < sparse:
        return float(points.shape[1])
    return float(2 * np.log(thinning) / np.log(sparse / dense))
