"""Neighbourhoods of trees: which samples share leaves, invariances, and files."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV, train_test_split

import locallinear
from locallinear import FALLClassifier, FALLRegressor, FALLRegressorCV
from locallinear.geometry import leaf_neighbors
from locallinear.geometry.leaf_neighbors import LeafNeighbors, Lists, Tables
from locallinear.geometry.nearness import nearness_from_arrays
from locallinear.geometry.neighbors import leave_out
from locallinear.geometry.trees import (
    CLASSES,
    GROWERS,
    LEAST_TREES,
    NUMBERS,
    count_helping,
    grow_boosted,
    grow_piecewise,
)
from problems import needle

FEW = np.arange(4)


@pytest.fixture(params=GROWERS)
def forest(request):
    """Makes a model with neighbourhoods of trees, for each way to grow the trees."""
    return partial(FALLRegressor, neighborhood=request.param, random_state=0)


@pytest.fixture(scope="module", params=GROWERS.values())
def grown(request):
    """Samples with ties in every feature, targets, trees, and the function that grew them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(150, 4)).astype(float)
    Y = np.column_stack([X[:, 0] * X[:, 1], X[:, 2]]) + 0.1 * rng.normal(size=(150, 2))
    return X, Y, request.param(X, Y, None, FEW, 0, None), request.param


def walk(trees, t, x):
    """The leaf of a point in a tree, found step by step."""
    position = trees.roots[t]
    while (node := trees.nodes[position])["split"] >= 0:
        feature, cut = divmod(int(node["split"]), 256)
        goes_left = x[feature] <= trees.cuts[trees.cut_starts[feature] + cut]
        position = position + 1 if goes_left else node["right"]
    return node["right"]


# Oracles ---------------------------------------------------------------------------------------


def test_leaves_are_those_of_a_walk_down_each_tree(grown):
    X, _, trees, _ = grown
    expected = [[walk(trees, t, x) for t in range(len(trees.roots))] for x in X[:20]]
    assert_array_equal(trees.leaves(X[:20]), expected)
    assert_array_equal(trees.leaves(X, n_threads=3), trees.leaves(X))


# Some queries share leaves with fewer than 120 of 128 samples: the nearest of the others follow.
@pytest.mark.parametrize(("K", "n_jobs"), [(5, 1), (5, 2), (120, 2)])
def test_neighbours_are_those_of_counting_shared_leaves(grown, K, n_jobs):
    X, _, trees, _ = grown
    searchable = np.arange(len(X)) % 7 > 0
    queries = np.random.default_rng(1).uniform(0, 6, size=(80, 4))
    distances, rows = LeafNeighbors(trees, X, searchable).query(queries, K, n_jobs)
    query_leaves, point_leaves = trees.leaves(queries), trees.leaves(X)
    for i, x in enumerate(queries):
        shared = (point_leaves == query_leaves[i]).sum(axis=1)
        squares = ((X - x) ** 2).sum(axis=1)
        candidates = np.flatnonzero(searchable)
        order = np.lexsort((candidates, squares[candidates], -shared[candidates]))
        expected = candidates[order[:K]]
        assert_array_equal(rows[i], expected)
        assert_allclose(
            distances[i] - trees.min_distance,
            len(trees.roots) / np.maximum(shared[expected], 0.5) - 1,
        )


@pytest.mark.parametrize("structure", [Lists, Tables])
def test_both_structures_find_points_that_are_added_later(grown, monkeypatch, structure):
    X, _, trees, _ = grown
    monkeypatch.setattr(leaf_neighbors, "MAX_LISTED", 0 if structure is Tables else np.inf)
    searchable = np.arange(len(X)) % 7 > 0
    neighbors = LeafNeighbors(trees, X[:100], searchable[:100])
    neighbors.query(X[:3], 2)
    neighbors = neighbors.update(X, searchable)
    index = neighbors.build()
    assert isinstance(index.structure, structure)
    assert (index.n_held, len(index.newest)) == (100, 50)
    whole = LeafNeighbors(trees, X, searchable)
    for found, expected in zip(neighbors.query(X, 4), whole.query(X, 4), strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("max_listed", [0, 6000, np.inf])
def test_points_that_may_not_be_found_take_no_place_among_the_candidates(
    grown, monkeypatch, max_listed
):
    X, _, trees, _ = grown
    monkeypatch.setattr(leaf_neighbors, "MAX_LISTED", max_listed)
    monkeypatch.setattr(leaf_neighbors, "N_CANDIDATES", 8)
    crowd = np.repeat(X, 5, axis=0)
    whole = LeafNeighbors(trees, np.vstack([X, crowd]), np.arange(len(X) + len(crowd)) < len(X))
    alone = LeafNeighbors(trees, X)
    assert isinstance(whole.build().structure, type(alone.build().structure))
    for found, expected in zip(whole.query(X, 4), alone.query(X, 4), strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("structure", [Lists, Tables])
def test_other_points_share_the_most_leaves_with_a_point_apart_from_itself(
    grown, monkeypatch, structure
):
    X, _, trees, _ = grown
    monkeypatch.setattr(leaf_neighbors, "MAX_LISTED", 0 if structure is Tables else np.inf)
    searchable = np.arange(len(X)) % 7 > 0
    neighbors = LeafNeighbors(trees, X[:100], searchable[:100])
    neighbors.build()
    neighbors = neighbors.update(X, searchable)
    rows = np.array([0, 3, 120, 149, 3])
    distances, near = neighbors.others(rows, 4)
    expected = leave_out(*neighbors.query(X[rows], 5), rows)
    assert_array_equal(distances, expected[0])
    assert_array_equal(near, expected[1])


def test_tables_find_nearly_all_of_the_points_that_share_the_most_leaves(grown, monkeypatch):
    _, _, _, grow = grown
    rng = np.random.default_rng(0)
    X, Q = rng.uniform(size=(4000, 4)), rng.uniform(size=(200, 4))
    trees = grow(X, np.sin(5 * X[:, :1]) * X[:, [1]] + X[:, [2]], None, FEW, 0, None)
    monkeypatch.setattr(leaf_neighbors, "MAX_LISTED", np.inf)
    _, expected = LeafNeighbors(trees, X).query(Q, 5)
    monkeypatch.setattr(leaf_neighbors, "MAX_LISTED", 0)
    _, found = LeafNeighbors(trees, X).query(Q, 5)
    assert_array_equal(found, LeafNeighbors(trees, X).query(Q, 5, n_jobs=3)[1])
    common = [np.isin(a, b).mean() for a, b in zip(found, expected, strict=True)]
    assert np.mean(common) > 0.9


def test_weights_are_the_parts_shared_in_a_forest_and_the_odds_in_other_trees(make_problem):
    X, y, Q = make_problem()
    for neighborhood in GROWERS:
        model = FALLRegressor(neighborhood=neighborhood, random_state=0).fit(X, y)
        explanation = model.explain(Q)
        query_leaves, point_leaves = (
            model.nearness.leaves(model.feature_space.transform(A)) for A in (Q, X)
        )
        shared = (query_leaves[:, None] == point_leaves[explanation.neighbors]).mean(axis=2)
        assert shared.min() > 0
        differ = shared.max(axis=1) < 1
        assert differ.mean() > 0.9
        shared, found = shared[differ], explanation.neighbor_weights[differ]
        expected = shared if neighborhood == "forest" else shared / (1 - shared)
        assert_allclose(found, expected / expected.sum(axis=1, keepdims=True))


def test_a_search_scores_it_as_a_loop_does(make_problem):
    X, y, _ = make_problem(n=90)
    grid = {"neighborhood": ["euclidean", *GROWERS], "n_neighbors": [3, 6], "alpha": [0.1, 1.0]}
    grid["neighborhood_features"] = [None, [0, 2]]
    found = FALLRegressorCV(grid, random_state=0).fit(X, y)
    loop = GridSearchCV(FALLRegressor(random_state=0), grid, cv=3).fit(X, y)
    assert_allclose(found.cv_results_["mean_test_score"], loop.cv_results_["mean_test_score"])


# Results ---------------------------------------------------------------------------------------


def test_error_halves_at_least_when_most_features_are_noise(forest):
    X_train, X_test, y_train, y_test = train_test_split(*needle(1200), random_state=0)

    def error(model):
        return np.mean((model.fit(X_train, y_train).predict(X_test) - y_test) ** 2)

    model = forest()
    assert error(model) < 0.5 * error(FALLRegressor(random_state=0))
    assert set(np.argsort(model.feature_weights_)[-3:]) == {0, 1, 2}
    assert model.feature_weights_.sum() == pytest.approx(1)


def test_some_features_decide_the_neighbours_and_all_make_the_models(make_problem):
    X, y, Q = make_problem(d=4)
    for neighborhood in ("euclidean", "learned", *GROWERS):
        model = FALLRegressor(
            neighborhood=neighborhood, neighborhood_features=[0, 2], random_state=0
        ).fit(X, y)
        moved = Q + np.array([0, 5, 0, -5])
        before, after = model.explain(Q), model.explain(moved)
        if neighborhood not in GROWERS:  # where equally many leaves are shared, all features count
            assert_array_equal(before.neighbors, after.neighbors)
        assert_allclose(before.neighbor_weights, after.neighbor_weights, rtol=1e-9)
        assert (before.coef[:, 1] != 0).all()


# Invariances -----------------------------------------------------------------------------------


def test_order_and_repetition_of_the_samples_do_not_matter(make_problem, forest):
    X, y, Q = make_problem()
    weights = np.random.default_rng(0).integers(0, 3, size=len(X))
    order = np.random.default_rng(1).permutation(len(X))
    expected = forest().fit(X, y, weights).predict(Q)
    shuffled = forest().fit(X[order], y[order], weights[order]).predict(Q)
    repeated = forest().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict(Q)
    assert_allclose(shuffled, expected, rtol=1e-9)
    assert_allclose(repeated, expected, rtol=1e-9)


@pytest.mark.parametrize("grow", GROWERS.values())
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_ties_do_not_make_trees_depend_on_the_order(load, grow):
    X, y = load(return_X_y=True)
    Y = (y[:, None] == np.unique(y)).astype(float)
    rng = np.random.default_rng(0)
    order, weights = rng.permutation(len(X)), rng.integers(1, 4, size=len(X))
    features = np.arange(X.shape[1])
    expected = grow(X, Y, None, features, 0, None).leaves(X)
    shuffled = grow(X[order], Y[order], None, features, 0, None).leaves(X)
    assert_array_equal(shuffled, expected)
    weighted = grow(X, Y, weights.astype(float), features, 0, None).leaves(X)
    repeated = np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0)
    assert_array_equal(grow(*repeated, None, features, 0, None).leaves(X), weighted)


@pytest.mark.parametrize("neighborhood", ["learned", *GROWERS])
def test_samples_without_weight_may_hold_anything(make_problem, neighborhood):
    X, y, Q = make_problem()
    model = FALLRegressor(neighborhood=neighborhood, random_state=0)
    expected = model.fit(X, y).predict(Q)
    X, y = np.vstack([np.full(3, 1e9), X]), np.r_[1e14, y]
    weights = np.r_[0.0, np.ones(len(X) - 1)]
    assert_allclose(model.fit(X, y, weights).predict(Q), expected, rtol=1e-9)


def test_units_and_monotone_maps_of_features_do_not_change_the_trees(grown):
    X, Y, trees, grow = grown
    maps = [lambda X: X * [1000, 0.01, 3, 1] + [5, 0, -7, 1]]
    if grow is not grow_piecewise:  # whose models are linear
        maps.append(lambda X: np.exp(X) * 1000)
    for change in maps:
        changed = grow(change(X), Y, None, FEW, 0, None)
        assert_array_equal(changed.leaves(change(X)), trees.leaves(X))


def test_n_jobs_does_not_matter(make_problem, forest):
    X, y, Q = make_problem()
    assert_array_equal(forest(n_jobs=2).fit(X, y).predict(Q), forest().fit(X, y).predict(Q))


def test_one_feature_is_enough(make_problem, forest):
    X, y, Q = make_problem(d=3)
    model = forest(neighborhood_features=[1]).fit(X, y)
    assert_array_equal(model.feature_weights_, [0, 1, 0])
    moved = Q + np.array([5, 0, -5])
    assert_allclose(model.explain(moved).neighbor_weights, model.explain(Q).neighbor_weights)
    line = forest(alpha=1e-3).fit(X[:, [1]], 3 * X[:, 1] + 1)
    assert_allclose(line.predict(Q[:, [1]]), 3 * Q[:, 1] + 1, atol=0.5)


# What holds for every neighbourhood ------------------------------------------------------------


def test_contributions_add_up_and_samples_get_their_own_models(make_problem, forest):
    X, y, Q = make_problem(m=2)
    model = forest(alpha=1e-9, n_neighbors=3).fit(X, y)
    explanation = model.explain(Q)
    assert_allclose(explanation.contributions.sum(axis=1) + explanation.intercept, model.predict(Q))
    if model.neighborhood == "boosted":  # no two samples share all leaves here
        assert_allclose(model.predict(X), y, atol=1e-6)


def test_added_and_then_removed_samples_change_nothing(make_problem, forest):
    X, y, Q = make_problem()
    model = forest().fit(X, y)
    expected = model.predict(Q)
    model.partial_fit(Q, np.full(len(Q), 9.0))
    assert (model.predict(Q) > expected + 2).all()
    model.forget(np.arange(len(X), len(X) + len(Q)))
    assert_allclose(model.predict(Q), expected, rtol=1e-12)


def test_leaves_follow_samples_that_move_in_memory(make_problem, forest):
    X, y, Q = make_problem(n=100)
    more_X, more_y, _ = make_problem(n=30, seed=1)
    model = forest().fit(X, y)
    model.partial_fit(more_X, more_y)  # no query before the samples are removed
    model.forget(np.arange(20))
    step_by_step = forest().fit(X, y)
    step_by_step.partial_fit(more_X, more_y).predict(Q)
    for _ in range(20):
        step_by_step.forget([0]).predict(Q)
    assert_allclose(model.predict(Q), step_by_step.predict(Q), rtol=1e-12)


def test_queries_of_several_threads_at_once_are_answered(make_problem, forest):
    X, y, Q = make_problem(n=400)
    model = forest().fit(X, y).partial_fit(Q, np.zeros(len(Q)))
    expected = pickle.loads(pickle.dumps(model)).predict(Q)
    with ThreadPoolExecutor(8) as pool:
        for answer in pool.map(model.predict, [Q] * 16):
            assert_array_equal(answer, expected)
    assert_array_equal(model.predict(Q), expected)


def test_the_given_target_decides_the_anchor_of_new_samples(make_problem, forest):
    X, y, _ = make_problem()
    model = forest(assignment_neighbors=3).fit(X, y)
    high, low = (model.assign(X + 1e-9, y + shift) for shift in (1000, -1000))
    assert (high != low).any()
    assert_array_equal(model.assign(X, y), model.labels_)


@pytest.mark.parametrize("neighborhood", GROWERS)
def test_files_and_pickles_keep_the_trees(make_problem, path, neighborhood):
    X, y, Q = make_problem()
    labels = np.where(y > 0, "up", "down")
    model = FALLClassifier(neighborhood=neighborhood, random_state=0).fit(X, labels)
    model.save(path)
    for copy in (locallinear.load(path), pickle.loads(pickle.dumps(model))):
        assert_array_equal(copy.predict_proba(Q), model.predict_proba(Q))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("splits", lambda a: a[:-1]),
        ("splits", lambda a: a[:0]),
        ("splits", lambda a: a[None]),
        ("splits", lambda a: a.astype(">i4")),
        ("splits", lambda a: a + np.int32(4 * 256)),  # no such feature
        ("splits", lambda a: a | np.int32(255)),  # no such cut
        ("splits", lambda a: -a - 2),
        ("inner", lambda a: a[:-1]),
        ("inner", lambda a: a[::-1]),
        ("inner", lambda a: a.astype(np.int16)),
        ("n_nodes", lambda a: a - 1),  # the last tree does not end
        ("n_nodes", lambda a: np.array(10**15)),
        ("n_nodes", lambda a: np.array(-1)),
        ("cuts", lambda a: a[1:]),
        ("cuts", lambda a: np.where(np.arange(len(a)) == 0, np.nan, a)),
        ("cut_starts", lambda a: a[:-1]),
        ("cut_starts", lambda a: a[::-1]),
        ("feature_weights", lambda a: a[:-1]),
        ("min_distance", lambda a: np.array(2.0)),
    ],
)
def test_trees_that_cannot_be_walked_are_refused(grown, name, change):
    arrays = grown[2].arrays()
    nearness_from_arrays(4, **arrays)
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match="do not fit each other"):
        nearness_from_arrays(4, **arrays)


def test_more_trees_than_a_byte_counts_are_refused(grown):
    forest = grown[2]
    many = replace(forest, splits=np.tile(forest.splits, 30))
    with pytest.raises(ValueError, match="do not fit each other"):
        nearness_from_arrays(4, **many.arrays())


@pytest.mark.parametrize("features", [[], [3], [-1], [0.5], ["a"]])
def test_unknown_features_are_refused(make_problem, features):
    X, y, _ = make_problem(d=3)
    with pytest.raises(ValueError, match="neighborhood_features must be numbers of features"):
        FALLRegressor(neighborhood_features=features).fit(X, y)


def test_leaves_of_boosted_trees_hold_more_samples_where_targets_are_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    noise = rng.random(600) < 0.5
    classes, values = np.column_stack([noise, ~noise]).astype(float), rng.normal(size=(600, 2))
    least = []
    for Y in (classes, values):
        codes = grow_boosted(X, Y, None, FEW, 0, None).leaves(X)
        least.append(min(np.unique(of_tree, return_counts=True)[1].min() for of_tree in codes.T))
    assert least[0] >= CLASSES.min_leaf > least[1]


def test_targets_are_classes_whatever_samples_without_weight_have():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(120, 4)), np.repeat([1.0, 0.0], [80, 40])
    Y = np.eye(2)[(X[:, 0] > 0).astype(int)]
    alone = grow_boosted(X[:80], Y[:80], None, FEW, 0, 1)
    Y[80:] = rng.normal(size=(40, 2))
    assert_array_equal(grow_boosted(X, Y, weights, FEW, 0, 1).splits, alone.splits)


def test_boosted_trees_of_many_classified_samples_have_more_leaves():
    rng = np.random.default_rng(0)
    X = rng.random((8000, 3))
    y = (X[:, 0] + np.sin(9 * X[:, 1]) + 0.1 * rng.normal(size=len(X)) > 0.8).astype(float)
    most = [
        grow_boosted(X, Y, None, np.arange(3), 0, 1).n_leaves
        for Y in (np.column_stack([1 - y, y]), y[:, None])
    ]
    assert most[1] <= NUMBERS.max_leaves < most[0] <= CLASSES.max_leaves


def test_boosted_trees_stay_for_half_as_long_again_as_they_help():
    helping = np.concatenate([np.full(60, 1.0), np.full(100, -1.0)])
    first = 56  # of the first eight trees in a row that help no more
    assert count_helping(helping) == int(1.5 * (first + 4))
    assert count_helping(np.ones(160)) == 160
    assert count_helping(-np.ones(160)) == LEAST_TREES
    assert count_helping(helping[:60]) == 160  # so far, all of them helped
    assert count_helping(helping[:4]) == 160


def test_fewer_boosted_trees_grow_on_noise_than_on_clear_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    clear, noise = np.sin(3 * X[:, 0]) + X[:, 1] > 0, rng.random(1000) < 0.5
    numbers = []
    for y in (clear, noise):
        Y = np.column_stack([y, ~y]).astype(float)
        numbers.append(grow_boosted(X, Y, None, FEW, 0, None).leaves(X).shape[1])
    assert LEAST_TREES <= numbers[1] < numbers[0] <= CLASSES.n_trees
