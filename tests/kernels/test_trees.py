"""Growing trees: what a split must be, and what must hold for every tree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from locallinear.kernels.trees.boosted import grow_boosted_tree, take_away
from locallinear.kernels.trees.leaves import fill_up
from locallinear.kernels.trees.random import grow_random_tree


def problem(n=80, d=3, m=2, seed=0):
    rng = np.random.default_rng(seed)
    ranks = np.array([rng.permutation(n) for _ in range(d)], dtype=np.float32)
    return ranks, rng.normal(size=(n, m)), rng.uniform(0.5, 2, size=n)


def grow_random(ranks, targets, mass, n_tried=2, seed=1):
    n = len(mass)
    feature, rank, right = np.empty((3, 2 * n - 1), dtype=np.int32)
    gains = np.zeros(len(ranks))
    n_nodes = grow_random_tree(
        ranks, targets, mass, np.arange(n), n_tried, seed, feature, rank, right, gains
    )
    return (feature[:n_nodes], rank[:n_nodes], right[:n_nodes]), gains


def grow_boosted(
    bins, targets, mass, *, n_tried, max_leaves, min_leaf=1, rate=1.0, T=1, seed=1, seen=None
):
    n, m = targets.shape
    left_over, gains, unseen_gains, trees = targets.copy(), np.zeros((T, len(bins))), [], []
    seen = np.arange(n) if seen is None else seen
    is_seen = np.isin(np.arange(n), seen)
    for tree in range(T):
        nodes = np.zeros((3, 2 * max_leaves - 1), dtype=np.int32)
        means = np.zeros((nodes.shape[1], m))
        n_nodes = grow_boosted_tree(
            bins,
            bins.max(axis=1).astype(int) + 1,
            left_over,
            mass,
            seen.copy(),
            np.arange(len(bins)),
            seed + tree,
            n_tried,
            min_leaf,
            nodes,
            means,
            gains[tree],
        )
        nodes = nodes[:, :n_nodes]
        parts = (0, n // 3), (n // 3, n)
        of_parts = [
            take_away(bins, *nodes, rate * means, is_seen, mass, *part, left_over) for part in parts
        ]
        unseen_gains.append(sum(of_parts))
        trees.append(nodes)
    return trees, left_over, gains, unseen_gains


def leaves_of(tree, values):
    """The leaf of each sample, by walking down from the root one sample after the other."""
    feature, rank, right = tree
    out = []
    for column in values.T:
        node = 0
        while feature[node] >= 0:
            node = node + 1 if column[feature[node]] <= rank[node] else right[node]
        out.append(right[node])
    return np.array(out)


def spread(targets, mass):
    """Squared deviations from the weighted mean, summed over samples and targets."""
    mean = mass @ targets / mass.sum()
    return float((mass @ (targets - mean) ** 2).sum())


# --- Extremely randomised trees ------------------------------------------------------------------


def test_a_random_tree_gives_every_distinct_target_its_own_leaf():
    ranks, targets, mass = problem()
    tree, _ = grow_random(ranks, targets, mass)
    assert sorted(leaves_of(tree, ranks)) == list(range(len(mass)))


def test_gains_of_a_random_tree_add_up_to_what_its_leaves_explain():
    ranks, targets, mass = problem()
    targets = targets.round()  # leaves of several samples
    tree, gains = grow_random(ranks, targets, mass)
    leaves = leaves_of(tree, ranks)
    within = sum(spread(targets[leaves == i], mass[leaves == i]) for i in np.unique(leaves))
    assert gains.sum() == pytest.approx(spread(targets, mass) - within)


def test_a_random_tree_depends_on_its_seed_alone():
    ranks, targets, mass = problem()
    one, again, other = (grow_random(ranks, targets, mass, seed=s)[0] for s in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one, again, strict=True))
    assert any(len(a) != len(b) or (a != b).any() for a, b in zip(one, other, strict=True))


def test_constant_features_and_targets_are_not_split():
    ranks, targets, mass = problem(d=1)
    tree, gains = grow_random(np.zeros_like(ranks), targets, mass)
    assert len(tree[0]) == 1
    assert not gains.any()
    assert len(grow_random(ranks, np.ones_like(targets), mass)[0][0]) == 1


# --- Boosted trees -------------------------------------------------------------------------------


def best_cut(bins, targets, mass, min_leaf):
    """The feature and bin of the best cut, by trying all of them."""
    found = {}
    for f, column in enumerate(bins):
        for cut in range(column.max()):
            low = column <= cut
            if min(low.sum(), (~low).sum()) >= min_leaf:
                rest = spread(targets[low], mass[low]) + spread(targets[~low], mass[~low])
                found[f, cut] = spread(targets, mass) - rest
    return max(found, key=found.get), max(found.values())


@pytest.mark.parametrize("min_leaf", [1, 10])
def test_a_boosted_split_is_the_best_of_all_cuts(min_leaf):
    ranks, targets, mass = problem()
    bins = ranks.astype(np.uint8)
    (tree,), _, (gains,), _ = grow_boosted(
        bins, targets, mass, n_tried=3, max_leaves=2, min_leaf=min_leaf
    )
    (feature, cut), gain = best_cut(bins, targets, mass, min_leaf)
    assert (tree[0][0], tree[1][0]) == (feature, cut)
    assert gains[feature] == pytest.approx(gain)


def test_a_boosted_tree_takes_a_share_of_its_leaves_means_away():
    ranks, targets, mass = problem()
    bins = ranks.astype(np.uint8)
    (tree,), left_over, *_ = grow_boosted(bins, targets, mass, n_tried=2, max_leaves=6, rate=0.3)
    leaves = leaves_of(tree, bins)
    assert len(np.unique(leaves)) == 6
    for leaf in range(6):
        here = leaves == leaf
        mean = mass[here] @ targets[here] / mass[here].sum()
        assert_allclose(left_over[here], targets[here] - 0.3 * mean)


def test_a_boosted_tree_says_by_how_much_it_helps_the_samples_that_it_does_not_see():
    ranks, targets, mass = problem()
    bins, seen = ranks.astype(np.uint8), np.arange(0, 80, 2)
    _, left_over, _, unseen_gains = grow_boosted(
        bins, targets, mass, n_tried=2, max_leaves=6, rate=0.3, seen=seen
    )
    unseen = slice(1, None, 2)
    before, after = (
        (e**2).sum(axis=1) @ mass[unseen] for e in (targets[unseen], left_over[unseen])
    )
    assert unseen_gains[0] == pytest.approx(before - after)


def test_boosted_leaves_have_enough_samples_and_later_trees_explain_the_rest():
    ranks, targets, mass = problem(n=200)
    bins = ranks.astype(np.uint8)
    trees, left_over, *_ = grow_boosted(
        bins, targets, mass, n_tried=3, max_leaves=8, min_leaf=7, rate=0.5, T=5
    )
    for tree in trees:
        assert np.bincount(leaves_of(tree, bins)).min() >= 7
    assert spread(left_over, mass) < 0.8 * spread(targets, mass)


def test_queries_that_found_too_few_points_are_filled_up_with_the_nearest_new_ones():
    rows = np.array([[4, 2, -1, -1], [0, 1, 2, 3], [5, -1, -1, -1]])
    fill_up(rows, np.array([0, 2]), np.array([[2, 7, 4, 1], [0, 1, 2, 3]]))
    assert rows.tolist() == [[4, 2, 7, 1], [0, 1, 2, 3], [5, 0, 1, 2]]
