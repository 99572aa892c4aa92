"""Identities and limits that the paper states, on fitted models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from locallinear import FALLRegressor

SCALINGS = [None, "standard", "quantile"]


@st.composite
def fitted(draw):
    """A fitted model with its data, and both in the space where its models live."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    n, d, m = draw(st.integers(10, 40)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    X = rng.normal(size=(n, d)) * 3 + 5
    Y = np.sin(X[:, :1]) + rng.normal(size=(n, m))
    model = FALLRegressor(
        draw(st.integers(1, 8)),
        n_anchor_neighbors=draw(st.integers(3, 20)),
        anchor_alpha=0.1,
        alpha=draw(st.sampled_from([1e-3, 1.0, 50.0])),
        n_neighbors=1,
        fit_intercept=draw(st.booleans()),
        scaling=draw(st.sampled_from(SCALINGS)),
        random_state=0,
    ).fit(X, Y)
    return model, X, Y


def in_model_space(model, X):
    """X̃ in the model's feature space and β_i."""
    Z = X
    if model.scaling == "standard":
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
    if model.scaling == "quantile":
        rank = X.argsort(axis=0).argsort(axis=0)
        Z = np.sqrt(3) * ((2 * rank + 1) / len(X) - 1)
    squares = (Z**2).sum(axis=1) + model.fit_intercept
    beta = model.alpha / (model.alpha + squares)
    return Z, beta[:, None]


def anchor_predictions(model, X):
    """A_{l_i}ᵀ x_i from the models that the user sees."""
    regressors = in_model_space(model, X)[0] if model.scaling == "quantile" else X
    A = model.anchor_models_[model.labels_]
    return np.einsum("nd,ndm->nm", regressors, A[:, :-1]) + A[:, -1]


@given(fitted())
def test_prediction_at_a_training_sample_mixes_target_and_anchor(case):
    model, X, Y = case
    _, beta = in_model_space(model, X)
    expected = (1 - beta) * Y + beta * anchor_predictions(model, X)
    assert_allclose(model.predict(X), expected, rtol=1e-9, atol=1e-9)


@given(fitted())
def test_training_error_is_the_anchors_error_times_beta(case):
    model, X, Y = case
    _, beta = in_model_space(model, X)
    error = np.linalg.norm(Y - model.predict(X), axis=1)
    of_anchor = np.linalg.norm(Y - anchor_predictions(model, X), axis=1)
    assert_allclose(error, beta[:, 0] * of_anchor, rtol=1e-8, atol=1e-9)


@given(fitted(), st.integers(1, 8), st.sampled_from(["distance", "uniform"]))
def test_explanation_is_the_prediction_in_the_units_of_the_user(case, n_neighbors, weights):
    model, X, _ = case
    model.set_params(n_neighbors=n_neighbors, weights=weights)
    Q = np.vstack([X[:3], np.random.default_rng(0).normal(size=(5, X.shape[1])) * 10])
    told, predicted = model.explain(Q), model.predict(Q)
    close = {"rtol": 1e-9, "atol": 1e-9 * np.abs(told.contributions).max()}
    assert_allclose(told.contributions.sum(axis=1) + told.intercept, predicted, **close)
    assert_allclose(told.prediction, predicted, **close)
    model_parts = told.anchor_part + told.correction_part
    assert_allclose(model_parts[:, :-1], told.coef, **close)
    assert_allclose(model_parts[:, -1], told.intercept, **close)
    assert_allclose(told.neighbor_weights.sum(axis=1), 1)
    if model.scaling != "quantile":
        assert_allclose(told.contributions, told.coef * Q[:, :, None], **close)


@given(fitted())
def test_explained_model_is_the_average_of_the_neighbours_local_models(case):
    model, X, _ = case
    model.set_params(n_neighbors=5)
    told = model.explain(X.mean(axis=0)[None])
    average = np.tensordot(told.neighbor_weights[0], model.local_models(told.neighbors[0]), 1)
    assert_allclose(np.vstack([told.coef[0], told.intercept[0]]), average, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_tiny_pull_interpolates_the_training_targets(make_problem, scaling):
    X, y, _ = make_problem()
    model = FALLRegressor(5, alpha=1e-12, scaling=scaling, random_state=0).fit(X, y)
    assert_allclose(model.predict(X), y, atol=1e-9)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_huge_pull_leaves_the_mixture_of_the_anchors(make_problem, scaling):
    X, y, Q = make_problem()
    model = FALLRegressor(5, alpha=1e12, scaling=scaling, random_state=0).fit(X, y)
    told = model.explain(Q)
    mixture = np.einsum(
        "qk,qkdm->qdm", told.neighbor_weights, model.anchor_models_[told.neighbor_labels]
    )
    assert np.abs(told.correction_part).max() < 1e-9
    assert_allclose(told.anchor_part, mixture, atol=1e-12)
    assert_allclose(np.concatenate([told.coef, told.intercept[:, None]], 1), mixture, atol=1e-9)
    assert_allclose(model.local_models(), model.anchor_models_[model.labels_], atol=1e-9)


def test_a_sample_at_the_origin_falls_back_to_its_anchor_without_intercept(make_problem):
    X, y, _ = make_problem()
    X[7], y[7] = 0.0, 1e3
    model = FALLRegressor(
        5, alpha=1e-9, n_neighbors=1, fit_intercept=False, scaling=None, random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(
        model.local_models([7])[0], model.anchor_models_[model.labels_[7]]
    )
    assert model.predict(X[7:8])[0] == 0.0


def test_one_anchor_on_all_samples_is_the_global_ridge(make_problem):
    from sklearn.linear_model import Ridge

    X, y, Q = make_problem()
    model = FALLRegressor(
        1, n_anchor_neighbors=len(X), anchor_alpha=0.3, alpha=1e12, scaling=None, random_state=0
    ).fit(X, y)
    ridge = Ridge(0.3 * len(X)).fit(X, y)
    assert_allclose(model.predict(Q), ridge.predict(Q), rtol=1e-9)


def test_without_pull_and_with_constant_inputs_it_is_nearest_neighbour_regression(make_problem):
    from sklearn.neighbors import KNeighborsRegressor

    # Anchors that predict 0 and inputs far from the origin: W_jᵀ x is y_j for every neighbour.
    X, y, Q = make_problem()
    far = np.array([1e8, 0.0, 0.0])
    model = FALLRegressor(
        anchor_models=np.zeros((1, 4, 1)), alpha=1e-6, scaling=None, n_neighbors=4
    ).fit(X + far, y)
    knn = KNeighborsRegressor(4, weights="distance").fit(X + far, y)
    assert_allclose(model.predict(Q + far), knn.predict(Q + far), rtol=1e-5)


def test_a_plane_is_learned_exactly_whatever_the_scaling_of_affine_spaces(make_problem):
    X, _, Q = make_problem()
    plane = np.array([3.0, -2.0, 0.5])
    for scaling in [None, "standard"]:
        model = FALLRegressor(5, anchor_alpha=0.0, scaling=scaling, random_state=0)
        told = model.fit(X, X @ plane + 7).explain(Q * 100)
        assert_allclose(told.coef[:, :, 0], np.tile(plane, (len(Q), 1)), atol=1e-9)
        assert_allclose(told.intercept[:, 0], 7, atol=1e-9)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_prediction_continues_linearly_far_outside_the_data(make_problem, scaling):
    X, y, _ = make_problem()
    model = FALLRegressor(10, n_neighbors=1, scaling=scaling, random_state=0).fit(X, y)
    start = X[X[:, 0].argmax()]
    steps = np.array([1e3, 2e3, 3e3, 4e3])
    line = start + steps[:, None] * np.array([1.0, 0.5, 0.1])
    assert len(np.unique(model.explain(line).neighbors)) == 1
    difference = np.diff(model.predict(line))
    assert np.abs(difference).min() > 0
    assert_allclose(difference, difference[0], rtol=1e-9)
