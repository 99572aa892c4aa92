"""The nearest points, exactly, among points on a device: those of torch, CuPy and others.

`DeviceNeighbors` answers as `neighbors.Neighbors` does, with the same order of points that are
equally far away. It compares each query with all points, by the fastest way that is certain:

1. on a GPU, products in low precision with a bound of their error (`fused_scan`),
2. products in double precision, with a bound as well,
3. differences.

Each way answers the queries that it is certain about, and leaves the others to the next one.
"""

from collections.abc import Iterator
from typing import Any

from ..arrays import AnyArray, at, cumulative_sum, einsum, is_numpy, namespace, smallest
from .fused_scan import FusedScan, fused_scan
from .neighbors import Neighbors, leave_out

# Bytes of a table with one line per query and one column per point.
TABLE_BYTES = 2**30
# So many more points than neighbours are compared exactly, and some more where there are many.
EXTRA = 8
# The rounding of a product of d + 2 numbers is at most d + 2 times the precision; so many times
# that is taken as the bound.
CAUTION = 4


def make_neighbors(
    points: AnyArray, searchable: AnyArray | None = None
) -> "Neighbors | DeviceNeighbors":
    """What finds neighbours among points: on the processor, or where they are."""
    return (Neighbors if is_numpy(points) else DeviceNeighbors)(points, searchable)


class DeviceNeighbors:
    """Finds the K nearest of a set of points on a device.

    Parameters
    ----------
    points : (n, d) array, kept by reference
    searchable : (n,) mask of the rows that may be found, or None for all
    """

    def __init__(self, points: AnyArray, searchable: AnyArray | None = None):
        self.points, self.searchable = points, searchable
        self._fused: FusedScan | None = None
        self._prepared: tuple[AnyArray, AnyArray, AnyArray] | None = None

    def update(self, points: AnyArray, searchable: AnyArray | None) -> "DeviceNeighbors":
        """The same for these points: rows were appended or removed, or moved in memory."""
        return DeviceNeighbors(points, searchable)

    def build(self, n_jobs: int | None = 1) -> None:
        """Do nothing: a scan is prepared when it is first asked."""

    def query(
        self, X: AnyArray, n_neighbors: int, n_jobs: int | None = None
    ) -> tuple[AnyArray, AnyArray]:
        """Distances and rows of the nearest points, both (q, K), nearest first.

        There must be at least n_neighbors searchable rows. `n_jobs` is not used: a device has
        threads of its own.
        """
        xp = namespace(X)
        if self._fused is None:
            self._fused = fused_scan(self.points, self.searchable)
        found = self._fused.nearest(X, n_neighbors) if self._fused else None
        squares, rows, decided = self._by_products(X, n_neighbors) if found is None else found
        ways = (self._by_products, self._by_differences)
        for search in ways if found is not None else ways[1:]:
            if not bool(xp.all(decided)):
                rest = ~decided
                again = search(X[rest], n_neighbors)
                squares[rest], rows[rest], decided[rest] = again
        return xp.astype(xp.sqrt(squares), X.dtype, copy=False), rows

    def others(
        self, rows: AnyArray, n_neighbors: int, n_jobs: int | None = None
    ) -> tuple[AnyArray, AnyArray]:
        """Distances and rows of the points nearest to stored ones, these left out, both (q, K)."""
        return leave_out(*self.query(at(self.points, rows), n_neighbors + 1), rows)

    def _by_products(self, X: AnyArray, n_neighbors: int) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Squared distances and rows (q, K) of the nearest, and of which queries it is certain.

        With points p and queries x relative to the centre, ||p||² − 2 xᵀp ranks the points. The
        first of them are compared exactly. If the last one is farther than the K-th nearest by more
        than the rounding of a product, then so are all that were left out.
        """
        xp = namespace(X)
        if self._prepared is None:
            wide = _in_double(self.points)
            centre = xp.mean(wide, axis=0)
            centred = wide - centre
            norms = einsum("nd,nd->n", centred, centred)
            self._prepared = centre, centred, norms
        centre, centred, norms = self._prepared
        n, d = centred.shape
        n_first = min(n, n_neighbors + max(EXTRA, n_neighbors // 2))
        caution = CAUTION * (d + 2) * float(xp.finfo(centred.dtype).eps)
        offsets = norms * (1 - caution)
        if self.searchable is not None:
            offsets = xp.where(self.searchable, offsets, xp.inf)
        found = []
        for chunk in _query_blocks(X.shape[0], 2 * n * 8):
            x = _in_double(X[chunk, :]) - centre
            values = offsets - 2.0 * (x @ centred.T)
            first, rows = smallest(values, n_first)
            squares, rows = self._exactly(X[chunk, :], xp.sort(rows, axis=1), n_neighbors)
            bound = first[:, -1] + (1 - caution) * einsum("qd,qd->q", x, x)
            found.append((squares, rows, (squares[:, -1] < bound) | (n_first == n)))
        return _joined(xp, found)

    def _exactly(self, X: AnyArray, rows: AnyArray, n_neighbors: int) -> tuple[AnyArray, AnyArray]:
        """The nearest of candidates (q, c), which are in ascending order, by differences."""
        xp = namespace(X)
        found = []
        for chunk in _query_blocks(X.shape[0], 2 * rows.shape[1] * X.shape[1] * 8):
            here = rows[chunk, :]
            near = xp.take(self.points, xp.reshape(here, (-1,)), axis=0)
            near = xp.reshape(near, (*here.shape, X.shape[1]))
            offset = _in_double(near) - _in_double(X[chunk, :])[:, None, :]
            squares = einsum("qcd,qcd->qc", offset, offset)
            if self.searchable is not None:
                allowed = xp.reshape(xp.take(self.searchable, xp.reshape(here, (-1,))), here.shape)
                squares = xp.where(allowed, squares, xp.inf)
            order = xp.argsort(squares, axis=1, stable=True)[:, :n_neighbors]
            taken = (xp.take_along_axis(table, order, axis=1) for table in (squares, here))
            found.append(tuple(taken))
        return _joined(xp, found)

    def _by_differences(self, X: AnyArray, n_neighbors: int) -> tuple[AnyArray, AnyArray, AnyArray]:
        """The same by the distances to all points: certain in all cases, and slow."""
        xp = namespace(X)
        found = []
        for chunk in _query_blocks(X.shape[0], 4 * self.points.shape[0] * 8):
            squares = self._all_squares(X[chunk, :])
            last = smallest(squares, n_neighbors)[0][:, -1:]
            nearer, tied = squares < last, squares == last
            # Of points that tie with the last neighbour, the first ones fill the places left.
            places = n_neighbors - xp.sum(xp.astype(nearer, xp.int64), axis=1, keepdims=True)
            taken = nearer | (tied & (cumulative_sum(xp.astype(tied, xp.int64), axis=1) <= places))
            shape = squares.shape[0], n_neighbors
            rows = xp.reshape(xp.nonzero(taken)[1], shape)
            squares = xp.take_along_axis(squares, rows, axis=1)
            order = xp.argsort(squares, axis=1, stable=True)
            sorted_by = [xp.take_along_axis(table, order, axis=1) for table in (squares, rows)]
            found.append((*sorted_by, xp.ones_like(squares[:, 0], dtype=xp.bool)))
        return _joined(xp, found)

    def _all_squares(self, X: AnyArray) -> AnyArray:
        """Squared distances (q, n) from queries to all points; infinite to those not searchable."""
        xp = namespace(X)
        x, points = _in_double(X), self.points
        squares = xp.zeros_like(x[:, :1] * _in_double(points[:, 0])[None, :])
        for feature in range(points.shape[1]):
            offset = x[:, feature, None] - _in_double(points[:, feature])[None, :]
            squares += offset * offset
        if self.searchable is None:
            return squares
        return xp.where(self.searchable, squares, xp.inf)


def _in_double(x: AnyArray) -> AnyArray:
    xp = namespace(x)
    return xp.astype(x, xp.float64, copy=False)


def _query_blocks(n_queries: int, row_bytes: int) -> Iterator[slice]:
    """Queries in blocks whose tables, with so many bytes per query, are not too large."""
    step = max(1, TABLE_BYTES // row_bytes)
    starts = range(0, n_queries, step)
    return (slice(start, min(start + step, n_queries)) for start in starts)


def _joined(xp: Any, found: list[tuple[AnyArray, ...]]) -> Any:
    """Tables of blocks of queries as tables of all queries."""
    if len(found) == 1:
        return found[0]
    return tuple(xp.concat(tables, axis=0) for tables in zip(*found, strict=True))
