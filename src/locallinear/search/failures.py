"""Failures of functions that a user passed to a search."""


class Failure(str):
    """Why a configuration has no score, as text, with the exception that was raised.

    A traceback keeps alive all that its frames have seen, so it begins where this library called
    the user's function, and the results of a search have the text alone.
    """

    error: Exception

    @classmethod
    def of(cls, what: str, error: Exception) -> "Failure":
        """The failure of `what` by an exception."""
        failure = cls(f"{what} failed with {type(error).__name__}: {error}")
        trace, package = error.__traceback__, __name__.split(".")[0]
        while trace and trace.tb_next and trace.tb_frame.f_globals["__name__"].startswith(package):
            trace = trace.tb_next
        failure.error = error.with_traceback(trace)
        return failure
