"""Two structures that find the nearest of many points: `Cells`, and `Few` for few points.

A structure holds the rows from `start` to `stop` of an array of points. Its method `candidates`
returns rows that certainly include the nearest points and all points that tie with the last of
them. So the caller can order the candidates by distance and row, and the answer is the same for
both structures.
"""

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# If more candidates than this tie for one query, the structure takes those with the lowest rows.
MAX_CANDIDATES = 256
# Points per cell: about the root of their number, so that boxes and points take similar time.
CELL_SIZES = 64, 1024
# Single precision is used where the largest distance from the centre is within these bounds.
SINGLE_NORMS = 1e-6, 1e15
# Squared distances that differ by no more than this part count as equal.
ROUNDING = 1e-12
# Points that tell which feature of a cell is the widest.
N_PROBES = 256


def max_candidates(n_neighbors: int) -> int:
    """Number of candidates per query; of more that tie, those with the lowest rows are enough."""
    return max(MAX_CANDIDATES, 2 * n_neighbors)


class Few:
    """Rows that are compared one by one: soon done, and nothing has to be built."""

    def __init__(self, points: Array, start: int, stop: int):
        self.stop = stop
        self._start, self._points = start, points[start:stop]

    def moved(self, points: Array) -> "Few":
        """The same rows in other memory."""
        return Few(points, self._start, self.stop)

    def together(self, rows: Rows) -> Rows:
        """An order of these rows in which close points follow each other: here any."""
        return np.arange(len(rows))

    def candidates(self, X: Array, n_neighbors: int, searchable: Mask | None) -> Rows:
        """Rows (q, c) that include the nearest points of this part, padded with -1."""
        points, rows = self._points, np.arange(self._start, self.stop)
        if searchable is not None:
            kept = searchable[self._start : self.stop]
            points, rows = points[kept], rows[kept]
        if len(rows) <= n_neighbors:
            return np.tile(rows, (len(X), 1))
        squares = cdist(X, points, "sqeuclidean")
        last = np.partition(squares, n_neighbors - 1, axis=1)[:, n_neighbors - 1, None]
        within = squares <= last * (1 + ROUNDING)
        width = within.sum(axis=1).max(initial=1)
        if width > max_candidates(n_neighbors):  # of so many ties, the lowest rows
            width = max_candidates(n_neighbors)
            near = np.argsort(squares, axis=1, kind="stable")[:, :width]
        else:
            near = np.argpartition(squares, width - 1, axis=1)[:, :width]
            near = np.take_along_axis(near, np.argsort(np.take_along_axis(squares, near, 1)), 1)
        return np.where(np.take_along_axis(within, near, 1), rows[near], -1)


class Cells:
    """Rows in cells of points that are close together (see `kernels.nearest`).

    Squared distances are computed in single precision first. Where that leaves too many
    candidates, they are computed in double precision.
    """

    def __init__(self, points: Array, searchable: Mask | None, start: int, stop: int):
        self.stop = stop
        self._points = points
        rows = np.arange(start, stop)
        if searchable is not None:
            rows = rows[searchable[start:stop]]
        size = 2 ** round(np.log2(np.clip(np.sqrt(len(rows)), *CELL_SIZES)))
        self._rows = divide(points, rows, size)
        # Single precision has few digits. They are for the distances from the centre.
        self._centre = points[start:stop].mean(axis=0)
        self._single = Matrices.of(points, self._rows, self._centre, np.float32)
        self._double: Matrices | None = None

    def moved(self, points: Array) -> "Cells":
        """The same rows in other memory."""
        other = copy.copy(self)
        other._points = points
        return other

    def together(self, rows: Rows) -> Rows:
        """An order of these rows in which close points follow each other."""
        held = self._rows[self._rows >= 0]  # cell by cell
        place = np.full(max(self.stop, rows.max(initial=0) + 1), len(held))
        place[held] = np.arange(len(held))
        return np.argsort(place[rows])

    def candidates(self, X: Array, n_neighbors: int, searchable: Mask | None) -> Rows:
        """Rows (q, c) that include the nearest points of this part, padded with -1."""
        if not len(self._rows):
            return np.empty((len(X), 0), dtype=np.intp)
        found = np.empty((len(X), max_candidates(n_neighbors)), dtype=np.int32)
        mask = np.empty(0, dtype=bool) if searchable is None else searchable
        norms = np.linalg.norm(X - self._centre, axis=1)
        least, most = SINGLE_NORMS
        left = np.full(len(X), not least < self._single.largest_norm < most)
        left |= norms >= most
        first = np.flatnonzero(~left)
        if len(first):
            left[first] = ~self._single.search(X, first, norms, n_neighbors, mask, found)
        if left.any():
            if self._double is None:
                nowhere = np.zeros_like(self._centre)
                self._double = Matrices.of(self._points, self._rows, nowhere, np.float64)
            self._double.search(X, np.flatnonzero(left), None, n_neighbors, mask, found)
        width = np.count_nonzero(found >= 0, axis=1).max(initial=0)
        return found[:, :width].astype(np.intp)


@dataclass(frozen=True, eq=False)
class Matrices:
    """The cells as the kernel reads them, in one precision.

    The features come in the order of their variance: so a cell that is too far away is left early.
    Zeros fill their number up to a multiple of four.
    """

    cells: NDArray[np.floating]
    rows: NDArray[np.int32]
    lowest: NDArray[np.floating]
    highest: NDArray[np.floating]
    features: Rows
    centre: Array
    largest_norm: float

    @classmethod
    def of(
        cls, points: Array, rows: NDArray[np.int32], centre: Array, precision: type[np.floating]
    ) -> "Matrices":
        """Matrices of the rows (C, S) of points, less the centre; -1 is no row."""
        from ..kernels.nearest import fill_cells  # compiled: loaded when needed

        (C, S), d = rows.shape, points.shape[1]
        spread = points[rows[:, 0]].var(axis=0) if C else np.zeros(d)
        features = np.argsort(-spread, kind="stable")
        cells = np.full((C, d + -d % 4, S), np.inf, dtype=precision)
        cells[:, d:] = 0
        lowest = np.zeros((d + -d % 4, C), dtype=precision)
        highest = np.zeros_like(lowest)
        largest = fill_cells(points, rows, centre, features, cells, lowest, highest)
        return cls(cells, rows, lowest, highest, features, centre, np.sqrt(largest))

    def search(
        self,
        X: Array,
        some: Rows,
        norms: Array | None,
        n_neighbors: int,
        searchable: Mask,
        found: NDArray[np.int32],
    ) -> Mask:
        """Write the candidates of some queries; returns for which they are complete.

        `norms` are the distances of all queries from the centre. Rounding moves a point by at most
        its own distance from the centre times the precision: not at all in double precision, where
        there is nothing to round, for which they are None.
        """
        from ..kernels.nearest import nearest_in_cells  # compiled: loaded when needed

        precision, d = self.cells.dtype, X.shape[1]
        queries = np.zeros((len(some), self.cells.shape[1]), dtype=precision)
        queries[:, :d] = (X[some] - self.centre)[:, self.features]
        info = np.finfo(precision)
        # Squares below the smallest number are lost, so slack is at least its root.
        slack = np.full(len(some), 2 * np.sqrt(d * float(info.tiny)))
        if norms is not None:
            slack += 2 * float(info.eps) * (self.largest_norm + norms[some])
        margin = precision.type(1 + 2 * (d + 8) * float(info.eps))
        complete = np.empty(len(some), dtype=bool)
        held = self.cells, self.rows, self.lowest, self.highest, searchable
        given = slack.astype(precision), margin, n_neighbors
        nearest_in_cells(queries, *held, *given, some, found, complete)
        return complete


def divide(points: Array, rows: Rows, size: int) -> NDArray[np.int32]:
    """Rows in cells (C, size): cut along the widest feature, again and again; -1 fills the last."""
    cells = np.full((-(-len(rows) // size), size), -1, dtype=np.int32)
    _fill(points, rows.astype(np.int32), cells)
    return cells


def _fill(points: Array, rows: NDArray[np.int32], cells: NDArray[np.int32]) -> None:
    if len(cells) <= 1:
        cells[:, : len(rows)] = rows
        return
    half = len(cells) // 2
    probes = points[rows[:: -(-len(rows) // N_PROBES)]]
    widest = points[rows, np.ptp(probes, axis=0).argmax()]
    order = np.argpartition(widest, half * cells.shape[1])
    _fill(points, rows[order[: half * cells.shape[1]]], cells[:half])
    _fill(points, rows[order[half * cells.shape[1] :]], cells[half:])
