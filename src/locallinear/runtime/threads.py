"""How many threads are used."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside: list = []  # the limit that is in force, once for each context that is in it


def all_threads() -> int:
    """As many as scikit-learn's own brute force uses, within what OMP_NUM_THREADS allows.

    In the worker processes of joblib that is each one's share of the processors.
    """
    return _openmp_effective_n_threads()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which a matrix product uses one thread.

    Products of a chunk are small: threads of their own cost more than they give, and on a busy
    machine wait for each other many times longer than the product takes.

    The number of threads belongs to the process. So the first to come in sets it and the last to
    leave sets it back; if each did, contexts of several threads would set back each other's.
    """
    with _lock:
        _inside.append(_inside[0] if _inside else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _inside.pop()
            if not _inside:
                limit.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
