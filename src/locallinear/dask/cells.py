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
        self.boxes = [(lowest, highest) for _, lowest, highest in found]

    def __len__(self) -> int:
        return len(self.boxes)

    def joined(self, more: Sequence[tuple[int, Array, Array]]) -> "Cells":
        """The same with the cells of more partitions."""
        return Cells([*self._found, *more])

    @cached_property
    def _centres(self) -> tuple[cKDTree, Rows]:
        """A tree over the centres of all cells, and the partition of each cell."""
        owners = np.repeat(np.arange(len(self)), [len(lowest) for lowest, _ in self.boxes])
        return cKDTree(np.concatenate([(low + high) / 2 for low, high in self.boxes])), owners

    def home(self, points: Array) -> Rows:
        """The partition with the nearest centre of a cell, per query."""
        tree, owners = self._centres
        return owners[tree.query(points)[1]]

    def within(self, p: int, points: Array, bounds: Array) -> Mask:
        """Which queries have a cell of partition p within their bounds."""
        lowest, highest = self.boxes[p]
        near = np.zeros(len(points), dtype=bool)
        if not len(lowest):
            return near
        left = np.flatnonzero(_in_reach(points, bounds, lowest.min(axis=0), highest.max(axis=0)))
        for low, high in zip(lowest, highest, strict=True):
            if not len(left):
                break
            hit = _in_reach(points[left], bounds[left], low, high)
            near[left[hit]] = True
            left = left[~hit]
        return near


def _in_reach(points: Array, bounds: Array, low: Array, high: Array) -> Mask:
    outside = points - np.clip(points, low, high)
    return np.sqrt(np.einsum("qd,qd->q", outside, outside)) <= bounds * (1 + SLACK)


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
    queries = [np.flatnonzero(home == p) for p in range(len(cells))]
    return Visits(points, np.full(len(points), np.inf), queries)


def visit_others(cells: Cells, before: Visits, bounds: Array) -> Visits:
    """Each query visits the other partitions that can hold a neighbour."""
    queries = []
    for p, at_home in enumerate(before.queries):
        near = cells.within(p, before.points, bounds)
        near[at_home] = False
        queries.append(np.flatnonzero(near))
    return Visits(before.points, bounds, queries)


def visit_of(visits: Visits, partitions: Sequence[int]) -> Visit:
    """The queries that visit one of these partitions."""
    where = np.zeros((len(visits.points), len(partitions)), dtype=bool)
    for j, p in enumerate(partitions):
        where[visits.queries[p], j] = True
    queries = np.flatnonzero(where.any(axis=1))
    return Visit(queries, visits.points[queries], visits.bounds[queries], where[queries])
