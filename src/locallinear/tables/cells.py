"""Cells of text that stand for something else: numbers with marks, durations, dates, gaps.

Each function takes the cells of one column as a Series of str and None, and returns an array that
is NaN (NaT) where a cell cannot be read so. What the cells of a column are is decided in
`kinds.py`; here they are only read.
"""

import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.extras import extra

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

# What a cell without a value looks like in a file, in small letters.
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "?"})
# Words that mean "no value" in a column whose other cells are numbers or dates.
GAP_WORDS = MISSING | {"-", "--", "—", ".", "none", "nil", "missing", "unknown", "n.a.", "tbd"}

CURRENCIES = r"(?:[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|BRL)"
# What some of them are also called.
CURRENCY_NAMES = {"$": "USD", "€": "EUR", "£": "GBP", "₹": "INR"}
AMOUNT = r"[+-]?\s*(?:\d[\d.,'\s]*|[.,]\d+)"
WITH_CURRENCY = re.compile(
    rf"(?:[+-]?\s*{CURRENCIES}\s*{AMOUNT}|{AMOUNT}\s*{CURRENCIES})", re.IGNORECASE
)
PERCENT = re.compile(r"[+-]?\s*(?:\d[\d.,]*|[.,]\d+)\s*%")
# Groups of three digits behind commas, dots, apostrophes or blanks, and perhaps decimals.
GROUPED = re.compile(r"[+-]?\d{1,3}(?:([,.'\s])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
LEADING_ZERO = re.compile(r"0\d+")

CLOCK = re.compile(r"(?:(\d+)\s*d(?:ays?)?,?\s*)?(\d+):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
SPAN = re.compile(r"(\d+(?:[.,]\d+)?)\s*(d|days?|h|hrs?|hours?|m|min|minutes?|s|sec|seconds?)")
SECONDS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}

# Orders of day, month and year that people write; the first that reads all cells is taken.
DATE_FORMATS: tuple[str, ...] = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
DATE_FORMATS += ("%d-%m-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%Y-%m")
TIME_FORMATS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
LIKE_DATE = re.compile(r"\d{1,4}[-/.\s]|[A-Za-z]{3,9}\.?\s\d|\d{1,2}[-\s][A-Za-z]{3}")


def pandas_module() -> Any:
    """Import pandas, which is optional."""
    return extra("pandas", "tables", "Tables")


def to_numbers(cells: Any, decimal: str = ".") -> Array:
    """Cells as numbers, NaN where a cell is not a number."""
    pandas = pandas_module()
    cells = pandas.Series(cells, dtype=object)
    if decimal == "," and cells.notna().any():
        cells = cells.map(lambda cell: cell.replace(",", ".") if isinstance(cell, str) else cell)
    numbers = pandas.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64).copy()
    for row, cell in enumerate(cells.tolist()):
        if isinstance(cell, str) and numbers[row] == numbers[row]:
            numbers[row] = float(cell)  # pandas may be wrong in the last digit
    return numbers


def percentages(cells: "pandas.Series") -> Array:
    """Numbers of cells such as "12.5 %"; the number before the sign."""
    return _each(cells, PERCENT, lambda cell: amount(cell.replace("%", "")))


def currencies(cells: "pandas.Series") -> Array:
    """Numbers of cells such as "$1,200.50" and "3.400,00 €"."""
    marks = re.compile(CURRENCIES, re.IGNORECASE)
    return _each(cells, WITH_CURRENCY, lambda cell: amount(marks.sub("", cell)))


def currencies_of(cells: "pandas.Series") -> list[str | None]:
    """The currency of each cell, such as USD of "$1,200"; None where a cell has none."""
    found = [None if cell is None else re.search(CURRENCIES, cell.upper()) for cell in cells]
    return [match and CURRENCY_NAMES.get(match[0], match[0]) for match in found]


def grouped(cells: "pandas.Series") -> Array:
    """Numbers of cells such as "1,200" and "12 345.5", beside plain numbers."""
    found = _each(cells, GROUPED, amount)
    return np.where(np.isnan(found), to_numbers(cells), found)


def amount(text: str) -> float:
    """A number with marks between thousands, in either habit of writing; NaN if it is none.

    Examples
    --------
    >>> [amount(text) for text in ("1,200.50", "3.400,00", "1 234", "2,5", "1'000")]
    [1200.5, 3400.0, 1234.0, 2.5, 1000.0]
    """
    text = re.sub(r"[\s']", "", text)
    last = max(text.rfind(","), text.rfind("."))
    if last >= 0:
        whole, rest = text[:last], text[last + 1 :]
        # One mark before exactly three digits groups thousands, and so does a repeated mark.
        groups = len(rest) == 3 and not re.search(r"[.,]", whole) and whole not in ("", "0", "-0")
        if groups or text.count(text[last]) > 1:
            text = re.sub(r"[.,]", "", text)
        else:
            text = re.sub(r"[.,]", "", whole) + "." + rest
    try:
        return float(text)
    except ValueError:
        return np.nan


def durations(cells: "pandas.Series") -> Array:
    """Hours of cells such as "1:30:00", "2 days 03:00" and "90 min"."""
    return _each(cells, re.compile(f"{CLOCK.pattern}|(?:{SPAN.pattern}[,\\s]*)+"), _hours)


def _hours(text: str) -> float:
    clock = CLOCK.fullmatch(text)
    if clock:
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return 24 * days + hours + minutes / 60 + seconds / 3600
    spans = SPAN.findall(text.casefold())
    return sum(float(size.replace(",", ".")) * SECONDS[unit[0]] for size, unit in spans) / 3600


def dates(cells: "pandas.Series", form: str | None = None) -> "tuple[pandas.Series, str | None]":
    """Times of cells in one format, in UTC where they name a zone, and the format.

    Without a format, the first of the usual ones that reads all cells is found; None if none does.
    """
    pandas = pandas_module()
    if form is None and not _like_dates(cells):
        return pandas.Series(pandas.NaT, index=cells.index, dtype="datetime64[us]"), None
    for one in _formats() if form is None else [form]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on formats that say no year, which are not tried
            found = pandas.to_datetime(cells, format=one, errors="coerce", utc=True)
        if form is not None or found[cells.notna()].notna().all():
            return found.dt.tz_localize(None).astype("datetime64[us]"), one
    return pandas.Series(pandas.NaT, index=cells.index, dtype="datetime64[us]"), None


def _formats() -> list[str]:
    joined = [day + time for day in DATE_FORMATS for time in TIME_FORMATS]
    return ["ISO8601", *joined]


def _like_dates(cells: "pandas.Series") -> bool:
    """Whether the first cells have digits in the way of dates, which is quick to see."""
    first = cells.dropna().head(20)
    return bool(len(first)) and all(LIKE_DATE.match(str(cell)) for cell in first)


def _each(cells: "pandas.Series", pattern: re.Pattern, read: Callable[[str], float]) -> Array:
    """What is read of cells that are wholly of a pattern; equal cells are read once."""
    known: dict[Any, float] = {None: np.nan}
    for cell in cells.dropna().unique():
        known[cell] = read(cell) if pattern.fullmatch(cell) else np.nan
    return cells.map(known).to_numpy(dtype=np.float64)


def cell_texts(cells: "pandas.Series") -> "pandas.Series":
    """Cells of any type as stripped text, None where there is no value.

    7.0 in a column of codes is the code 7, as it would be in a file.
    """
    pandas = pandas_module()
    known: dict[Any, str | None] = {}

    def text(cell: Any) -> str | None:
        if isinstance(cell, float) and cell.is_integer():
            return str(int(cell))
        found = str(cell).strip()
        return None if found.casefold() in MISSING else found

    missing = cells.isna().to_numpy()
    out = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells.to_numpy(dtype=object)):
        if missing[i]:
            continue
        key = (type(cell), str(cell))
        if key not in known:
            known[key] = text(cell)
        out[i] = known[key]
    return pandas.Series(out, index=cells.index, dtype=object, name=cells.name)
