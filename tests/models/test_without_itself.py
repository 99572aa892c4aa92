"""Samples predicted and explained without themselves."""

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from locallinear import (
    FALLClassifier,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    TableRegressor,
)
from locallinear.geometry.neighbors import leave_out
from locallinear.models.explanation import ARRAYS
from searches import GRID

NEIGHBORHOODS = ["euclidean", "learned", "forest", "boosted", "piecewise"]

# --- Oracle: the sample is forgotten, and then predicted -----------------------------------------


@pytest.mark.parametrize("neighborhood", NEIGHBORHOODS)
@pytest.mark.parametrize("weights", ["distance", "uniform"])
def test_a_sample_without_itself_is_predicted_as_if_it_were_forgotten(
    make_problem, neighborhood, weights
):
    X, y, _ = make_problem(n=60)
    options = {"neighborhood": neighborhood, "weights": weights, "random_state": 0}
    model = FALLRegressor(10, **options).fit(X, y)
    found, why = model.loo_prediction_, model.explain_samples([3, 41])
    assert found.shape == (60,)
    for row, i in enumerate([3, 41]):
        rest = FALLRegressor(10, **options).fit(X, y).forget([i])
        expected = rest.explain(X[[i]])
        assert_allclose(found[i], rest.predict(X[[i]])[0], rtol=1e-10)
        assert_allclose(why.coef[row], expected.coef[0], rtol=1e-8, atol=1e-10)
        others = np.delete(np.arange(60), i)
        assert_array_equal(why.neighbors[row], others[expected.neighbors[0]])


def test_a_sample_with_weight_is_left_out_whole(make_problem):
    X, y, _ = make_problem(n=60)
    weights = np.random.default_rng(0).integers(0, 4, 60).astype(float)
    model = FALLRegressor(10, n_neighbors=6, random_state=0).fit(X, y, weights)
    found = model.loo_prediction_
    for i in range(0, 60, 7):
        rest = FALLRegressor(10, n_neighbors=6, random_state=0).fit(X, y, weights).forget([i])
        assert_allclose(found[i], rest.predict(X[[i]])[0], rtol=1e-10)


def test_an_equal_sample_stays_a_neighbour():
    X, y = np.array([[0.0], [0.0], [1.0], [2.0]]), np.array([5.0, 7.0, 1.0, 2.0])
    model = FALLRegressor(2, n_neighbors=2, anchor_selection=[[0.0], [2.0]]).fit(X, y)
    why = model.explain_samples()
    assert_array_equal(why.neighbors[:2], [[1, 2], [0, 2]])
    assert_array_equal(why.neighbor_weights[:2], [[1, 0], [1, 0]])


@given(st.integers(0, 10_000))
def test_leaving_out_keeps_the_order_of_the_others(seed):
    rng = np.random.default_rng(seed)
    near = np.array([rng.permutation(6)[:4] for _ in range(5)])
    distances, rows = np.sort(rng.random(near.shape), axis=1), rng.integers(0, 6, 5)
    kept_distances, kept = leave_out(distances, near, rows)
    for i, row in enumerate(rows):
        others = [j for j in range(4) if near[i, j] != row][:3]
        assert_array_equal(kept[i], near[i, others])
        assert_array_equal(kept_distances[i], distances[i, others])


# --- Invariances ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_the_explanation_of_a_sample_does_not_depend_on_its_own_target(make_problem, scaling):
    X, y, _ = make_problem(n=80, d=4)
    given = np.random.default_rng(1).normal(size=(6, 5, 1))
    changed = y.copy()
    changed[11] += 100.0
    one, other = (
        FALLRegressor(anchor_models=given, scaling=scaling).fit(X, targets).explain_samples([11])
        for targets in (y, changed)
    )
    for name in set(ARRAYS) - {"neighborhood_part"}:
        assert_array_equal(getattr(one, name), getattr(other, name))
    level = [why.baseline + why.neighborhood_part for why in (one, other)]
    assert_allclose(*level, rtol=1e-12)


@pytest.mark.parametrize("kind", ["ensemble", "classes", "classes, ensemble", "table"])
def test_no_kind_of_model_explains_a_sample_by_its_own_target(make_problem, kind):
    X, y, _ = make_problem(n=80, d=4)
    if "classes" in kind:
        y = np.where(y > 0, "up", "down").astype(object)
        changed = np.where(np.arange(80) == 11, np.where(y == "up", "down", "up"), y)
    else:
        changed = y + 100.0 * (np.arange(80) == 11)
    m = 2 if "classes" in kind else 1
    given = {"anchor_models": np.random.default_rng(1).normal(size=(6, 5, m))}
    single = (FALLClassifier if "classes" in kind else FALLRegressor)(**given)
    ensemble = FALLEnsembleClassifier if "classes" in kind else FALLEnsembleRegressor
    many = ensemble(3, search=None, estimator=single, max_features=1.0, random_state=0)
    model = many if "ensemble" in kind else single
    if kind == "table":
        X = pandas.DataFrame(X, columns=list("abcd"))
        model = TableRegressor(single, target="identity", random_state=0)
    one, other = (clone(model).fit(X, targets).explain_samples([11]) for targets in (y, changed))
    for name in set(ARRAYS) - {"neighborhood_part"}:
        assert_array_equal(getattr(one, name), getattr(other, name))


# --- Equivalences --------------------------------------------------------------------------------


def models_of(X, y):
    few = {"search": None, "random_state": 0}
    yield FALLRegressor(random_state=0).fit(X, y)
    yield FALLRegressor(random_state=0).fit(X, np.column_stack([y, y**2]))
    yield FALLRegressorCV(GRID, random_state=0).fit(X, y)
    yield FALLClassifier(random_state=0).fit(X, np.digitize(y, [-1, 1]))
    yield FALLEnsembleRegressor(3, **few).fit(X, y)
    yield FALLEnsembleClassifier(3, **few).fit(X, np.digitize(y, [-1, 1]))


def test_predictions_without_itself_are_those_of_the_explanations(make_problem):
    X, y, _ = make_problem(n=90)
    for model in models_of(X, y):
        why, found = model.explain_samples(), model.loo_prediction_
        assert_allclose(found, why.prediction, rtol=1e-9, atol=1e-11)
        assert (why.neighbors != np.arange(90)[:, None]).all()
        assert_allclose(why.X, X, atol=1e-12)
        part = model.explain_samples([5, -1])
        assert_array_equal(part.samples, [5, 89])
        assert_allclose(part.prediction, found[[5, 89]], rtol=1e-9, atol=1e-11)
        assert_array_equal(part.take([1]).samples, [89])


def test_an_ensemble_leaves_the_sample_out_of_every_member(make_problem):
    X, y, _ = make_problem()
    model = FALLEnsembleRegressor(4, search=None, random_state=0).fit(X, y)
    members = np.mean([member.loo_prediction_ for member in model.estimators_], axis=0)
    assert_allclose(model.loo_prediction_, members)


@pytest.mark.parametrize("n_near", [0, 3, 12, 1000])
def test_neighbours_of_samples_and_others_together_are_those_of_each_alone(make_problem, n_near):
    X, y, Q = make_problem()
    model = FALLRegressor(9, n_neighbors=5, random_state=0).fit(X, y)
    Z = model.feature_space.transform(np.vstack([X[:4], Q[:3]]))
    shares, near = model.shares(Z, np.array([0, 1, 2, 3, -1, -1, -1]), n_near)
    assert near.shape == (7, min(max(n_near, 5), len(X) - 1))
    for rows, numbers in ((slice(4), np.arange(4)), (slice(4, None), None)):
        expected = model.shares(Z[rows], numbers, n_near)
        assert_array_equal(shares[rows], expected[0])
        assert_array_equal(near[rows], expected[1][:, : near.shape[1]])


def test_predictions_without_itself_follow_what_was_added_removed_and_set(make_problem):
    X, y, Q = make_problem(n=80)
    model = FALLRegressor(random_state=0).fit(X, y)
    model.partial_fit(Q, Q[:, 0]).forget([4, 90]).set_params(n_neighbors=9)
    found = model.loo_prediction_
    assert found.shape == (108,)
    for i in (0, 4, 107):
        x = np.delete(np.vstack([X, Q]), [4, 90], axis=0)[[i]]
        assert_allclose(found[i], model.predict_checked(x, np.array([i]))[0, 0], rtol=1e-10)
        assert i not in model.explain_samples([i]).neighbors
    # The first of two equal rows is removed with it, so what is left is a forgotten sample.
    assert_allclose(found[0], model.forget([0]).predict(X[[0]])[0], rtol=1e-10)


def test_showing_a_model_does_not_compute_predictions_without_itself(make_problem, monkeypatch):
    X, y, _ = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    monkeypatch.setattr(FALLRegressor, "loo_numeric", lambda self: pytest.fail("computed"))
    assert "labels_" in dir(model)
    assert "FALLRegressor" in model._repr_html_()


# --- Errors --------------------------------------------------------------------------------------


def test_a_sample_without_others_is_refused(make_problem):
    X, y, _ = make_problem(n=5)
    model = FALLRegressor(2, n_neighbors=5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"5 other samples are needed .* there are only 4"):
        model.explain_samples()
    with pytest.raises(ValueError, match="other samples"):
        _ = model.loo_prediction_
    with pytest.raises(ValueError, match="indices must name samples"):
        model.explain_samples([5])
