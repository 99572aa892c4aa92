"""Predictions as weighted sums of the training targets."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

import locallinear
from locallinear import (
    FALLClassifier,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
)
from searches import GRID

NEIGHBORHOODS = ["euclidean", "learned", "forest", "boosted", "piecewise"]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def one_hot(y, classes):
    return (y[:, None] == classes).astype(float)


# --- Oracle: the prediction itself ---------------------------------------------------------------


@pytest.mark.parametrize("neighborhood", NEIGHBORHOODS)
@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_influence_times_the_targets_is_the_prediction(make_problem, scaling, neighborhood):
    X, y, Q = make_problem(n=90, m=2)
    model = FALLRegressor(12, scaling=scaling, neighborhood=neighborhood, random_state=0).fit(X, y)
    found = model.influence(Q)
    assert issparse(found)
    assert found.shape == (30, 90)
    assert_allclose(found @ y, model.predict(Q), **CLOSE)


@pytest.mark.parametrize(
    "options",
    [
        {"fit_intercept": False},
        {"anchor_selection": "kmeans", "assignment_neighbors": 7},
        {"alpha": 1e-3, "anchor_alpha": 0.0, "anchor_l1_ratio": 1.0},
        {"weights": "uniform", "n_neighbors": 1},
        {"n_neighbors": 60, "n_anchor_neighbors": 200, "n_anchors": 300},
        {"neighborhood_features": [1], "weights": lambda d: np.exp(-d)},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_influence_is_exact_for_all_parameters(make_problem, options, weighted):
    X, y, Q = make_problem(n=90)
    weights = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 4.0], 90) if weighted else None
    model = FALLRegressor(**{"n_anchors": 12, "random_state": 0} | options).fit(X, y, weights)
    assert_allclose(model.influence(Q) @ y, model.predict(Q), **CLOSE)
    assert_allclose(model.influence(X) @ y, model.predict(X), **CLOSE)


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
@pytest.mark.parametrize("n_near", [2, 12])
def test_influence_is_exact_without_a_penalty_where_inputs_repeat(scaling, n_near):
    rng = np.random.default_rng(0)
    X = 0.1 * rng.integers(0, 3, (200, 2)) + 7.3
    y = X[:, 0] + 0.2 * rng.normal(size=200)
    options = {"n_anchor_neighbors": n_near, "anchor_alpha": 0.0, "scaling": scaling}
    model = FALLRegressor(20, **options, random_state=0).fit(X, y)
    Q = X[:30] + rng.uniform(-0.04, 0.04, (30, 2))
    assert_allclose(model.influence(Q) @ y, model.predict(Q), **CLOSE)
    higher = FALLRegressor(20, **options, random_state=0).fit(X, y + 1)
    assert_allclose(higher.predict(Q), model.predict(Q) + 1, **CLOSE)


def test_influence_is_exact_with_a_graph_whose_rows_differ_in_length(make_problem):
    X, y, Q = make_problem(n=60)
    graph = kneighbors_graph(X, 9).tolil()
    graph[::2, ::3] = 0
    model = FALLRegressor(12, random_state=0).fit(X, y, graph=graph.tocsr())
    assert_allclose(model.influence(Q) @ y, model.predict(Q), **CLOSE)


def test_influence_of_an_ensemble_and_a_search_is_exact(make_problem):
    X, y, Q = make_problem(n=90)
    members = FALLEnsembleRegressor(5, search=None, random_state=0).fit(X, y)
    members.estimators_[1] = FALLRegressor(9, neighborhood="forest", random_state=1).fit(X, y)
    search = FALLRegressorCV(GRID | {"anchor_l1_ratio": [0.0]}, random_state=0).fit(X, y)
    for model in (members, search):
        assert_allclose(model.influence(Q) @ y, model.predict(Q), **CLOSE)


@pytest.mark.parametrize("neighborhood", NEIGHBORHOODS)
@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_influence_of_ensembles_is_exact_for_all_spaces(make_problem, scaling, neighborhood):
    X, y, Q = make_problem(n=60)
    member = FALLRegressor(6, scaling=scaling, neighborhood=neighborhood)
    model = FALLEnsembleRegressor(2, search=None, estimator=member, random_state=0).fit(X, y)
    assert_allclose(model.influence(Q) @ y, model.predict(Q), **CLOSE)


@pytest.mark.parametrize("kind", [FALLClassifier, FALLEnsembleClassifier])
def test_influence_on_classes_gives_their_scores(make_problem, kind):
    X, y, Q = make_problem(n=90)
    labels = np.digitize(y, [-0.5, 0.5])
    options = {"search": None} if kind is FALLEnsembleClassifier else {}
    model = kind(6, random_state=0, **options).fit(X, labels)
    scores = model.influence(Q) @ one_hot(labels, model.classes_)
    assert_allclose(scores, model.explain(Q).prediction, **CLOSE)


def test_influence_without_itself_gives_the_prediction_without_itself(make_problem):
    X, y, _ = make_problem(n=80)
    model = FALLRegressor(12, random_state=0).fit(X, y)
    numbers = np.arange(80)
    assert_allclose(model.influence_checked(X, numbers) @ y, model.loo_prediction_, **CLOSE)


# --- Limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["single", "ensemble"])
def test_a_moved_target_moves_predictions_by_its_influence_while_labels_stay(make_problem, kind):
    X, y, Q = make_problem(n=90)
    moved = y.copy()
    moved[17] += 1e-4
    model = FALLRegressor(8, assignment_neighbors=40, random_state=0)
    if kind == "ensemble":
        model = FALLEnsembleRegressor(3, search=None, estimator=model, random_state=0)
    before, after = clone(model).fit(X, y), clone(model).fit(X, moved)
    for one, other in zip(before.members, after.members, strict=True):
        assert_array_equal(one.labels_, other.labels_)
    step = before.influence(Q).toarray()[:, 17] * 1e-4
    assert np.abs(step).max() > 1e-7
    assert_allclose(after.predict(Q) - before.predict(Q), step, atol=1e-12)


def test_with_an_intercept_influences_sum_to_one(make_problem):
    X, y, Q = make_problem(n=90)
    model = FALLRegressor(12, random_state=0).fit(X, y)
    assert_allclose(model.influence(Q).sum(axis=1), 1.0, **CLOSE)


def test_with_an_infinite_alpha_only_the_samples_of_the_anchors_count(make_problem):
    X, y, Q = make_problem(n=90)
    model = FALLRegressor(1, n_anchor_neighbors=10, random_state=0).fit(X, y)
    model.set_params(alpha=np.inf)
    used = np.unique(model.influence(Q).nonzero()[1])
    nearest = np.argsort(np.linalg.norm((X - model.anchor_points_) / X.std(axis=0), axis=1))[:10]
    assert_array_equal(used, np.sort(nearest))


# --- Samples that come and go --------------------------------------------------------------------


def test_added_samples_count_as_neighbours(make_problem):
    X, y, Q = make_problem(n=90)
    model = FALLRegressor(12, random_state=0).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    assert_allclose(model.influence(Q) @ y, model.predict(Q), **CLOSE)


def test_influence_stays_exact_after_forgetting_samples_that_shaped_no_anchor(make_problem):
    X, y, Q = make_problem(n=90)
    model = FALLRegressor(2, n_anchor_neighbors=8, random_state=0).fit(X, y)
    shaped = np.unique(model.anchor_samples.numbers)
    for n_gone in (3, 30):  # the second number makes the stored rows move up
        gone = np.setdiff1d(np.arange(90), shaped)[:n_gone]
        model = FALLRegressor(2, n_anchor_neighbors=8, random_state=0).fit(X, y).forget(gone)
        assert_allclose(model.influence(Q) @ np.delete(y, gone), model.predict(Q), **CLOSE)


def test_a_forgotten_sample_that_shaped_the_anchors_is_refused(make_problem):
    X, y, Q = make_problem(n=90)
    model = FALLRegressor(1, n_anchor_neighbors=8, random_state=0).fit(X, y)
    model.forget(model.anchor_samples.numbers[0, 2])
    with pytest.raises(ValueError, match=r"anchors behind query 0 .* forgotten .* fit again"):
        model.influence(Q)


def test_files_keep_what_influence_needs(make_problem, path):
    X, y, Q = make_problem(n=90)
    weights = np.random.default_rng(0).choice([0.3, 1.0, 4.0], 90)
    for model in (FALLRegressor(12), FALLEnsembleRegressor(3, search=None)):
        model.set_params(random_state=0).fit(X, y, weights)
        model.set_params(**{} if "search" in model.get_params() else {"anchor_alpha": 9.0})
        model.save(path)
        found = locallinear.load(path).influence(Q)
        assert_allclose(found.toarray(), model.influence(Q).toarray(), **CLOSE)
        assert_allclose(found @ y, model.predict(Q), **CLOSE)


# --- Degrees of freedom --------------------------------------------------------------------------


def test_degrees_of_freedom_are_the_trace_of_the_smoother(make_problem):
    X, y, _ = make_problem(n=90)
    model = FALLRegressor(12, random_state=0).fit(X, y)
    assert_allclose(model.degrees_of_freedom(), model.influence(X).trace())
    left = model.influence_checked(X, np.arange(90)).trace()
    assert_allclose(model.degrees_of_freedom(without_itself=True), left)


def test_one_anchor_of_all_samples_has_the_degrees_of_freedom_of_ridge(make_problem):
    X, y, _ = make_problem(n=90)
    options = {"n_anchor_neighbors": 90, "anchor_alpha": 0.0, "random_state": 0}
    model = FALLRegressor(1, **options).fit(X, y).set_params(alpha=np.inf)
    assert_allclose(model.degrees_of_freedom(), 4.0)


# --- One prediction ------------------------------------------------------------------------------


def test_pulls_and_the_baseline_add_up_to_the_prediction(make_problem):
    X, y, Q = make_problem(n=90, m=2)
    for model in (FALLRegressor(12), FALLEnsembleRegressor(3, search=None)):
        why = model.set_params(random_state=0).fit(X, y).explain(Q)
        because = why.influence(4)
        assert_allclose(because.baseline + because.pulls.sum(axis=0), why.prediction[4], **CLOSE)
        assert_allclose(because.targets, y[because.samples], **CLOSE)
        assert_array_equal(np.argsort(-np.abs(because.pulls).max(axis=1)), np.arange(len(because)))
        frame = because.to_frame()
        assert list(frame.columns) == ["weight", "y0", "pull on y0", "y1", "pull on y1"]
        assert_array_equal(frame.index, because.samples)


def test_a_sample_explained_without_itself_has_the_pulls_of_that_prediction(make_problem):
    X, y, _ = make_problem(n=90)
    why = FALLRegressor(12, random_state=0).fit(X, y).explain_samples([5])
    because = why.influence(0)
    assert_allclose(because.weights @ because.targets[:, 0], why.prediction[0], **CLOSE)


@pytest.mark.parametrize("neighborhood", ["euclidean", "forest"])
def test_what_would_change_if_forgotten_is_what_forgetting_changes(make_problem, neighborhood):
    X, y, Q = make_problem(n=60)
    member = FALLRegressor(6, neighborhood=neighborhood, random_state=0)
    model = FALLEnsembleRegressor(2, search=None, estimator=member, random_state=0).fit(X, y)
    samples, changes = model.explain(Q).if_forgotten(2)
    expected, before = np.zeros(60), model.predict(Q[[2]])[0]
    for i in range(60):
        expected[i] = deepcopy(model).forget([i]).predict(Q[[2]])[0] - before
    assert_allclose(changes[:, 0], expected[samples], atol=1e-10)
    others = np.setdiff1d(np.arange(60), samples)
    assert_allclose(expected[others], 0.0, atol=1e-10)
    assert abs(changes[0, 0]) == np.abs(changes).max() > 0


# --- Errors --------------------------------------------------------------------------------------


def test_lasso_anchors_and_given_anchors_are_refused_with_what_to_do(make_problem):
    X, y, Q = make_problem(n=60)
    lasso = FALLRegressor(5, anchor_l1_ratio=0.5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="anchor_l1_ratio=0"):
        lasso.influence(Q)
    given = FALLRegressor(anchor_models=np.zeros((2, 4, 1))).fit(X, y)
    with pytest.raises(ValueError, match="fit without anchor_models"):
        given.influence(Q)
