"""The samples of one partition: checked, located, and searched where they are.

All functions here run as tasks, where the partition is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray

from ..geometry.cells import divide
from ..geometry.nearness import Geometry
from ..geometry.neighbors import Neighbors
from ..kernels.local.models import stored_targets
from .graphs import sized

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# The boxes that tell others where the samples of a partition are.
MAX_CELLS = 32


@sized
@dataclass(frozen=True, eq=False)
class Table:
    """The samples of a partition as users gave them, after all checks.

    Attributes
    ----------
    X : array (c, d)
    y : array (c, m) of targets, or (c,) of class labels
    weights : array (c,) or None
    """

    X: Array
    y: NDArray
    weights: Array | None

    @property
    def counted(self) -> Mask | slice:
        """Which samples have weight."""
        return slice(None) if self.weights is None else self.weights > 0


class Part:
    """The samples of a partition in the feature space, and the search among them.

    Parameters
    ----------
    columns : arrays whose first axis is the samples
        ``Z`` (c, d), where they are in the feature space; ``points``, where they are for the
        search, if elsewhere; ``weights`` (c,), if there are any; and first ``targets`` (c, m),
        then ``residuals`` (c, m) and ``labels`` (c,).
    index : a search among the same points that is built already, or None
    """

    def __init__(self, columns: dict[str, NDArray], index: Neighbors | None = None):
        self.columns = columns
        self.index = Neighbors(self.points, self.searchable) if index is None else index

    def __getstate__(self) -> dict[str, NDArray]:
        return self.columns  # a search structure is built again sooner than it is sent

    def __setstate__(self, columns: dict[str, NDArray]) -> None:
        self.__init__(columns)  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self.columns["Z"])

    @property
    def points(self) -> Array:
        """Where the samples are for the search."""
        return self.columns.get("points", self.columns["Z"])

    @property
    def searchable(self) -> Mask | None:
        """Which samples have weight; None for all."""
        weights = self.columns.get("weights")
        return None if weights is None or weights.all() else weights > 0

    @property
    def n_searchable(self) -> int:
        """The number of samples that have weight."""
        mask = self.searchable
        return len(self) if mask is None else int(np.count_nonzero(mask))

    def assigned(self, labels: Rows, residuals: Array) -> "Part":
        """The same samples with their anchors; residuals take the place of targets."""
        columns = {name: column for name, column in self.columns.items() if name != "targets"}
        columns |= {"labels": labels.astype(np.int32), "residuals": residuals}
        return Part(columns, self.index)

    def without(self, positions: Rows) -> "Part":
        """The samples that are left when those at these positions are removed."""
        return Part({name: np.delete(c, positions, axis=0) for name, c in self.columns.items()})

    def targets(self, rows: Any, models: Array | None) -> Array:
        """The targets of some samples: as they were given, or residual plus anchor model."""
        if "targets" in self.columns:
            return self.columns["targets"][rows]
        assert models is not None
        c = self.columns
        return stored_targets(c["Z"][rows], c["residuals"][rows], c["labels"][rows], models)


@sizeof.register(Part)
def _size_of_part(part: Part) -> int:
    """Bytes in memory, those of the search about: Dask must not take a partition for small."""
    searched = (4 * part.points.shape[1] + 8) * len(part)
    return sum(column.nbytes for column in part.columns.values()) + searched


def locate(
    table: Table,
    classes: NDArray | None,
    geometry: Geometry,
    weighted: bool,
    indexed: bool = True,
) -> Part:
    """The samples of a table in the feature space; with `classes`, labels become 1 and 0.

    `weighted` says whether all partitions have weights, and `indexed` whether neighbours will be
    searched.
    """
    Z, points = geometry.locate(table.X)
    Y = table.y if classes is None else (table.y[:, None] == classes).astype(np.float64)
    columns: dict[str, NDArray] = {"Z": Z, "targets": Y}
    if points is not Z:
        columns["points"] = points
    if weighted:
        columns["weights"] = np.ones(len(Z)) if table.weights is None else table.weights
    part = Part(columns)
    if indexed and part.n_searchable:
        part.index.build()
    return part


def boxes(part: Part) -> tuple[int, Array, Array]:
    """The number of samples with weight, and lowest and highest corners of cells with them."""
    mask, points = part.searchable, part.points
    rows = np.arange(len(points)) if mask is None else np.flatnonzero(mask)
    if not len(rows):
        return 0, np.empty((0, points.shape[1])), np.empty((0, points.shape[1]))
    members = divide(points, rows, -(-len(rows) // MAX_CELLS))
    cells = [points[cell[cell >= 0]] for cell in members]
    corners = np.array([[cell.min(axis=0), cell.max(axis=0)] for cell in cells])
    return len(rows), corners[:, 0], corners[:, 1]


def with_weight(table: Table) -> Table:
    """The samples of a table that have weight."""
    counted, weights = table.counted, table.weights
    return Table(table.X[counted], table.y[counted], None if weights is None else weights[counted])


def take(source: Table | Part, positions: Any, names: Sequence[str]) -> list[NDArray | None]:
    """Some samples of a partition: those columns that are named, None where there is none."""
    columns = source.columns if isinstance(source, Part) else vars(source)
    found = (columns.get(name) for name in names)
    return [None if column is None else column[positions] for column in found]
