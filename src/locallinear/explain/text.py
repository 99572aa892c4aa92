"""Names and numbers as people read them."""

import numpy as np
from numpy.typing import ArrayLike

# Marks that reverse the text around them, beyond the name or the cell that holds them.
REVERSING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_VISIBLE = {ord(mark): f"[U+{ord(mark):04X}]" for mark in REVERSING}


def unreversed(text: str) -> str:
    """The text with names of characters for marks that would reverse what is around it."""
    return text.translate(_VISIBLE)


def shorten(name: object, length: int = 28) -> str:
    """A name on one line, without its middle where it is long: both ends tell names apart."""
    text = unreversed(" ".join(str(name).split()))
    if len(text) <= length:
        return text
    head = (length - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - length :]}"


def drawn(name: object, length: int = 28) -> str:
    """A shortened name that matplotlib draws as it is, with its dollar signs."""
    return shorten(name, length).replace("$", r"\$")


def number(value: float, digits: int = 3) -> str:
    """A number with this many digits and a true minus; 2021 has no comma, as it may be a year."""
    if not np.isfinite(value):
        return "–"
    size = abs(value)
    if 10**digits <= size < 1e7:
        text = f"{value:.0f}" if size < 9999.5 else f"{value:,.0f}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign."""
    return ("+" if value > 0 else "") + number(value, digits)


def rough(value: float) -> str:
    """A number that is not exact, with its sign and two digits."""
    return signed(float(f"{value:.2g}"))


def factor(value: float) -> str:
    """What something is multiplied by, with two digits of how it differs from 1."""
    change = abs(value - 1)
    if not 1e-9 < change < 9:
        return number(value)
    return f"{value:.{max(2, 1 - int(np.floor(np.log10(change))))}f}"


def per(unit: str) -> str:
    """What a slope is per, where a number counts "years since 2010-01-01" or "hours".

    Examples
    --------
    >>> [per("years since 2010-01-01"), per("hours"), per("")]
    ['per year', 'per hour', 'per unit']
    """
    return f"per {unit.split()[0].removesuffix('s')}" if unit else "per unit"


def count(total: float) -> str:
    """How many there are: a sum of weights, which may be no whole number."""
    return f"{int(total):,}" if total == int(total) else number(total)


def plural(total: float, word: str) -> str:
    """A count and its word."""
    return f"{count(total)} {word}" if total == 1 else f"{count(total)} {word}s"


def largest(sizes: ArrayLike, limit: int) -> tuple[list[int], list[int]]:
    """The numbers of the largest sizes, largest first, and the numbers of the others.

    Where only one would be left over, it joins the largest.
    """
    order = np.argsort(-np.abs(np.asarray(sizes)), kind="stable").tolist()
    return (order, []) if len(order) <= limit + 1 else (order[:limit], order[limit:])
