"""Real processes: a lost worker costs time, not the answer; and what workers are sent."""

import gc
import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import locallinear as ll

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
from locallinear import dask as on_dask  # noqa: E402

OPTIONS = {"n_anchors": 10, "random_state": 0}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GiB"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    Q = rng.normal(size=(40, 3))
    return X, y, Q, ll.FALLRegressor(**OPTIONS).fit(X, y).predict(Q)


def slowly(values):
    """A Dask array whose blocks take a while, so that a worker can be lost in the middle."""

    def wait(block):
        time.sleep(0.2)
        return block

    whole = da.from_array(values, chunks=(len(values) // 4, *values.shape[1:]))
    return whole.map_blocks(wait, dtype=values.dtype)


def while_a_worker_dies(client, call):
    """What a call returns, though a worker is killed once some task of the call has a result."""
    before = set(client.run_on_scheduler(finished))
    pids, ended, killed = list(client.run(os.getpid).values()), threading.Event(), []

    def kill():
        while not ended.is_set():
            if set(client.run_on_scheduler(finished)) - before:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(not ended.is_set())
                return

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = call()
    finally:
        ended.set()
        killer.join()
    assert killed == [True]
    return found


def finished(dask_scheduler):
    return [key for key, task in dask_scheduler.tasks.items() if task.state == "memory"]


@pytest.mark.filterwarnings("ignore")  # Dask says that it lost a worker
def test_a_worker_that_dies_during_fit_and_during_predict_changes_nothing(client, problem):
    X, y, Q, wanted = problem
    model = on_dask.FALLRegressor(**OPTIONS)
    while_a_worker_dies(client, lambda: model.fit(slowly(X), slowly(y)))
    client.wait_for_workers(2)
    found = while_a_worker_dies(client, lambda: model.predict(slowly(Q)).compute())
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_cells_and_members_that_a_cluster_computes_are_those_of_threads(client, problem):
    X, y, Q, _ = problem
    grid = {"n_anchors": [3, 9], "scaling": ["standard", None], "fit_intercept": [True, False]}
    search = ll.FALLRegressorCV(grid, random_state=0)
    ensemble = ll.FALLEnsembleRegressor(3, search=grid, random_state=0)
    wanted = [clone(model).fit(X, y) for model in (search, ensemble)]
    client.wait_for_workers(2)  # with a single one, joblib computes here
    with joblib.parallel_config("dask"):
        found = [clone(model).fit(X, y) for model in (search, ensemble)]
    scores = [model.cv_results_["mean_test_score"] for model in (found[0], wanted[0])]
    np.testing.assert_array_equal(*scores)
    for model, same in zip(found, wanted, strict=True):
        assert model.best_params_ == same.best_params_
        np.testing.assert_array_equal(model.predict(Q), same.predict(Q))
    assert any(client.run(has_scored).values())


def has_scored():
    """Whether a cell was scored in this process."""
    from locallinear.search import processes

    return len(processes._at_hand) == 1


@pytest.mark.parametrize(
    "model",
    [
        ll.FALLRegressorCV({"n_anchors": [3, 9], "scaling": ["standard", None]}, random_state=0),
        ll.FALLEnsembleRegressor(
            4, n_neighborhoods=4, search=None, estimator=ll.FALLRegressor(3), random_state=0
        ),
    ],
    ids=["search", "ensemble"],
)
def test_samples_are_sent_to_a_cluster_once_for_all_cells_or_members(client, monkeypatch, model):
    X = np.random.default_rng(0).normal(size=(2000, 5))
    sent, scatter = [], distributed.Client.scatter

    def counting(self, data, *args, **kwargs):
        sent.append(dask.sizeof.sizeof(data))
        return scatter(self, data, *args, **kwargs)

    monkeypatch.setattr(distributed.Client, "scatter", counting)
    client.wait_for_workers(2)
    with joblib.parallel_config("dask"):
        model.fit(X, X[:, 0])
    assert sum(n_bytes >= X.nbytes for n_bytes in sent) == 1
    assert sum(sent) < 10 * X.nbytes


def test_a_model_that_is_fitted_while_a_cluster_is_chosen_is_the_same(client, problem):
    X, y, _, _ = problem
    options = OPTIONS | {"assignment_neighbors": 3}
    wanted = ll.FALLRegressor(**options).fit(X, y).labels_
    with joblib.parallel_config("dask"):
        np.testing.assert_array_equal(ll.FALLRegressor(**options).fit(X, y).labels_, wanted)


def test_predictions_can_be_computed_after_the_model_is_gone(client, problem):
    X, y, Q, wanted = problem
    arrays = (da.from_array(each, chunks=(120, *each.shape[1:])) for each in (X, y))
    lazy = on_dask.FALLRegressor(**OPTIONS).fit(*arrays).predict(da.from_array(Q))
    gc.collect()
    np.testing.assert_allclose(lazy.compute(), wanted, rtol=1e-9)
