"""Packages that only some of the library needs: imported when asked for, by name where missing."""

from importlib import import_module
from types import ModuleType


class MissingExtraError(ModuleNotFoundError):
    """A package that is not installed; the message says how to install it."""


def extra(module: str, name: str, what: str) -> ModuleType:
    """A module of an optional package.

    Parameters
    ----------
    module : str
        What to import, such as "matplotlib.pyplot".
    name : str
        The extra that installs it: ``pip install 'locallinear[name]'``.
    what : str
        What cannot be had without it, in the plural, to start a sentence with.

    Examples
    --------
    >>> extra("json", "report", "Reports").__name__
    'json'
    >>> extra("jsonx", "report", "Reports")
    Traceback (most recent call last):
    locallinear.runtime.extras.MissingExtraError: Reports need jsonx: ...'locallinear[report]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).split(".")[0]
        raise MissingExtraError(
            f"{what} need {package}: pip install 'locallinear[{name}]'", name=error.name
        ) from error
