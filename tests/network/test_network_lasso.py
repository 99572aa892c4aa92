import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import lstsq
from scipy.stats import ortho_group
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import kneighbors_graph

from locallinear.network.graph import neighbor_graph
from locallinear.network.localized_lasso import LocalizedLassoRegressor
from locallinear.network.network_lasso import NetworkLassoRegressor
from reference_network import (
    as_published,
    convex,
    edges_of,
    objective,
    planted,
    random_graph,
    reweighted,
)
from sklearn_checks import check_all

ESTIMATORS = [NetworkLassoRegressor, LocalizedLassoRegressor]


def models_of(model):
    if not model.fit_intercept:
        return model.coef_
    return np.concatenate([model.coef_, model.intercept_[:, None]], axis=1)


def design(model, X):
    return np.column_stack([X, np.ones(len(X))]) if model.fit_intercept else X


def make_model(exclusive_alpha, alpha, **parameters):
    if exclusive_alpha:
        return LocalizedLassoRegressor(alpha, exclusive_alpha, **parameters)
    return NetworkLassoRegressor(alpha, **parameters)


# Oracle


@pytest.mark.parametrize("exclusive_alpha", [0, 0.05, 2.0])
@pytest.mark.parametrize("alpha", [0.003, 0.3, 30.0])
@pytest.mark.parametrize(
    ("n", "d", "m", "fit_intercept"), [(12, 1, 2, True), (30, 5, 1, False), (25, 3, 3, True)]
)
def test_objective_is_the_optimum_of_an_independent_solver(
    exclusive_alpha, alpha, n, d, m, fit_intercept
):
    rng = np.random.default_rng(n)
    X, y, graph = rng.normal(size=(n, d)), rng.normal(size=(n, m)), random_graph(rng, n)
    model = make_model(exclusive_alpha, alpha, fit_intercept=fit_intercept, tol=1e-6)
    model.fit(X, y, graph)
    arguments = (design(model, X), y, *edges_of(graph), alpha, exclusive_alpha)
    penalised = np.arange(d + fit_intercept) < d
    optimum = convex(*arguments, penalised)
    assert model.objective_ == pytest.approx(
        objective(models_of(model), *arguments, penalised), rel=1e-10
    )
    assert model.objective_ <= optimum + 1e-5 * max(optimum, 1e-4)
    assert model.objective_ - model.duality_gap_ <= optimum + 1e-6


def test_optimality_conditions_hold():
    # Away from fused edges the objective is smooth: summed over a fused group, the gradient of
    # the data and of the edges that leave the group vanishes.
    X, y, graph, _, _ = planted(np.random.default_rng(0))
    y = y + np.random.default_rng(1).normal(size=len(y))
    model = NetworkLassoRegressor(0.5, fit_intercept=False, tol=1e-9).fit(X, y, graph)
    W = model.coef_[:, :, 0]
    (heads, tails), weights = edges_of(graph)
    D = W[heads] - W[tails]
    lengths = np.linalg.norm(D, axis=1)
    flows = 0.5 * weights[:, None] * D / np.where(lengths > 0, lengths, 1)[:, None]
    gradient = -2 * X * (y - (X * W).sum(axis=1))[:, None]
    np.add.at(gradient, heads, flows)
    np.subtract.at(gradient, tails, flows)
    sums = np.zeros_like(gradient)
    np.add.at(sums, model.labels_, gradient)
    assert 1 < np.unique(model.labels_).size < len(X)
    assert np.abs(sums).max() < 1e-3 * np.abs(X * y[:, None]).max()


@pytest.mark.parametrize("exclusive_alpha", [0, 0.1])
def test_objective_is_below_that_of_ten_reweighted_iterations(exclusive_alpha):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=(60, 1))
    model = make_model(exclusive_alpha, 0.5, fit_intercept=False).fit(X, y)
    node, edges, weights = neighbor_graph(X, 5)
    edges = tuple(np.argsort(node)[ends] for ends in edges)
    arguments = (X, y, edges, weights, 0.5, exclusive_alpha)
    assert model.objective_ <= objective(reweighted(*arguments), *arguments)


@pytest.mark.parametrize("exclusive_alpha", [0, 0.1])
def test_the_published_form_of_the_reweighted_iteration_is_the_direct_one(exclusive_alpha):
    rng = np.random.default_rng(0)
    X, y, graph = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), random_graph(rng, 30)
    problem = (X, y, *edges_of(graph), 0.5, exclusive_alpha)
    direct, published = reweighted(*problem), reweighted(*problem, solve=as_published)
    assert objective(published, *problem) == pytest.approx(objective(direct, *problem), rel=1e-6)


# Limits


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_small_alpha_interpolates(fit_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    model = NetworkLassoRegressor(1e-7, fit_intercept=fit_intercept).fit(X, y)
    assert np.einsum("id,idm->im", X, model.coef_) + model.intercept_ == pytest.approx(y, abs=1e-5)
    assert model.predict(X) == pytest.approx(y, abs=1e-5)


def test_large_alpha_is_least_squares_in_every_component():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    part = np.repeat([0, 1, 2], 20)
    graph = sparse.csr_array((part[:, None] == part).astype(float))
    model = NetworkLassoRegressor(1e5, tol=1e-8).fit(X, y, graph)
    assert np.unique(model.labels_).size == 3
    for g in range(3):
        expected = lstsq(design(model, X[part == g]), y[part == g])[0]
        assert models_of(model)[part == g] == pytest.approx(np.tile(expected, (20, 1, 1)), abs=1e-6)


def test_large_alpha_on_a_connected_graph_is_one_least_squares_model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    graph = kneighbors_graph(X, 10)
    model = NetworkLassoRegressor(1e5, tol=1e-8).fit(X, y, graph.maximum(graph.T))
    assert np.ptp(model.coef_, axis=0).max() == 0
    assert models_of(model)[0, :, 0] == pytest.approx(lstsq(design(model, X), y)[0], abs=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_isolated_sample_gets_the_model_that_fits_it_nearest_to_that_of_all_samples(
    fit_intercept,
):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 3)), rng.normal(size=10)
    graph = sparse.lil_array((10, 10))
    graph[0, 1] = graph[1, 0] = 1
    model = NetworkLassoRegressor(fit_intercept=fit_intercept).fit(X, y, graph.tocsr())
    rows = design(model, X)
    of_all = lstsq(rows, y)[0]
    expected = of_all + rows[5] * (y[5] - rows[5] @ of_all) / (rows[5] @ rows[5])
    assert models_of(model)[5, :, 0] == pytest.approx(expected, rel=1e-6)


def test_constant_target_is_fitted_with_intercepts_alone():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = NetworkLassoRegressor().fit(X, np.full(30, 4.0))
    assert np.unique(model.labels_).size == 1
    assert model.predict(X + 5) == pytest.approx(np.full(30, 4.0), abs=1e-6)


@pytest.mark.parametrize("exclusive_alpha", [0, 0.1])
def test_a_target_that_one_model_fits_exactly_is_fitted_to_tol(exclusive_alpha):
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = make_model(exclusive_alpha, 1.0).fit(X, 3 * X[:, 1])
    assert model.duality_gap_ <= 1e-4 * max(model.objective_, 1e-2)
    assert model.coef_[:, 1] == pytest.approx(3, abs=0.01 + 4 * exclusive_alpha)


def test_one_sample_and_fewer_samples_than_neighbors_work():
    assert NetworkLassoRegressor().fit([[1.0, 2.0]], [3.0]).predict([[1.0, 2.0]]) == pytest.approx(
        3
    )
    model = NetworkLassoRegressor(1e-6).fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    assert model.predict([[0.0], [1.0]]) == pytest.approx([0, 1], abs=1e-4)


def test_identical_rows_share_a_model_that_fits_their_mean():
    X = np.array([[0.0], [0.0], [1.0], [2.0]])
    y = np.array([1.0, 3.0, 2.0, 2.0])
    model = NetworkLassoRegressor(1e-6).fit(X, y)
    assert model.labels_[0] == model.labels_[1]
    assert model.predict([[0.0]]) == pytest.approx(2, abs=1e-4)
    assert model.objective_ == pytest.approx(2, abs=1e-4)


@pytest.mark.parametrize("exclusive_alpha", [0, 0.1])
@pytest.mark.parametrize("value", [0.0, 1.0, 100.0])
def test_a_constant_target_has_one_group_per_component(exclusive_alpha, value):
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = make_model(exclusive_alpha, 1.0).fit(X, np.full(100, value))
    assert set(model.labels_) == {0}
    assert model.predict(X) == pytest.approx(np.full(100, value), abs=1e-3 * value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X, y: (X * 1e-170, y), "column 0 of X must hold numbers of at least"),
        (lambda X, y: (X * 1e160, y), "X must hold numbers of at most"),
        (lambda X, y: (X, y * 1e-170), "column 0 of y must hold numbers of at least"),
        (lambda X, y: (X, y * 1e160), "y must hold numbers of at most"),
        (lambda X, y: (X, y, 1e200 * (np.ones((60, 60)))), "alpha times the weights of the graph"),
        (lambda X, y: (X, y, np.ones(60)), "graph must be a sparse matrix or an array"),
        (lambda X, y: (X, y, "knn"), "graph must be a sparse matrix or an array"),
        (lambda X, y: (X, ["low"] * 60), "y must hold numbers, but holds text, such as 'low'"),
    ],
)
def test_what_cannot_be_solved_is_refused_in_words(change, sentence):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match=sentence):
        NetworkLassoRegressor().fit(*change(X, X[:, 0]))


def test_a_huge_alpha_is_refused():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match="alpha times the weights"):
        NetworkLassoRegressor(1e300).fit(X, X[:, 0])


def test_a_stalled_fit_does_not_ask_for_more_steps():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning, match="rounding ends the progress; increase tol"):
        NetworkLassoRegressor(tol=1e-15).fit(X, np.abs(X[:, 0]))
    with pytest.warns(ConvergenceWarning, match="after 2 steps; increase max_iter or tol"):
        NetworkLassoRegressor(max_iter=2).fit(X, np.abs(X[:, 0]))


# What the method is for


@pytest.mark.parametrize("alpha", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_planted_groups_are_recovered_exactly(alpha, seed):
    X, y, graph, groups, coef = planted(np.random.default_rng(seed))
    model = NetworkLassoRegressor(alpha).fit(X, y, graph)
    same = model.labels_[:, None] == model.labels_
    assert np.array_equal(same, groups[:, None] == groups)
    for g in range(3):
        assert np.ptp(model.coef_[groups == g], axis=0).max() == 0
        assert model.coef_[groups == g][0, :, 0] == pytest.approx(coef[g], abs=0.5)


def test_localized_lasso_recovers_the_support_of_every_group():
    # The example of the localized lasso's paper: few active features in each group of samples,
    # different ones across groups.
    supports = [[0, 1], [2, 3], [0, 4]]
    X, y, graph, groups, _ = planted(
        np.random.default_rng(0), size=30, d=10, supports=supports, weight_across=0.01
    )
    y = y + 0.05 * np.random.default_rng(1).normal(size=len(y))
    model = LocalizedLassoRegressor(2.0, 0.2, fit_intercept=False).fit(X, y, graph)
    for g, support in enumerate(supports):
        active = np.flatnonzero(model.coef_[groups == g].any(axis=(0, 2)))
        assert active.tolist() == support


def test_labels_are_exactly_the_equal_models_of_connected_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    model = NetworkLassoRegressor(0.3).fit(X, y)
    assert 1 < np.unique(model.labels_).size < 80
    for label in np.unique(model.labels_):
        assert np.ptp(models_of(model)[model.labels_ == label], axis=0).max() == 0
    distinct = np.unique(models_of(model)[:, :, 0], axis=0)
    assert len(distinct) == np.unique(model.labels_).size


# Invariances

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=10, deadline=None)


def draw(seed, exclusive_alpha=0.0):
    rng = np.random.default_rng(seed)
    n, d, m = rng.integers(5, 25), rng.integers(1, 4), rng.integers(1, 3)
    data = rng.normal(size=(n, d)), rng.normal(size=(n, m)), random_graph(rng, n, 0.3)
    alpha = 10 ** rng.uniform(-2, 1)
    return rng, alpha, make_model(exclusive_alpha, alpha, fit_intercept=False, tol=1e-7), data


@few
@given(seed=seeds, exclusive_alpha=st.sampled_from([0.0, 0.3]))
def test_node_order_does_not_matter(seed, exclusive_alpha):
    rng, _, model, (X, y, graph) = draw(seed, exclusive_alpha)
    order = rng.permutation(len(X))
    value = model.fit(X, y, graph).objective_
    shuffled = model.fit(X[order], y[order], graph[order][:, order]).objective_
    assert shuffled == pytest.approx(value, rel=2e-7)


@pytest.mark.parametrize("given_graph", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_groups_and_models_do_not_depend_on_the_order_of_the_samples(seed, given_graph):
    rng = np.random.default_rng(seed)
    X, y, graph, _, _ = planted(rng)
    y = y + rng.normal(size=len(y))
    order = rng.permutation(len(X))
    graphs = (graph, graph[order][:, order]) if given_graph else (None, None)
    model = NetworkLassoRegressor(1.0).fit(X, y, graphs[0])
    labels, models = model.labels_, models_of(model)
    assert 1 < labels.max() + 1 < len(X)
    shuffled = NetworkLassoRegressor(1.0).fit(X[order], y[order], graphs[1])
    assert np.array_equal(
        shuffled.labels_[:, None] == shuffled.labels_, (labels[:, None] == labels)[order][:, order]
    )
    assert models_of(shuffled) == pytest.approx(models[order], abs=1e-6)
    assert shuffled.labels_[0] == 0


@few
@given(seed=seeds, factor=st.floats(0.01, 100))
def test_weights_up_and_alpha_down_is_the_same_problem(seed, factor):
    _, alpha, model, (X, y, graph) = draw(seed)
    value = model.fit(X, y, graph).objective_
    model.set_params(alpha=alpha / factor)
    assert model.fit(X, y, graph * factor).objective_ == pytest.approx(value, rel=2e-7)


@few
@given(seed=seeds, factor=st.floats(0.01, 100))
def test_scaling_y_and_alpha_scales_the_models(seed, factor):
    _, alpha, model, (X, y, graph) = draw(seed)
    value = model.fit(X, y, graph).objective_
    model.set_params(alpha=alpha * factor)
    scaled = model.fit(X, y * factor, graph).objective_
    assert scaled == pytest.approx(value * factor**2, rel=2e-7)


@few
@given(seed=seeds)
def test_rotating_the_features_changes_nothing(seed):
    rng, _, model, (X, y, graph) = draw(seed)
    rotation = ortho_group.rvs(X.shape[1], random_state=rng) if X.shape[1] > 1 else -np.eye(1)
    value = model.fit(X, y, graph).objective_
    assert model.fit(X @ rotation, y, graph).objective_ == pytest.approx(value, rel=2e-7)


def test_units_matter():
    rng = np.random.default_rng(0)
    X, y, graph = rng.normal(size=(30, 2)), rng.normal(size=30), random_graph(rng, 30)
    model = NetworkLassoRegressor(0.1, fit_intercept=False)
    value = model.fit(X, y, graph).objective_
    assert model.fit(X * [1, 100], y, graph).objective_ != pytest.approx(value, rel=1e-2)


# Equivalences


def test_localized_lasso_without_its_norm_is_the_network_lasso():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    network = NetworkLassoRegressor(0.2).fit(X, y)
    localized = LocalizedLassoRegressor(0.2, 0.0).fit(X, y)
    assert np.array_equal(network.coef_, localized.coef_)


@pytest.mark.parametrize("shape", [(60,), (60, 2)])
def test_warm_start_reaches_the_same_optimum_along_a_path(shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=shape)
    warm = NetworkLassoRegressor(warm_start=True, tol=1e-6)
    for alpha in [10, 1, 0.1]:
        warm.set_params(alpha=alpha).fit(X, y)
        cold = NetworkLassoRegressor(alpha, tol=1e-6).fit(X, y)
        assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-6)
    again = warm.fit(X, y)
    assert again.n_iter_ <= cold.n_iter_


def test_a_column_and_a_vector_target_differ_in_shape_only():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    vector, column = NetworkLassoRegressor().fit(X, y), NetworkLassoRegressor().fit(X, y[:, None])
    assert np.array_equal(vector.coef_, column.coef_)
    assert vector.predict(X).shape == (30,)
    assert column.predict(X).shape == (30, 1)


# Conventions and errors


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scikit_learn_checks_pass(estimator):
    check_all(estimator.__name__, {})


def test_importing_the_estimators_does_not_import_numba():
    code = "import sys, locallinear.network.localized_lasso; sys.exit('numba' in sys.modules)"
    root = str(Path(__file__).parents[2] / "src")
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    run = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    assert run.returncode == 0


def test_stopping_short_of_tol_warns_what_to_do():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        NetworkLassoRegressor(0.1, max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"alpha": 0},
        {"alpha": -1},
        {"n_neighbors": 0},
        {"max_iter": 0},
        {"tol": 0},
        {"fit_intercept": "no"},
    ],
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_bad_parameters_are_refused(estimator, parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        estimator(**parameters).fit([[0.0], [1.0]], [0.0, 1.0])
