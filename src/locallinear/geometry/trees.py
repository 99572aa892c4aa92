"""Growing the trees whose shared leaves make samples neighbours.

Trees see distinct samples in lexicographic order, with their weights and mean targets. So trees do
not depend on the order of the samples, nor on whether a sample is repeated or has a larger weight.
Trees see only the order of each feature's values, in at most 256 bins. The linear models of
piecewise trees see the values themselves, in standard deviations. So no trees depend on units, and
only piecewise trees depend on monotone maps of a feature.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..runtime.threads import in_threads
from .distinct import distinct_rows
from .forest import MAX_CUTS, Forest
from .spaces import standardised

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Share of the samples that each tree sees.
SHARE = 0.7
# Of more distinct samples, so many are drawn at random, from which all trees draw.
MAX_POOL = 50_000
# Targets, in standard deviations, are rounded to this many decimals. Splits that are equally good
# up to rounding become equal to the last digit, so that the order of the samples never decides.
DECIMALS = 9

# Extremely randomised trees, grown until their leaves are pure (see `forest` for their limits).
RANDOM_TREES, RANDOM_FEATURES, RANDOM_ROWS = 80, 1 / 3, 20_000

# Boosted trees are small: one leaf per so many samples, within bounds. A split looks at half of the
# features, at most at BOOSTED_FEATURES.
BOOSTED_FEATURES, ROWS_PER_LEAF, MIN_LEAVES = 16, 20, 8


class Boosting(NamedTuple):
    """How boosted trees grow: at most so many trees, samples of a tree, and leaves."""

    n_trees: int
    rate: float
    max_rows: int
    min_leaf: int
    max_leaves: int


NUMBERS = Boosting(125, 0.1, 5000, 3, 128)
# Classes are noise around probabilities: leaves hold more samples, and trees learn more slowly. The
# late ones follow the noise, so only those stay that help samples which they do not see. Of many
# samples, trees see more, and have more leaves.
CLASSES = Boosting(160, 0.05, 20_000, 20, 512)
# A tree helps if it and the next ones, so many in all, reduce the error of unseen samples. Earlier
# trees were fitted to these samples, so late gains look too small: so many times as many stay.
HELPING, MORE_STAY, LEAST_TREES = 8, 1.5, 20

# So many samples at a time lose what a boosted tree explains.
TAKEN_TOGETHER = 8192

# A split of a piecewise linear tree looks at half of the features, at most at PIECEWISE_FEATURES,
# with a few random cuts each. A model has at most MAX_SLOPES slopes, in standard deviations.
PIECEWISE_TREES, PIECEWISE_FEATURES, N_CUTS = 40, 16, 4
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

    rng = check_random_state(random_state)
    samples = TreeSamples.from_samples(Z, Y, weights, features, rng)
    n_tried = max(1, int(RANDOM_FEATURES * len(features)))

    def grow(rows: Rows, seed: int) -> Tree:
        feature, cut, right = np.empty((3, 2 * len(rows) - 1), dtype=np.int32)
        gains = np.zeros(len(features))
        given = samples.bins, samples.targets, samples.mass, rows, n_tried, seed
        n_nodes = grow_random_tree(*given, feature, cut, right, gains)
        return Tree(feature[:n_nodes], cut[:n_nodes], gains)

    draws = [samples.draw(rng, RANDOM_ROWS) for _ in range(RANDOM_TREES)]
    trees = Parallel(n_jobs, require="sharedmem")(delayed(grow)(*draw) for draw in draws)
    # With a minimum of 0, only repeated inputs would count where inputs repeat.
    return _as_forest(trees, samples.cuts, features, Z.shape[1], min_distance=1.0)


def grow_boosted(
    Z: Array, Y: Array, weights: Array | None, features: Rows, random_state: Any, n_jobs: int | None
) -> Forest:
    """Small trees, each on the residuals of all before it; parameters as for `grow_random`."""
    rng = check_random_state(random_state)
    samples = TreeSamples.from_samples(Z, Y, weights, features, rng)
    left_over = samples.targets.copy()
    classes = are_classes(Y if weights is None else Y[weights > 0])
    boosting, n_threads = CLASSES if classes else NUMBERS, effective_n_jobs(n_jobs)
    # Of classes, a few at a time: trees after the last one that helps are not grown.
    step = HELPING if classes else boosting.n_trees
    n_trees = boosting.n_trees
    trees: list[Tree] = []
    unseen_gains = np.zeros(0)
    while len(trees) < n_trees:
        n_more = min(step, boosting.n_trees - len(trees))
        draws = [samples.draw(rng, boosting.max_rows) for _ in range(n_more)]
        order = np.arange(len(features))
        grown = [_grow_on(left_over, samples, order, *draw, boosting, n_threads) for draw in draws]
        more, unseen = zip(*grown, strict=True)
        trees += more
        unseen_gains = np.concatenate([unseen_gains, unseen])
        if classes:
            n_trees = min(n_trees, count_helping(unseen_gains))
    return _as_forest(trees[:n_trees], samples.cuts, features, Z.shape[1], min_distance=0.0)


def _grow_on(
    left_over: Array,
    samples: "TreeSamples",
    order: Rows,
    rows: Rows,
    seed: int,
    boosting: Boosting,
    n_threads: int,
) -> tuple["Tree", float]:
    """The next boosted tree, and by how much it reduces the error of samples it does not see.

    `left_over` (n, m) is what the trees before leave over, and is changed to what this one does.
    `order` (d',) has the features as the tree before has left them.
    """
    from ..kernels.trees.boosted import grow_boosted_tree, take_away  # compiled: loaded when needed

    bins, mass = samples.bins, samples.mass
    max_leaves = max(MIN_LEAVES, min(len(rows) // ROWS_PER_LEAF, boosting.max_leaves))
    nodes = np.empty((3, 2 * max_leaves - 1), dtype=np.int32)
    means, gains = np.empty((nodes.shape[1], left_over.shape[1])), np.zeros(len(bins))
    is_seen = np.zeros(len(mass), dtype=bool)
    is_seen[rows] = True
    n_nodes = grow_boosted_tree(
        bins,
        np.array([len(cuts) + 1 for cuts in samples.cuts]),
        left_over,
        mass,
        rows,
        order,
        seed,
        max(1, min(len(bins) // 2, BOOSTED_FEATURES)),
        boosting.min_leaf,
        nodes,
        means,
        gains,
    )
    feature, cut, right = nodes[:, :n_nodes]
    steps = boosting.rate * means

    def take(first: int) -> float:
        end = min(first + TAKEN_TOGETHER, len(mass))
        return take_away(bins, feature, cut, right, steps, is_seen, mass, first, end, left_over)

    # Parts of one size, so that their sum does not depend on the number of threads.
    parts = range(0, len(mass), TAKEN_TOGETHER)
    unseen_gain = sum(in_threads(take, parts, n_threads))
    return Tree(feature, cut, gains), unseen_gain


def count_helping(unseen_gains: Array) -> int:
    """How many boosted trees of classes stay, if the first ones help unseen samples by so much."""
    of_some = np.convolve(unseen_gains, np.ones(HELPING), mode="valid")
    useless = np.flatnonzero(of_some <= 0)
    if len(unseen_gains) < HELPING or not len(useless):
        return CLASSES.n_trees
    return max(LEAST_TREES, int(MORE_STAY * (useless[0] + HELPING / 2)))


def are_classes(Y: Array) -> bool:
    """Whether targets (n, m) are classes: one column per class, with a single 1 in each row."""
    return Y.shape[1] > 1 and bool(((Y == 0) | (Y == 1)).all() and (Y.sum(axis=1) == 1).all())


def grow_piecewise(
    Z: Array, Y: Array, weights: Array | None, features: Rows, random_state: Any, n_jobs: int | None
) -> Forest:
    """Trees that split where one linear model no longer fits; parameters as for `grow_random`.

    Their models use all features, as the models of FALL do.
    """
    from ..kernels.trees.leaves import preorder  # compiled: loaded when needed
    from ..kernels.trees.piecewise import grow_tree

    rng = check_random_state(random_state)
    samples = TreeSamples.from_samples(Z, Y, weights, features, rng)
    mass = samples.mass / samples.mass.mean()
    X = standardised(Z[samples.rows], mass)[0].round(DECIMALS)
    d = X.shape[1]
    n_slopes = min(d, MAX_SLOPES)
    n_tried = max(1, min(len(features) // 2, PIECEWISE_FEATURES))
    bins = np.ascontiguousarray(samples.bins.T).astype(np.float32)

    def grow(rows: Rows, seed: int) -> Tree:
        rng = np.random.default_rng(seed)
        slopes = X[np.ix_(rows, rng.choice(d, n_slopes, replace=False))]
        columns = np.column_stack([np.ones(len(rows)), slopes, samples.targets[rows]])
        min_leaf = max(1, min(len(rows) // 4, PIECEWISE_MIN_LEAF))
        n_nodes = 2 * min(len(rows) // min_leaf, PIECEWISE_LEAVES) - 1
        orders = rng.permuted(np.tile(np.arange(len(features)), (n_nodes, 1)), axis=1)
        cuts = rng.random((n_nodes, N_CUTS))
        settings = (1 + n_slopes, n_tried, min_leaf, RIDGE)
        left, right, feature, cut, gains = grow_tree(
            bins[rows], columns, mass[rows], *settings, orders, cuts
        )
        order = preorder(left, right)
        return Tree(feature[order], cut[order].astype(np.int32), gains)

    draws = [samples.draw(rng, PIECEWISE_ROWS) for _ in range(PIECEWISE_TREES)]
    trees = Parallel(n_jobs, require="sharedmem")(delayed(grow)(*draw) for draw in draws)
    return _as_forest(trees, samples.cuts, features, d, min_distance=0.0)


# The function that grows the trees, for each `neighborhood` that has trees.
GROWERS: dict[str, Callable[..., Forest]] = {
    "forest": grow_random,
    "boosted": grow_boosted,
    "piecewise": grow_piecewise,
}


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree on bins, as arrays with one entry per node, in preorder.

    Parameters
    ----------
    feature : which feature the node splits; -1 for a leaf
    cut : points up to this bin of the feature go to the left child, which is the next node
    gains : (d',) by how much the splits of each feature reduce the squared error of the tree
    """

    feature: NDArray
    cut: NDArray
    gains: Array


@dataclass(frozen=True, eq=False)
class TreeSamples:
    """What trees see of the samples: n distinct points.

    Parameters
    ----------
    rows : (n,) number of a sample at each distinct point
    bins : (d', n) how many of its feature's cuts lie below each value
    cuts : increasing cuts of each of the d' features, in the middle between two values
    mass : (n,) weights
    targets : (n, m) mean targets of the samples at each point, in standard deviations
    """

    rows: Rows
    bins: NDArray[np.uint8]
    cuts: list[Array]
    mass: Array
    targets: Array

    @classmethod
    def from_samples(
        cls,
        Z: Array,
        Y: Array,
        weights: Array | None,
        features: Rows,
        rng: np.random.RandomState,
    ) -> "TreeSamples":
        """The samples with positive weight, or some of many, described by these features."""
        rows, mass, targets = _distinct_samples(Z, Y, weights)
        if len(rows) > MAX_POOL:
            some = np.sort(rng.choice(len(rows), MAX_POOL, replace=False))
            rows, mass, targets = rows[some], mass[some], targets[some]
        bins = np.empty((len(features), len(rows)), dtype=np.uint8)
        cuts = []
        for column, f in zip(bins, features, strict=True):
            values = Z[rows, f]
            cuts.append(_cuts(values))
            column[:] = np.searchsorted(cuts[-1], values, side="left")
        return cls(rows, bins, cuts, mass, targets)

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


def _cuts(values: Array) -> Array:
    """Between distinct values, so that about equally many distinct ones are between two cuts."""
    distinct = np.unique(values)
    n_bins = min(len(distinct), MAX_CUTS + 1)
    first = np.arange(1, n_bins) * len(distinct) // n_bins  # of each bin but the lowest
    below, above = distinct[first - 1], distinct[first]
    middle = below / 2 + above / 2
    return np.where(middle < above, middle, below)


def _as_forest(
    trees: list[Tree], cuts: list[Array], features: Rows, d: int, *, min_distance: float
) -> Forest:
    """Trees on bins of some features as one forest on inputs with d features."""
    feature = np.concatenate([tree.feature for tree in trees])
    cut = np.concatenate([tree.cut for tree in trees])
    # Where a tree names feature f, it means features[f].
    splits = np.where(feature < 0, -1, 256 * features[np.maximum(feature, 0)] + cut)
    cuts_of = dict(zip(features.tolist(), cuts, strict=True))
    numbers = [len(cuts_of.get(f, ())) for f in range(d)]
    ordered = [cuts_of[f] for f in range(d) if f in cuts_of]
    feature_weights = np.zeros(d)
    for tree in trees:
        feature_weights[features] += tree.gains
    if not feature_weights.any():
        feature_weights[features] = 1.0
    return Forest(
        splits.astype(np.int32),
        np.concatenate(ordered),
        np.concatenate([[0], np.cumsum(numbers)]).astype(np.intp),
        feature_weights / feature_weights.sum(),
        min_distance,
    )
