"""Optional packages: imported when they are needed, with a clear error where they are missing."""

from importlib import import_module
from types import ModuleType


class MissingExtraError(ModuleNotFoundError):
    """An optional package is not installed; the message says how to install it."""


def extra(module: str, name: str | None, what: str) -> ModuleType:
    """Import a module of an optional package.

    Parameters
    ----------
    module : str
        The module, such as "matplotlib.pyplot".
    name : str or None
        The extra that installs it: ``pip install 'locallinear[name]'``. None for a package that
        no extra installs, because few want it or it wants much.
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
        wanted = package if name is None else f"'locallinear[{name}]'"
        raise MissingExtraError(
            f"{what} need {package}: pip install {wanted}", name=error.name
        ) from error
