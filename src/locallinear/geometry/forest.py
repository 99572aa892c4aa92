"""Grown trees as arrays, and neighbours that share leaves in them.

Trees split where the target changes, or where its relation to the inputs changes. Samples that
share many leaves are alike in what matters for the target, even if they are far apart in features
that do not matter. The trees predict nothing here: their leaves find and weigh neighbours.
`trees` grows them.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ..runtime.threads import thread_parts

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Shared leaves are counted in one byte, and leaves are numbered in two.
MAX_TREES, MAX_TREE_LEAVES = 255, 2**16

# A node splits `feature`, which is -1 for a leaf. Points with values up to `threshold` go on to the
# next node, all others to the node `right`. For a leaf, `right` is its number within its tree.
COLUMNS = {"threshold": np.float64, "feature": np.int32, "right": np.int32}
NODE = np.dtype(list(COLUMNS.items()))


@dataclass(frozen=True, eq=False)
class Forest:
    """Grown trees.

    Parameters
    ----------
    roots : (T,) the first node of each tree
    nodes : the nodes of all trees, one tree after the other; a left child follows its parent
    feature_weights : (d,) how much the splits of each feature improve the trees; they sum to one
    min_distance : the distance of two points that share all leaves
    """

    roots: Rows
    nodes: NDArray[np.void]
    feature_weights: Array
    min_distance: float

    @classmethod
    def from_arrays(
        cls, roots: Rows, feature_weights: Array, min_distance: NDArray, **columns: NDArray
    ) -> "Forest":
        """The forest that `arrays` described."""
        nodes = np.zeros(len(columns["feature"]), dtype=NODE)
        for name in COLUMNS:
            if columns[name].dtype != COLUMNS[name] or columns[name].shape != nodes.shape:
                raise ValueError("its arrays do not fit each other")
            nodes[name] = columns[name]
        return cls(roots, nodes, feature_weights, float(min_distance))

    def arrays(self) -> dict[str, NDArray]:
        """The arrays that define the forest, for a file."""
        return {
            "roots": self.roots,
            "feature_weights": self.feature_weights,
            "min_distance": np.array(self.min_distance),
            **{name: np.ascontiguousarray(self.nodes[name]) for name in COLUMNS},
        }

    @property
    def n_leaves(self) -> int:
        """Number of leaves of the tree with the most leaves."""
        return int(self.nodes["right"][self.nodes["feature"] < 0].max()) + 1

    def points(self, Z: Array) -> Array:
        """The points that stand for inputs Z in the neighbour search: Z itself."""
        return Z

    def index(self, points: Array, searchable: Mask | None, n_jobs: int | None) -> "LeafNeighbors":
        """A structure that finds neighbours among the points."""
        return LeafNeighbors(self, points, searchable, n_jobs)

    def leaves(self, Z: Array) -> NDArray[np.uint16]:
        """The leaf of each of n inputs in each of T trees, (T, n)."""
        from ..kernels.trees.leaves import leaf_numbers  # compiled: loaded when needed

        return leaf_numbers(np.ascontiguousarray(Z), self.roots, self.nodes)

    def fits(self, d: int) -> bool:
        """Whether these are valid trees on d features: compiled code does not check them.

        Children must come after their parents, so that every walk ends.
        """
        positions = np.arange(len(self.nodes))
        feature, right = self.nodes["feature"], self.nodes["right"]
        inner = feature >= 0
        return bool(
            self.roots.dtype == np.intp
            and self.roots.ndim == 1
            and np.isin(self.roots, positions).all()
            and 0 < len(self.roots) <= MAX_TREES
            and (feature < d).all()
            and self.feature_weights.shape == (d,)
            and 0 <= self.min_distance <= 1
            and not inner[-1:].any()
            and ((right > positions) & (right < len(positions)))[inner].all()
            and ((right >= 0) & (right < MAX_TREE_LEAVES))[~inner].all()
        )


@dataclass(frozen=True, eq=False)
class LeafMembers:
    """The leaves (T, n) of points, and the points in each leaf (see `kernels.trees.leaves`)."""

    leaves: NDArray[np.uint16]
    starts: NDArray[np.int32]
    rows: NDArray[np.int32]

    @classmethod
    def from_leaves(cls, leaves: NDArray[np.uint16], n_leaves: int) -> "LeafMembers":
        """The members for leaves (T, n) of trees with at most n_leaves leaves."""
        from ..kernels.trees.leaves import leaf_members  # compiled: loaded when needed

        return cls(leaves, *leaf_members(leaves, n_leaves))


class LeafNeighbors:
    """Finds the K points that share the most leaves with a query; has the interface of `Neighbors`.

    If two points share s of T leaves, their distance is T / s − 1 + `min_distance` of the forest.
    With a minimum of 1, the weight 1 / distance is the shared part s / T. With a minimum of 0, it
    is the odds of sharing a leaf, s / (T − s), so that a point that shares all leaves takes all the
    weight. A point that shares no leaf counts as if it shared half a leaf. Of points that share
    equally many leaves, the nearer one comes first, then the one with the lower row number.
    """

    def __init__(self, forest: Forest, points: Array, searchable: Mask | None, n_jobs: int | None):
        self.forest = forest
        self.points, self.searchable = points, searchable
        self.n_jobs = n_jobs
        self._members: LeafMembers | None = None

    def update(self, points: Array, searchable: Mask | None) -> None:
        """Use these points from now on: rows were appended or removed, or moved in memory."""
        if len(points) < len(self.points):  # rows have new numbers
            self._members = None
        self.points, self.searchable = points, searchable

    def build(self) -> LeafMembers:
        """The members of all leaves; only points that are new go through the trees."""
        # Several threads may run this: each works on what it has read, which is always complete.
        members = self._members
        n_known = 0 if members is None else members.leaves.shape[1]
        if members is None or n_known < len(self.points):
            leaves = self.forest.leaves(self.points[n_known:])
            if members is not None:
                leaves = np.hstack([members.leaves, leaves])
            members = LeafMembers.from_leaves(leaves, self.forest.n_leaves)
            self._members = members
        return members

    def query(self, X: Array, n_neighbors: int) -> tuple[Array, Rows]:
        """Distances and rows of the nearest points, both (q, K), nearest first."""
        from ..kernels.trees.leaves import most_shared  # compiled: loaded when needed

        members, points = self.build(), np.ascontiguousarray(self.points)
        stored = points, members.leaves, members.starts, members.rows
        searchable = self.searchable
        if searchable is None:
            searchable = np.ones(len(points), dtype=bool)
        X = np.ascontiguousarray(X)
        leaves = self.forest.leaves(X)

        def search(part: slice) -> tuple[Rows, Rows]:
            part_leaves = np.ascontiguousarray(leaves[:, part])
            return most_shared(X[part], part_leaves, *stored, searchable, n_neighbors)

        parts = thread_parts(len(X), effective_n_jobs(self.n_jobs))
        if len(parts) == 1:
            n_shared, rows = search(parts[0])
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                found = list(pool.map(search, parts))
            n_shared, rows = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return len(leaves) / np.maximum(n_shared, 0.5) - 1 + self.forest.min_distance, rows
