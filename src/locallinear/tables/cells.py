"""Cells of text that stand for something else: numbers, durations, dates, gaps.

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
EXCEL_ERRORS = {"#div/0!", "#n/a", "#name?", "#null!", "#num!", "#ref!", "#value!"}
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"} | EXCEL_ERRORS)
# Words that mean "no value" in a column whose other cells are numbers or dates.
GAP_WORDS = MISSING | {"-", "--", "—", ".", "none", "nil", "missing", "unknown", "n.a.", "tbd"}

LEADING_ZERO = re.compile(r"0\d+")

CLOCK = re.compile(r"(?:(\d+)\s*d(?:ays?)?,?\s*)?(\d+):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
SPAN = re.compile(
    r"(\d+(?:\.\d+|,\d{1,2}|,\d{4,})?)\s*"  # a comma before three digits could group
    r"(days?|d|hours?|hrs?|h|minutes?|min|m|seconds?|sec|s)"
)
# Durations of ISO 8601 without years and months, which have no fixed length.
ISO_SPAN = re.compile(
    r"P(?=\d|T\d)(?:(\d+)W)?(?:(\d+)D)?"
    r"(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?"
)
ISO_HOURS = (168.0, 24.0, 1.0, 1 / 60, 1 / 3600)
SHORT_SPAN = re.compile(r"(\d+)\s*h\s*([0-5]\d)")  # the minutes of 2h30 have no unit
SECONDS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}

# Orders of day, month and year that people write; of those that read as many cells, the first is
# taken. Years of two digits come last.
DATE_FORMATS: tuple[str, ...] = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
DATE_FORMATS += ("%d-%m-%Y", "%m-%d-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
DATE_FORMATS += ("%d-%b-%Y", "%Y-%m", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y")
# Months and quarters have no time of day.
QUARTER = "quarters such as 2003 Q1"
MONTH_FORMATS = ("%b-%y", "%b-%Y", "%b %Y", "%B %Y", "%m/%Y", QUARTER)
OF_QUARTER = re.compile(r"(\d{4})[\s-]?Q([1-4])|Q([1-4])[\s/-]?(\d{4})")
TIME_FORMATS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# Days that are months in the other habit of writing.
EXCHANGED = {"%m/%d": "%d/%m", "%d/%m": "%m/%d", "%d-%m": "%m-%d", "%m-%d-": "%d-%m-"}
# What is behind a time in a zone, such as Z or +02:00.
OFFSET = re.compile(r"(:\d{2}(?:\.\d+)?)\s*(Z|[+-]\d{2}(?::?\d{2})?)$")
TIME_OF_DAY = "time of day"
OF_24_HOURS = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?")
OF_12_HOURS = re.compile(r"(0?[1-9]|1[0-2])((?::[0-5]\d){1,2})\s*([ap])\.?m\.?", re.IGNORECASE)
LIKE_DATE = re.compile(
    r"\d{1,4}[-/.\s]|[A-Za-z]{3,9}\.?\s\d|\d{1,2}[-\s][A-Za-z]{3}"
    r"|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)-\d"
    rf"|{OF_QUARTER.pattern}"
)


def pandas_module() -> Any:
    """Import pandas, which is optional."""
    return extra("pandas", "tables", "Tables")


def to_numbers(cells: Any, decimal: str = ".") -> Array:
    """Cells as numbers, NaN where a cell is not a number with this decimal mark."""
    pandas = pandas_module()
    cells = pandas.Series(cells, dtype=object)
    if decimal == "," and cells.notna().any():
        cells = cells.map(lambda cell: _with_point(cell) if isinstance(cell, str) else cell)
    numbers = pandas.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64).copy()
    for row, cell in enumerate(cells.tolist()):
        if isinstance(cell, str) and numbers[row] == numbers[row]:
            numbers[row] = float(cell)  # pandas may be wrong in the last digit
    return numbers


def _with_point(cell: str) -> str | None:
    """A number with a decimal comma as one with a point; None if it has a point already."""
    return None if "." in cell else cell.replace(",", ".")


def durations(cells: "pandas.Series") -> Array:
    """Hours of cells such as "1:30:00", "2 days 03:00", "90 min", "2h30" and "PT1H30M"."""
    spans = rf"(?:{SPAN.pattern}[,\s]*)+"
    either = "|".join([CLOCK.pattern, spans, ISO_SPAN.pattern, SHORT_SPAN.pattern])
    return _each(cells, re.compile(either), _hours)


def only_metres(texts: list[str]) -> bool:
    """Whether "m" is the only unit beside numbers, so that it need not mean minutes."""
    units = {unit for text in texts for _, unit in SPAN.findall(text.casefold())}
    return units == {"m"} and not any(":" in text or ISO_SPAN.fullmatch(text) for text in texts)


def _hours(text: str) -> float:
    clock = CLOCK.fullmatch(text)
    if clock:
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return 24 * days + hours + minutes / 60 + seconds / 3600
    iso = ISO_SPAN.fullmatch(text)
    if iso:
        sizes = [float((part or "0").replace(",", ".")) for part in iso.groups()]
        return sum(size * hours for size, hours in zip(sizes, ISO_HOURS, strict=True))
    short = SHORT_SPAN.fullmatch(text)
    if short:
        return int(short[1]) + int(short[2]) / 60
    spans = SPAN.findall(text.casefold())
    return sum(float(size.replace(",", ".")) * SECONDS[unit[0]] for size, unit in spans) / 3600


def date_format(texts: "pandas.Series") -> tuple[str | None, float]:
    """The first of the usual formats that reads the most of the texts, and their share.

    None of the texts is None.
    """
    if not _like_dates(texts):
        return None, 0.0
    counts = texts.value_counts()
    cells, best, most = counts.index.to_series(), None, 0.0
    for form in _formats():
        share = float(counts[dates(cells, form).notna().to_numpy()].sum() / counts.sum())
        if share > most:
            best, most = form, share
        if share == 1:
            break
    return best, most


def dates(cells: "pandas.Series", form: str, zone: str = "") -> "pandas.Series":
    """Times of cells in one format, as clocks in a zone show them.

    A cell that names another zone is converted. Without a zone to convert to, its clock counts.
    """
    pandas = pandas_module()
    if form == QUARTER:
        cells, form = cells.map(_first_month, na_action="ignore"), "%Y-%m"
    offsets = offsets_of(cells) if form == "ISO8601" or "%z" in form else None
    if offsets is not None:
        cells = cells.astype("string").str.replace(OFFSET, r"\1", regex=True)
        form = form.replace("%z", "").strip()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on formats that say no year, which are not tried
        found = pandas.to_datetime(cells, format=form, errors="coerce").astype("datetime64[us]")
    if offsets is None or not zone:
        return found
    for offset in offsets.dropna().unique():
        here = (offsets == offset).to_numpy()
        zoned = found[here].dt.tz_localize(_zone_of(offset)).dt.tz_convert(zone)
        found[here] = zoned.dt.tz_localize(None)
    return found


def offsets_of(cells: "pandas.Series") -> "pandas.Series":
    """What each cell says of its zone, such as Z or +02:00; missing where it says nothing."""
    return cells.astype("string").str.extract(OFFSET)[1]


def _zone_of(offset: str) -> str:
    """An offset such as +0200 as the name of a zone."""
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return f"UTC{offset[0]}{digits[:2]}:{digits[2:]}" if int(digits) else "UTC"


def zone_of_texts(cells: "pandas.Series") -> str:
    """The zone that all cells of text name; "" where they name none, or several."""
    offsets = offsets_of(cells.dropna()).fillna("").unique()
    return _zone_of(offsets[0]) if len(offsets) == 1 and offsets[0] else ""


def exchanged(texts: "pandas.Series", form: str) -> str:
    """The format with days for months that reads all texts too; "" if there is none."""
    for written, other in EXCHANGED.items():
        if form.startswith(written):
            swapped = form.replace(written, other, 1)
            return swapped if dates(texts, swapped).notna().all() else ""
    return ""


def clock_times(cells: "pandas.Series") -> Array:
    """Hours since midnight of cells such as 23:59 and 11:59 pm."""

    def hours(text: str) -> float:
        if OF_24_HOURS.fullmatch(text):
            return _hours(text)
        match = OF_12_HOURS.fullmatch(text)
        assert match is not None
        late = 12 if match[3] in "pP" else 0
        return _hours(f"{int(match[1]) % 12 + late}{match[2]}")

    either = re.compile(f"{OF_24_HOURS.pattern}|{OF_12_HOURS.pattern}", re.IGNORECASE)
    return _each(cells, either, hours)


def _formats() -> list[str]:
    joined = [day + time for day in DATE_FORMATS for time in TIME_FORMATS]
    return ["ISO8601", *joined, *MONTH_FORMATS]


def _first_month(quarter: str) -> str | None:
    """The first month of a quarter, as 2003-01 is of 2003 Q1 and Q1 2003."""
    match = OF_QUARTER.fullmatch(quarter)
    if match is None:
        return None
    year, number = match[1] or match[4], match[2] or match[3]
    return f"{year}-{3 * int(number) - 2:02}"


def _like_dates(cells: "pandas.Series") -> bool:
    """Whether most of the first cells have digits in the way of dates, which is quick to see."""
    first = [LIKE_DATE.match(str(cell)) is not None for cell in cells.head(20)]
    return sum(first) > len(first) / 2


def _each(cells: "pandas.Series", pattern: re.Pattern, read: Callable[[str], float]) -> Array:
    """What is read of cells that are wholly of a pattern; equal cells are read once."""
    known: dict[Any, float] = {None: np.nan}
    for cell in cells.dropna().unique():
        known[cell] = read(cell) if pattern.fullmatch(cell) else np.nan
    return cells.map(known).to_numpy(dtype=np.float64)


def may_hold_text(column: "pandas.Series") -> bool:
    """Whether cells may be text: in columns of objects and of strings, whichever pandas makes."""
    return column.dtype == object or isinstance(column.dtype, pandas_module().StringDtype)


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


def values_in(texts: "pandas.Series") -> "pandas.Series":
    """The texts that are values, without gaps and the words for them."""
    values = texts.dropna()
    return values[~values.str.casefold().isin(GAP_WORDS)]
