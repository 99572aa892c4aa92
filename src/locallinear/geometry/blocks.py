"""Points in blocks, prepared for a scan by matrix products."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Precision = type[np.floating]

# Bytes per feature of a block, so that a block fits into the cache of a processor.
BLOCK_BYTES = 2**15
# Points of at most this many bytes are prepared once and kept. If they need more than one block,
# the blocks are cells: smaller, and each holds points that are close together, so that a query can
# skip the cells that are too far away.
PREPARED_BYTES = 32 * 2**20
CELL_BYTES = 2**13


class Blocks:
    """Blocks of rows (x − c, ||x − c||²); their products with (−2 (q − c), 1) rank the points.

    The product is ||q − x||² − ||q − c||² for query q and centre c. Each block is padded to a whole
    number of groups with points that are very far away.

    Parameters
    ----------
    points : (n, d)
    centre : (d,)
    in_cells : whether the blocks are cells
    group_size : points per group
    precision : of the products
    """

    def __init__(
        self, points: Array, centre: Array, in_cells: bool, group_size: int, precision: Precision
    ):
        self.points, self.centre, self.precision = points, centre, precision
        self.in_cells, self.group_size = in_cells, group_size
        n, size = len(points), numbers_in(CELL_BYTES if in_cells else BLOCK_BYTES, precision)
        self._rows: list[slice | Rows] = [slice(i, i + size) for i in range(0, n, size)]
        if in_cells:
            self._rows = [*divide_into_cells(points, np.arange(n), size)]
            members = [points[rows] - centre for rows in self._rows]
            self.lowest = np.array([cell.min(axis=0) for cell in members])
            self.highest = np.array([cell.max(axis=0) for cell in members])
        # Not infinity: some matrix products multiply the padding by zeros, which would give NaN.
        self.far = np.finfo(precision).max / 4
        self._prepared = None
        if points.nbytes <= PREPARED_BYTES:
            self._prepared = [self._prepare(b) for b in range(len(self._rows))]
        self.largest_norm = 0.0
        for b, rows in enumerate(self._rows):
            norms = self[b][: len(points[rows]), -1]
            self.largest_norm = max(self.largest_norm, float(norms.max()))

    def __getitem__(self, b: int) -> NDArray[np.floating]:
        return self._prepare(b) if self._prepared is None else self._prepared[b]

    def _prepare(self, b: int) -> NDArray[np.floating]:
        """Block b as a matrix (rows of whole groups, d + 1)."""
        centred = self.points[self._rows[b]] - self.centre
        n, d = centred.shape
        out = np.zeros((-(-n // self.group_size) * self.group_size, d + 1), self.precision)
        with np.errstate(over="ignore"):  # a scan does not use a precision that is too small
            out[:n, :-1] = centred
            out[:n, -1] = np.einsum("nd,nd->n", centred, centred)
        out[n:, -1] = self.far
        return out

    def rows(self, b: int, positions: Rows) -> Rows:
        """Row numbers of the points at these positions of block b."""
        rows = self._rows[b]
        return rows.start + positions if isinstance(rows, slice) else rows[positions]

    def squared_distances_to_boxes(self, X: Array) -> Array:
        """Squared distances (q, blocks) from centred queries to the boxes that bound the cells.

        Zeros where the blocks are not cells.
        """
        out = np.zeros((len(X), len(self._rows)))
        if not self.in_cells:
            return out
        for b, (lowest, highest) in enumerate(zip(self.lowest, self.highest, strict=True)):
            outside = X - np.clip(X, lowest, highest)
            np.einsum("qd,qd->q", outside, outside, out=out[:, b])
        return out

    def query_order(self, X: Array) -> Rows:
        """An order of centred queries that puts queries near the same cell together."""
        if not self.in_cells:
            return np.arange(len(X))
        box_centres = cKDTree((self.lowest + self.highest) / 2)
        return np.argsort(box_centres.query(X)[1], kind="stable")


def cells_possible(points: Array, precision: Precision = np.float32) -> bool:
    """Whether the points need several blocks, and are few enough to be prepared and kept."""
    return numbers_in(BLOCK_BYTES, precision) < len(points) and points.nbytes <= PREPARED_BYTES


def numbers_in(n_bytes: int, precision: Precision) -> int:
    """How many numbers of this precision fit into so many bytes."""
    return n_bytes // np.dtype(precision).itemsize


def divide_into_cells(points: Array, rows: Rows, size: int) -> list[Rows]:
    """Rows in cells of at most `size`: cut in halves along the widest feature, again and again."""
    if len(rows) <= size:
        return [rows]
    widest = points[rows, np.ptp(points[rows], axis=0).argmax()]
    order = np.argpartition(widest, len(rows) // 2)
    halves = rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]
    return [cell for half in halves for cell in divide_into_cells(points, half, size)]
