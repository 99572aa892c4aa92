"""Columns of dates and times: a trend, and cycles of the year, the week and the day.

A date becomes years since the first date, the trend, and for each cycle that the training data
cover a point on a circle, so that December is near January and 23:00 is near midnight. What happens
on single days, such as holidays, is left to the user: a column of their own.
"""

import calendar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import cells as reading
from .cells import GAP_WORDS, cell_texts, pandas_module, to_numbers
from .columns import LEAST_GAPS, NO_VALUE
from .kinds import Understood, is_period
from .table import Table

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

DAY = 86_400.0
YEAR = 365.2425 * DAY
# Each cycle by its length in seconds, and the seconds of it that the epoch (a Thursday) began with.
CYCLES = {"time of year": (YEAR, 0.0), "weekday": (7 * DAY, 3 * DAY), "time of day": (DAY, 0.0)}
# A cycle is used if the data cover so much of it.
LEAST_PART = 0.5
# An arc has to hold this part of some rows, up to rounding, to say where they are.
HELD, ROUNDING = 0.8, 1e-12
# Rows that are spread over more of a circle than this are nowhere in particular.
MOST_OF_CIRCLE = 0.7


@dataclass(frozen=True)
class DateColumn:
    """A column of dates or times.

    Attributes
    ----------
    name : str
    form : str
        The format of cells of text; "" where the column has the type of times.
    cycles : tuple of str
        The cycles in use, keys of `CYCLES`.
    fill : float
        Stands for a gap: the median, in years since the first date.
    first, last : float
        The range of the training data, in years.
    has_gaps : bool
        Whether a last feature is 1 for gaps.
    """

    name: str
    form: str = ""
    cycles: tuple[str, ...] = ()
    fill: float = 0.0
    first: float = 0.0
    last: float = 0.0
    has_gaps: bool = False

    kind = "date"
    texts: tuple[str | None, ...] = ()

    @property
    def unit(self) -> str:
        """What the trend counts."""
        return f"years since {str(_minutes(np.array(self.first)))[:10]}"

    @classmethod
    def fit(cls, table: Table, name: str, found: Understood) -> "DateColumn":
        """The range of the dates, and the cycles that they cover."""
        seconds = read_seconds(table, name, found.cells)
        known = seconds[~np.isnan(seconds)]
        gaps = len(seconds) - len(known)
        if not len(known):
            return cls(name, found.cells)
        cycles = [
            cycle
            for cycle, (length, begun) in CYCLES.items()
            if _covered((known + begun) % length, length)
        ]
        years = np.median(known), known.min(), known.max()
        middle, first, last = (1970 + float(seconds) / YEAR for seconds in years)
        fill = middle - first
        return cls(name, found.cells, tuple(cycles), fill, first, last, gaps >= LEAST_GAPS)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        circles = [f"{self.name}: {c}, {f}" for c in self.cycles for f in ("cosine", "sine")]
        return [self.name, *circles, *([f"{self.name} is {NO_VALUE}"] if self.has_gaps else [])]

    @property
    def indicators(self) -> list[int]:
        """Which of the features are 0 or 1."""
        return [1 + 2 * len(self.cycles)] if self.has_gaps else []

    def encode(self, table: Table) -> Array:
        """The features of a table, (n, f): years, circles, gaps."""
        seconds = read_seconds(table, self.name, self.form)
        gaps = np.isnan(seconds)
        features = [np.where(gaps, self.fill, 1970 - self.first + seconds / YEAR)]
        for cycle in self.cycles:
            length, begun = CYCLES[cycle]
            angle = 2 * np.pi * ((seconds + begun) % length) / length
            features += [np.where(gaps, 0.0, np.cos(angle)), np.where(gaps, 0.0, np.sin(angle))]
        if self.has_gaps:
            features.append(gaps.astype(np.float64))
        return np.column_stack(features)

    def shown(self, table: Table) -> Any:
        """The cells as a reader sees them: text as in 2024-01-31 12:00, None for gaps."""
        times = pandas_module().Series(read_times(table, self.name, self.form))
        form = "%Y-%m-%d %H:%M" if (times.dt.normalize() != times).any() else "%Y-%m-%d"
        texts = times.dt.strftime(form).astype(object)
        return texts.where(times.notna(), None).to_numpy(dtype=object)

    def cells_of(self, features: Array) -> list[str | None]:
        """What a reader would see in rows with these features (n, f)."""
        gaps = features[:, -1] > 0.5 if self.has_gaps else np.zeros(len(features), dtype=bool)
        minutes = _minutes(features[:, 0] + self.first)
        form = "%Y-%m-%d %H:%M" if "time of day" in self.cycles else "%Y-%m-%d"
        texts = pandas_module().DatetimeIndex(minutes.astype("datetime64[s]")).strftime(form)
        return [None if gap else text for text, gap in zip(texts, gaps, strict=True)]

    def on_circle(self, feature: int, features: Array, weights: Array) -> tuple[str, str] | None:
        """The cycle that a feature belongs to, and where in it most rows (n, f) are, in words.

        None where the feature is of no cycle. Where rows are all around the circle, no words.
        `weights` (n,) say how often each row counts.
        """
        number = (feature - 1) // 2
        if feature == 0 or number >= len(self.cycles):
            return None
        cycle = self.cycles[number]
        cosine, sine = features[:, 1 + 2 * number], features[:, 2 + 2 * number]
        known = (cosine != 0) | (sine != 0)  # gaps are in the middle
        turns = np.arctan2(sine[known], cosine[known]) / (2 * np.pi) % 1.0
        low, high = _densest_arc(turns, weights[known])
        if high - low > MOST_OF_CIRCLE:
            return cycle, ""
        ends = dict.fromkeys(_on_cycle(cycle, end) for end in (low, high))
        return cycle, " to ".join(ends)

    def became(self) -> str:
        """What the column became, in words."""
        circles = f", and circles for {' and '.join(self.cycles)}" if self.cycles else ""
        gaps = "; a last feature for gaps" if self.has_gaps else ""
        return f"a trend in years{circles}{gaps}"

    def unseen(self, table: Table) -> str | None:
        """A sentence on dates outside the training data."""
        seconds = read_seconds(table, self.name, self.form)
        years = 1970 + seconds / YEAR
        outside = np.flatnonzero((years < self.first) | (years > self.last))
        if not len(outside):
            return None
        return (
            f"Column {self.name!r} has times outside those of the training data in {len(outside)} "
            f"of {len(years)} rows, such as {self.shown(table)[outside[0]]} in row "
            f"{outside[0] + 1}. The trend is continued as a line."
        )


def _minutes(years: Array) -> NDArray[np.datetime64]:
    """Times that are given in years, to the minute."""
    return np.round((years - 1970) * YEAR / 60).astype("datetime64[m]")


def _densest_arc(turns: Array, weights: Array) -> tuple[float, float]:
    """The shortest arc that holds four fifths of some positions on a circle, once around is 1.

    It begins between 0 and 1, and may end beyond 1.
    """
    if not len(turns):
        return 0.0, 1.0
    order = np.argsort(turns)
    ordered, twice = turns[order], np.tile(weights[order], 2)
    upto = np.cumsum(twice)
    held = upto[: len(order)] - weights[order] + HELD * weights.sum()
    last = np.searchsorted(upto, held * (1 - ROUNDING))
    ends = np.concatenate([ordered, ordered + 1.0])[last]
    first = int(np.argmin(ends - ordered))
    return float(ordered[first]), float(ends[first])


def _on_cycle(cycle: str, turn: float) -> str:
    """A position on a circle in words: a month, a weekday, or a time of day to the hour."""
    length, begun = CYCLES[cycle]
    seconds = turn * length - begun
    if cycle == "time of year":
        # From 1950 to 2050, the first of January is at most 0.64 days before a whole turn.
        day = np.datetime64("1970-01-01", "s") + round(seconds + 0.65 * DAY)
        return calendar.month_name[int(day.astype("datetime64[M]").astype(int)) % 12 + 1]
    hours = round(seconds / 3600)  # midnight is on both sides of a whole number of days
    if cycle == "weekday":
        return calendar.day_name[(hours // 24 + 3) % 7]
    return f"{hours % 24}:00"


def _covered(inside: Array, length: float) -> bool:
    """Whether times within a cycle are different and not all in a small part of it."""
    parts = np.unique(np.floor(inside / length * 12))
    return len(np.unique(np.round(inside))) > 2 and len(parts) > 12 * LEAST_PART


def read_seconds(table: Table, name: str, form: str) -> Array:
    """A column as seconds since 1970, NaN for gaps."""
    times = read_times(table, name, form)
    seconds = times.astype("datetime64[us]").astype("int64").to_numpy() / 1e6
    return np.where(times.isna().to_numpy(), np.nan, seconds)


def read_times(table: Table, name: str, form: str) -> "pandas.Series":
    """A column as times without a zone, or TableError for its first cell that is none."""
    pandas, column = pandas_module(), table.frame[name]
    if is_period(column):
        column = column.dt.to_timestamp()
    if pandas.api.types.is_datetime64_any_dtype(column.dtype):
        if getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return column
    texts = cell_texts(column)
    if form == "%Y%m%d":
        numbers = to_numbers(texts)
        texts = texts.where(np.isnan(numbers), pandas.Series(numbers).map("{:.0f}".format))
    gaps = [text is not None and text.casefold() in GAP_WORDS for text in texts]
    texts = texts.mask(np.array(gaps, dtype=bool))
    times, _ = reading.dates(texts, form or "ISO8601")
    wrong = np.flatnonzero((times.isna() & texts.notna()).to_numpy())
    if len(wrong):
        raise table.refuse(
            name,
            int(wrong[0]),
            "a date" + (f" as in {form}" if form and form != "ISO8601" else " such as 2024-01-31"),
            "Correct the cell or leave it empty.",
        )
    return times
