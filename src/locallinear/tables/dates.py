"""Columns of dates and times: a trend, and cycles of the year, the week and the day.

A date becomes years since the first date, the trend, and for each cycle that the training data
cover a point on a circle, so that December is near January and 23:00 is near midnight. What happens
on single days, such as holidays, is left to the user: a column of their own. Times in a zone are
what clocks show there. A time of day has no trend: its first feature is 0. So are times of a single
day.
"""

import calendar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import cells as reading
from .cells import (
    GAP_WORDS,
    QUARTER,
    TIME_OF_DAY,
    cell_texts,
    may_hold_text,
    pandas_module,
    to_numbers,
    values_in,
)
from .columns import LEAST_GAPS, NO_VALUE
from .kinds import Understood, is_period
from .table import Table, TableError

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

DAY = 86_400.0
YEAR = 365.2425 * DAY
# Each cycle by its length in seconds, and the seconds of it that the epoch (a Thursday) began with.
CYCLES = {"time of year": (YEAR, 0.0), "weekday": (7 * DAY, 3 * DAY), TIME_OF_DAY: (DAY, 0.0)}
# The day of all times of day.
EPOCH = np.datetime64("1970-01-01", "us")
# The parts of a cycle by name.
IN_ORDER = {
    "time of year": list(calendar.month_name)[1:],
    "weekday": list(calendar.day_name),
    TIME_OF_DAY: [f"{hour}:00" for hour in range(24)],
}
# A cycle is used if the data cover so much of it.
LEAST_PART = 0.5
# Rows that are spread over more of a circle than this are nowhere in particular. So are those of
# two seasons: in each quarter of a part that is named, they are this much as frequent as in it all.
MOST_OF_CIRCLE, EVENLY = 0.5, 0.5
# Of a few rows, the part of a circle or of the years that holds so many is told, and a part of a
# circle only where it is no larger than this.
NEARLY_ALL, NARROW = 0.9, 1 / 3
MONTH = 31 * DAY / YEAR
# Sums of weights are as exact as this.
ROUNDING = 1e-9


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
    n_gaps : int
        How many cells of the training data had no value.
    zone : str
        The zone whose clocks the times show; "" where it is not known.
    other_form : str
        A format with days for months that read all cells of the training data too, or "".
    """

    name: str
    form: str = ""
    cycles: tuple[str, ...] = ()
    fill: float = 0.0
    first: float = 0.0
    last: float = 0.0
    n_gaps: int = 0
    zone: str = ""
    other_form: str = ""

    kind = "date"
    texts: tuple[str | None, ...] = ()

    @property
    def unit(self) -> str:
        """What the trend counts."""
        if not self.has_trend:
            return ""
        return f"years since {str(_minutes(np.array(self.first)))[:10]}"

    @classmethod
    def fit(cls, table: Table, name: str, found: Understood) -> "DateColumn":
        """The range of the dates, and the cycles that they cover."""
        zone = zone_of(table.frame[name])
        other = _exchanged(table.frame[name], found.form)
        column = cls(name, found.form, zone=zone, other_form=other)
        seconds = column._read_seconds(table)
        known = seconds[~np.isnan(seconds)]
        gaps = len(seconds) - len(known)
        if found.form == TIME_OF_DAY or _are_of_one_day(known):
            return replace(column, cycles=(TIME_OF_DAY,), n_gaps=gaps)
        if not len(known):
            return column
        cycles = [
            cycle
            for cycle, (length, begun) in CYCLES.items()
            if _covered((known + begun) % length, length)
        ]
        if found.form == QUARTER:  # four of them are a whole year
            quarters = np.unique(np.round(4 * known / YEAR) % 4)
            cycles = ["time of year"] if len(quarters) > 4 * LEAST_PART else []
        if _are_months(known):  # on whatever weekday they begin
            cycles = [cycle for cycle in cycles if cycle != "weekday"]
        years = np.median(known), known.min(), known.max()
        middle, first, last = (1970 + float(seconds) / YEAR for seconds in years)
        return replace(
            column, cycles=tuple(cycles), fill=middle - first, first=first, last=last, n_gaps=gaps
        )

    @property
    def has_trend(self) -> bool:
        """Whether the first feature counts years; of times of one day, or of no day, it is 0."""
        return self.first != self.last or not self.cycles

    @property
    def has_gaps(self) -> bool:
        """Whether a last feature is 1 for gaps."""
        return self.n_gaps >= LEAST_GAPS

    def _read_seconds(self, table: Table) -> Array:
        """The column as seconds since 1970, or since midnight for times of day; NaN for gaps."""
        times = self._read_times(table)
        seconds = times.astype("datetime64[us]").astype("int64").to_numpy() / 1e6
        return np.where(times.isna().to_numpy(), np.nan, seconds)

    def _read_times(self, table: Table) -> "pandas.Series":
        """The column as times without a zone, or TableError for its first cell that is none."""
        pandas, column = pandas_module(), table.frame[self.name]
        if is_period(column):
            column = column.dt.to_timestamp()
        if pandas.api.types.is_datetime64_any_dtype(column.dtype):
            if getattr(column.dtype, "tz", None) is not None:
                column = column.dt.tz_convert(self.zone) if self.zone else column
                column = column.dt.tz_localize(None)
            return column - column.dt.normalize() + EPOCH if self.form == TIME_OF_DAY else column
        texts = cell_texts(column)
        if self.form == "%Y%m%d":
            numbers = to_numbers(texts)
            texts = texts.where(np.isnan(numbers), pandas.Series(numbers).map("{:.0f}".format))
        gaps = [text is not None and text.casefold() in GAP_WORDS for text in texts]
        texts = texts.mask(np.array(gaps, dtype=bool))
        if self.form == TIME_OF_DAY:
            hours = reading.clock_times(texts)
            times = pandas.Series(EPOCH + pandas.to_timedelta(hours, "h").round("us"))
        else:
            times = reading.dates(texts, self.form or "ISO8601", self.zone)
        wrong = np.flatnonzero((times.isna() & texts.notna()).to_numpy())
        if len(wrong):
            raise self._refused(table, int(wrong[0]))
        return times

    def _refused(self, table: Table, row: int) -> TableError:
        """The error for a cell that is no date in the format of the column."""
        if self.form == TIME_OF_DAY:
            expected = "a time of day such as 13:45"
        elif self.form in ("", "ISO8601"):
            expected = "a date such as 2024-01-31"
        elif self.form == QUARTER:
            expected = "a quarter such as 2003 Q1"
        else:
            expected = f"a date as in {self.form}"
        remedy = "Correct the cell or leave it empty."
        if self.other_form:
            remedy += f" The training cells could be dates as in {self.other_form} too: if they "
            remedy += f"are, fit again with the kind 'date: {self.other_form}'."
        return table.refuse(self.name, row, expected, remedy)

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
        seconds = self._read_seconds(table)
        gaps = np.isnan(seconds)
        features = [np.where(gaps, self.fill, 1970 - self.first + seconds / YEAR)]
        if not self.has_trend:
            features = [np.zeros(len(seconds))]
        for cycle in self.cycles:
            length, begun = CYCLES[cycle]
            angle = 2 * np.pi * ((seconds + begun) % length) / length
            features += [np.where(gaps, 0.0, np.cos(angle)), np.where(gaps, 0.0, np.sin(angle))]
        if self.has_gaps:
            features.append(gaps.astype(np.float64))
        return np.column_stack(features)

    def shown(self, table: Table) -> Any:
        """The cells as a reader sees them: text as in 2024-01-31 12:00, None for gaps."""
        times = self._read_times(table)
        known = times.dropna()
        form = "%Y-%m-%d %H:%M" if (known.dt.normalize() != known).any() else "%Y-%m-%d"
        form = "%H:%M" if not self.has_trend else form
        texts = times.dt.strftime(form).astype(object)
        return texts.where(times.notna(), None).to_numpy(dtype=object)

    def cells_of(self, features: Array) -> list[str | None]:
        """What a reader would see in rows with these features (n, f)."""
        gaps = features[:, -1] > 0.5 if self.has_gaps else np.zeros(len(features), dtype=bool)
        if not self.has_trend:
            turns = np.arctan2(features[:, 2], features[:, 1]) / (2 * np.pi) % 1.0
            minutes, form = EPOCH + np.round(turns * 1440).astype("timedelta64[m]"), "%H:%M"
        else:
            minutes = _minutes(features[:, 0] + self.first)
            form = "%Y-%m-%d %H:%M" if TIME_OF_DAY in self.cycles else "%Y-%m-%d"
        texts = pandas_module().DatetimeIndex(minutes.astype("datetime64[s]")).strftime(form)
        return [None if gap else text for text, gap in zip(texts, gaps, strict=True)]

    def on_circle(
        self, feature: int, features: Array, weights: Array, inside: NDArray[np.bool_]
    ) -> tuple[str, str] | None:
        """The cycle that a feature belongs to, and where in it most of some rows are, in words.

        Of all rows (n, f) of a table, with weights (n,), these are the ones `inside` (n,). None
        where the feature is of no cycle. No words where they are in a large part of the circle, or
        do not fill that part as far as all rows do.
        """
        number = (feature - 1) // 2
        if feature == 0 or number >= len(self.cycles):
            return None
        cycle, circle = self.cycles[number], features[:, 1 + 2 * number : 3 + 2 * number]
        known = (circle != 0).any(axis=1) & (weights > 0)  # gaps are in the middle
        turns, v, here = self._turns(number, features)[known], weights[known], inside[known]
        low, high = _densest_arc(turns[here], v[here])
        if high - low > MOST_OF_CIRCLE or not _fill(low, high, turns, v, here):
            return cycle, ""
        return cycle, _arc_in_words(cycle, low, high)

    def in_common(self, features: Array, weights: Array) -> str:
        """Where most of a few dates (n, f) are, by their weights (n,), in words.

        Such as "November to December, 2011 to 2012, 3:00 to 5:00": their mean would be a day and an
        hour of other seasons. Dates within a month are told by their days.
        """
        if not self.has_trend:
            return self._arc(0, features, weights, MOST_OF_CIRCLE) or "different times of day"
        low, high = _middle(features[:, 0] + self.first, weights)
        days = [str(end)[:10] for end in _minutes(np.array([low, high]))]
        parts = {
            cycle: self._arc(i, features, weights, NARROW) for i, cycle in enumerate(self.cycles)
        }
        months = parts.pop("time of year", "")
        if high - low <= MONTH or (not months and high - low <= 1):
            months, when = "", days
        else:
            when = [day[:4] for day in days]
        return ", ".join(filter(None, [months, " to ".join(dict.fromkeys(when)), *parts.values()]))

    def places(self, number: int, features: Array) -> tuple[list[str], NDArray[np.intp]]:
        """The months, weekdays or hours that rows (n, f) are in, in order, and which each is in."""
        cycle = self.cycles[number]
        here = [_on_cycle(cycle, turn) for turn in self._turns(number, features).tolist()]
        held = set(here)
        texts = [text for text in IN_ORDER[cycle] if text in held]
        numbers = {text: k for k, text in enumerate(texts)}
        return texts, np.array([numbers[text] for text in here], dtype=np.intp)

    def _arc(self, number: int, features: Array, weights: Array, widest: float) -> str:
        """Where on a circle nearly all rows (n, f) are, in words; empty if on a wider arc."""
        low, high = _densest_arc(self._turns(number, features), weights, NEARLY_ALL)
        return "" if high - low > widest else _arc_in_words(self.cycles[number], low, high)

    def _turns(self, number: int, features: Array) -> Array:
        """Positions of rows (n, f) on a circle, once around is 1."""
        cosine, sine = features[:, 1 + 2 * number], features[:, 2 + 2 * number]
        return np.arctan2(sine, cosine) / (2 * np.pi) % 1.0

    def became(self) -> str:
        """What the column became, in words."""
        gaps = "; a last feature for gaps" if self.has_gaps else ""
        if not self.has_trend:
            one_day = "" if self.form == TIME_OF_DAY else ", as all its times are of one day"
            return f"a circle for the time of day{one_day}{gaps}"
        circles = f", and circles for {' and '.join(self.cycles)}" if self.cycles else ""
        zone = f"; clocks in {self.zone}" if self.zone and TIME_OF_DAY in self.cycles else ""
        form = "" if self.form in ("", "ISO8601", "%Y%m%d") else f"; read as {self.form}"
        if self.other_form:
            form += f", or is it {self.other_form}? Then its kind is 'date: {self.other_form}'"
        return f"a trend in years{circles}{gaps}{zone}{form}"

    def unseen(self, table: Table) -> str | None:
        """A sentence on dates outside the training data, and one on gaps that it did not have."""
        seconds = self._read_seconds(table)
        years, notes = 1970 + seconds / YEAR, []
        outside = np.flatnonzero((years < self.first) | (years > self.last))
        if len(outside) and self.has_trend:
            notes.append(
                f"Column {self.name!r} has times outside those of the training data in "
                f"{len(outside)} of {len(years)} rows, such as {self.shown(table)[outside[0]]} in "
                f"row {outside[0] + 1}. The trend is continued as a line."
            )
        zone = zone_of(table.frame[self.name])
        if zone and not self.zone:
            notes.append(
                f"Column {self.name!r} has times in the zone {zone}, but named no single zone in "
                "the training data. They count as the clocks show them."
            )
        n_gaps = int(np.isnan(seconds).sum())
        if n_gaps and not self.n_gaps:
            notes.append(
                f"Column {self.name!r} has no value in {n_gaps} of {len(years)} rows, but always "
                "had one in the training data. They count as the median, at no time of a cycle."
            )
        return " ".join(notes) or None


def zone_of(column: "pandas.Series") -> str:
    """The zone of a column of times or of texts, by its name; "" where there is none."""
    zone = getattr(column.dtype, "tz", None)
    if zone is not None:
        return str(zone)
    return reading.zone_of_texts(cell_texts(column)) if may_hold_text(column) else ""


def is_zone(name: str) -> bool:
    """Whether a zone is known by this name."""
    try:
        pandas_module().Timestamp(0).tz_localize(name or None)
    except (ValueError, KeyError, TypeError, OSError):
        return False
    return True


def _exchanged(column: "pandas.Series", form: str) -> str:
    """The format with days for months that reads all cells of a column too, or ""."""
    return reading.exchanged(values_in(cell_texts(column)), form) if "%" in form else ""


def _are_of_one_day(seconds: Array) -> bool:
    """Whether different times are all of one day, which shows no trend."""
    return len(np.unique(seconds)) > 1 == len(np.unique(seconds // DAY))


def _are_months(seconds: Array) -> bool:
    """Whether all times are the first moment of a month."""
    times = seconds.astype("datetime64[s]")
    return bool((times == times.astype("datetime64[M]").astype("datetime64[s]")).all())


def _minutes(years: Array) -> NDArray[np.datetime64]:
    """Times that are given in years, to the minute."""
    return np.round((years - 1970) * YEAR / 60).astype("datetime64[m]")


def _middle(values: Array, weights: Array) -> tuple[float, float]:
    """The range of values (n,) without the lowest and the highest of them, by their weights."""
    order = np.argsort(values, kind="stable")
    held = weights[order].cumsum() / weights.sum()
    out = (1 - NEARLY_ALL) / 2
    low, high = np.searchsorted(held, [out, 1 - out - ROUNDING])
    return float(values[order[low]]), float(values[order[high]])


def _densest_arc(turns: Array, weights: Array, held: float = 0.8) -> tuple[float, float]:
    """The shortest arc that holds this part of some positions on a circle, once around is 1.

    It begins between 0 and 1, and may end beyond 1. Positions count by their weights.
    """
    if not len(turns):
        return 0.0, 1.0
    order, n = np.argsort(turns, kind="stable"), len(turns)
    ordered, sizes = turns[order], weights[order]
    reached = np.concatenate([sizes, sizes]).cumsum()
    wanted = reached[:n] - sizes + (held - ROUNDING) * sizes.sum()
    ends = np.concatenate([ordered, ordered + 1.0])[np.searchsorted(reached, wanted)]
    first = int(np.argmin(ends - ordered))
    return float(ordered[first]), float(ends[first])


def _fill(low: float, high: float, turns: Array, weights: Array, here: NDArray[np.bool_]) -> bool:
    """Whether the positions `here` are all along an arc, as far as all positions are."""
    along = (turns - low + ROUNDING) % 1.0
    inside = along <= high - low + 2 * ROUNDING
    quarter = np.searchsorted((high - low) * np.arange(1, 4) / 4, along[inside])
    own, every = (np.bincount(quarter, v[inside], 4) for v in (weights * here, weights))
    held = every > 0
    return bool((own[held] / every[held]).min() >= EVENLY * own.sum() / every.sum())


def _arc_in_words(cycle: str, low: float, high: float) -> str:
    """An arc of a circle in words, such as "November to December"."""
    return " to ".join(dict.fromkeys(_on_cycle(cycle, end) for end in (low, high)))


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
