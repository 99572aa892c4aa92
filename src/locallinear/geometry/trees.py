"""How trees that say who is alike are grown.

Trees see distinct samples in lexicographic order, with their weights and mean targets: they do not
depend on the order of the samples, nor on whether one is repeated or weighs more. Of the features
they see the order of values alone; the linear models of piecewise trees see the values, in standard
deviations. So units never matter, and monotone maps to piecewise trees alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .distinct import distinct_rows
from .forest import NODE, Forest
from .spaces import standardised

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Each tree sees this share of the samples.
SHARE = 0.7
# Targets, in standard deviations, are rounded to this: splits that are equally good up to the
# rounding of a sum must be so to the last digit, or the order of samples would choose.
DECIMALS = 9

# Extremely randomised trees are grown until their leaves are pure. Leaves that two points share are
# counted in a byte, and numbered in two.
RANDOM_TREES, RANDOM_FEATURES, RANDOM_ROWS = 100, 1 / 3, 50_000

# Boosted trees are small, with a leaf for every so many samples within bounds; a split looks at
# half of the features, and at no more than so many.
BOOSTED_TREES, LEARNING_RATE = 125, 0.1
BOOSTED_FEATURES, BOOSTED_ROWS, MIN_LEAF = 16, 5000, 3
ROWS_A_LEAF, MIN_LEAVES, MAX_LEAVES = 20, 8, 128

# Piecewise linear trees split one of half of the features, and of no more than so many, at one of a
# few random places. A model has no more than so many slopes, for features in standard deviations.
PIECEWISE_TREES, PIECEWISE_FEATURES, N_CUTS = 50, 16, 4
PIECEWISE_ROWS, PIECEWISE_MIN_LEAF, PIECEWISE_LEAVES = 5000, 8, 256
MAX_SLOPES, RIDGE = 12, 1.0


def grow_random(
    Z: Array, Y: Array, weights: Array | None, features: Rows, random_state, n_jobs: int | None
) -> Forest:
    """Extremely randomised trees: the best of a few features, each split at a random place.

    Parameters
    ----------
    Z, Y : inputs (n, d), of which the trees see some features, and targets (n, m)
    weights : (n,) or None
    """
    from sklearn.tree import ExtraTreeRegressor  # takes long to import

    samples = Seen.of(Z, Y, weights, features)
    rng = check_random_state(random_state)

    def grow(seen: Rows, seed: int):
        tree = ExtraTreeRegressor(max_features=RANDOM_FEATURES, random_state=seed)
        tree.fit(samples.ranks[seen], samples.targets[seen], sample_weight=samples.mass[seen])
        return Tree.of_sklearn(tree.tree_)

    drawn = [samples.draw(rng, RANDOM_ROWS) for _ in range(RANDOM_TREES)]
    trees = Parallel(n_jobs, prefer="threads")(delayed(grow)(*draw) for draw in drawn)
    # Where inputs repeat, the odds would let the repeated alone count.
    return _as_arrays(trees, samples.values, features, Z.shape[1], least=1.0)


def grow_boosted(
    Z: Array, Y: Array, weights: Array | None, features: Rows, random_state, n_jobs: int | None
) -> Forest:
    """Small trees, each on what the last ones left over; parameters as for `grow_random`."""
    from sklearn.tree import DecisionTreeRegressor  # takes long to import

    samples = Seen.of(Z, Y, weights, features)
    rng = check_random_state(random_state)
    max_features = max(1, min(len(features) // 2, BOOSTED_FEATURES))
    left_over = samples.targets
    trees = []
    for _ in range(BOOSTED_TREES):
        seen, seed = samples.draw(rng, BOOSTED_ROWS)
        tree = DecisionTreeRegressor(
            max_leaf_nodes=int(np.clip(len(seen) // ROWS_A_LEAF, MIN_LEAVES, MAX_LEAVES)),
            min_samples_leaf=MIN_LEAF,
            max_features=max_features,
            random_state=seed,
        )
        tree.fit(samples.ranks[seen], left_over[seen], sample_weight=samples.mass[seen])
        step = LEARNING_RATE * tree.predict(samples.ranks)
        left_over = left_over - step.reshape(left_over.shape)
        trees.append(Tree.of_sklearn(tree.tree_))
    return _as_arrays(trees, samples.values, features, Z.shape[1], least=0.0)


def grow_piecewise(
    Z: Array, Y: Array, weights: Array | None, features: Rows, random_state, n_jobs: int | None
) -> Forest:
    """Trees that split where one linear model no longer holds; parameters as for `grow_random`.

    They split the features that they may; their models use the others too, as FALL's do.
    """
    from ..kernels.trees.piecewise import grow_tree  # compiled: loaded when needed

    samples = Seen.of(Z, Y, weights, features)
    rng = check_random_state(random_state)
    mass = samples.mass / samples.mass.mean()
    X = standardised(Z[samples.rows], mass)[0].round(DECIMALS)
    d = X.shape[1]
    n_slopes = min(d, MAX_SLOPES)
    n_tried = max(1, min(len(features) // 2, PIECEWISE_FEATURES))

    def grow(seen: Rows, seed: int) -> Tree:
        chance = np.random.default_rng(seed)
        slopes = X[np.ix_(seen, chance.choice(d, n_slopes, replace=False))]
        columns = np.column_stack([np.ones(len(seen)), slopes, samples.targets[seen]])
        min_leaf = max(1, min(len(seen) // 4, PIECEWISE_MIN_LEAF))
        n_nodes = 2 * min(len(seen) // min_leaf, PIECEWISE_LEAVES) - 1
        orders = chance.permuted(np.tile(np.arange(len(features)), (n_nodes, 1)), axis=1)
        places = chance.random((n_nodes, N_CUTS))
        settings = (1 + n_slopes, n_tried, min_leaf, RIDGE)
        return Tree(*grow_tree(samples.ranks[seen], columns, mass[seen], *settings, orders, places))

    drawn = [samples.draw(rng, PIECEWISE_ROWS) for _ in range(PIECEWISE_TREES)]
    trees = Parallel(n_jobs, prefer="threads")(delayed(grow)(*draw) for draw in drawn)
    return _as_arrays(trees, samples.values, features, d, least=0.0)


# How trees are grown for each neighbourhood that is made of them.
GROWERS: dict[str, Callable[..., Forest]] = {
    "forest": grow_random,
    "boosted": grow_boosted,
    "piecewise": grow_piecewise,
}


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree on ranks: its nodes' children, below 0 for a leaf, and the splits of the others.

    Points whose rank in the node's `feature` is at most its `rank` go to the left. `won` (d',) is
    how much of the target's variation, or of what linear models leave over, the splits of each
    feature took away.
    """

    left: Rows
    right: Rows
    feature: Rows
    rank: Array
    won: Array

    @classmethod
    def of_sklearn(cls, tree) -> "Tree":
        """A tree that scikit-learn grew on ranks."""
        won = tree.compute_feature_importances(normalize=False)
        return cls(tree.children_left, tree.children_right, tree.feature, tree.threshold, won)


@dataclass(frozen=True, eq=False)
class Seen:
    """What trees see of the samples.

    `rows` (n,) are a sample of each distinct point, `ranks` (n, d') the places of the features'
    values among their distinct `values`, `mass` (n,) the weights, and `targets` (n, m) the means of
    a distinct point's, in deviations.
    """

    rows: Rows
    ranks: NDArray[np.float32]
    values: list[Array]
    mass: Array
    targets: Array

    @classmethod
    def of(cls, Z: Array, Y: Array, weights: Array | None, features: Rows) -> "Seen":
        """The samples with weight, by these features."""
        rows, mass, targets = _distinct_samples(Z, Y, weights)
        ranks, values = _ranks(Z[rows][:, features])
        return cls(rows, ranks, values, mass, targets)

    def draw(self, rng, most: int) -> tuple[Rows, int]:
        """The samples of a tree, and its seed."""
        n = len(self.mass)
        n_rows = max(min(n, 2), min(int(SHARE * n), most))
        return rng.choice(n, n_rows, replace=False), rng.randint(np.iinfo(np.int32).max)


def _distinct_samples(Z: Array, Y: Array, weights: Array | None) -> tuple[Rows, Array, Array]:
    """A row of each distinct point, its weight, and the mean of its targets in deviations."""
    rows, mass = distinct_rows(Z, weights)
    v = np.ones(len(Z)) if weights is None else weights
    Y = standardised(Y, weights)[0]
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


def _as_arrays(
    trees: list[Tree], values: list[Array], features: Rows, d: int, *, least: float
) -> Forest:
    """Trees on ranks as one forest on the inputs themselves."""
    from ..kernels.trees.leaves import preorder  # compiled: loaded when needed

    sizes = np.array([len(tree.left) for tree in trees])
    roots = np.cumsum(sizes) - sizes
    orders = [preorder(tree.left, tree.right) for tree in trees]
    ordered = list(zip(roots, trees, orders, strict=True))
    leaf = np.concatenate([tree.left[order] < 0 for _, tree, order in ordered])
    # Leaves have a negative one.
    column = np.maximum(np.concatenate([tree.feature[order] for _, tree, order in ordered]), 0)
    rank = np.concatenate([tree.rank[order] for _, tree, order in ordered])
    right = np.concatenate(
        [root + np.argsort(order)[tree.right[order]] for root, tree, order in ordered]
    )
    number = np.concatenate([np.cumsum(tree.left[o] < 0) - 1 for _, tree, o in ordered])
    nodes = np.zeros(len(leaf), dtype=NODE)
    nodes["feature"] = np.where(leaf, -1, features[column])
    nodes["right"] = np.where(leaf, number, right)
    # A split lies in the middle of the two values around it, which every feature that splits has.
    place = np.cumsum([0, *map(len, values)])[column[~leaf]] + rank[~leaf].astype(np.intp)
    below, above = (np.concatenate(values)[place + step] for step in (0, 1))
    middle = below / 2 + above / 2
    nodes["threshold"][~leaf] = np.where(middle < above, middle, below)
    importance = np.zeros(d)
    for tree in trees:
        importance[features] += tree.won
    if not importance.any():
        importance[features] = 1.0
    return Forest(roots, nodes, importance / importance.sum(), least)
