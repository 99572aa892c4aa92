"""Failures of functions that a user passed to a search."""

from typing import Any


class Failure(str):
    """Why a configuration has no score, as text, with the exception that was raised.

    Files and copies keep the text alone: an exception holds on to everything that it has seen.
    """

    __slots__ = ("error",)

    error: Exception

    @classmethod
    def of(cls, what: str, error: Exception) -> "Failure":
        """The failure of `what` by an exception."""
        failure = cls(f"{what} failed with {type(error).__name__}: {error}")
        failure.error = error
        return failure

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)
