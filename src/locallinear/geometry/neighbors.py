"""The nearest points, exactly.

`Neighbors` finds the K stored points that are nearest to a query, and their distances. Of points
that are equally far away, the one with the lower row number counts as nearer. So the results do not
depend on how the points are held. Points can be appended and removed: one structure holds the
points that it was built on, a second small one holds the points added since, and the newest few
are compared one by one. All is built again once the rest has grown to a quarter of the first.

`Neighbors` is a value: `update` returns another one, which shares the structures, and whoever uses
the old one goes on finding the old points. A learned metric changes the points that `Neighbors`
gets. Any other kind of nearness needs a class with the same `update`, `build` and `query`, such as
`leaf_neighbors.LeafNeighbors`.
"""

from collections.abc import Sequence

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..arrays import AnyArray, namespace
from ..runtime.threads import all_threads, in_threads, thread_parts
from .cells import Cells, Few

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
Parts = Sequence[Cells | Few]

# So few numbers are compared sooner than cells are made of them, unless there are so many queries
# that the differences are more than this.
FEW_NUMBERS, FEW_DIFFERENCES = 2**12, 2**20
# Fewer differences than this are made before a second thread has started.
MIN_THREADED = 2**22
# Queries per part, so that the tables of candidates stay small.
MAX_QUERIES = 512


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


def order_few(
    X: Array, points: Array, rows: Rows, without: Rows, distances: Array, nearest: Rows
) -> None:
    """The same as `kernels.nearest.nearest_candidates`, to the last digit, without a compiler."""
    squares = np.zeros(rows.shape)
    for f in range(X.shape[1]):  # added in the same order as there
        squares += (points[rows, f] - X[:, None, f]) ** 2
    squares[(rows < 0) | (rows == without[:, None])] = np.inf
    far = np.sqrt(squares)
    order = np.lexsort((rows, far), axis=1)[:, : distances.shape[1]]
    distances[:] = np.take_along_axis(far, order, 1)
    nearest[:] = np.take_along_axis(rows, order, 1)


class Neighbors:
    """Finds the K nearest of a set of points.

    Parameters
    ----------
    points : (n, d) array, kept by reference
    searchable : (n,) mask of the rows that may be found, or None for all
    parts : structures over the first of these rows, if there are some already
    """

    def __init__(self, points: Array, searchable: Mask | None = None, parts: Parts = ()):
        self.points = points
        self.searchable = searchable
        self._parts = parts

    def update(self, points: Array, searchable: Mask | None) -> "Neighbors":
        """The same for these points: rows were appended or removed, or moved in memory."""
        parts = self._parts
        if len(points) < len(self.points):  # the rows have other numbers now
            parts = ()
        elif not np.may_share_memory(points, self.points):
            parts = [part.moved(points) for part in parts]  # else the old memory would stay
        return Neighbors(points, searchable, parts)

    def query(self, X: Array, n_neighbors: int, n_jobs: int | None = None) -> tuple[Array, Rows]:
        """Distances and rows of the nearest points, both (q, K), nearest first.

        There must be at least n_neighbors searchable rows. `n_jobs` are threads, as in
        scikit-learn, but None is all.
        """
        return self._search(X, None, n_neighbors, n_jobs)

    def others(self, rows: Rows, n_neighbors: int, n_jobs: int | None = None) -> tuple[Array, Rows]:
        """The same for stored points, each of which has only others as neighbours.

        There must be more than n_neighbors searchable rows.
        """
        # Points of one cell go one after the other, since they visit the same cells.
        order = self.build()[0].together(rows)
        some = rows[order]
        found = self._search(self.points[some], some, n_neighbors, n_jobs)
        distances, near = np.empty_like(found[0]), np.empty_like(found[1])
        distances[order], near[order] = found
        return distances, near

    def _search(
        self, X: Array, without: Rows | None, n_neighbors: int, n_jobs: int | None
    ) -> tuple[Array, Rows]:
        """The nearest points of queries; `without` (q,) are rows that a query must not have."""
        X = np.ascontiguousarray(X)  # so that nothing is compiled for other layouts
        parts, workers = self.build(), 1
        if isinstance(parts[0], Few) and len(X) * self.points.size > FEW_DIFFERENCES:
            self._parts = parts = [Cells(self.points, self.searchable, 0, len(self.points))]
        if len(X) * self.points.size > MIN_THREADED:
            workers = all_threads() if n_jobs is None else effective_n_jobs(n_jobs)
        order = order_few
        if not isinstance(parts[0], Few):
            from ..kernels.nearest import nearest_candidates as order  # compiled: loaded if needed
        n_found = n_neighbors if without is None else n_neighbors + 1
        own = np.full(len(X), -1) if without is None else without
        distances = np.empty((len(X), n_neighbors))
        rows = np.empty(distances.shape, dtype=np.intp)

        def search(some: slice) -> None:
            found = [part.candidates(X[some], n_found, self.searchable) for part in parts]
            candidates = found[0] if len(found) == 1 else np.concatenate(found, axis=1)
            order(X[some], self.points, candidates, own[some], distances[some], rows[some])

        in_threads(search, thread_parts(len(X), workers, MAX_QUERIES), workers)
        return distances, rows

    def build(self, n_jobs: int | None = 1) -> Parts:
        """Cover all rows with a large part, a recent part and the newest rows, in one thread."""
        # Several threads may run this: each works on what it has read, which is always complete.
        n, parts = len(self.points), self._parts
        if not parts or parts[-1].stop < n:
            self._parts = parts = self._cover(n, parts)
        return parts

    def _cover(self, n: int, parts: Parts) -> Parts:
        """Parts that cover n rows, with as much as possible of parts that cover fewer."""
        if self.points.size <= FEW_NUMBERS:
            return [Few(self.points, 0, n)]
        large = parts[0] if parts else None
        if not isinstance(large, Cells) or n - large.stop > max(1024, large.stop // 4):
            return [Cells(self.points, self.searchable, 0, n)]
        recent = next((part for part in parts[1:] if isinstance(part, Cells)), None)
        stop = recent.stop if recent else large.stop
        if n - stop > max(64, (stop - large.stop) // 8):
            recent = Cells(self.points, self.searchable, large.stop, n)
        cover: list[Cells | Few] = [large, recent] if recent else [large]
        if n > cover[-1].stop:
            cover.append(Few(self.points, cover[-1].stop, n))
        return cover
