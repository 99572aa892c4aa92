"""Growing the trees whose shared leaves make samples neighbours.

Trees see distinct samples in lexicographic order, with their weights and mean targets. So trees do
not depend on the order of the samples, nor on whether a sample is repeated or has a larger weight.
Trees see only the order of each feature's values. The linear models of piecewise trees see the
values themselves, in standard deviations. So no trees depend on units, and only piecewise trees
depend on monotone maps of a feature.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .distinct import distinct_rows
from .forest import NODE, Forest
from .spaces import standardised

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Share of the samples that each tree sees.
SHARE = 0.7
# Targets, in standard deviations, are rounded to this many decimals. Splits that are equally good
# up to rounding become equal to the last digit, so that the order of the samples never decides.
DECIMALS = 9

# Extremely randomised trees, grown until their leaves are pure (see `forest` for their limits).
RANDOM_TREES, RANDOM_FEATURES, RANDOM_ROWS = 100, 1 / 3, 50_000

# Boosted trees are small: one leaf per so many samples, within bounds. A split looks at half of the
# features, at most at BOOSTED_FEATURES.
BOOSTED_TREES, LEARNING_RATE = 125, 0.1
BOOSTED_FEATURES, BOOSTED_ROWS, MIN_LEAF = 16, 5000, 3
ROWS_PER_LEAF, MIN_LEAVES, MAX_LEAVES = 20, 8, 128

# A split of a piecewise linear tree looks at half of the features, at most at PIECEWISE_FEATURES,
# with a few random cuts each. A model has at most MAX_SLOPES slopes, in standard deviations.
PIECEWISE_TREES, PIECEWISE_FEATURES, N_CUTS = 50, 16, 4
PIECEWISE_ROWS, PIECEWISE_MIN_LEAF, PIECEWISE_LEAVES = 5000, 8, 256
MAX_SLOPES, RIDGE = 12, 1.0


def grow_random(
    Z: Array, Y: Array, weights: Array | None, features: Rows, random_state: Any, n_jobs: int | None
) -> Forest:
    """Extremely randomised trees: a split is the best of a few features, each cut at random.

    Parameters
    ----------
    Z, Y : inputs (n, d) and targets (n, m)
    weights : (n,) or None
    features : (d',) numbers of the features that trees may split
    """
    from ..kernels.trees.random import grow_random_tree  # compiled: loaded when needed

    samples = TreeSamples.from_samples(Z, Y, weights, features)
    rng = check_random_state(random_state)
    ranks = np.ascontiguousarray(samples.ranks.T)
    n_tried = max(1, int(RANDOM_FEATURES * len(features)))

    def grow(rows: Rows, seed: int) -> Tree:
        feature, rank, right = np.empty((3, 2 * len(rows) - 1), dtype=np.int32)
        gains = np.zeros(len(features))
        given = ranks, samples.targets, samples.mass, rows, n_tried, seed
        n_nodes = grow_random_tree(*given, feature, rank, right, gains)
        return Tree.from_preorder(feature[:n_nodes], rank[:n_nodes], right[:n_nodes], gains)

    draws = [samples.draw(rng, RANDOM_ROWS) for _ in range(RANDOM_TREES)]
    trees = Parallel(n_jobs, prefer="threads")(delayed(grow)(*draw) for draw in draws)
    # With a minimum of 0, only repeated inputs would count where inputs repeat.
    return _as_forest(trees, samples.values, features, Z.shape[1], min_distance=1.0)


def grow_boosted(
    Z: Array, Y: Array, weights: Array | None, features: Rows, random_state: Any, n_jobs: int | None
) -> Forest:
    """Small trees, each on the residuals of all before it; parameters as for `grow_random`."""
    from ..kernels.trees.boosted import grow_boosted_trees  # compiled: loaded when needed

    samples = TreeSamples.from_samples(Z, Y, weights, features)
    rng = check_random_state(random_state)
    rows, seeds = zip(*(samples.draw(rng, BOOSTED_ROWS) for _ in range(BOOSTED_TREES)), strict=True)
    bins, last_ranks = samples.bins()
    max_leaves = int(np.clip(len(rows[0]) // ROWS_PER_LEAF, MIN_LEAVES, MAX_LEAVES))
    feature, cut, right = np.empty((3, BOOSTED_TREES * (2 * max_leaves - 1)), dtype=np.int32)
    gains = np.zeros(len(features))
    roots = grow_boosted_trees(
        bins,
        np.array([len(last) for last in last_ranks]),
        samples.targets.copy(),
        samples.mass,
        np.array(rows),
        np.array(seeds),
        max(1, min(len(features) // 2, BOOSTED_FEATURES)),
        max_leaves,
        MIN_LEAF,
        LEARNING_RATE,
        feature,
        cut,
        right,
        gains,
    )
    feature, cut, right = feature[: roots[-1]], cut[: roots[-1]], right[: roots[-1]]
    # The last rank of each bin, for all features one after the other.
    starts = np.cumsum([0, *map(len, last_ranks)])[np.maximum(feature, 0)]
    rank = np.where(feature < 0, 0, np.concatenate(last_ranks)[starts + cut])
    trees = [
        Tree.from_preorder(
            feature[first:end], rank[first:end], right[first:end] - first, gains / BOOSTED_TREES
        )
        for first, end in pairwise(roots)
    ]
    return _as_forest(trees, samples.values, features, Z.shape[1], min_distance=0.0)


def grow_piecewise(
    Z: Array, Y: Array, weights: Array | None, features: Rows, random_state: Any, n_jobs: int | None
) -> Forest:
    """Trees that split where one linear model no longer fits; parameters as for `grow_random`.

    Their models use all features, as the models of FALL do.
    """
    from ..kernels.trees.piecewise import grow_tree  # compiled: loaded when needed

    samples = TreeSamples.from_samples(Z, Y, weights, features)
    rng = check_random_state(random_state)
    mass = samples.mass / samples.mass.mean()
    X = standardised(Z[samples.rows], mass)[0].round(DECIMALS)
    d = X.shape[1]
    n_slopes = min(d, MAX_SLOPES)
    n_tried = max(1, min(len(features) // 2, PIECEWISE_FEATURES))

    def grow(rows: Rows, seed: int) -> Tree:
        rng = np.random.default_rng(seed)
        slopes = X[np.ix_(rows, rng.choice(d, n_slopes, replace=False))]
        columns = np.column_stack([np.ones(len(rows)), slopes, samples.targets[rows]])
        min_leaf = max(1, min(len(rows) // 4, PIECEWISE_MIN_LEAF))
        n_nodes = 2 * min(len(rows) // min_leaf, PIECEWISE_LEAVES) - 1
        orders = rng.permuted(np.tile(np.arange(len(features)), (n_nodes, 1)), axis=1)
        cuts = rng.random((n_nodes, N_CUTS))
        settings = (1 + n_slopes, n_tried, min_leaf, RIDGE)
        return Tree(*grow_tree(samples.ranks[rows], columns, mass[rows], *settings, orders, cuts))

    draws = [samples.draw(rng, PIECEWISE_ROWS) for _ in range(PIECEWISE_TREES)]
    trees = Parallel(n_jobs, prefer="threads")(delayed(grow)(*draw) for draw in draws)
    return _as_forest(trees, samples.values, features, d, min_distance=0.0)


# The function that grows the trees, for each `neighborhood` that has trees.
GROWERS: dict[str, Callable[..., Forest]] = {
    "forest": grow_random,
    "boosted": grow_boosted,
    "piecewise": grow_piecewise,
}


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree on ranks, as arrays with one entry per node.

    Parameters
    ----------
    left, right : children; negative for a leaf
    feature, rank : points with at most this rank in this feature go to the left child
    gains : (d',) by how much the splits of each feature reduce the squared error of the tree
    """

    left: Rows
    right: Rows
    feature: Rows
    rank: Array
    gains: Array

    @classmethod
    def from_preorder(cls, feature: NDArray, rank: NDArray, right: NDArray, gains: Array) -> "Tree":
        """A tree whose nodes are followed by their left children; leaves have the feature -1."""
        leaf = feature < 0
        left = np.where(leaf, -1, np.arange(1, len(feature) + 1))
        return cls(left, np.where(leaf, -1, right), feature, rank.astype(np.float64), gains)


@dataclass(frozen=True, eq=False)
class TreeSamples:
    """What trees see of the samples: n distinct points.

    Parameters
    ----------
    rows : (n,) number of a sample at each distinct point
    ranks : (n, d') positions of the features' values among the distinct `values`
    values : sorted distinct values of each of the d' features
    mass : (n,) weights
    targets : (n, m) mean targets of the samples at each point, in standard deviations
    """

    rows: Rows
    ranks: NDArray[np.float32]
    values: list[Array]
    mass: Array
    targets: Array

    @classmethod
    def from_samples(
        cls, Z: Array, Y: Array, weights: Array | None, features: Rows
    ) -> "TreeSamples":
        """The samples with positive weight, described by these features."""
        rows, mass, targets = _distinct_samples(Z, Y, weights)
        ranks, values = _ranks(Z[rows][:, features])
        return cls(rows, ranks, values, mass, targets)

    def bins(self) -> tuple[NDArray[np.uint8], list[Rows]]:
        """The ranks (d', n) in at most 256 parts per feature, and the last rank of each part."""
        bins = np.empty(self.ranks.T.shape, dtype=np.uint8)
        last_ranks = []
        for column, ranks, values in zip(bins, self.ranks.T, self.values, strict=True):
            n_bins = min(len(values), 256)
            part = np.arange(len(values)) * n_bins // len(values)
            column[:] = part[ranks.astype(np.intp)]
            last_ranks.append(np.searchsorted(part, np.arange(n_bins), side="right") - 1)
        return bins, last_ranks

    def draw(self, rng: np.random.RandomState, max_rows: int) -> tuple[Rows, int]:
        """Random samples for one tree, and a seed for it."""
        n = len(self.mass)
        n_rows = max(min(n, 2), min(int(SHARE * n), max_rows))
        return rng.choice(n, n_rows, replace=False), rng.randint(np.iinfo(np.int32).max)


def _distinct_samples(Z: Array, Y: Array, weights: Array | None) -> tuple[Rows, Array, Array]:
    """One row per distinct point, its weight, and its mean target in standard deviations."""
    rows, mass = distinct_rows(Z, weights)
    Y = standardised(Y, weights)[0]
    if len(rows) == len(Z):
        return rows, mass, Y[rows].round(DECIMALS)
    _, point = np.unique(Z, axis=0, return_inverse=True)
    point = point.ravel()
    sums = np.zeros((point.max() + 1, Y.shape[1]))
    # Added in the order of the values, so that sums do not depend on the order of the samples.
    order = np.lexsort((*Y.T, point))
    weighted = Y if weights is None else Y * weights[:, None]
    np.add.at(sums, point[order], weighted[order])
    return rows, mass, (sums[point[rows]] / mass[:, None]).round(DECIMALS)


def _ranks(X: Array) -> tuple[NDArray[np.float32], list[Array]]:
    """Positions (n, d') of the features' values among their distinct values, and those."""
    ranks = np.empty(X.shape, dtype=np.float32)
    values = []
    for f, column in enumerate(X.T):
        distinct, ranks[:, f] = np.unique(column, return_inverse=True)
        values.append(distinct)
    return ranks, values


def _as_forest(
    trees: list[Tree], values: list[Array], features: Rows, d: int, *, min_distance: float
) -> Forest:
    """Trees on ranks of some features as one forest on inputs with d features."""
    from ..kernels.trees.leaves import preorder  # compiled: loaded when needed

    sizes = np.array([len(tree.left) for tree in trees])
    roots = np.cumsum(sizes) - sizes
    orders = [preorder(tree.left, tree.right) for tree in trees]
    ordered = list(zip(roots, trees, orders, strict=True))
    leaf = np.concatenate([tree.left[order] < 0 for _, tree, order in ordered])
    # The feature of a leaf is negative.
    column = np.maximum(np.concatenate([tree.feature[order] for _, tree, order in ordered]), 0)
    rank = np.concatenate([tree.rank[order] for _, tree, order in ordered])
    right = np.concatenate(
        [root + np.argsort(order)[tree.right[order]] for root, tree, order in ordered]
    )
    number = np.concatenate([np.cumsum(tree.left[order] < 0) - 1 for _, tree, order in ordered])
    nodes = np.zeros(len(leaf), dtype=NODE)
    nodes["feature"] = np.where(leaf, -1, features[column])
    nodes["right"] = np.where(leaf, number, right)
    # A threshold lies in the middle between the two values around the split. Both exist, because a
    # feature with a single value is never split.
    starts = np.cumsum([0, *map(len, values)])
    position = starts[column[~leaf]] + rank[~leaf].astype(np.intp)
    below, above = (np.concatenate(values)[position + step] for step in (0, 1))
    middle = below / 2 + above / 2
    nodes["threshold"][~leaf] = np.where(middle < above, middle, below)
    feature_weights = np.zeros(d)
    for tree in trees:
        feature_weights[features] += tree.gains
    if not feature_weights.any():
        feature_weights[features] = 1.0
    return Forest(roots, nodes, feature_weights / feature_weights.sum(), min_distance)
