"""What a column of a table is: numbers, categories, ordered ones, text, dates, or nothing to learn.

`understand` guesses the kind from the type and the cells of a column, and says why. A user's word
replaces the guess. Types of pandas are respected: a category of integers is a category.
"""

import re
from dataclasses import dataclass, replace
from datetime import date, time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from . import cells as reading
from .amounts import (
    BOUNDS,
    DURATIONS,
    MARKED,
    NUMBERS,
    WAYS,
    Written,
    how_written,
    read_amounts,
    units_of_one_kind,
)
from .cells import LEADING_ZERO, TIME_OF_DAY, cell_texts, pandas_module, values_in
from .table import TableError
from .wanted import Wanted, as_kind, levels_in

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

# A column of text with more different values is text; of a shorter one each value is a category.
MAX_CATEGORIES = 30
# So many rows, at least, tell a count of the rows from a short list of numbers.
LEAST_COUNTED = 20
# A column where this share of the cells are different from all others names the rows.
NAMES_ROWS = 0.9

# What is said of whole numbers that differ from row to row and have as many digits as each other.
LIKE_ACCOUNTS = "if they only name the rows, as account numbers do, its kind is skip"
LEAST_DIGITS = 6

# Names of columns whose whole numbers are codes, or name rows.
CODES = re.compile(r"(^|[\W_])(zip|zip_?code|post_?code|postal(_?code)?|plz|code|sic|naics|icd)$")
IDENTIFIERS = re.compile(r"(^|[\W_])(id|ids|uuid|guid|key|index|serial)$|^unnamed: \d+$")
SHORT_CLOCK = re.compile(r"\d:[\d:.]*$")
# School grades from 1 to 6, between which 2- stands behind 2.
GRADE = re.compile(r"\d[+-]?")
WORD = re.compile(r"[^\W\d_]{2,}")

PLAIN = Written()
# What is no single value.
NO_CELLS = {(list, tuple, set, np.ndarray): "lists", (dict,): "dicts", (bytes,): "bytes"}
UUID = re.compile(r"\{?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\}?|[0-9a-f]{16,}", re.IGNORECASE)

# Above this share of cells that are numbers or times, the others are slips. Plain numbers are told
# from codes with less: codes with letters look like numbers with a unit.
MOST_CELLS = 0.9
LEAST_SHARE = dict.fromkeys(WAYS, MOST_CELLS) | dict.fromkeys([NUMBERS, MARKED, BOUNDS], 0.5)


@dataclass(frozen=True)
class Understood:
    """What a column is.

    Attributes
    ----------
    kind : one of KINDS
    reason : str
        Why, in words that follow "because".
    written : Written
        For numbers: how they are written.
    form : str
        For dates: the format of cells of text, or "".
    levels : tuple of str
        For ordered categories: the levels from the lowest to the highest, where the user gives
        them.
    """

    kind: str
    reason: str
    written: Written = PLAIN
    form: str = ""
    levels: tuple[str, ...] = ()


def understand(
    column: "pandas.Series", wanted: Wanted | None = None, decimal: str | None = None
) -> Understood:
    """What a column is, or what the user wants it to be.

    `decimal` is the mark that begins decimals as far as the cells leave it open.
    """
    if wanted is not None:
        return _as_wanted(column, wanted, decimal)
    nothing = _nothing_to_learn(column)
    if nothing is not None:
        return nothing
    types = pandas_module().api.types
    if types.is_complex_dtype(column.dtype):
        raise TableError(
            f"column {column.name!r} holds complex numbers; make columns of their parts, or of "
            "size and angle"
        )
    if isinstance(column.dtype, pandas_module().CategoricalDtype):
        return _of_categories(column)
    if types.is_bool_dtype(column.dtype) and column.dtype != object:
        return Understood("category", "it is true or false")
    if types.is_datetime64_any_dtype(column.dtype) or is_period(column):
        return Understood("date", "it has the type of times")
    if types.is_timedelta64_dtype(column.dtype):
        return Understood("number", "it has the type of durations", Written(DURATIONS))
    if types.is_numeric_dtype(column.dtype):
        return _of_numbers(column, str(column.name), Written(decimal=decimal or ""))
    return _of_objects(column, decimal)


def is_period(column: "pandas.Series") -> bool:
    """Whether a column has pandas' type of periods."""
    return isinstance(column.dtype, pandas_module().PeriodDtype)


def _as_wanted(column: "pandas.Series", wanted: Wanted, decimal: str | None) -> Understood:
    reason = "types says so"
    kind, how = as_kind(wanted)
    if kind == "number" and pandas_module().api.types.is_timedelta64_dtype(column.dtype):
        return Understood("number", reason, Written(DURATIONS))
    if kind == "number":
        written = how_written(values_in(cell_texts(column)), how or decimal)
        return Understood("number", reason, replace(written, decimal=how or written.decimal))
    if kind == "date":
        return Understood("date", reason, form=how or _date_form(column))
    if kind == "ordered":
        levels = wanted if not isinstance(wanted, str) else levels_in(how) if how else []
        return Understood("ordered", reason, levels=tuple(level.strip() for level in levels))
    return Understood(kind, reason)


def _date_form(column: "pandas.Series") -> str:
    """The format of a column that the user calls dates; "" where it has a type of times."""
    if _is_time(column):
        return ""
    values = values_in(cell_texts(column))
    if len(values) and not np.isnan(reading.clock_times(values)).any():
        return TIME_OF_DAY
    return reading.date_format(values)[0] or ""


def _is_time(column: "pandas.Series") -> bool:
    return (
        pandas_module().api.types.is_datetime64_any_dtype(column.dtype)
        or is_period(column)
        or _holds_times(column)
    )


def _holds_times(column: "pandas.Series", kind: type = date) -> bool:
    """Whether all values are times or dates of Python, in a column of objects."""
    if column.dtype != object:
        return False
    values = column.dropna()
    return bool(len(values)) and all(isinstance(value, kind) for value in values)


def _nothing_to_learn(column: "pandas.Series") -> Understood | None:
    """Why a model can learn nothing from a column, whatever its type."""
    known = column[column.notna()]
    if not len(known):
        return Understood("skip", "it has no values")
    if known.dtype == object:
        for kinds, name in NO_CELLS.items():
            if known.map(lambda value, kinds=kinds: isinstance(value, kinds)).any():
                return Understood("skip", f"it holds {name}, which are no single values")
    texts = known.astype(str) if known.dtype == object else known
    if (texts == texts.iloc[0]).all() and len(known) == len(column):
        return Understood("skip", "all its values are equal")
    return None


def _of_categories(column: "pandas.Series") -> Understood:
    levels = int(column.nunique())
    if column.cat.ordered:
        return Understood("ordered", "it has the type of ordered categories")
    if levels > MAX_CATEGORIES:
        return Understood("text", f"it has the type of categories, and {levels} different ones")
    return Understood("category", "it has the type of categories")


def _of_numbers(column: "pandas.Series", name: str, written: Written) -> Understood:
    values = column.dropna().to_numpy(dtype=np.float64)
    finite = values[np.isfinite(values)]
    whole = len(finite) == len(values) and bool((values == np.floor(values)).all())
    different = len(np.unique(values))
    if whole:
        if len(column) == len(values) > LEAST_COUNTED and counts_rows(values):
            return Understood("skip", "it counts the rows")
        if IDENTIFIERS.search(name.casefold()) and different == len(values) > LEAST_COUNTED:
            return Understood("skip", "its name and its different numbers are those of a key")
        if written_dates(values):
            return Understood("date", "its numbers are days such as 20240131", form="%Y%m%d")
        if CODES.search(name.casefold()) and different > 2:
            kind = "category" if different <= MAX_CATEGORIES else "text"
            return Understood(kind, "its name says that the numbers are codes")
        if different > max(LEAST_COUNTED, NAMES_ROWS * len(values)) and _are_long(values):
            return Understood("number", f"it holds numbers; {LIKE_ACCOUNTS}", written)
    return Understood("number", "it holds numbers", written)


def counts_rows(values: Array) -> bool:
    """Whether the numbers rise from 0 or 1 in steps of one, but for a few rows that are left out.

    Years rise from elsewhere.
    """
    steps = np.diff(values)
    rises = (steps >= 1).all() and (steps == 1).mean() > 0.9
    return bool(rises and values[0] >= 0 and values[-1] < 1.2 * len(values))


def _are_long(values: Array) -> bool:
    """Whether whole numbers have equally many digits, and as many as numbers of accounts."""
    digits = np.floor(np.log10(np.maximum(values, 1.0))) + 1
    return bool(digits.min() == digits.max() >= LEAST_DIGITS)


def written_dates(values: Array) -> bool:
    """Whether whole numbers are all days as in 20240131, and several of them."""
    if len(values) < 2 or values.min() < 19000101 or values.max() > 21001231:
        return False
    month, day = values // 100 % 100, values % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _of_objects(column: "pandas.Series", decimal: str | None) -> Understood:
    """What a column of text or of objects is."""
    if _holds_times(column):
        return Understood("date", "it holds times")
    if _holds_times(column, time):
        return Understood("date", "it holds times of day", form=TIME_OF_DAY)
    texts = cell_texts(column)
    values, rest = texts.dropna(), values_in(texts)
    if not len(rest):
        return Understood("category", "it holds text with few different values")
    if _are_clocks(rest):
        return Understood("date", "its cells are times of day", form=TIME_OF_DAY)
    if rest.str.fullmatch(GRADE).all() and rest.str.endswith("-").any():
        return Understood("category", "its cells are grades such as 2-")
    written = how_written(rest, decimal)
    numbers = read_amounts(rest, written)
    if written.share == 1 and written.cells == NUMBERS:
        name = str(column.name)
        if rest.str.fullmatch(LEADING_ZERO).any():
            if len(rest) == rest.nunique() > LEAST_COUNTED and not CODES.search(name.casefold()):
                return Understood("skip", "its codes are different in each row, like names")
            return _few_or_many(values, "its numbers begin with zeros, as codes do")
        return _of_numbers(pandas_module().Series(numbers, name=name), name, written)
    if written.share == 1:
        return Understood("number", f"its cells are {written.cells}", written)
    form, share = reading.date_format(rest)
    if form is not None and share == 1 and rest.nunique() > 1:
        return Understood("date", "its cells are times", form=form)
    # Most cells are numbers or times: the others are slips, which are refused by row and column.
    is_odd = np.isnan(numbers)
    few_odd = len(np.unique(numbers[~is_odd])) > 2 * rest[is_odd].nunique()
    if written.share > LEAST_SHARE[written.cells] and few_odd:
        return Understood("number", f"most of its cells are {written.cells}", written)
    if form is not None and share > MOST_CELLS and rest.nunique() > 3:
        return Understood("date", "most of its cells are times", form=form)
    found, units = _of_texts(values), units_of_one_kind(rest)
    if units:
        hint = f"it looks like amounts in {' and '.join(units)}, which are not converted"
        return replace(found, reason=f"{found.reason}; {hint}")
    return found


def _are_clocks(values: "pandas.Series") -> bool:
    """Whether texts are times of day: as 09:30 or 9:30 pm, and some of them after noon.

    All of 1:30 and 0:45 are durations.
    """
    if values.str.match(SHORT_CLOCK).any():
        return False
    hours = reading.clock_times(values)
    return not np.isnan(hours).any() and float(hours.max()) >= 12


def _of_texts(values: "pandas.Series") -> Understood:
    n, different = len(values), int(values.nunique())
    if different > NAMES_ROWS * n and different > 2 and values.str.fullmatch(UUID).all():
        return Understood("skip", "its cells are UUIDs or hashes, which name rows")
    if different > MAX_CATEGORIES and different > NAMES_ROWS * n and not _shares_words(values):
        return Understood("skip", f"it has {different} different texts in {n} rows, like names")
    if different == n > 1 and n > LEAST_COUNTED and not _shares_words(values):
        return Understood("skip", f"it has {different} different texts in {n} rows, like names")
    return _few_or_many(values, "it holds text with few different values")


def _few_or_many(values: "pandas.Series", reason: str) -> Understood:
    different = int(values.nunique())
    if different <= MAX_CATEGORIES:
        return Understood("category", reason)
    return Understood("text", f"it holds text with {different} different values")


def _shares_words(values: "pandas.Series") -> bool:
    """Whether most texts have a word in common with some others, but not with nearly all."""
    words = [set(WORD.findall(text.casefold())) for text in values]
    counts: dict[str, int] = {}
    for one in words:
        for word in one:
            counts[word] = counts.get(word, 0) + 1
    telling = {word for word, count in counts.items() if 2 <= count <= NAMES_ROWS * len(words)}
    return bool(np.mean([bool(one & telling) for one in words]) > 0.5)
