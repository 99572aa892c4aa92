"""Text for the terminal: names from files must not move the cursor, recolour it or forge lines."""

import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..explain.text import REVERSING

# Control characters, and halves of characters, which file names may hold.
UNPRINTABLE = {"Cc", "Cs"}


def printable(text: str, keep: str = "") -> str:
    r"""The text with unprintable characters as escapes, but for those in `keep`.

    Examples
    --------
    >>> print(printable("size \x1b[31m"))
    size \x1b[31m
    """
    return "".join(_escaped(c) if c not in keep and _unprintable(c) else c for c in text)


def echo(text: str, err: bool = False) -> None:
    """Print text, whose line breaks stay, on standard output or standard error."""
    click.echo(printable(text, keep="\n"), err=err)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Warnings as sentences on standard error, without the line of code that they come from."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        echo(f"Note: {message}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _unprintable(character: str) -> bool:
    return unicodedata.category(character) in UNPRINTABLE or character in REVERSING


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
