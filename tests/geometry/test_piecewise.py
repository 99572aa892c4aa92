"""Trees that split where one linear model no longer fits: their splits, and the neighbours."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from locallinear import FALLClassifier, FALLEnsembleRegressor, FALLRegressor
from locallinear.kernels.trees.piecewise import grow_tree

RIDGE = 1.0


def fit_ridge(R, Y, weights):
    """Residuals of a ridge regression, and the value of its objective."""
    model = Ridge(RIDGE).fit(R, Y, sample_weight=weights)
    residuals = Y - model.predict(R).reshape(Y.shape)
    return residuals, weights @ (residuals**2).sum(axis=1) + RIDGE * (model.coef_**2).sum()


def grow_naively(X, R, Y, weights, rows, min_leaf):
    """Leaves, as arrays of rows, of the tree that tries every cut of every feature."""
    residuals, _ = fit_ridge(R[rows], Y[rows], weights[rows])
    now = weights[rows] @ (residuals**2).sum(axis=1)
    best = now, None
    for f in range(X.shape[1]):
        for cut in np.unique(X[rows, f])[:-1]:
            low = X[rows, f] <= cut
            if min(low.sum(), (~low).sum()) >= min_leaf:
                over = sum(
                    fit_ridge(R[rows][s], residuals[s], weights[rows][s])[1] for s in (low, ~low)
                )
                if over < best[0]:
                    best = over, low
    if best[1] is None:
        return [rows]
    Y = Y.copy()
    Y[rows] = residuals
    parts = rows[best[1]], rows[~best[1]]
    return [leaf for p in parts for leaf in grow_naively(X, R, Y, weights, p, min_leaf)]


def kernel_leaves(ranks, tree):
    """The leaf of each point of a grown tree."""
    left, right, feature, rank, _ = tree
    at = np.zeros(len(ranks), dtype=int)
    while (inner := left[at] >= 0).any():
        goes_left = ranks[np.arange(len(ranks)), feature[at]] <= rank[at]
        at = np.where(inner, np.where(goes_left, left[at], right[at]), at)
    return at


def regimes(n=600, seed=0):
    """Two linear regimes with little noise, and whether each sample belongs to the first."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 6))
    first = X[:, 0] > 0.5
    y = np.where(first, 3 * X[:, 1] - 2 * X[:, 2], X[:, 3] - 3 * X[:, 1])
    return X, y + 0.02 * rng.normal(size=n), first


# Oracle ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2])
def test_splits_are_the_best_of_all(m):
    rng = np.random.default_rng(m)
    n, d, min_leaf = 60, 3, 9
    X = np.column_stack([rng.permutation(n), rng.permutation(n), rng.integers(0, 5, n)]) * 1.0
    R = rng.normal(size=(n, 2))
    Y = np.where(X[:, [0]] > 30, R @ rng.normal(size=(2, m)), 1.0) + 0.3 * rng.normal(size=(n, m))
    weights = rng.uniform(0.5, 2, size=n)
    rows = np.arange(n)
    columns = np.column_stack([np.ones(n), R, Y])
    every = np.repeat((np.arange(n) + 0.5) / n, 2)  # sample, cut above and below
    orders, cuts = np.tile(np.arange(d), (n, 1)), np.tile(every, (n, 1))
    tree = grow_tree(X, columns, weights, 3, d, min_leaf, RIDGE, orders, cuts)
    found = kernel_leaves(X, tree)
    expected = grow_naively(X, R, Y, weights, rows, min_leaf)
    assert len(expected) > 3
    together = {tuple(np.flatnonzero(found == leaf)) for leaf in np.unique(found)}
    assert together == {tuple(np.sort(leaf)) for leaf in expected}


def test_leaves_are_as_many_and_as_large_as_they_may_be():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.normal(size=200)
    ranks = np.argsort(np.argsort(X, axis=0), axis=0).astype(float)
    columns = np.column_stack([np.ones(200), X, y])
    before = columns.copy()
    for min_leaf, max_leaves, most in ((10, 7, 7), (40, 64, 5), (5, 1, 1)):
        orders = np.tile(np.arange(4), (2 * max_leaves - 1, 1))
        cuts = rng.random((len(orders), 4))
        tree = grow_tree(ranks, columns, np.ones(200), 5, 2, min_leaf, RIDGE, orders, cuts)
        sizes = np.unique(kernel_leaves(ranks, tree), return_counts=True)[1]
        assert 1 <= len(sizes) <= most
        assert sizes.min() >= min_leaf
        assert len(tree[0]) == 2 * len(sizes) - 1
        assert tree[2][0] in (-1, 0, 1)  # two are tried, in this order
    assert_array_equal(columns, before)


def test_features_that_cannot_be_cut_are_not_counted_as_tried():
    rng = np.random.default_rng(0)
    ranks = np.column_stack([np.zeros(60), np.arange(60) == 0, rng.permutation(60)]) * 1.0
    columns = np.column_stack([np.ones(60), np.where(ranks[:, 2] > 30, 5.0, 0.0)])
    one = np.arange(3)[None].repeat(3, axis=0), rng.random((3, 4))
    tree = grow_tree(ranks, columns, np.ones(60), 1, 1, 5, RIDGE, *one)
    assert tree[2][0] == 2


# Results ---------------------------------------------------------------------------------------


def test_neighbours_and_models_are_those_of_the_same_regime():
    X, y, first = regimes()
    model = FALLRegressor(
        neighborhood="piecewise", n_anchor_neighbors=40, anchor_alpha=1e-3, random_state=0
    ).fit(X, y)
    Q, _, query_first = regimes(200, seed=1)
    clear = np.abs(Q[:, 0] - 0.5) > 0.1
    explanation = model.explain(Q[clear])
    assert (first[explanation.neighbors] == query_first[clear, None]).mean() > 0.995
    slopes = np.where(query_first[clear], 3.0, -3.0)
    assert np.median(np.abs(explanation.coef[:, 1, 0] - slopes)) < 0.1
    assert model.feature_weights_.argmax() == 0


def test_a_curved_relation_is_followed_better_than_by_other_neighbourhoods():
    X, y = make_friedman1(800, 8, noise=0.1, random_state=0)

    def error(neighborhood):
        model = FALLRegressor(
            200,
            n_anchor_neighbors=20,
            anchor_alpha=0.01,
            assignment_neighbors=15,
            neighborhood=neighborhood,
            random_state=0,
        )
        return -cross_val_score(model, X, y, scoring="neg_mean_squared_error").mean()

    others = [error(name) for name in ("euclidean", "learned", "forest", "boosted")]
    assert error("piecewise") < 0.7 * min(others)


def test_it_does_not_matter_whether_a_rare_flag_is_high_or_low():
    X, _, _ = regimes(800)
    rare = np.random.default_rng(0).random(800) < 0.1
    y = np.where(rare, 3 * X[:, 1] - 2 * X[:, 2], X[:, 3] - 3 * X[:, 1])
    errors = []
    for flag in (rare, ~rare):
        X[:, 0] = flag
        model = FALLRegressor(
            200,
            n_anchor_neighbors=20,
            anchor_alpha=0.01,
            neighborhood="piecewise",
            random_state=0,
        ).fit(X[:500], y[:500])
        assert model.feature_weights_[0] > 0.4
        errors.append(np.mean((model.predict(X[500:]) - y[500:])[rare[500:]] ** 2))
    assert max(errors) < 0.1 * y.var()


@pytest.mark.parametrize("n", [1, 2, 3, 9, 22])
def test_few_samples(n):
    X, y, _ = regimes(n)
    model = FALLRegressor(5, n_neighbors=1, neighborhood="piecewise", random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    leaves = model.nearness.leaves(model.feature_space.transform(X))
    assert (leaves.max() > 0) == (n > 1)


def test_constant_features_and_targets():
    X, y, _ = regimes(60)
    X[:, 1] = 3.0
    constant = FALLRegressor(neighborhood="piecewise", random_state=0).fit(X, np.full(60, 7.0))
    assert_allclose(constant.predict(X), 7)
    model = FALLRegressor(neighborhood="piecewise", random_state=0).fit(X, y)
    assert model.feature_weights_[1] == 0


def test_more_features_than_a_model_has_slopes(make_problem):
    X, y, Q = make_problem(n=150, d=25)
    model = FALLRegressor(neighborhood="piecewise", random_state=0).fit(X, y)
    explanation = model.explain(Q)
    assert_allclose(
        (explanation.contributions.sum(axis=1) + explanation.intercept)[:, 0], model.predict(Q)
    )


def test_the_scale_of_the_weights_does_not_matter_to_the_trees(make_problem):
    X, y, Q = make_problem()
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    trees = [
        FALLRegressor(neighborhood="piecewise", random_state=0).fit(X, y, scale * weights).nearness
        for scale in (1, 1024)
    ]
    assert_array_equal(trees[0].leaves(Q), trees[1].leaves(Q))


def test_classes_and_ensembles():
    X, y, first = regimes(300)
    model = FALLClassifier(neighborhood="piecewise", random_state=0).fit(X, first)
    assert (model.predict(X) == first).mean() > 0.95
    ensemble = FALLEnsembleRegressor(3, search={"neighborhood": ["piecewise"]}, random_state=0)
    ensemble.fit(X, y)
    assert {m.neighborhood for m in ensemble.estimators_} == {"piecewise"}
