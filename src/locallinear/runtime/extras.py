"""Optional packages: imported when they are needed, with a clear error where they are missing."""

from importlib import import_module
from types import ModuleType


class MissingExtraError(ModuleNotFoundError):
    """An optional package is not installed; the message says how to install it."""


def extra(module: str, name: str, what: str) -> ModuleType:
    """Import a module of an optional package.

    Parameters
    ----------
    module : str
        The module, such as "matplotlib.pyplot".
    name : str
        The extra that installs it: ``pip install 'locallinear[name]'``.
    what : str
        What needs the package, in the plural: the first word of the error message.

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
