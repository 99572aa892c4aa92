"""Numbers in cells of text: how a column writes them is decided once, from all of its cells.

"1,250" is 1250 beside "12,500", and 1.25 beside "0,5". So one mark begins the decimals of a whole
column, and the other may stand between thousands, as blanks and apostrophes may. The same holds
for what is beside the numbers: all cells are percentages, or amounts of money, or durations, or
have one unit.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .cells import durations, only_metres, to_numbers

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

# What the cells of a column of numbers are, in the order in which it is tried.
NUMBERS, PERCENTAGES, MONEY = "numbers", "percentages", "amounts of money"
DURATIONS, MEASURES = "durations in hours", "numbers with a unit"
BOUNDS = "numbers, with bounds such as <5 and 65+ read as 5 and 65"
WAYS = (NUMBERS, PERCENTAGES, MONEY, DURATIONS, MEASURES, BOUNDS)
# Plain numbers have at most decimals; these have marks between thousands, brackets or "k" as well.
MARKED = "numbers with marks"

# The marks that may begin decimals, and the one that is then free to stand between thousands.
OTHER = {".": ",", ",": "."}
# Fewer cells than this share do not change the meaning of a mark: they are slips. Of numbers with
# three decimals about a tenth end in a zero, which most programs leave out.
MOST_SLIPS = 0.05
# So many numbers with exactly three digits behind the mark show that it stands between thousands.
MANY = 20

CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|BRL"
CURRENCY = re.compile(rf"[$€£¥₹₽₩]|(?<![A-Za-z])(?:{CODES})(?![A-Za-z])", re.IGNORECASE)
# What some of them are also called.
CURRENCY_NAMES = {"$": "USD", "€": "EUR", "£": "GBP", "₹": "INR"}
# A number, and letters or a sign of degrees behind it.
MEASURE = re.compile(r"([+-]?[\d.,'’\s]*\d)\s*((?:[^\W\d_]|[°‰])[^\d,;:]{0,11})")
# A limit of what was measured, or of what was asked for; its sign and the number.
BOUND = re.compile(
    r"(?P<below>[<>≤≥]=?)\s*(?P<number>[^+]+)|(?P<count>[^<>≤≥+]*\d)\s*(?P<above>\+)"
)
MINUS_BEHIND = re.compile(r"([^-]*\d)-(\s[^\d-]*)?")
IN_BRACKETS = re.compile(r"([^()\d]*)\(([^()]*)\)([^()\d]*)")
# Letters that make other units of one: kg of g.
PREFIXES = "kMGmcdhµ"
POWERS = {None: 0, "k": 3, "K": 3, "M": 6, "bn": 9}


@dataclass(frozen=True)
class Written:
    """How the numbers of a column are written.

    Attributes
    ----------
    cells : str
        One of `WAYS`, or `MARKED`.
    decimal : str
        The mark that begins decimals, "." or ","; "" where no cell has a mark.
    units : tuple of str
        The currencies of amounts of money, or the unit of measures.
    share : float
        The part of the cells that are written so.
    """

    cells: str = NUMBERS
    decimal: str = ""
    units: tuple[str, ...] = ()
    share: float = 1.0

    @property
    def example(self) -> str:
        """How a number is written, in words."""
        return "as in 1.234,5" if self.decimal == "," else "as in 1,234.5"

    @property
    def words(self) -> str:
        """What the cells are, in words; "" for numbers as usual."""
        words = [] if self.cells == NUMBERS else [self.cells]
        if self.units:
            amounts = "numbers" if self.cells == MEASURES else self.cells
            several = ", which are not converted" if len(self.units) > 1 else ""
            words = [f"{amounts} in {', '.join(self.units)}{several}"]
        if self.decimal == "," or self.cells == MARKED:
            words.append(self.example)
        return ", ".join(words)


def how_written(texts: "pandas.Series", decimal: str | None = None) -> Written:
    """How most of the texts, none of them None, are written as numbers.

    Parameters
    ----------
    texts : Series of str
    decimal : str, optional
        The mark that begins decimals as far as the cells leave it open.
    """
    counts = texts.value_counts()
    known = _plain(texts, decimal)
    if known is not None:
        return known
    ways = [_written(way, counts, decimal) for way in WAYS]
    return max(ways, key=lambda written: written.share)  # the first of equal ones


def _plain(texts: "pandas.Series", decimal: str | None) -> Written | None:
    """The quick answer for numbers with decimal points; None for all else."""
    if decimal == "," or np.isnan(to_numbers(texts)).any():
        return None
    if decimal is None and usual_decimal(texts.unique().tolist()) == ",":
        return None
    return Written(NUMBERS, ".")


def _written(way: str, counts: "pandas.Series", decimal: str | None) -> Written:
    """The texts, with how often they occur, as numbers of one way of writing."""
    texts = counts.index.tolist()
    if way == DURATIONS:
        found = read_amounts(counts.index.to_series(), Written(DURATIONS))
        share = 0.0 if only_metres(texts) else _share(~np.isnan(found), counts)
        return Written(DURATIONS, share=share)
    pairs = [split(text, way) for text in texts]
    parts = [part for part, _ in pairs]
    mark = decimal_of(parts, way, decimal)
    numbers = np.array([amount(part, mark) for part in parts])
    is_read = ~np.isnan(numbers)
    if way == NUMBERS:
        plain = ~np.isnan(to_numbers(counts.index.to_series(), mark or "."))
        is_read |= plain
        marked = bool((is_read & ~plain).any())
        return Written(MARKED if marked else NUMBERS, mark, share=_share(is_read, counts))
    has_unit = np.array([unit is not None for _, unit in pairs], dtype=bool)
    if way == PERCENTAGES:
        has_unit |= numbers == 0
    if way == BOUNDS:  # where most cells are bounds, they are classes such as 65+
        many = _share(is_read & ~has_unit, counts) > 0.5
        return Written(BOUNDS, mark, share=_share(is_read, counts) if many else 0.0)
    written = Written(way, mark, share=_share(is_read & has_unit, counts))
    if way == PERCENTAGES:
        return written
    often: dict[str, int] = {}
    for (_, unit), read, count in zip(pairs, is_read, counts, strict=True):
        if read and unit is not None:
            often[unit] = often.get(unit, 0) + int(count)
    if way == MONEY or not often:
        return replace(written, units=tuple(sorted(often)))
    most = max(often, key=lambda unit: often[unit])
    n_same = sum(count for unit, count in often.items() if is_unit(unit, (most,)))
    return replace(written, units=(most,), share=n_same / counts.sum())


def is_unit(unit: str, units: Iterable[str]) -> bool:
    """Whether a unit is one of some, in whatever case and number: rooms are room."""

    def folded(name: str) -> str:
        name = name.casefold()
        return name.removesuffix("s") if len(name) > 2 else name

    return folded(unit) in map(folded, units)


def _share(chosen: NDArray[np.bool_], counts: "pandas.Series") -> float:
    return float(counts.to_numpy()[chosen].sum() / counts.sum())


def read_amounts(texts: "pandas.Series", written: Written) -> Array:
    """The numbers in cells, NaN where a cell is not written so, or has another unit.

    A number alone is one of the unit where there is a currency or a measure; of percentages and
    durations only 0 is.
    """
    if written.cells == NUMBERS:
        return to_numbers(texts, written.decimal or ".")
    if written.cells == DURATIONS:
        found = durations(texts)
        return np.where(to_numbers(texts) == 0, 0.0, found)
    known: dict[str | None, float] = {None: np.nan}
    for cell in texts.dropna().unique():
        part, unit = split(cell, written.cells)
        known[cell] = amount(part, written.decimal)
        alone = unit is None and written.cells == PERCENTAGES and known[cell] != 0
        if alone or (unit is not None and written.units and not is_unit(unit, written.units)):
            known[cell] = np.nan
    return texts.map(known).to_numpy(dtype=np.float64)


def units_of(texts: "pandas.Series", cells: str) -> list[str | None]:
    """The currency or unit in each cell; None where a cell has none."""
    known = {cell: split(cell, cells)[1] for cell in texts.dropna().unique()}
    return [None if cell is None else known[cell] for cell in texts]


def units_of_one_kind(texts: "pandas.Series") -> list[str]:
    """The units of amounts such as 0.8 kg and 750 g, where all cells have one; else none.

    Of one kind are a unit and those that a letter in front makes of it.
    """
    units = {unit for _, unit in (split(text, MEASURES) for text in texts.unique())}
    named = sorted((unit for unit in units if unit is not None), key=len)
    if not 1 < len(named) == len(units):
        return []
    base, *others = named
    same = all(unit[1:] == base and unit[0] in PREFIXES for unit in others)
    return named if same else []


def split(text: str, cells: str) -> tuple[str, str | None]:
    """The number in a cell, and what is beside it; None where it is alone.

    Examples
    --------
    >>> split("($1,200.50)", MONEY), split("72.5 kg", MEASURES)
    (('-1,200.50', 'USD'), ('72.5', 'kg'))
    """
    text = IN_BRACKETS.sub(r"-\1\2\3", text.replace("−", "-"))  # accountants' negatives
    behind = MINUS_BEHIND.fullmatch(text)
    if behind is not None:
        text = f"-{behind[1]}{behind[2] or ''}"
    if cells == PERCENTAGES:
        return (text[:-1].strip(), "%") if text.endswith("%") else (text, None)
    if cells == MONEY:
        found = CURRENCY.search(text)
        if found is None:
            return text, None
        name = found[0].upper()
        rest = text[: found.start()].strip() + text[found.end() :].strip()
        return rest, CURRENCY_NAMES.get(name, name)
    if cells == BOUNDS:
        bound = BOUND.fullmatch(text)
        if bound is not None:
            return bound["number"] or bound["count"], bound["below"] or bound["above"]
    if cells == MEASURES:
        measure = MEASURE.fullmatch(text)
        if measure is not None:
            return measure[1], measure[2]
    return text, None


def _pattern(decimal: str) -> re.Pattern:
    """Numbers with this decimal mark, and perhaps marks between thousands."""
    other = re.escape(OTHER[decimal])
    threes = rf"[1-9]\d{{0,2}}(?P<mark>[{other}\s'’])\d{{3}}(?:(?P=mark)\d{{3}})*"
    lakhs = rf"[1-9]\d?(?:{other}\d\d)+{other}\d{{3}}"
    return re.compile(
        rf"(?P<sign>[+-]?)\s*(?P<whole>{threes}|{lakhs}|\d*)(?:[{decimal}](?P<rest>\d*))?"
        r"(?:[eE](?P<power>[+-]?\d{1,3}))?(?P<short>k|K|M|bn)?"
    )


PATTERNS = {decimal: _pattern(decimal) for decimal in OTHER}
# Numbers with a mark before each three digits.
THOUSANDS = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:\{mark}\d{{3}})+") for mark in OTHER}


def amount(text: str, decimal: str) -> float:
    """A number with this decimal mark, NaN if it is none.

    Without a mark, also NaN for a number that depends on it.

    Examples
    --------
    >>> [amount(text, ".") for text in ("1,200.50", "1 234", "-0.125", "3.4k", "2,5")]
    [1200.5, 1234.0, -0.125, 3400.0, nan]
    >>> [amount(text, ",") for text in ("1.200,50", "2,5")], amount("1.200", "")
    ([1200.5, 2.5], nan)
    """
    if not decimal:
        either = {x for x in (amount(text, mark) for mark in OTHER) if x == x}
        return either.pop() if len(either) == 1 else np.nan
    match = PATTERNS[decimal].fullmatch(text)
    if match is None or not (match["whole"] or match["rest"]):
        return np.nan
    whole = re.sub(r"\D", "", match["whole"])
    power = int(match["power"] or 0) + POWERS[match["short"]]
    return float(f"{match['sign']}{whole or 0}.{match['rest'] or 0}e{power}")


def decimal_of(numbers: Iterable[str], way: str = NUMBERS, wanted: str | None = None) -> str:
    """The mark that begins decimals in different numbers of one column; "" if none has a mark.

    `wanted` is taken where both marks are possible. Otherwise a mark between thousands is told
    from one before three decimals by what is usual.

    Examples
    --------
    >>> decimal_of(["3 000", "3.125", "3.25"]), decimal_of(["0,125", "1,250"])
    ('.', ',')
    >>> decimal_of(["1,100", "2,350"]), decimal_of(["853", "1.991"])
    ('.', ',')
    """
    possible = {text: [m for m in OTHER if not np.isnan(amount(text, m))] for text in numbers}
    texts = [text for text, marks in possible.items() if marks]
    n_marked = sum("." in text or "," in text for text in texts)
    if not n_marked:
        return wanted or ""
    first = wanted or usual_decimal(texts, way)
    other = OTHER[first]
    n_first, n_other = (list(possible.values()).count([mark]) for mark in (first, other))
    return other if n_other > n_first and n_other >= MOST_SLIPS * n_marked else first


def usual_decimal(texts: list[str], way: str = NUMBERS) -> str:
    """The decimal mark that is usual where different numbers could have either."""
    marked = [text for text in texts if "." in text or "," in text]
    if way == PERCENTAGES:  # they are rarely thousands
        return "." if any("." in text for text in marked) else ","
    if not marked or not all(THOUSANDS["."].fullmatch(text) for text in marked):
        return "."
    if way == MONEY:  # it rarely has three decimals
        return ","
    # Points before three digits group beside numbers that are all below a thousand.
    whole = [abs(amount(text, "")) for text in texts if "." not in text]
    if not whole or max(whole) >= 1000:
        return "."
    before = [abs(int(text.split(".")[0])) for text in marked]
    between = len(marked) >= MANY or np.median(whole) > 10 * np.median(before)
    return "," if between else "."
