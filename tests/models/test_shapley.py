"""Shapley values of the model's own predictions."""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from houses import fitted, houses
from locallinear import FALLClassifier, FALLEnsembleRegressor, FALLRegressor
from locallinear.explain.shapley_paths import draw_orders, shapley_values


def all_subsets(predict, x, background, groups):
    """Shapley values (c, m) of one query by their definition."""
    c = groups[-1] + 1

    def worth(members):
        return predict(np.where(np.isin(groups, members), x, background)).mean(axis=0)

    values = []
    for g in range(c):
        others = [other for other in range(c) if other != g]
        values.append(
            sum(
                (worth((*some, g)) - worth(some)) / (c * comb(c - 1, size))
                for size in range(c)
                for some in combinations(others, size)
            )
        )
    return np.array(values)


# --- Oracle --------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighborhood", ["euclidean", "forest"])
@pytest.mark.parametrize("d", [3, 7])
def test_values_approach_those_of_all_subsets(make_problem, neighborhood, d):
    X, y, Q = make_problem(n=150, d=d)
    model = FALLRegressor(neighborhood=neighborhood, random_state=0, n_jobs=1).fit(X, y)
    x, background, groups = Q[:2], X[:12], np.arange(d)
    why = model.explain(x)
    exact = np.array([all_subsets(model.predict_numeric, row, background, groups) for row in x])
    # Means of many small batches: their spread gives the standard error to compare with.
    batches = np.array([why.shapley(background, 4, random_state=seed) for seed in range(30)])
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    assert (np.abs(batches.mean(axis=0) - exact) < 4.5 * error + 1e-10).all()
    assert np.abs(batches.mean(axis=0) - exact).max() < 0.05 * np.abs(exact).max()


def test_of_two_features_one_order_and_its_reverse_are_all(make_problem):
    X, y, Q = make_problem(d=2, m=2)
    model = FALLRegressor(random_state=0).fit(X, y)
    values = model.explain(Q[:3]).shapley(X[:9], random_state=0)
    for x, found in zip(Q, values, strict=False):
        exact = all_subsets(model.predict_numeric, x, X[:9], np.arange(2))
        assert_allclose(found, exact, atol=1e-12)


def test_values_of_one_linear_model_are_coefficient_times_distance_from_the_background():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = X @ [1.0, -2.0, 0.0, 3.0, 0.5] + 7.0
    model = FALLRegressor(anchor_models=[[[1.0], [-2.0], [0.0], [3.0], [0.5], [7.0]]]).fit(X, y)
    values = model.explain(X[:4] + 0.1).shapley(X, n_permutations=1, random_state=0)
    expected = (X[:4] + 0.1 - X.mean(axis=0)) * [1.0, -2.0, 0.0, 3.0, 0.5]
    assert_allclose(values[:, :, 0], expected, atol=1e-9)


# --- Invariances ---------------------------------------------------------------------------------


@given(st.integers(1, 7), st.integers(1, 4), st.integers(1, 5), st.integers(0, 1000))
def test_values_add_up_for_any_model_background_and_number_of_orders(c, b, n_orders, seed):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(c), rng.integers(1, 3, c))
    X, background = (rng.integers(0, 3, (n, len(groups))).astype(float) for n in (3, b))
    turn = rng.normal(size=(len(groups), 2))

    def predict(rows, query):
        return np.sin(rows @ turn) + query[:, None]

    orders = draw_orders(b, n_orders, c, np.random.RandomState(seed))
    values = shapley_values(predict, X, background, groups, orders)
    assert values.shape == (3, c, 2)
    bases = np.array([predict(background, np.full(b, i)).mean(axis=0) for i in range(3)])
    assert_allclose(values.sum(axis=1), predict(X, np.arange(3)) - bases, atol=1e-12)


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6))
def test_orders_are_permutations_in_pairs_with_their_reverse(b, n, c):
    orders = draw_orders(b, n, c, np.random.RandomState(0))
    assert orders.shape == (b, n, c)
    assert_array_equal(np.sort(orders, axis=2), np.broadcast_to(np.arange(c), orders.shape))
    pairs = n // 2 * 2
    assert_array_equal(orders[:, 1:pairs:2], orders[:, 0:pairs:2, ::-1])


def test_a_feature_that_nowhere_differs_from_the_background_gets_nothing(make_problem):
    X, y, Q = make_problem()
    Q[:, 1], background = 0.25, X[:20].copy()
    background[:, 1] = 0.25
    values = FALLRegressor(random_state=0).fit(X, y).explain(Q).shapley(background, random_state=0)
    assert_allclose(values[:, 1], 0, atol=1e-13)
    assert np.abs(values[:, [0, 2]]).min() > 1e-6


def test_values_of_a_query_do_not_depend_on_the_others_and_follow_the_seed(make_problem):
    X, y, Q = make_problem(d=5)
    why = FALLRegressor(random_state=0).fit(X, y).explain(Q)
    values = why.shapley(random_state=3)
    assert_allclose(why.take([4, 9]).shapley(random_state=3), values[[4, 9]], atol=1e-12)
    assert_array_equal(why.shapley(random_state=3), values)
    assert (why.shapley(random_state=4) != values).any()


# --- Equivalences --------------------------------------------------------------------------------


def test_samples_are_attributed_without_themselves(make_problem):
    X, y, _ = make_problem(n=60, d=2)
    model = FALLRegressor(random_state=0).fit(X, y)
    why = model.explain_samples([5, 40])
    values = why.shapley(X[:10], random_state=0)
    for row, i in enumerate([5, 40]):
        rest = FALLRegressor(random_state=0).fit(X, y).forget([i])
        exact = all_subsets(rest.predict_numeric, X[i], X[:10], np.arange(2))
        assert_allclose(values[row], exact, atol=1e-12)


@pytest.mark.parametrize("with_names", [True, False])
def test_an_ensemble_and_classes_add_up_too(make_problem, with_names):
    pandas = pytest.importorskip("pandas")
    X, y, Q = make_problem()
    if with_names:
        X, Q = (pandas.DataFrame(rows, columns=list("abc")) for rows in (X, Q))
    few = FALLEnsembleRegressor(3, search=None, random_state=0).fit(X, y)
    classes = FALLClassifier(random_state=0).fit(X, np.digitize(y, [-1, 1]))
    for model in (few, classes):
        why, base = model.explain(Q[:4]), model.explain(X[:30]).prediction.mean(axis=0)
        total = why.shapley(X[:30], random_state=0).sum(axis=1) + base
        assert_allclose(total.reshape(why.prediction.shape), why.prediction, atol=1e-10)
        assert why.shapley(random_state=0).shape == why.coef.shape


def test_the_features_of_a_column_are_one_player():
    model, frame = fitted(), houses(seed=1)
    background, groups = model.encode(houses()[:10]).to_numpy(), model.column_numbers
    why = model.explain(frame[:2])
    values = why.shapley(houses()[:10], n_permutations=200, random_state=0)
    assert values.shape == (2, 3, 1)
    for x, found in zip(model.encode(frame).to_numpy(), values, strict=False):
        exact = all_subsets(model.estimator.predict_checked, x, background, groups)
        assert_allclose(found, exact, atol=0.02 * np.abs(exact).max())
        assert_allclose(found.sum(), exact.sum())


def test_samples_without_weight_are_no_background(make_problem):
    X, y, _ = make_problem(n=50)
    model = FALLRegressor(random_state=0).fit(X, y, np.arange(50) < 30)
    rng = np.random.RandomState(0)
    assert_allclose(model.draw_samples(100, rng), X[:30], atol=1e-12)
    assert len(np.unique(model.draw_samples(12, rng), axis=0)) == 12


def test_the_package_shap_gets_values_that_add_up(make_problem):
    pytest.importorskip("shap", reason="shap is not installed, and no extra installs it")
    X, y, Q = make_problem()
    why = FALLRegressor(random_state=0).fit(X, y).explain(Q)
    found = why.to_shap(random_state=0)
    assert found.values.shape == Q.shape
    assert_allclose(found.values.sum(axis=1) + found.base_values, why.prediction)
    classes = FALLClassifier(random_state=0).fit(X, y > 0).explain(Q).to_shap(random_state=0)
    assert classes.values.shape == (*Q.shape, 2)


# --- Errors --------------------------------------------------------------------------------------


def test_what_cannot_be_attributed_is_refused(make_problem):
    X, y, Q = make_problem()
    why = FALLRegressor(random_state=0).fit(X, y).explain(Q)
    with pytest.raises(ValueError, match=r"n_permutations must be a whole number .* but is 0"):
        why.shapley(n_permutations=0)
    with pytest.raises(ValueError, match="X has 2 features, but FALLRegressor is expecting 3"):
        why.shapley(X[:, :2])
    with pytest.raises(ValueError, match="shapley needs the model and the queries"):
        replace(why, X=None).shapley()
