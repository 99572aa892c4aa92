"""A search on a sample, the model on all samples; cells in other processes."""

import sys

import numpy as np
import pytest
from joblib import parallel_config

import locallinear as ll
from locallinear.runtime.budgets import Budget
from locallinear.runtime.threads import processes_chosen
from locallinear.search.planning import SearchSamples
from locallinear.search.processes import SearchElsewhere, score_elsewhere

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
from locallinear import dask as on_dask  # noqa: E402

GRID = {"n_anchors": [4, 12], "n_neighbors": [3, 6], "scaling": ["standard", "quantile"]}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def problem():
    X = np.random.default_rng(0).normal(size=(150, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def cut(values):
    return da.from_array(values, chunks=(60, *values.shape[1:]))


def test_all_samples_as_the_sample_give_the_search_of_the_local_model(problem):
    X, y = problem
    on_cluster = on_dask.FALLRegressorCV(GRID, random_state=0).fit(cut(X), cut(y))
    local = ll.FALLRegressorCV(GRID, random_state=on_cluster.search_.random_state).fit(X, y)
    assert on_cluster.best_params_ == local.best_params_
    assert on_cluster.best_score_ == local.best_score_
    np.testing.assert_allclose(on_cluster.predict(cut(X)).compute(), local.predict(X))
    np.testing.assert_allclose(on_cluster.to_local().predict(X), local.predict(X))


def test_a_sample_chooses_and_all_samples_are_fitted(problem):
    X, y = problem
    search = on_dask.FALLRegressorCV(GRID, max_samples=50, random_state=0).fit(cut(X), cut(y))
    assert search.search_.best_estimator_.n_samples_fit_ == 50
    assert search.best_estimator_.n_samples_fit_ == 150
    model = ll.FALLRegressor(**search.best_estimator_.get_params()).fit(X, y)
    np.testing.assert_allclose(search.predict(cut(X)).compute(), model.predict(X))


def test_samples_with_weight_choose_where_not_all_can(problem):
    X, y = problem
    weights = np.arange(150) % 3 // 2 * 2.0
    search = on_dask.FALLRegressorCV(GRID, max_samples=60, random_state=0)
    search.fit(cut(X), cut(y), cut(weights))
    assert search.search_.best_estimator_.n_samples_fit_ == 50
    assert search.search_.best_estimator_.total_weight == 100
    assert search.best_estimator_.n_samples_fit_ == 150


def test_probabilities_of_a_search_on_dask_are_calibrated(problem, path):
    X, y = problem
    labels = np.where(y > 0, "up", "down")
    search = on_dask.FALLClassifierCV(GRID, random_state=0).fit(cut(X), cut(labels))
    local = ll.FALLClassifierCV(GRID, random_state=search.search_.random_state).fit(X, labels)
    found = search.predict_proba(cut(X)).compute()
    np.testing.assert_allclose(found, local.predict_proba(X))
    assert search.score(cut(X), cut(labels)) == local.score(X, labels)
    search.save(path)
    np.testing.assert_allclose(ll.load(path).predict_proba(X), found)


def test_grids_by_name_have_only_what_a_cluster_can_do(problem):
    X, y = problem
    search = on_dask.FALLRegressorCV(max_samples=60, time_budget=0.01, random_state=0)
    tried = set(search.fit(cut(X), cut(y)).cv_results_["param_neighborhood"])
    assert tried == {"euclidean", "learned"}


def test_threads_are_used_unless_processes_are_chosen():
    assert not processes_chosen()
    with parallel_config("threading"):
        assert not processes_chosen()
    with parallel_config("loky"):
        assert processes_chosen()


def test_a_cell_that_is_scored_elsewhere_is_sent_large_and_returns_its_scores(problem):
    X, y = problem
    search = ll.FALLRegressorCV(GRID, random_state=0)
    splits = [(np.arange(75), np.arange(75, 150))]
    samples = SearchSamples(X, y, None, 0)
    scored, _ = search.run_search(samples, splits, Budget(None), float, thin=False)
    elsewhere = SearchElsewhere(scored.grid, scored.splits, scored.metrics)
    assert sys.getsizeof(elsewhere) > X.nbytes  # so that Dask sends it once
    cell = scored.cells()[0]
    names, ((position, scores, reasons),) = score_elsewhere(elsewhere, cell, np.inf)
    where = tuple(position.get(name, slice(None)) for name in scored.axes)
    np.testing.assert_array_equal(scores, scored.scores[(slice(None), *where)])
    assert names[0] == ""
    assert not reasons.any()
