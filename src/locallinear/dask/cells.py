"""Which partitions can hold a neighbour of a query.

Each partition says where its samples are by a few boxes, its cells. A query first visits the
partition with the cell nearest to it. The K-th neighbour there bounds how far a neighbour can be,
and the query then visits those other partitions that have a cell within the bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ..geometry.cells import divide
from .graphs import sized
from .lookup import Visit

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Rounding of distances to a box, relative to the distance.
SLACK = 1e-9


class Cells:
    """The cells of all partitions.

    Parameters
    ----------
    found : of each partition, the number of samples with weight, and the lowest and highest corners
        of its cells
    """

    def __init__(self, found: Sequence[tuple[int, Array, Array]]):
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def joined(self, more: Sequence[tuple[int, Array, Array]]) -> "Cells":
        """The same with the cells of more partitions."""
        return Cells([*self._found, *more])

    @cached_property
    def _boxes(self) -> tuple[Array, Array, Rows]:
        """The corners of all cells, and the partition of each."""
        _, lowest, highest = zip(*self._found, strict=True)
        owners = np.repeat(np.arange(len(self)), [len(corners) for corners in lowest])
        return np.concatenate(lowest), np.concatenate(highest), owners

    @cached_property
    def _tree(self) -> cKDTree:
        """A tree over the centres of all cells."""
        lowest, highest, _ = self._boxes
        return cKDTree((lowest + highest) / 2)

    @cached_property
    def _groups(self) -> tuple[NDArray, ...]:
        """The cells in groups of near ones, as `kernels.boxes.in_reach` takes them."""
        lowest, highest, owners = self._boxes
        C = len(owners)
        members = divide(self._tree.data, np.arange(C), -(-C // round(np.sqrt(C))))
        order, sizes = members[members >= 0], np.count_nonzero(members >= 0, axis=1)
        starts = np.cumsum([0, *sizes])
        held = lowest[order], highest[order]
        whole = np.minimum.reduceat(held[0], starts[:-1]), np.maximum.reduceat(held[1], starts[:-1])
        return *held, owners[order], starts, *whole

    def home(self, points: Array) -> Rows:
        """The partition with the nearest centre of a cell, per query."""
        return self._boxes[2][self._tree.query(points)[1]]

    def within(self, points: Array, bounds: Array) -> Mask:
        """Whether each partition has a cell within the bound of each query, (P, q)."""
        from ..kernels.boxes import in_reach  # compiled: loaded when needed

        out = np.zeros((len(self), len(points)), dtype=bool)
        reach = (bounds * (1 + SLACK)) ** 2
        in_reach(np.ascontiguousarray(points), reach, *self._groups, out)
        return out


@sized
@dataclass(frozen=True, eq=False)
class Visits:
    """Which queries visit which partitions.

    Attributes
    ----------
    points : array (q, d)
    bounds : array (q,)
        Samples farther away than this are no neighbours.
    queries : list of arrays
        The queries that visit each partition.
    """

    points: Array
    bounds: Array
    queries: list[Rows]


def visit_home(cells: Cells, points: Array) -> Visits:
    """Each query visits one partition: its home."""
    home = cells.home(points)
    order = np.argsort(home, kind="stable")
    queries = np.split(order, np.searchsorted(home[order], np.arange(1, len(cells))))
    return Visits(points, np.full(len(points), np.inf), queries)


def visit_others(cells: Cells, before: Visits, bounds: Array) -> Visits:
    """Each query visits the other partitions that can hold a neighbour."""
    near = cells.within(before.points, bounds)
    for here, at_home in zip(near, before.queries, strict=True):
        here[at_home] = False
    return Visits(before.points, bounds, [np.flatnonzero(here) for here in near])


def visit_of(visits: Visits, partitions: Sequence[int]) -> Visit:
    """The queries that visit one of these partitions."""
    of_each = [visits.queries[p] for p in partitions]
    queries = of_each[0] if len(of_each) == 1 else np.unique(np.concatenate(of_each))
    where = np.zeros((len(queries), len(partitions)), dtype=bool)
    for j, visiting in enumerate(of_each):
        where[np.searchsorted(queries, visiting), j] = True
    return Visit(queries, visits.points[queries], visits.bounds[queries], where)
