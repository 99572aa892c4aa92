"""Interrupts from the keyboard: that they stay what they are, and end what they should end."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class InterruptedWarning(UserWarning):
    """A fit was interrupted from the keyboard, and the best so far is kept."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Context for calls of compiled code in which an interrupt stays a KeyboardInterrupt.

    Python notes an interrupt that came while compiled code ran when numba makes objects of the
    results, and then complains by a SystemError that a call has both returned and failed.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__
        if cause is None:
            raise
        raise KeyboardInterrupt from error


@contextmanager
def interrupts_end_it() -> Iterator[None]:
    """Context in which an interrupted fit is no result: it ends what runs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", InterruptedWarning)
            yield
    except InterruptedWarning as interruption:
        raise KeyboardInterrupt from interruption
