"""The number of threads that computations use."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TypeVar

from joblib.parallel import get_active_backend
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")

_lock = threading.Lock()
# The limit in force, once per `one_blas_thread` context that is open in any thread.
_open_limits: list = []


def all_threads() -> int:
    """Number of threads that scikit-learn's compiled loops use, within OMP_NUM_THREADS.

    In a worker process of joblib, this is the share of the processors that the worker has.
    """
    return _openmp_effective_n_threads()


def processes_chosen() -> bool:
    """Whether work is to be spread over processes: joblib.parallel_config("dask"), for example."""
    backend, _ = get_active_backend(prefer="threads")  # what is preferred gives way to a choice
    return not getattr(backend, "supports_sharedmem", False)


# Fewer rows than this are done before a second thread has started.
MIN_ROWS = 32


def thread_parts(n_rows: int, n_threads: int, most: int | None = None) -> list[slice]:
    """Rows in parts of about the same size: one per thread, or more if a part has `most` rows."""
    step = max(MIN_ROWS, -(-n_rows // n_threads))
    if most is not None:
        step = min(step, most)
    return [slice(start, start + step) for start in range(0, max(n_rows, 1), step)]


def in_threads(function: Callable[[T], R], items: Sequence[T], n_threads: int) -> list[R]:
    """What a function returns for each item, computed in at most so many threads."""
    n_threads = min(n_threads, len(items))
    if n_threads <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, items))


def one_blas_thread_for(n_rows: int) -> AbstractContextManager[None]:
    """As `one_blas_thread`, for matrix products with so many rows.

    Few rows are done before a second thread has started, and sooner than the number is set.
    """
    return nullcontext() if n_rows < MIN_ROWS else one_blas_thread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which each matrix product uses one thread.

    The products of one chunk are small: more threads cost more time than they save, and on a busy
    machine the threads wait for each other much longer than the product takes.

    The number of threads belongs to the whole process. The first context to open sets it and the
    last one to close restores it: if each context did so, contexts in several threads would
    restore each other's setting.
    """
    with _lock:
        limit = _open_limits[0] if _open_limits else _controller().limit(limits=1, user_api="blas")
        _open_limits.append(limit)
    try:
        yield
    finally:
        with _lock:
            limit = _open_limits.pop()
            if not _open_limits:
                limit.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
