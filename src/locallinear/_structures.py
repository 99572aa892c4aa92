"""Two structures that hold points and find the near ones, exactly: a tree and a scan.

Both hold the searchable rows from start to stop of an array of points, and return candidates:
rows among which the nearest are for certain, ties at the last place included, so that whoever
orders them by distance and row gets the same answer from either.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from joblib import cpu_count, effective_n_jobs
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from threadpoolctl import ThreadpoolController

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Of more tied candidates than this for one query, those that the search meets first are taken.
MAX_CANDIDATES = 256
# Distances that agree to this precision may be ties that the rounding has hidden.
TIE = 1e-12
# A scan goes over the points in blocks that fit the cache, for this many queries at once.
SCAN_QUERIES = 128
SCAN_POINTS = 4096


class Tree:
    """A k-d tree: right where few points have to be looked at."""

    def __init__(self, points: Array, searchable: Mask | None, start: int, stop: int, n_jobs):
        self.stop = stop
        self.rows = _rows(searchable, start, stop)
        contiguous = len(self.rows) == stop - start
        self.tree = cKDTree(points[start:stop] if contiguous else points[self.rows])
        self.workers = effective_n_jobs(n_jobs)

    def candidates(self, X: Array, n_neighbors: int, searchable: Mask | None) -> Rows:
        """Rows (q, c) that hold the nearest of this part; -1 where there is none."""
        k = min(n_neighbors + 1, self.tree.n)
        out = np.full((len(X), k), -1, dtype=np.intp)
        undecided = np.arange(len(X))
        while len(undecided) and k:
            distances, position = self.tree.query(X[undecided], k=k, workers=self.workers)
            distances = distances.reshape(len(undecided), k)
            rows = self.rows[position.reshape(len(undecided), k)]
            reach = distances[:, -1].copy()
            if searchable is not None:
                gone = ~searchable[rows]
                rows[gone], distances[gone] = -1, np.inf
            out[undecided, :k] = rows
            if k == self.tree.n:
                break
            # Decided once the search has reached past the last of the nearest and its ties.
            last = np.partition(distances, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
            more = reach <= last * (1 + TIE)
            if k >= MAX_CANDIDATES:
                more &= np.isinf(last)
            undecided = undecided[more]
            if len(undecided):
                k = min(4 * k, self.tree.n)
                out = np.pad(out, ((0, 0), (0, k - out.shape[1])), constant_values=-1)
        return out


class Scan:
    """All points, by matrix products: right where a tree would look at most of them anyway."""

    def __init__(self, points: Array, searchable: Mask | None, start: int, stop: int):
        self.stop = stop
        self.rows = _rows(searchable, start, stop)
        contiguous = len(self.rows) == stop - start
        self.points = points[start:stop] if contiguous else points[self.rows]
        # Squared distances come from inner products, whose rounding grows with the distance from
        # the origin: so the origin moves into the middle of the points.
        self.centre = self.points.mean(axis=0) if len(self.rows) else np.zeros(points.shape[1])

    def candidates(self, X: Array, n_neighbors: int, searchable: Mask | None) -> Rows:
        """Rows (q, c) that hold the nearest of this part; -1 where there is none."""
        rows, points = self.rows, self.points
        if searchable is not None and not searchable[rows].all():
            points, rows = points[searchable[rows]], rows[searchable[rows]]
        if len(rows) <= n_neighbors:
            return np.tile(rows, (len(X), 1))
        norms = _squared_norms(points, self.centre)
        starts = range(0, len(X), SCAN_QUERIES)

        def scan(start: int) -> Rows:
            batch = X[start : start + SCAN_QUERIES] - self.centre
            found = _scan(batch, n_neighbors, points, self.centre, norms)
            return np.where(found >= 0, rows[found], -1)

        if len(starts) == 1:
            found = [scan(start) for start in starts]
        else:
            # One thread a batch of queries beats the matrix product's own threads.
            with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(cpu_count()) as pool:
                found = list(pool.map(scan, starts))
        width = max(f.shape[1] for f in found)
        out = np.full((len(X), width), -1, dtype=np.intp)
        for start, f in zip(starts, found, strict=True):
            out[start : start + len(f), : f.shape[1]] = f
        return out


def _scan(X: Array, n_neighbors: int, points: Array, centre: Array, norms: Array) -> Rows:
    """Candidates for a batch of centred queries: a bound from a sample, then all within it."""
    d = X.shape[1]
    query = np.column_stack([-2.0 * X, np.ones(len(X))])
    # Rounding of a product of length d + 1, twice: of the bound and of what is held to it.
    largest = norms.max() + np.einsum("qd,qd->q", X, X)
    slack = (4 * (d + 2) * np.finfo(float).eps) * largest
    sample = slice(None, None, max(1, min(64, len(points) // max(2048, 8 * n_neighbors))))
    bound = _kth(query @ _ranking(points[sample], centre, norms[sample]).T, n_neighbors) + slack
    hits, columns, values = [], [], []
    for start in range(0, len(points), SCAN_POINTS):
        block = slice(start, start + SCAN_POINTS)
        squares = query @ _ranking(points[block], centre, norms[block]).T
        flat = np.flatnonzero(squares <= bound[:, None])
        hits.append(flat // squares.shape[1])
        columns.append(flat % squares.shape[1] + start)
        values.append(squares.ravel()[flat])
    table, square = _by_query(
        np.concatenate(hits), np.concatenate(columns), np.concatenate(values), len(X)
    )
    table[square > (square[:, n_neighbors - 1] + slack)[:, None]] = -1
    used = np.count_nonzero(table >= 0, axis=1).max()
    return table[:, : min(used, MAX_CANDIDATES)]


def _ranking(points: Array, centre: Array, norms: Array) -> Array:
    """(x − c, ||x − c||²) a row, whose product with (−2 (q − c), 1) ranks points by distance."""
    out = np.empty((len(points), points.shape[1] + 1))
    np.subtract(points, centre, out=out[:, :-1])
    out[:, -1] = norms
    return out


def _squared_norms(points: Array, centre: Array) -> Array:
    norms = np.empty(len(points))
    for start in range(0, len(points), SCAN_POINTS):
        block = points[start : start + SCAN_POINTS] - centre
        np.einsum("nd,nd->n", block, block, out=norms[start : start + SCAN_POINTS])
    return norms


def _rows(searchable: Mask | None, start: int, stop: int) -> Rows:
    if searchable is None:
        return np.arange(start, stop)
    return start + np.flatnonzero(searchable[start:stop])


def _kth(values: Array, k: int) -> Array:
    """The k-th smallest of each row."""
    return np.partition(values, k - 1, axis=1)[:, k - 1]


def _by_query(hits: Rows, rows: Rows, values: Array, n_queries: int) -> tuple[Rows, Array]:
    """Hits (query, row, value) as tables, a query a line by value; padded with -1, infinity."""
    order = np.lexsort((rows, values, hits))
    hits, rows, values = hits[order], rows[order], values[order]
    counts = np.bincount(hits, minlength=n_queries)
    place = np.arange(len(hits)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((n_queries, counts.max()), -1, dtype=np.intp)
    square = np.full(table.shape, np.inf)
    table[hits, place], square[hits, place] = rows, values
    return table, square


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
