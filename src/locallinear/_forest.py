"""Boosted trees that say who is alike: samples that share leaves.

Small regression trees are grown one on what the last ones left over, each on some of the samples
and features. They split where the target changes, so that samples which share many leaves have
inputs that mean the same for the target, however far apart the features that do not matter. The
trees predict nothing here: only their leaves are used, to find and weigh neighbours.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ._anchors import distinct_rows
from ._metric import standardised

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# How the trees are grown. Leaves shared are counted in a byte.
N_TREES = 125
LEARNING_RATE = 0.1
MAX_FEATURES = 0.5
MIN_LEAF = 3
# Each tree sees this share of the samples, and no more than so many.
SHARE, MAX_ROWS = 0.7, 5000
# A leaf for every so many of them, within bounds.
ROWS_A_LEAF, MIN_LEAVES, MAX_LEAVES = 20, 8, 128
# Targets, in standard deviations, are rounded to this: splits that are equally good up to the
# rounding of a sum must be so to the last digit, or the order of samples would choose.
DECIMALS = 9
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

    def points(self, Z: Array) -> Array:
        """Where inputs Z are for the neighbour search: where they are."""
        return Z

    def index(self, points: Array, searchable: Mask | None, n_jobs) -> "LeafNeighbors":
        """What finds neighbours among points."""
        return LeafNeighbors(self, points, searchable, n_jobs)

    def leaves(self, Z: Array) -> NDArray[np.uint8]:
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
            and 0 < len(self.roots) <= 255
            and (self.feature < d).all()
            and self.threshold.shape == nodes.shape
            and self.threshold.dtype == np.float64
            and self.importance.shape == (d,)
            and forward[inner].all()
            and ((self.left >= 0) & (self.left <= 255))[~inner].all()
        )

    def arrays(self) -> dict[str, NDArray]:
        """What a file holds of the forest."""
        return dict(vars(self))


class LeafNeighbors:
    """The K points that share the most leaves with a query; the interface of `Neighbors`.

    With s of T leaves shared, the distance is (T − s) / s, the odds of being told apart: 0 for a
    point that no tree tells from the query. Ties go to the nearer point, then the lower row.
    """

    def __init__(self, forest: Forest, points: Array, searchable: Mask | None, n_jobs):
        self.forest = forest
        self.points, self.searchable = points, searchable
        self.n_jobs = n_jobs
        self._leaves: NDArray[np.uint8] | None = None

    def update(self, points: Array, searchable: Mask | None) -> None:
        """Take note of appended rows, of removed ones, or of new memory for all of them."""
        if len(points) < len(self.points):  # rows have moved up into the places of removed ones
            self._leaves = None
        self.points, self.searchable = points, searchable

    def build(self) -> NDArray[np.uint8]:
        """The leaves of all points, (T, n); those of points that are new are found first."""
        # Other threads may be here too: each works on the array that it read, whole or not.
        leaves = self._leaves
        known = 0 if leaves is None else leaves.shape[1]
        if leaves is None or known < len(self.points):
            new = self.forest.leaves(self.points[known:])
            leaves = new if leaves is None else np.hstack([leaves, new])
            self._leaves = leaves
        return leaves

    def query(self, X: Array, n_neighbors: int) -> tuple[Array, Rows]:
        """Distances and rows of the nearest points, both (q, K), nearest first."""
        from .kernels.leaves import most_shared  # compiled: loaded when needed

        theirs, points = self.build(), np.ascontiguousarray(self.points)
        searchable = self.searchable
        if searchable is None:
            searchable = np.ones(len(points), dtype=bool)
        X = np.ascontiguousarray(X)
        leaves = self.forest.leaves(X)

        def search(part: slice) -> tuple[Rows, Rows]:
            own = np.ascontiguousarray(leaves[:, part])
            return most_shared(X[part], own, points, theirs, searchable, n_neighbors)

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


def grow_forest(Z: Array, Y: Array, weights: Array | None, features: Rows, random_state) -> Forest:
    """Boosted trees on inputs Z (n, d), of which they see some features, and targets Y (n, m).

    Distinct points in lexicographic order, with their weights and mean targets, are all that the
    trees depend on: not the order of the samples, nor whether one is repeated or weighs more. Of
    the features they see the order of values alone, so that units and monotone maps do not matter.
    """
    from sklearn.tree import DecisionTreeRegressor  # takes long to import

    rng = check_random_state(random_state)
    rows, mass, targets = _distinct_samples(Z, Y, weights)
    ranks, values = _ranks(Z[rows][:, features])
    n = len(rows)
    n_rows = max(min(n, 2), min(int(SHARE * n), MAX_ROWS))
    n_leaves = int(np.clip(n_rows // ROWS_A_LEAF, MIN_LEAVES, MAX_LEAVES))
    left_over = targets
    trees = []
    for _ in range(N_TREES):
        seen = rng.choice(n, n_rows, replace=False)
        tree = DecisionTreeRegressor(
            max_leaf_nodes=n_leaves,
            min_samples_leaf=MIN_LEAF,
            max_features=MAX_FEATURES,
            random_state=rng.randint(np.iinfo(np.int32).max),
        )
        tree.fit(ranks[seen], left_over[seen], sample_weight=mass[seen])
        left_over = left_over - LEARNING_RATE * tree.predict(ranks).reshape(left_over.shape)
        trees.append(tree.tree_)
    return _as_arrays(trees, values, features, Z.shape[1])


def _distinct_samples(Z: Array, Y: Array, weights: Array | None) -> tuple[Rows, Array, Array]:
    """A row of each distinct point, its weight, and the mean of its targets in deviations."""
    rows, mass = distinct_rows(Z, weights)
    v = np.ones(len(Z)) if weights is None else weights
    Y = standardised(Y, v)[0]
    if len(rows) == len(Z):
        return rows, mass, Y[rows].round(DECIMALS)
    _, first, group = np.unique(Z, axis=0, return_index=True, return_inverse=True)
    sums = np.zeros((len(first), Y.shape[1]))
    # In the order of values, so that sums do not depend on the order of the samples.
    order = np.lexsort((*Y.T, group.ravel()))
    np.add.at(sums, group.ravel()[order], (Y * v[:, None])[order])
    return rows, mass, (sums[group.ravel()[rows]] / mass[:, None]).round(DECIMALS)


def _ranks(X: Array) -> tuple[NDArray[np.float32], list[Array]]:
    """Each feature's values as places among its distinct ones, and these."""
    ranks = np.empty(X.shape, dtype=np.float32)
    values = []
    for f, column in enumerate(X.T):
        distinct, ranks[:, f] = np.unique(column, return_inverse=True)
        values.append(distinct)
    return ranks, values


def _as_arrays(trees: list, values: list[Array], features: Rows, d: int) -> Forest:
    """scikit-learn's trees on ranks as one forest on the inputs themselves."""
    sizes = np.array([tree.node_count for tree in trees])
    roots = np.cumsum(sizes) - sizes
    leaf = np.concatenate([tree.children_left < 0 for tree in trees])
    column = np.where(leaf, 0, np.concatenate([tree.feature for tree in trees]))
    rank = np.where(leaf, 0, np.concatenate([tree.threshold for tree in trees])).astype(np.intp)
    left, right = (
        np.concatenate(
            [root + getattr(tree, side) for root, tree in zip(roots, trees, strict=True)]
        )
        for side in ("children_left", "children_right")
    )
    numbers = np.concatenate([np.cumsum(tree.children_left < 0) - 1 for tree in trees])
    # A split lies in the middle of the two values around it, which every feature that splits has.
    first = np.cumsum([0, *map(len, values)])[column]
    ordered = np.concatenate([*values, [0.0]])
    below, above = ordered[first + rank], ordered[first + rank + 1]
    middle = below / 2 + above / 2
    threshold = np.where(middle < above, middle, below)
    importance = np.zeros(d)
    for tree in trees:
        importance[features] += tree.compute_feature_importances(normalize=False)
    if not importance.any():
        importance[features] = 1.0
    return Forest(
        roots=roots,
        feature=np.where(leaf, -1, features[column]),
        threshold=np.where(leaf, 0.0, threshold),
        left=np.where(leaf, numbers, left),
        right=np.where(leaf, 0, right),
        importance=importance / importance.sum(),
    )
