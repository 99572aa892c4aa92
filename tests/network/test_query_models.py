import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from locallinear import NetworkLassoRegressor
from reference_network import planted


def models_of(model):
    return np.concatenate([model.coef_, model.intercept_[:, None]], axis=1)


# Oracle


def test_prediction_is_the_query_model_applied():
    rng = np.random.default_rng(0)
    X, y, Q = rng.normal(size=(50, 3)), rng.normal(size=(50, 2)), rng.normal(size=(20, 3))
    model = NetworkLassoRegressor(0.1).fit(X, y)
    models = model.query_models(Q)
    assert models.shape == (20, 4, 2)
    expected = np.einsum("qd,qdm->qm", Q, models[:, :-1]) + models[:, -1]
    assert model.predict(Q) == pytest.approx(expected)


@pytest.mark.parametrize("n_neighbors", [1, 4])
def test_neighbors_by_default_are_the_nearest_with_weights_of_inverse_distance(n_neighbors):
    rng = np.random.default_rng(0)
    X, y, Q = rng.normal(size=(50, 3)), rng.normal(size=50), rng.normal(size=(20, 3))
    model = NetworkLassoRegressor(0.1, n_neighbors=n_neighbors).fit(X, y)
    graph = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors_graph(Q, mode="distance")
    graph.data = 1 / graph.data
    assert model.query_models(Q) == pytest.approx(model.query_models(Q, graph), abs=1e-6)


# Limits


def test_a_query_whose_neighbors_share_a_model_gets_it_exactly():
    X, y, graph, groups, _ = planted(np.random.default_rng(0))
    model = NetworkLassoRegressor(1.0, fit_intercept=False).fit(X, y, graph)
    links = sparse.csr_array((groups == 1)[None].astype(float))
    models = model.query_models(np.ones((1, 4)), links)
    assert np.array_equal(models[0, :-1], model.coef_[groups == 1][0])


def test_a_query_without_neighbors_gets_the_mean_model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    model = NetworkLassoRegressor().fit(X, y)
    models = model.query_models(np.ones((3, 2)), sparse.csr_array((3, 20)))
    assert models[2] == pytest.approx(models_of(model).mean(axis=0))


def test_a_training_row_is_predicted_by_its_own_model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    model = NetworkLassoRegressor(0.05).fit(X, y)
    own = np.einsum("id,idm->im", X, model.coef_) + model.intercept_
    assert model.predict(X) == pytest.approx(own[:, 0])


# Equivalences


def test_predictions_do_not_change_with_parameters_of_the_next_fit():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = NetworkLassoRegressor().fit(X, X[:, 0] + 1)
    before = model.predict(X + 0.1)
    model.set_params(fit_intercept=False, n_neighbors=1)
    assert (model.predict(X + 0.1) == before).all()


# Errors


def test_huge_queries_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = NetworkLassoRegressor().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="X must hold numbers of at most"):
        model.predict(X * 1e160)


def test_bad_query_graphs_are_refused():
    X = np.arange(8.0).reshape(4, 2)
    model = NetworkLassoRegressor().fit(X, np.arange(4.0))
    with pytest.raises(ValueError, match=r"each of the 2 queries and a column for each of the 4"):
        model.predict(X[:2], np.ones((2, 3)))
    with pytest.raises(ValueError, match="graph must hold weights that are not negative"):
        model.predict(X[:2], -np.ones((2, 4)))
