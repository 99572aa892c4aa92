"""Real processes: a lost worker costs time, not the answer; and what workers are sent."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import locallinear as ll

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
from locallinear import dask as on_dask  # noqa: E402

OPTIONS = {"n_anchors": 10, "random_state": 0}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="1GiB"
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
