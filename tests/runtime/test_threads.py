"""The number of threads: of matrix products, which belongs to the process, and of searches."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_info, threadpool_limits

from locallinear import FALLRegressor
from locallinear.explain.judging import judge
from locallinear.runtime import threads
from locallinear.runtime.threads import all_threads, one_blas_thread


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


def test_contexts_that_overlap_leave_the_number_of_threads_as_it_was():
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_models_are_compared_with_one_thread_each():
    class Watcher(DummyRegressor):
        def predict(self, X):
            used.append(blas_threads())
            return super().predict(X)

    used = []
    X = np.arange(20.0)[:, None]
    with threadpool_limits(limits=2, user_api="blas"):
        judge({"watcher": Watcher()}, X, X[:, 0], list(KFold(2).split(X)), classify=False)
    assert used == [{1}, {1}]


@pytest.mark.parametrize(("n_jobs", "expected"), [(1, 1), (3, 3), (None, all_threads())])
def test_a_search_uses_as_many_threads_as_n_jobs_says(monkeypatch, n_jobs, expected):
    asked = [1]

    class Pool(ThreadPoolExecutor):
        def __init__(self, n_threads):
            asked.append(n_threads)
            super().__init__(n_threads)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Pool)
    X = np.random.default_rng(0).normal(size=(1000, 30))
    model = FALLRegressor(neighborhood="learned", n_jobs=n_jobs, random_state=0)
    model.fit(X, X[:, 0]).predict(X)
    assert max(asked) == expected


def test_n_jobs_can_be_set_after_the_fit(monkeypatch):
    def no_pool(n_threads):
        raise AssertionError("one thread needs no pool")

    X = np.random.default_rng(0).normal(size=(1000, 30))
    model = FALLRegressor(n_jobs=2, random_state=0).fit(X, X[:, 0])
    expected = model.predict(X)
    monkeypatch.setattr(threads, "ThreadPoolExecutor", no_pool)
    assert_array_equal(model.set_params(n_jobs=1).predict(X), expected)


def test_all_threads_are_those_that_scikit_learn_may_use():
    with threadpool_limits(limits=1, user_api="openmp"):
        assert all_threads() == 1
