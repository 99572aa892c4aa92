"""How many threads matrix products use."""

from functools import cache

from threadpoolctl import ThreadpoolController


def one_blas_thread():
    """A context in which a matrix product uses one thread.

    Products of a chunk are small: threads of their own cost more than they give, and on a busy
    machine wait for each other many times longer than the product takes.
    """
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
