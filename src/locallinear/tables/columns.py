"""Columns of numbers and of categories: how their cells become features, and back to words.

A column of numbers is one feature, and a second one that is 1 for gaps where gaps were frequent
enough to matter. A column of categories has one 0/1 feature per category; "no value" is a category
of its own, and a text that was not in the training data is 0 in all of them. Ordered categories are
one feature, the number of the level. Axis letters: n or q rows, f features of one column, K texts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .amounts import BOUNDS, DURATIONS, MEASURES, NUMBERS, Written
from .cells import cell_texts, pandas_module, to_numbers
from .kinds import Understood
from .number_cells import cell_units, read_numbers, unit_word
from .table import Table, TableError, shortened

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

NO_VALUE = "(missing)"
# Fewer gaps than this cannot show what gaps mean; they are only filled in.
LEAST_GAPS = 10
# More values than this have no feature each; a user may ask for a few hundred postal codes.
MOST_CATEGORIES = 500
# Levels of an ordered column that are all named.
MOST_NAMED = 6
# What means true and false in a column of them, in small letters.
TRUTH = dict.fromkeys(["true", "yes", "t", "y", "1"], True)
TRUTH |= dict.fromkeys(["false", "no", "f", "n", "0"], False)


class Numbered:
    """What columns of numbers and of ordered categories share: their features."""

    name: str
    fill: float
    n_gaps: int

    def read(self, table: Table) -> Array:
        """The cells of a table as numbers, NaN for gaps."""
        raise NotImplementedError

    @property
    def has_gaps(self) -> bool:
        """Whether a second feature is 1 for gaps."""
        return self.n_gaps >= LEAST_GAPS

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return [self.name, f"{self.name} is {NO_VALUE}"] if self.has_gaps else [self.name]

    @property
    def indicators(self) -> list[int]:
        """Which of the features are 0 or 1."""
        return [1] if self.has_gaps else []

    def encode(self, table: Table) -> Array:
        """The features of a table, (n, f)."""
        numbers = self.read(table)
        gaps = np.isnan(numbers)
        filled = np.where(gaps, self.fill, numbers)
        return np.column_stack([filled, gaps] if self.has_gaps else [filled]).astype(np.float64)


@dataclass(frozen=True)
class NumberColumn(Numbered):
    """A column of numbers.

    Attributes
    ----------
    name : str
    cells, decimal, units
        How the numbers are written, as in `amounts.Written`.
    fill : float
        Stands for a gap: the median.
    n_gaps : int
        How many cells of the training data had no value.
    """

    name: str
    cells: str = NUMBERS
    fill: float = 0.0
    n_gaps: int = 0
    decimal: str = ""
    units: tuple[str, ...] = ()

    kind = "number"
    texts: tuple[str | None, ...] = ()

    @property
    def unit(self) -> str:
        """What the number counts, where the cells name it."""
        if self.cells == MEASURES:
            return self.units[0]
        return "hours" if self.cells == DURATIONS else ""

    @property
    def written(self) -> Written:
        """How the numbers are written."""
        return Written(self.cells, self.decimal, self.units)

    @classmethod
    def fit(cls, table: Table, name: str, found: Understood) -> "NumberColumn":
        """The column's median, and whether its gaps matter."""
        written = found.written
        numbers = read_numbers(table, name, written)
        gaps = int(np.isnan(numbers).sum())
        fill = float(np.nanmedian(numbers)) if gaps < len(numbers) else 0.0
        return cls(name, written.cells, fill, gaps, written.decimal, written.units)

    def shown(self, table: Table) -> Any:
        """The cells as a reader sees them: numbers, NaN for gaps."""
        return self.read(table)

    def read(self, table: Table) -> Array:
        """The numbers of new rows."""
        return read_numbers(table, self.name, self.written)

    def cells_of(self, features: Array) -> list[float | None]:
        """What a reader would see in rows with these features (n, f)."""
        gaps = features[:, 1] > 0.5 if self.has_gaps else np.zeros(len(features), dtype=bool)
        return [None if gap else x for x, gap in zip(features[:, 0].tolist(), gaps, strict=True)]

    def became(self) -> str:
        """What the column became, in words."""
        written = f" ({self.written.words})" if self.written.words else ""
        gaps = f", and a second feature for gaps, which count as {self.fill:g}"
        return f"one number{written}{gaps if self.has_gaps else ''}"

    def unseen(self, table: Table) -> str | None:
        """A sentence on cells that the model does not know."""
        known = ~np.isnan(self.read(table))
        notes = []
        if self.units:
            bare = [unit is None for unit in cell_units(table, self.name, self.cells)]
            n_bare = int((known & bare).sum())
            if n_bare:
                notes.append(
                    f"Column {self.name!r} has numbers without a {unit_word(self.cells)} in "
                    f"{n_bare} of {len(table)} rows, but nearly all had one in training. They "
                    f"count as amounts in {' or '.join(self.units)}."
                )
        if self.cells == BOUNDS:
            n_bounds = sum(sign is not None for sign in cell_units(table, self.name, BOUNDS))
            if n_bounds:
                notes.append(
                    f"Column {self.name!r} has bounds, such as <5 or 65+, in {n_bounds} of "
                    f"{len(table)} rows. They count as the number, as in training."
                )
        gaps = int((~known).sum())
        if gaps and not self.n_gaps:
            notes.append(
                f"Column {self.name!r} has no value in {gaps} of {len(table)} rows, but always had "
                f"one in the training data. They count as {self.fill:g}, the median."
            )
        return " ".join(notes) or None


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories without order.

    Attributes
    ----------
    name : str
    categories : tuple of str
        The values in the training data, `NO_VALUE` among them if there were gaps.
    """

    name: str
    categories: tuple[str, ...] = ()

    kind = "category"
    unit = ""
    has_gaps = False

    @classmethod
    def fit(cls, table: Table, name: str, found: Understood) -> "CategoryColumn":
        """The column's values."""
        values = set(category_cells(table.frame[name]).tolist())
        if len(values) > MOST_CATEGORIES:
            raise TableError(
                f"{table.name}, column {name!r}: {len(values):,} different values are too many for "
                f"a feature each (at most {MOST_CATEGORIES}); the kind text makes groups of "
                "similar ones."
            )
        return cls(name, tuple(sorted(values)))

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The text that each category stands for; None for a cell without a value."""
        return tuple(None if c == NO_VALUE else c for c in self.categories)

    @property
    def settings(self) -> Array:
        """The features of each text, and of any other text in the last row, (K + 1, f)."""
        return np.eye(len(self.categories) + 1)[:, :-1]

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name} is {c}" for c in self.categories]

    @property
    def indicators(self) -> list[int]:
        """Which of the features are 0 or 1."""
        return list(range(len(self.categories)))

    def _known_cells(self, table: Table) -> NDArray:
        """The texts of the column, written as in the training data: true and false, and codes."""
        cells = category_cells(table.frame[self.name])
        values = [c for c in self.categories if c != NO_VALUE]
        written = {TRUTH.get(c.casefold()): c for c in values}
        if None in written or len(written) < len(values):
            return as_known_codes(cells, self.categories)
        as_known = {c: written.get(TRUTH.get(c.casefold()), c) for c in set(cells.tolist())}
        return np.array([as_known[c] for c in cells], dtype=object)

    def encode(self, table: Table) -> Array:
        """The features of a table, (n, f)."""
        cells = self._known_cells(table)
        return (cells[:, None] == np.array(self.categories, dtype=object)).astype(np.float64)

    def shown(self, table: Table) -> Any:
        """The cells as a reader sees them: text, None for gaps."""
        return cell_texts(table.frame[self.name]).to_numpy(dtype=object)

    def became(self) -> str:
        """What the column became, in words."""
        gaps = ", one of them for gaps" if NO_VALUE in self.categories else ""
        return f"{len(self.categories)} categories{gaps}"

    def unseen(self, table: Table) -> str | None:
        """A sentence on cells that the model does not know."""
        cells = self._known_cells(table)
        rows = np.flatnonzero(~np.isin(cells, self.categories))
        if not len(rows):
            return None
        return (
            f"Column {self.name!r} has values that the model does not know in {len(rows)} of "
            f"{len(cells)} rows, such as {shortened(cells[rows[0]])!r} in row {rows[0] + 1}. They "
            "count as none of the known values."
        )


def category_cells(column: "pandas.Series") -> NDArray:
    """The texts of a column, (n,), with NO_VALUE for gaps."""
    texts = cell_texts(column)
    return texts.where(texts.notna(), NO_VALUE).to_numpy(dtype=object)


def as_known_codes(cells: NDArray, known: Iterable[str]) -> NDArray:
    """Texts (n,) with the zeros that known codes begin with: 6 is 0006, read as a number.

    Where several codes could be meant, the text stays as it is.
    """
    codes: dict[str, set[str]] = {}
    for code in known:
        if code.isdecimal():
            codes.setdefault(code.lstrip("0") or "0", set()).add(code)
    only = {bare: same.pop() for bare, same in codes.items() if len(same) == 1}
    return np.array([only.get(cell, cell) for cell in cells], dtype=object)


@dataclass(frozen=True)
class OrderedColumn(Numbered):
    """A column of ordered categories.

    Attributes
    ----------
    name : str
    levels : tuple of str
        From the lowest to the highest.
    fill : int
        The number of the level that stands for a gap: the median.
    n_gaps : int
        How many cells of the training data had no value.
    """

    name: str
    levels: tuple[str, ...] = ()
    fill: int = 0
    n_gaps: int = 0

    kind = "ordered"
    unit = ""

    @classmethod
    def fit(cls, table: Table, name: str, found: Understood) -> "OrderedColumn":
        """The levels in their order: the user's, the type's, that of numbers, or the alphabet's."""
        column = table.frame[name]
        texts = cell_texts(column)
        if found.levels:
            other = np.flatnonzero((texts.notna() & ~texts.isin(found.levels)).to_numpy())
            if len(other):
                remedy = "Correct the cell, leave it empty, or name its level in types."
                raise table.refuse(name, int(other[0]), f"one of {', '.join(found.levels)}", remedy)
            levels = list(found.levels)
        elif isinstance(column.dtype, pandas_module().CategoricalDtype):
            held = cell_texts(pandas_module().Series(column.cat.categories, dtype=object))
            levels = [text for text in held if text is not None]
        else:
            different = list(texts.dropna().unique())
            numbers = to_numbers(different)
            order = np.argsort(different if np.isnan(numbers).any() else numbers, kind="stable")
            levels = [different[i] for i in order]
        position = cls(name, tuple(levels)).read(table)
        gaps = int(np.isnan(position).sum())
        fill = int(np.nanmedian(position)) if gaps < len(position) else 0
        return cls(name, tuple(levels), fill, gaps)

    def read(self, table: Table) -> Array:
        """The number of each cell's level, NaN for gaps and unknown texts."""
        numbers = {level: float(i) for i, level in enumerate(self.levels)}
        return cell_texts(table.frame[self.name]).map(numbers).to_numpy(dtype=np.float64)

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The levels, and None for gaps if these matter."""
        return (*self.levels, None) if self.has_gaps else self.levels

    @property
    def settings(self) -> Array:
        """The features of each text, and of any other text in the last row, (K + 1, f)."""
        numbers = np.append(np.arange(len(self.levels)), self.fill).astype(np.float64)[:, None]
        if not self.has_gaps:
            return numbers
        gaps = np.append(np.zeros(len(self.levels)), 1.0)[:, None]
        known = np.hstack([numbers, gaps])
        return np.vstack([known, known[-1:]])

    def shown(self, table: Table) -> Any:
        """The cells as a reader sees them: text, None for gaps."""
        return cell_texts(table.frame[self.name]).to_numpy(dtype=object)

    def became(self) -> str:
        """What the column became, in words."""
        gaps = ", and a second feature for gaps" if self.has_gaps else ""
        few = len(self.levels) <= MOST_NAMED
        named = self.levels if few else (*self.levels[:2], "…", self.levels[-1])
        order = " < ".join(shortened(level, 20) for level in named)
        return f"one number, the position among {len(self.levels)} levels, {order}{gaps}"

    def unseen(self, table: Table) -> str | None:
        """A sentence on cells that the model does not know."""
        texts, notes = cell_texts(table.frame[self.name]), []
        rows = np.flatnonzero((texts.notna() & ~texts.isin(self.levels)).to_numpy())
        if len(rows):
            notes.append(
                f"Column {self.name!r} has values that are none of its levels in {len(rows)} of "
                f"{len(texts)} rows, such as {shortened(texts.iloc[rows[0]])!r} in row "
                f"{rows[0] + 1}. They count as gaps."
            )
        gaps = int(texts.isna().sum())
        if gaps and not self.n_gaps:
            notes.append(
                f"Column {self.name!r} has no value in {gaps} of {len(texts)} rows, but always had "
                f"one in the training data. They count as {shortened(self.levels[self.fill])!r}, "
                "the median."
            )
        return " ".join(notes) or None
