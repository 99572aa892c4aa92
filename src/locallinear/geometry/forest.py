"""Trees that say who is alike: samples that share leaves.

Trees split where the target changes, or its relation to the inputs: samples which share many leaves
have inputs that mean the same for it, however far apart the features that do not matter. The trees
predict nothing here: only their leaves are used, to find and weigh neighbours. `trees` grows them.
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


# The feature that a node splits (-1 for a leaf), the value up to which points go on to the next
# node, and where the others go; of a leaf, its number within its tree.
COLUMNS = {"threshold": np.float64, "feature": np.int32, "right": np.int32}
NODE = np.dtype(list(COLUMNS.items()))


@dataclass(frozen=True, eq=False)
class Forest:
    """Grown trees.

    `nodes` are all trees' one after the other, each node's left child right behind it; `roots` (T,)
    are the trees' first. `importance` (d,) is how much the splits of each feature won, as parts of
    one. `least` is the distance of points that share all leaves.
    """

    roots: Rows
    nodes: NDArray[np.void]
    importance: Array
    least: float

    @classmethod
    def from_arrays(cls, roots, importance, least, **columns: NDArray) -> "Forest":
        """What `arrays` described."""
        nodes = np.zeros(len(columns["feature"]), dtype=NODE)
        for name in COLUMNS:
            if columns[name].dtype != COLUMNS[name] or columns[name].shape != nodes.shape:
                raise ValueError("its arrays do not fit each other")
            nodes[name] = columns[name]
        return cls(roots, nodes, importance, float(least))

    def arrays(self) -> dict[str, NDArray]:
        """What a file holds of the forest."""
        columns = {name: np.ascontiguousarray(self.nodes[name]) for name in COLUMNS}
        about = {"importance": self.importance, "least": np.array(self.least)}
        return {"roots": self.roots, **about, **columns}

    @property
    def n_leaves(self) -> int:
        """Of the tree that has the most."""
        return int(self.nodes["right"][self.nodes["feature"] < 0].max()) + 1

    def points(self, Z: Array) -> Array:
        """Where inputs Z are for the neighbour search: where they are."""
        return Z

    def index(self, points: Array, searchable: Mask | None, n_jobs) -> "LeafNeighbors":
        """What finds neighbours among points."""
        return LeafNeighbors(self, points, searchable, n_jobs)

    def leaves(self, Z: Array) -> NDArray[np.uint16]:
        """The leaf of each of n inputs in each of T trees, (T, n)."""
        from ..kernels.trees.leaves import leaf_numbers  # compiled: loaded when needed

        return leaf_numbers(np.ascontiguousarray(Z), self.roots, self.nodes)

    def fits(self, d: int) -> bool:
        """Whether these can be trees on d features: compiled code walks them without a look.

        Children come after their parents, so that every walk ends.
        """
        places = np.arange(len(self.nodes))
        feature, right = self.nodes["feature"], self.nodes["right"]
        inner = feature >= 0
        return bool(
            self.roots.dtype == np.intp
            and self.roots.ndim == 1
            and np.isin(self.roots, places).all()
            and 0 < len(self.roots) <= MOST_TREES
            and (feature < d).all()
            and self.importance.shape == (d,)
            and 0 <= self.least <= 1
            and not inner[-1:].any()
            and ((right > places) & (right < len(places)))[inner].all()
            and ((right >= 0) & (right < MOST_LEAVES))[~inner].all()
        )


@dataclass(frozen=True, eq=False)
class Located:
    """The leaves (T, n) of points, and the points of each leaf (see `kernels.leaves`)."""

    leaves: NDArray[np.uint16]
    starts: NDArray[np.int32]
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, leaves: NDArray[np.uint16], n_leaves: int) -> "Located":
        """Points with these leaves (T, n), of trees with at most n_leaves."""
        from ..kernels.trees.leaves import leaf_members  # compiled: loaded when needed

        return cls(leaves, *leaf_members(leaves, n_leaves))


class LeafNeighbors:
    """The K points that share the most leaves with a query; the interface of `Neighbors`.

    With s of T leaves shared, the distance is T / s, so that 1 / distance is the part that is
    shared; or one less, the odds of being told apart, so that a point that no tree tells from the
    query takes all the weight. A point that shares nothing counts as one that shares half a leaf.
    Ties go to the nearer point, then the lower row.
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
        from ..kernels.trees.leaves import most_shared  # compiled: loaded when needed

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
        return len(leaves) / np.maximum(shared, 0.5) - 1 + self.forest.least, rows
