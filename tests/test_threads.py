"""The number of threads of matrix products, which belongs to the whole process."""

from threadpoolctl import threadpool_info, threadpool_limits

from locallinear._threads import one_blas_thread


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
