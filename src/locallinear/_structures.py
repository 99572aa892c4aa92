"""Two structures that hold points and find the near ones, exactly: a tree and a scan.

Both hold the searchable rows from start to stop of an array of points, and return candidates:
rows among which the nearest are for certain, ties at the last place included, so that whoever
orders them by distance and row gets the same answer from either.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ._threads import all_threads, one_blas_thread

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Of more tied candidates than this for one query, those that the search meets first are taken.
MAX_CANDIDATES = 256
# Distances that agree to this precision may be ties that the rounding has hidden.
TIE = 1e-12
# A scan goes over the points in blocks that fit the cache (of this many bytes a feature), for this
# many queries at once, and looks for the nearest among the smallest of groups of this many points.
SCAN_BYTES = 2**15
SCAN_QUERIES = 192
SCAN_GROUP = 32
# Points of up to this many bytes are prepared once for all queries of a call.
SCAN_PREPARED = 32 * 2**20
# Single precision comes first where squared distances from the centre are within these bounds, and
# is enough where it leaves at most this many candidates for a neighbour.
SINGLE = 1e-12, 1e30
SINGLE_HITS = 4
# Points a block, where neither precision is enough.
DIFFERENCES = 1024
# Products of fewer multiplications than this are over before a second thread has begun.
WORTH_THREADS = 2**23


class Tree:
    """A k-d tree: right where few points have to be looked at."""

    def __init__(self, points: Array, searchable: Mask | None, start: int, stop: int):
        self.start, self.stop = start, stop
        whole = searchable is None or bool(searchable[start:stop].all())
        self.rows = None if whole else _rows(searchable, start, stop)
        self.tree = cKDTree(points[start:stop] if self.rows is None else points[self.rows])

    def candidates(self, X: Array, n_neighbors: int, searchable: Mask | None, n_jobs) -> Rows:
        """Rows (q, c) that hold the nearest of this part; -1 where there is none."""
        workers = effective_n_jobs(n_jobs)
        k = min(n_neighbors + 1, self.tree.n)
        out = np.full((len(X), k), -1, dtype=np.intp)
        undecided = np.arange(len(X))
        while len(undecided) and k:
            distances, position = self.tree.query(X[undecided], k=k, workers=workers)
            distances = distances.reshape(len(undecided), k)
            position = position.reshape(len(undecided), k)
            rows = position + self.start if self.rows is None else self.rows[position]
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
            if k >= max(MAX_CANDIDATES, 2 * n_neighbors):
                more &= np.isinf(last)
            undecided = undecided[more]
            if len(undecided):
                k = min(4 * k, self.tree.n)
                found, out = out, np.full((len(X), k), -1, dtype=np.intp)
                out[:, : found.shape[1]] = found
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
        # Queries that were looked up in single precision, and those that it was too coarse for.
        self._tried, self._failed = 0, 0
        self._kept: dict[tuple[int, type], _Blocks] = {}

    def candidates(self, X: Array, n_neighbors: int, searchable: Mask | None, n_jobs) -> Rows:
        """Rows (q, c) that hold the nearest of this part; -1 where there is none."""
        rows, points = self.rows, self.points
        if searchable is not None and not searchable[rows].all():
            points, rows = points[searchable[rows]], rows[searchable[rows]]
        if len(rows) <= n_neighbors:
            return np.tile(rows, (len(X), 1))
        workers = all_threads() if n_jobs is None else effective_n_jobs(n_jobs)
        starts = range(0, len(X), _batch_size(len(X), points.size, workers))
        blocks = cache(partial(self._blocks, points, n_neighbors))
        blocks(np.float32 if self._single_pays else np.float64)  # before threads, which share them

        def scan(start: int) -> Rows:
            found = self._look_up(X[start : start + starts.step], n_neighbors, blocks)
            return np.where(found >= 0, rows[found], -1)

        # One thread a batch of queries beats the matrix product's own threads, and a small
        # product is done before they wake.
        with one_blas_thread():
            if len(starts) == 1 or workers == 1:
                found = [scan(start) for start in starts]
            else:
                with ThreadPoolExecutor(workers) as pool:
                    found = list(pool.map(scan, starts))
        width = max(f.shape[1] for f in found)
        out = np.full((len(X), width), -1, dtype=np.intp)
        for start, f in zip(starts, found, strict=True):
            out[start : start + len(f), : f.shape[1]] = f
        return out

    @property
    def _single_pays(self) -> bool:
        """Whether single precision, which takes half the time, was enough for most queries."""
        return 2 * self._failed <= self._tried

    def _look_up(self, X: Array, n_neighbors: int, blocks: Callable[[type], "_Blocks"]) -> Rows:
        """Candidates in the fastest way that tells the nearest from many others."""
        centred = X - self.centre
        if self._single_pays:
            self._tried += len(X)
            try:
                return _scan(centred, n_neighbors, blocks(np.float32))
            except TooCoarseError:
                self._failed += len(X)
        try:
            return _scan(centred, n_neighbors, blocks(np.float64))
        except TooCoarseError:
            return _by_differences(X, n_neighbors, blocks(np.float64).points)

    def _blocks(self, points: Array, n_neighbors: int, precision: type) -> "_Blocks":
        """The points as blocks: the last ones kept, where they are all and not too large."""
        asked = n_neighbors, precision
        blocks = self._kept.get(asked) if points is self.points else None
        if blocks is None:
            blocks = _Blocks(points, self.centre, *asked)
            if points is self.points and points.nbytes <= SCAN_PREPARED:
                self._kept = {asked: blocks}
        return blocks


class TooCoarseError(Exception):
    """Inner products in this precision do not tell the nearest from many others."""


class _Blocks:
    """Points as blocks of rows (x − c, ||x − c||²), whose products with (−2 (q − c), 1) rank them.

    A block is filled up with points very far away to whole groups. There are enough groups for the
    nearest to be in different ones, mostly.
    """

    def __init__(self, points: Array, centre: Array, n_neighbors: int, precision: type):
        self.points = points
        self.centre = centre
        self.precision = precision
        self.size = SCAN_BYTES // np.dtype(precision).itemsize
        self.group = max(1, min(SCAN_GROUP, min(len(points), self.size) // (4 * n_neighbors)))
        prepared = points.nbytes <= SCAN_PREPARED
        self._prepared = [self._block(start) for start in self._starts()] if prepared else None
        self.largest_norm = max(block[: len(points) - start, -1].max() for start, block in self)

    def __iter__(self):
        if self._prepared is not None:
            return zip(self._starts(), self._prepared, strict=True)
        return ((start, self._block(start)) for start in self._starts())

    def _starts(self) -> range:
        return range(0, len(self.points), self.size)

    def _block(self, start: int) -> NDArray:
        points = self.points[start : start + self.size]
        n, d = points.shape
        out = np.zeros((-(-n // self.group) * self.group, d + 1), self.precision)
        centred = points - self.centre
        with np.errstate(over="ignore"):  # too large for this precision: it will not be used
            out[:n, :-1] = centred
            out[:n, -1] = np.einsum("nd,nd->n", centred, centred)
        # Not infinite: some matrix products multiply even that by the zeros of their padding.
        out[n:, -1] = np.finfo(self.precision).max / 4
        return out


def _scan(X: Array, n_neighbors: int, blocks: _Blocks) -> Rows:
    """All candidates for a batch of centred queries: within a bound that falls as points pass.

    The K-th smallest of the smallest of groups bounds the K-th smallest of all from above, so
    that only the groups whose smallest is within it have to be looked at.
    """
    q, d = X.shape
    single = blocks.precision is np.float32
    # Rounding of a product of length d + 1, twice: of the bound and of what is held to it.
    largest = float(blocks.largest_norm) + np.einsum("qd,qd->q", X, X)
    if single and not (SINGLE[0] < largest.min() and largest.max() < SINGLE[1]):
        raise TooCoarseError
    most = max(MAX_CANDIDATES, 2 * n_neighbors)
    usual = SINGLE_HITS * n_neighbors if single else most
    slack = ((4 * (d + 2) * np.finfo(blocks.precision).eps) * largest).astype(blocks.precision)
    query: NDArray = np.column_stack([-2.0 * X, np.ones(q)]).astype(blocks.precision)
    smallest: NDArray = np.empty((q, 0), blocks.precision)
    hits, columns, values = [], [], []
    for start, block in blocks:
        squares = (query @ block.T).reshape(q, blocks.group, -1)
        minima = squares.min(axis=1)
        smallest = np.concatenate([smallest, minima], axis=1)
        if smallest.shape[1] < n_neighbors:
            bound = np.full(q, np.inf)
        else:
            smallest = np.partition(smallest, n_neighbors - 1, axis=1)[:, :n_neighbors]
            bound = smallest[:, -1] + slack
        hit, group = np.nonzero(minima <= bound[:, None])
        members = squares[hit, :, group]
        which, place = np.nonzero(members <= bound[hit, None])
        if len(which) > q * usual:
            raise TooCoarseError
        hits.append(hit[which])
        columns.append(start + place * squares.shape[2] + group[which])
        values.append(members[which, place])
    table, square = _by_query(
        np.concatenate(hits), np.concatenate(columns), np.concatenate(values), q
    )
    table[square > (square[:, n_neighbors - 1] + slack)[:, None]] = -1
    found = np.count_nonzero(table >= 0, axis=1)
    if found.mean() > usual or found.max() > most:
        raise TooCoarseError
    return table[:, : found.max()]


def _by_differences(X: Array, n_neighbors: int, points: Array) -> Rows:
    """The nearest few hundred of all points, by differences.

    Inner products do not tell points apart that are much nearer to each other than to the centre.
    """
    most = max(MAX_CANDIDATES, 2 * n_neighbors)
    squares, rows = np.empty((len(X), 0)), np.empty((len(X), 0), dtype=np.intp)
    for start in range(0, len(points), DIFFERENCES):
        block = points[start : start + DIFFERENCES]
        here = np.broadcast_to(np.arange(start, start + len(block)), (len(X), len(block)))
        squares = np.hstack([squares, cdist(X, block, "sqeuclidean")])
        rows = np.hstack([rows, here])
        if squares.shape[1] > most:
            nearest = np.argpartition(squares, most - 1, axis=1)[:, :most]
            squares = np.take_along_axis(squares, nearest, axis=1)
            rows = np.take_along_axis(rows, nearest, axis=1)
    return rows


def _batch_size(n_queries: int, points_size: int, n_threads: int) -> int:
    """Queries a batch, so that batches are small and all threads get equally many."""
    n_batches = -(-n_queries // SCAN_QUERIES)
    if n_batches > 1 or n_queries * points_size > WORTH_THREADS:
        n_batches = -(-n_batches // n_threads) * n_threads
    return max(1, -(-n_queries // max(1, n_batches)))


def _rows(searchable: Mask | None, start: int, stop: int) -> Rows:
    if searchable is None:
        return np.arange(start, stop)
    return start + np.flatnonzero(searchable[start:stop])


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
