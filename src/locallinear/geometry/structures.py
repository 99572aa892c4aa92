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

from ..runtime.threads import all_threads, one_blas_thread

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
# Points of up to this many bytes are prepared once for all queries of a call. Where they are more
# than a block, the blocks are smaller cells of space, many of which are too far away to matter.
SCAN_PREPARED = 32 * 2**20
CELL_BYTES = 2**13
CELL_QUERIES = 768
CELL_GROUP = 16
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
        self._kept: dict[tuple[bool, int, type], _Blocks] = {}

    def candidates(self, X: Array, n_neighbors: int, searchable: Mask | None, n_jobs) -> Rows:
        """Rows (q, c) that hold the nearest of this part; -1 where there is none."""
        rows, points = self.rows, self.points
        if searchable is not None and not searchable[rows].all():
            points, rows = points[searchable[rows]], rows[searchable[rows]]
        if len(rows) <= n_neighbors:
            return np.tile(rows, (len(X), 1))
        workers = all_threads() if n_jobs is None else effective_n_jobs(n_jobs)
        blocks = cache(partial(self._blocks, points, n_neighbors))
        # Made before there are threads, which share them.
        first = blocks(np.float32 if self._single_pays else np.float64)
        largest = CELL_QUERIES if first.in_cells else SCAN_QUERIES
        starts = range(0, len(X), _batch_size(len(X), points.size, workers, largest))
        order = first.sorted(X - self.centre) if len(starts) > 1 else np.arange(len(X))

        def scan(start: int) -> Rows:
            batch = order[start : start + starts.step]
            found = self._look_up(X[batch], n_neighbors, blocks)
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
            out[order[start : start + len(f)], : f.shape[1]] = f
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
        """The points as blocks: the last ones kept, where they are all and not too large.

        There are enough groups for the nearest to be in different ones, mostly. Cells are worth
        their making where they are kept, and for few neighbours.
        """
        whole, most = points is self.points, _size(CELL_BYTES, precision) // (4 * CELL_GROUP)
        cells = whole and in_cells(points, precision) and n_neighbors <= most
        groups = min(len(points), _size(SCAN_BYTES, precision)) // (4 * n_neighbors)
        asked = cells, CELL_GROUP if cells else max(1, min(SCAN_GROUP, groups)), precision
        blocks = self._kept.get(asked) if whole else None
        if blocks is None:
            blocks = _Blocks(points, self.centre, *asked)
            if whole and points.nbytes <= SCAN_PREPARED:
                self._kept = {asked: blocks}
        return blocks


class TooCoarseError(Exception):
    """Inner products in this precision do not tell the nearest from many others."""


class _Blocks:
    """Points as blocks of rows (x − c, ||x − c||²), whose products with (−2 (q − c), 1) rank them.

    A block is filled up with points very far away to whole groups. Blocks can be cells of space:
    those that are farther away than the nearest so far need not be looked at.
    """

    def __init__(self, points: Array, centre: Array, cells: bool, group: int, precision: type):
        self.points, self.centre, self.precision = points, centre, precision
        self.in_cells, self.group = cells, group
        n, size = len(points), _size(CELL_BYTES if cells else SCAN_BYTES, precision)
        self._rows: list[slice | Rows] = [slice(i, i + size) for i in range(0, n, size)]
        if cells:
            self._rows = [*_cells(points, np.arange(n), size)]
            members = [points[rows] - centre for rows in self._rows]
            self.lowest = np.array([cell.min(axis=0) for cell in members])
            self.highest = np.array([cell.max(axis=0) for cell in members])
        # Not infinite: some matrix products multiply even that by the zeros of their padding.
        self.far = np.finfo(precision).max / 4
        self._prepared = None
        if points.nbytes <= SCAN_PREPARED:
            self._prepared = [self._block(b) for b in range(len(self._rows))]
        self.largest_norm = 0.0
        for b, rows in enumerate(self._rows):
            norms = self[b][: len(points[rows]), -1]
            self.largest_norm = max(self.largest_norm, float(norms.max()))

    def __getitem__(self, b: int) -> NDArray:
        return self._block(b) if self._prepared is None else self._prepared[b]

    def _block(self, b: int) -> NDArray:
        centred = self.points[self._rows[b]] - self.centre
        n, d = centred.shape
        out = np.zeros((-(-n // self.group) * self.group, d + 1), self.precision)
        with np.errstate(over="ignore"):  # too large for this precision: it will not be used
            out[:n, :-1] = centred
            out[:n, -1] = np.einsum("nd,nd->n", centred, centred)
        out[n:, -1] = self.far
        return out

    def rows(self, b: int, columns: Rows) -> Rows:
        """Rows of all points that these of a block are."""
        rows = self._rows[b]
        return rows.start + columns if isinstance(rows, slice) else rows[columns]

    def squares_to_boxes(self, X: Array) -> Array:
        """Squared distances from centred queries to the boxes around blocks, (q, blocks)."""
        out = np.zeros((len(X), len(self._rows)))
        if not self.in_cells:
            return out
        for b, (lowest, highest) in enumerate(zip(self.lowest, self.highest, strict=True)):
            outside = X - np.clip(X, lowest, highest)
            np.einsum("qd,qd->q", outside, outside, out=out[:, b])
        return out

    def sorted(self, X: Array) -> Rows:
        """An order of centred queries in which those near the same cell are together."""
        if not self.in_cells:
            return np.arange(len(X))
        middle = cKDTree((self.lowest + self.highest) / 2)
        return np.argsort(middle.query(X)[1], kind="stable")


def in_cells(points: Array, precision: type = np.float32) -> bool:
    """Whether a scan may look only at cells that are near."""
    return _size(SCAN_BYTES, precision) < len(points) and points.nbytes <= SCAN_PREPARED


def _size(n_bytes: int, precision: type) -> int:
    """How many numbers that is."""
    return n_bytes // np.dtype(precision).itemsize


def _cells(points: Array, rows: Rows, size: int) -> list[Rows]:
    """Rows in cells of at most this size: halved again and again where they are widest."""
    if len(rows) <= size:
        return [rows]
    widest = points[rows, np.ptp(points[rows], axis=0).argmax()]
    order = np.argpartition(widest, len(rows) // 2)
    halves = rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]
    return [cell for half in halves for cell in _cells(points, half, size)]


def _scan(X: Array, n_neighbors: int, blocks: _Blocks) -> Rows:
    """All candidates for a batch of centred queries: within a bound that falls as points pass.

    The K-th smallest of the smallest of groups bounds the K-th smallest of all from above, so
    that only the groups whose smallest is within it have to be looked at, and only the blocks
    that begin within it.
    """
    q, d = X.shape
    single = blocks.precision is np.float32
    # Rounding of a product of length d + 1, twice: of the bound and of what is held to it.
    squares_of_X = np.einsum("qd,qd->q", X, X)
    largest = blocks.largest_norm + squares_of_X
    if single and not (SINGLE[0] < largest.min() and largest.max() < SINGLE[1]):
        raise TooCoarseError
    most = max(MAX_CANDIDATES, 2 * n_neighbors)
    usual = SINGLE_HITS * n_neighbors if single else most
    slack = ((4 * (d + 2) * np.finfo(blocks.precision).eps) * largest).astype(blocks.precision)
    query: NDArray = np.column_stack([-2.0 * X, np.ones(q)]).astype(blocks.precision)
    smallest: NDArray = np.full((q, n_neighbors), blocks.far / 2, blocks.precision)
    bound = smallest[:, -1].copy()
    begins = blocks.squares_to_boxes(X) - (squares_of_X + slack)[:, None]
    hits, columns, values = [], [], []
    for b in np.argsort(begins.mean(axis=0)):
        near = np.flatnonzero(begins[:, b] <= bound)
        if not len(near):
            continue
        squares = (query[near] @ blocks[b].T).reshape(len(near), blocks.group, -1)
        minima = squares.min(axis=1)
        closest = np.concatenate([smallest[near], minima], axis=1)
        smallest[near] = np.partition(closest, n_neighbors - 1, axis=1)[:, :n_neighbors]
        bound[near] = smallest[near, -1] + slack[near]
        hit, group = np.nonzero(minima <= bound[near, None])
        members = squares[hit, :, group]
        which, place = np.nonzero(members <= bound[near[hit], None])
        if len(which) > q * usual:
            raise TooCoarseError
        hits.append(near[hit[which]])
        columns.append(blocks.rows(b, place * squares.shape[2] + group[which]))
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


def _batch_size(n_queries: int, points_size: int, n_threads: int, largest: int) -> int:
    """Queries a batch, so that batches are small and all threads get equally many."""
    n_batches = -(-n_queries // largest)
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
