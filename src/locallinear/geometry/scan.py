"""A scan of all points by matrix products: faster than a tree that would visit most points anyway.

A scan goes over the points in `Blocks`, with a batch of queries per matrix product. Products in
single precision come first. If they leave too many candidates, products in double precision follow,
and then plain differences.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..runtime.threads import all_threads, one_blas_thread
from .blocks import (
    BLOCK_BYTES,
    CELL_BYTES,
    PREPARED_BYTES,
    Blocks,
    Precision,
    cells_possible,
    numbers_in,
)
from .candidates import max_candidates, searchable_rows

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Queries per batch, and points per group whose smallest value is looked at first.
BATCH_QUERIES, GROUP_SIZE = 192, 32
CELL_BATCH_QUERIES, CELL_GROUP_SIZE = 768, 16
# Single precision is tried where squared distances from the centre are within these bounds, and it
# is enough where it leaves at most this many candidates per neighbour.
SINGLE_BOUNDS = 1e-12, 1e30
SINGLE_CANDIDATES = 4
# So few differences are made sooner than products are prepared.
FEW_DIFFERENCES = 2**20
# Squared distances that differ by no more than this part count as equal.
ROUNDING = 1e-12
# Points per block, where neither precision is enough.
DIFFERENCES_BLOCK = 1024
# A product of fewer multiplications than this is finished before a second thread has started.
MIN_THREADED_PRODUCT = 2**23


class Scan:
    """A scan of the searchable rows from start to stop (see `candidates`)."""

    def __init__(self, points: Array, searchable: Mask | None, start: int, stop: int):
        self.stop = stop
        self.rows = searchable_rows(searchable, start, stop)
        contiguous = len(self.rows) == stop - start
        self.points = points[start:stop] if contiguous else points[self.rows]
        # Squared distances come from inner products. Their rounding grows with the distance from
        # the origin, so the origin moves to the mean of the points.
        self.centre = self.points.mean(axis=0) if len(self.rows) else np.zeros(points.shape[1])
        # Queries that were tried in single precision, and those for which it was too coarse.
        self._n_tried, self._n_failed = 0, 0
        self._kept: dict[tuple[bool, int, Precision], Blocks] = {}

    def candidates(
        self, X: Array, n_neighbors: int, searchable: Mask | None, n_jobs: int | None
    ) -> Rows:
        """Rows (q, c) that include the nearest points of this part, padded with -1."""
        rows, points = self.rows, self.points
        if searchable is not None and not searchable[rows].all():
            points, rows = points[searchable[rows]], rows[searchable[rows]]
        if len(rows) <= n_neighbors:
            return np.tile(rows, (len(X), 1))
        if len(X) * points.size <= FEW_DIFFERENCES:
            near = _directly(X, n_neighbors, points)
            return np.where(near >= 0, rows[near], -1)
        workers = all_threads() if n_jobs is None else effective_n_jobs(n_jobs)
        blocks = cache(partial(self._blocks, points, n_neighbors))
        # Prepared before the threads start, because they share it.
        first = blocks(np.float32 if self._single_pays else np.float64)
        largest = CELL_BATCH_QUERIES if first.in_cells else BATCH_QUERIES
        starts = range(0, len(X), _batch_size(len(X), points.size, workers, largest))
        order = first.query_order(X - self.centre) if len(starts) > 1 else np.arange(len(X))

        def scan(start: int) -> Rows:
            batch = order[start : start + starts.step]
            found = self._search_batch(X[batch], n_neighbors, blocks)
            return np.where(found >= 0, rows[found], -1)

        # One thread per batch is faster than the threads of the matrix product: a small product is
        # finished before they start.
        with one_blas_thread():
            if len(starts) == 1 or workers == 1:
                found = [scan(start) for start in starts]
            else:
                with ThreadPoolExecutor(workers) as pool:
                    found = list(pool.map(scan, starts))
        out = np.full((len(X), max(f.shape[1] for f in found)), -1, dtype=np.intp)
        for start, f in zip(starts, found, strict=True):
            out[order[start : start + len(f)], : f.shape[1]] = f
        return out

    @property
    def _single_pays(self) -> bool:
        """Whether single precision, which takes half the time, was enough for most queries."""
        return 2 * self._n_failed <= self._n_tried

    def _search_batch(self, X: Array, n_neighbors: int, blocks: Callable[[type], Blocks]) -> Rows:
        """Candidates by the fastest way that separates the nearest points from most others."""
        centred = X - self.centre
        if self._single_pays:
            self._n_tried += len(X)
            try:
                return _by_products(centred, n_neighbors, blocks(np.float32))
            except TooCoarseError:
                self._n_failed += len(X)
        try:
            return _by_products(centred, n_neighbors, blocks(np.float64))
        except TooCoarseError:
            return _by_differences(X, n_neighbors, blocks(np.float64).points)

    def _blocks(self, points: Array, n_neighbors: int, precision: Precision) -> Blocks:
        """The points as blocks; the last blocks are kept if they hold all points and are not large.

        Groups are so many that the nearest points are mostly in different groups. Cells take time
        to make: they pay where they are kept, and for few neighbours.
        """
        whole = points is self.points
        few = n_neighbors <= numbers_in(CELL_BYTES, precision) // (4 * CELL_GROUP_SIZE)
        in_cells = whole and few and cells_possible(points, precision)
        largest = min(len(points), numbers_in(BLOCK_BYTES, precision)) // (4 * n_neighbors)
        group_size = CELL_GROUP_SIZE if in_cells else max(1, min(GROUP_SIZE, largest))
        key = in_cells, group_size, precision
        blocks = self._kept.get(key) if whole else None
        if blocks is None:
            blocks = Blocks(points, self.centre, *key)
            if whole and points.nbytes <= PREPARED_BYTES:
                self._kept = {key: blocks}
        return blocks


class TooCoarseError(Exception):
    """Inner products in this precision leave too many candidates."""


def _by_products(X: Array, n_neighbors: int, blocks: Blocks) -> Rows:
    """All candidates of a batch of centred queries, as positions in the points, padded with -1.

    Each group of points has a smallest value, and the K-th smallest of those bounds the K-th
    smallest value of all points from above. Only groups whose smallest value is within the bound
    have to be searched, and only blocks that start within it. The bound falls from block to block.
    """
    q, d = X.shape
    single = blocks.precision is np.float32
    squared_norms = np.einsum("qd,qd->q", X, X)
    largest = blocks.largest_norm + squared_norms
    if single and not (SINGLE_BOUNDS[0] < largest.min() and largest.max() < SINGLE_BOUNDS[1]):
        raise TooCoarseError
    most = max_candidates(n_neighbors)
    usual = SINGLE_CANDIDATES * n_neighbors if single else most
    # Rounding of a product of length d + 1, twice: of the bound, and of the value compared with it.
    slack = ((4 * (d + 2) * np.finfo(blocks.precision).eps) * largest).astype(blocks.precision)
    query: NDArray = np.column_stack([-2.0 * X, np.ones(q)]).astype(blocks.precision)
    smallest: NDArray = np.full((q, n_neighbors), blocks.far / 2, blocks.precision)
    bound = smallest[:, -1].copy()
    block_starts = blocks.squared_distances_to_boxes(X) - (squared_norms + slack)[:, None]
    queries, positions, values = [], [], []
    for b in np.argsort(block_starts.mean(axis=0)):
        near = np.flatnonzero(block_starts[:, b] <= bound)
        if not len(near):
            continue
        products = (query[near] @ blocks[b].T).reshape(len(near), blocks.group_size, -1)
        minima = products.min(axis=1)
        closest = np.concatenate([smallest[near], minima], axis=1)
        smallest[near] = np.partition(closest, n_neighbors - 1, axis=1)[:, :n_neighbors]
        bound[near] = smallest[near, -1] + slack[near]
        hit, group = np.nonzero(minima <= bound[near, None])
        members = products[hit, :, group]
        pair, member = np.nonzero(members <= bound[near[hit], None])
        if len(pair) > q * usual:
            raise TooCoarseError
        queries.append(near[hit[pair]])
        positions.append(blocks.rows(b, member * products.shape[2] + group[pair]))
        values.append(members[pair, member])
    table, value = _as_tables(
        np.concatenate(queries), np.concatenate(positions), np.concatenate(values), q
    )
    table[value > (value[:, n_neighbors - 1] + slack)[:, None]] = -1
    found = np.count_nonzero(table >= 0, axis=1)
    if found.mean() > usual or found.max() > most:
        raise TooCoarseError
    return table[:, : found.max()]


def _as_tables(queries: Rows, rows: Rows, values: Array, n_queries: int) -> tuple[Rows, Array]:
    """Triples (query, row, value) as two tables with one line per query, sorted by value.

    The rows are padded with -1, the values with infinity.
    """
    order = np.lexsort((rows, values, queries))
    queries, rows, values = queries[order], rows[order], values[order]
    counts = np.bincount(queries, minlength=n_queries)
    column = np.arange(len(queries)) - np.repeat(np.cumsum(counts) - counts, counts)
    row_table = np.full((n_queries, counts.max()), -1, dtype=np.intp)
    value_table = np.full(row_table.shape, np.inf)
    row_table[queries, column], value_table[queries, column] = rows, values
    return row_table, value_table


def _directly(X: Array, n_neighbors: int, points: Array) -> Rows:
    """All candidates of few queries, as positions in the points, padded with -1."""
    squares = cdist(X, points, "sqeuclidean")
    last = np.partition(squares, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    query, position = np.nonzero(squares <= (last * (1 + ROUNDING))[:, None])
    table, _ = _as_tables(query, position, squares[query, position], len(X))
    return table[:, : max_candidates(n_neighbors)]


def _by_differences(X: Array, n_neighbors: int, points: Array) -> Rows:
    """The nearest few hundred of all points, by differences.

    Inner products cannot order points that are much nearer to each other than to the centre.
    """
    most = max_candidates(n_neighbors)
    squares, rows = np.empty((len(X), 0)), np.empty((len(X), 0), dtype=np.intp)
    for start in range(0, len(points), DIFFERENCES_BLOCK):
        block = points[start : start + DIFFERENCES_BLOCK]
        here = np.broadcast_to(np.arange(start, start + len(block)), (len(X), len(block)))
        squares = np.hstack([squares, cdist(X, block, "sqeuclidean")])
        rows = np.hstack([rows, here])
        if squares.shape[1] > most:
            nearest = np.argpartition(squares, most - 1, axis=1)[:, :most]
            squares = np.take_along_axis(squares, nearest, axis=1)
            rows = np.take_along_axis(rows, nearest, axis=1)
    return rows


def _batch_size(n_queries: int, points_size: int, n_threads: int, largest: int) -> int:
    """Queries per batch, so that batches are small and all threads get equally many."""
    n_batches = -(-n_queries // largest)
    if n_batches > 1 or n_queries * points_size > MIN_THREADED_PRODUCT:
        n_batches = -(-n_batches // n_threads) * n_threads
    return max(1, -(-n_queries // max(1, n_batches)))
