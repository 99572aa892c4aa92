"""Trees that say who is alike: samples that share leaves.

Trees split where the target changes, so that samples which share many leaves have inputs that mean
the same for the target, however far apart the features that do not matter. The trees predict
nothing here: only their leaves are used, to find and weigh neighbours. `_trees` grows them.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# What the numbers of trees and of a tree's leaves are held in.
MOST_TREES, MOST_LEAVES = 255, 2**16
# Fewer queries than this are answered before a second thread has begun.
MIN_QUERIES = 32


@dataclass(frozen=True, eq=False)
class Forest:
    """Grown trees, as arrays over all their nodes (see `kernels.leaves`).

    `importance` (d,) is how much of the target's variation the splits of each feature took away,
    as parts of one.
    """

    roots: Rows
    feature: Rows
    threshold: Array
    left: Rows
    right: Rows
    importance: Array

    @property
    def n_leaves(self) -> int:
        """Of the tree that has the most."""
        return int(self.left[self.feature < 0].max()) + 1

    def points(self, Z: Array) -> Array:
        """Where inputs Z are for the neighbour search: where they are."""
        return Z

    def index(self, points: Array, searchable: Mask | None, n_jobs) -> "LeafNeighbors":
        """What finds neighbours among points."""
        return LeafNeighbors(self, points, searchable, n_jobs)

    def leaves(self, Z: Array) -> NDArray[np.uint16]:
        """The leaf of each of n inputs in each of T trees, (T, n)."""
        from .kernels.leaves import leaf_numbers  # compiled: loaded when needed

        Z = np.ascontiguousarray(Z)
        return leaf_numbers(Z, self.roots, self.feature, self.threshold, self.left, self.right)

    def fits(self, d: int) -> bool:
        """Whether these can be trees on d features: compiled code walks them without a look.

        Children come after their parents, so that every walk ends.
        """
        nodes = np.arange(len(self.feature))
        columns = (self.feature, self.left, self.right)
        if not all(a.dtype.kind == "i" and a.shape == nodes.shape for a in columns):
            return False
        inner = self.feature >= 0
        forward = (self.left > nodes) & (self.left < len(nodes))
        forward &= (self.right > nodes) & (self.right < len(nodes))
        return bool(
            self.roots.dtype.kind == "i"
            and np.isin(self.roots, nodes).all()
            and 0 < len(self.roots) <= MOST_TREES
            and (self.feature < d).all()
            and self.threshold.shape == nodes.shape
            and self.threshold.dtype == np.float64
            and self.importance.shape == (d,)
            and forward[inner].all()
            and ((self.left >= 0) & (self.left < MOST_LEAVES))[~inner].all()
        )

    def arrays(self) -> dict[str, NDArray]:
        """What a file holds of the forest."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class Located:
    """The leaves (T, n) of points, and the points of each leaf (see `kernels.leaves`)."""

    leaves: NDArray[np.uint16]
    starts: NDArray[np.int32]
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, leaves: NDArray[np.uint16], n_leaves: int) -> "Located":
        from .kernels.leaves import leaf_members  # compiled: loaded when needed

        return cls(leaves, *leaf_members(leaves, n_leaves))


class LeafNeighbors:
    """The K points that share the most leaves with a query; the interface of `Neighbors`.

    With s of T leaves shared, the distance is (T − s) / s, the odds of being told apart: 0 for a
    point that no tree tells from the query. Ties go to the nearer point, then the lower row.
    """

    def __init__(self, forest: Forest, points: Array, searchable: Mask | None, n_jobs):
        self.forest = forest
        self.points, self.searchable = points, searchable
        self.n_jobs = n_jobs
        self._located: Located | None = None

    def update(self, points: Array, searchable: Mask | None) -> None:
        """Take note of appended rows, of removed ones, or of new memory for all of them."""
        if len(points) < len(self.points):  # rows have moved up into the places of removed ones
            self._located = None
        self.points, self.searchable = points, searchable

    def build(self) -> "Located":
        """Where all points are in the trees; the leaves of points that are new are found first."""
        # Other threads may be here too: each works on what it read, whole or not.
        located = self._located
        known = 0 if located is None else located.leaves.shape[1]
        if located is None or known < len(self.points):
            leaves = self.forest.leaves(self.points[known:])
            if located is not None:
                leaves = np.hstack([located.leaves, leaves])
            located = Located.of(leaves, self.forest.n_leaves)
            self._located = located
        return located

    def query(self, X: Array, n_neighbors: int) -> tuple[Array, Rows]:
        """Distances and rows of the nearest points, both (q, K), nearest first."""
        from .kernels.leaves import most_shared  # compiled: loaded when needed

        located, points = self.build(), np.ascontiguousarray(self.points)
        theirs = located.leaves, located.starts, located.rows
        searchable = self.searchable
        if searchable is None:
            searchable = np.ones(len(points), dtype=bool)
        X = np.ascontiguousarray(X)
        leaves = self.forest.leaves(X)

        def search(part: slice) -> tuple[Rows, Rows]:
            own = np.ascontiguousarray(leaves[:, part])
            return most_shared(X[part], own, points, *theirs, searchable, n_neighbors)

        workers = effective_n_jobs(self.n_jobs)
        step = max(MIN_QUERIES, -(-len(X) // workers))
        parts = [slice(start, start + step) for start in range(0, max(len(X), 1), step)]
        if len(parts) == 1:
            shared, rows = search(parts[0])
        else:
            with ThreadPoolExecutor(workers) as pool:
                found = list(pool.map(search, parts))
            shared, rows = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        apart = len(leaves) - shared
        return apart / np.maximum(shared, 0.5), rows
