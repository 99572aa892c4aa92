"""Standard deviations of coefficients and slopes."""

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose

from locallinear import FALLClassifier, FALLEnsembleRegressor, FALLRegressor, TableRegressor


def without_curvature(n=400, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1]
    return X, X @ [2.0, 0.3, 5.0] + noise * rng.normal(size=n)


# --- Oracle --------------------------------------------------------------------------------------


def test_one_anchor_of_all_samples_has_the_standard_errors_of_least_squares():
    X, y = without_curvature()
    options = {"n_anchor_neighbors": 400, "anchor_alpha": 0.0, "random_state": 0}
    model = FALLRegressor(1, **options).fit(X, y).set_params(alpha=np.inf)
    found = model.explain(X[:5]).coef_std[:, :, 0]
    x = np.column_stack([X, np.ones(400)])
    rows = np.linalg.pinv(x)[:3]
    assert_allclose(found, np.tile(np.sqrt(rows**2 @ model.conformal().noise[:, 0] ** 2), (5, 1)))
    residual = y - x @ np.linalg.lstsq(x, y)[0]
    usual = np.sqrt(np.diag(np.linalg.inv(x.T @ x))[:3] * (residual @ residual) / 396)
    assert_allclose(found[0], usual, rtol=0.15)  # the noise is estimated locally


def test_neighbours_with_different_models_make_a_coefficient_less_sure():
    X = np.linspace(-1, 1, 100)[:, None]
    given = np.array([[[-1.0], [0.0]], [[1.0], [0.0]]])
    model = FALLRegressor(anchor_models=given, n_neighbors=20, scaling=None, weights="uniform")
    model.fit(X, np.abs(X[:, 0]))
    near, far = model.explain([[0.0], [0.8]]).coef_std[:, 0, 0]
    assert_allclose(near, 1.0, atol=0.05)  # slopes of -1 and 1, half of the neighbours each
    assert far < 0.01


def test_noise_that_makes_neighbours_models_differ_is_not_counted_twice():
    X, y = without_curvature(n=800)
    model = FALLRegressor(50, n_neighbors=20, anchor_alpha=0.01, random_state=0).fit(X, y)
    why = model.explain(X[:200] + 0.01)
    inside = np.abs(why.coef[:, :, 0] - [2.0, 0.3, 5.0]) < 1.645 * why.coef_std[:, :, 0]
    assert 0.88 < inside.mean() < 0.97


def test_a_penalty_that_flattens_all_slopes_makes_them_less_sure():
    X, y = without_curvature(noise=0.01)
    options = {"n_anchor_neighbors": 400, "anchor_alpha": 0.3, "random_state": 0}
    model = FALLRegressor(1, **options).fit(X, y).set_params(alpha=np.inf)
    why = model.explain(X[:5])
    off = np.abs(why.coef[:, :, 0] - [2.0, 0.3, 5.0])
    assert (off > 0.2 * np.array([2.0, 0.3, 5.0])).all()
    assert (off < 3 * why.coef_std[:, :, 0]).all()


# --- Coverage ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["single", "ensemble"])
def test_true_slopes_lie_within_their_intervals(kind):
    rng = np.random.default_rng(0)
    X, Q = rng.uniform(-1, 1, size=(800, 3)), rng.uniform(-0.9, 0.9, size=(200, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=800)
    slopes = np.column_stack([2 * np.cos(2 * Q[:, 0]), np.ones(200), np.zeros(200)])
    model = FALLRegressor(50, n_neighbors=20, anchor_alpha=0.01, random_state=0)
    if kind == "ensemble":
        model = FALLEnsembleRegressor(4, search=None, estimator=model, random_state=0)
    why = model.fit(X, y).explain(Q)
    inside = np.abs(why.slopes[:, :, 0] - slopes) < 1.645 * why.slopes_std[:, :, 0]
    assert 0.85 < inside.mean() < 0.95


# --- Invariances ---------------------------------------------------------------------------------


def test_errors_of_coefficients_follow_the_units():
    X, y = without_curvature()
    units = np.array([1e3, 1.0, 1e-2])
    one = FALLRegressor(9, random_state=0).fit(X, y).explain(X[:9] + 0.01)
    other = FALLRegressor(9, random_state=0).fit(X * units, 7 * y).explain((X[:9] + 0.01) * units)
    assert_allclose(other.coef_std, one.coef_std * 7 / units[:, None], rtol=1e-4)


def test_slopes_of_ranks_have_errors_in_the_units_of_x():
    X, y = without_curvature()
    why = FALLRegressor(9, scaling="quantile", random_state=0).fit(X, y).explain(X[:9] + 0.01)
    factors = why.slopes / why.coef
    assert_allclose(why.slopes_std, why.coef_std * np.abs(factors))


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned", "forest"])
def test_all_neighbourhoods_and_classes_and_lasso_have_errors(make_problem, neighborhood):
    X, y, Q = make_problem()
    options = {"neighborhood": neighborhood, "random_state": 0}
    for model, target in (
        (FALLRegressor(9, **options), y),
        (FALLRegressor(9, anchor_l1_ratio=0.5, **options), y),
        (FALLClassifier(9, **options), y > 0),
    ):
        why = model.fit(X, target).explain(Q)
        assert why.coef_std.shape == why.coef.shape
        assert (why.coef_std > 0).any()
        assert_allclose(why.take([3, 5]).coef_std, why.coef_std[[3, 5]])


def test_samples_without_themselves_have_errors_that_ignore_their_own_target(make_problem):
    X, y, _ = make_problem()
    model = FALLRegressor(9, random_state=0).fit(X, y)
    alone, whole = model.explain_samples([4]).coef_std, model.explain(X[[4]]).coef_std
    assert np.abs(alone - whole).max() > 1e-6


def test_columns_of_a_table_have_the_errors_of_what_their_text_adds():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"size": rng.normal(size=90), "kind": rng.choice(list("abc"), 90)})
    frame["price"] = frame["size"] + (frame["kind"] == "b") + 0.1 * rng.normal(size=90)
    fall = FALLRegressor(n_neighbors=9, random_state=0)
    model = TableRegressor(fall, target="identity").fit(frame, "price")
    why = model.explain(frame[:5])
    assert why.coef_std.shape == why.slopes_std.shape == (5, 2, 1)
    assert_allclose(why.coef_std[:, 0], why.encoded.coef_std[:, 0])
    assert (why.coef_std[:, 1] > 0).all()
    assert model.predict_interval(frame[:5]).shape == (5, 2)
    assert model.novelty(frame[:5]).shape == (5,)


def test_errors_are_finite_wherever_the_coefficients_are():
    X, y = without_curvature(60)
    one = FALLRegressor(5, random_state=0).fit(X, y).explain(X[:3])
    tiny = FALLRegressor(5, random_state=0).fit(X * 1e-139, y * 1e139).explain(X[:3] * 1e-139)
    assert_allclose(tiny.coef_std, one.coef_std * 1e278, rtol=1e-6)
