"""Tables: columns of numbers and of text, or a sentence that says what is wrong with them.

A column is either numbers (float64, NaN where missing) or text (str, None where missing). Rows
are counted from 1 below the header, in messages too.
"""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.extras import extra

if TYPE_CHECKING:
    import pandas


# What messages call a table that did not come from a file.
FRAME = "the table"


class TableError(ValueError):
    """A table that cannot be used; the message says where, why and what to do."""


@dataclass(frozen=True)
class Table:
    """Columns of numbers and of text.

    Attributes
    ----------
    frame : DataFrame of float64 and object columns
    name : what messages call the table
    decimal : the mark in its numbers, "." or ","
    """

    frame: "pandas.DataFrame"
    name: str = FRAME
    decimal: str = "."

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[str]:
        """The columns' names."""
        return list(self.frame.columns)

    def is_text(self, column: str) -> bool:
        """Whether a column holds text."""
        return self.frame[column].dtype == object

    def require(self, wanted: Collection[str], what: str) -> None:
        """Raise TableError where wanted columns are not there, with what is near the first."""
        absent = [column for column in wanted if column not in self.frame.columns]
        if not absent:
            return
        first, rest = absent[0], len(absent) - 1
        more = f" and {rest} more" if rest else ""
        near = self._nearest(first) if len(self.columns) > 1 else ""
        hint = f"Did you mean {near}?" if near else self.listing()
        raise TableError(f"{self.name} has no column {first!r}{more}, {what}. {hint}")

    def _nearest(self, column: str) -> str:
        names = {name.casefold(): name for name in self.columns}
        wanted = column.casefold()
        near = get_close_matches(wanted, names, n=3, cutoff=0.7)
        near = near or [name for name in names if wanted in name][:3]
        return " or ".join(repr(names[name]) for name in near)

    def listing(self) -> str:
        """A sentence with the columns' names."""
        if len(self.columns) == 1:
            hint = "" if self.name == FRAME else ": if that is several, pass --delimiter"
            return f"It has a single column, {shortened(self.columns[0])!r}{hint}."
        more = f" and {len(self.columns) - 8} more" if len(self.columns) > 8 else ""
        return f"Its columns are {', '.join(self.columns[:8])}{more}."

    def numbers(self, column: str, remedy: str) -> NDArray[np.float64]:
        """A column as numbers; where it holds text, TableError names the first such cell."""
        cells = self.frame[column]
        if not self.is_text(column):
            return cells.to_numpy()
        found = to_numbers(cells, self.decimal)
        wrong = np.flatnonzero(np.isnan(found) & cells.notna().to_numpy())
        if len(wrong):
            cell = shortened(cells.iloc[wrong[0]])
            raise TableError(
                f"{self.name}, row {wrong[0] + 1}, column {column!r}: expected a number, but "
                f"found {cell!r}. {remedy}"
            )
        return found

    def share_of_numbers(self, column: str) -> float:
        """Which part of a text column's cells are numbers."""
        cells = self.frame[column].dropna()
        return float(np.mean(~np.isnan(to_numbers(cells, self.decimal)))) if len(cells) else 0.0

    def take(self, rows: NDArray) -> "Table":
        """Some of the rows, as a table."""
        return Table(self.frame[rows].reset_index(drop=True), self.name, self.decimal)


def shortened(cell: str, length: int = 40) -> str:
    """A cell as a message can show it."""
    return cell if len(cell) <= length else cell[: length - 1] + "…"


def as_table(data: Any, text: Collection[str] = (), missing: Collection[str] = ()) -> Table:
    """A Table of a DataFrame, of pandas or polars, and a Table itself."""
    if isinstance(data, Table):
        return data
    pandas = extra("pandas", "report", "Tables")
    if not hasattr(data, "columns"):
        raise TypeError(
            f"expected a DataFrame, whose columns have names, but came a {type(data).__name__}"
        )
    if not isinstance(data, pandas.DataFrame):
        data = pandas.DataFrame({name: list(data[name]) for name in data.columns})
    return from_frame(data, FRAME, text, missing)


def check_names(path, names: list[str]) -> None:
    """Refuse two columns of one name."""
    places: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if name in places:
            raise TableError(
                f"{path} has two columns {name!r} (number {places[name]} and {place}); rename one."
            )
        places[name] = place


def from_frame(frame, name: str, text: Collection[str], missing: Collection[str] = ()) -> Table:
    """A Table of a DataFrame of any types."""
    pandas = extra("pandas", "report", "Tables")
    frame = frame.reset_index(drop=True)
    names = [str(column) for column in frame.columns]
    check_names(name, names)
    if not len(frame):
        raise TableError(f"{name} has no rows.")
    no_value = {cell.strip() for cell in missing}
    no_number = to_numbers(sorted(no_value), ".")
    columns = {}
    for i, column in enumerate(names):
        cells = frame.iloc[:, i]
        if pandas.api.types.is_numeric_dtype(cells) and cells.dtype != bool and column not in text:
            numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
            numbers = np.where(np.isin(numbers, no_number), np.nan, numbers)
            columns[column] = _finite(name, column, numbers)
        else:
            words = [_word(cell) for cell in cells]
            gone = [a or b in no_value for a, b in zip(cells.isna(), words, strict=True)]
            known = [None if a else b for a, b in zip(gone, words, strict=True)]
            columns[column] = typed(name, column, known, ".", column in text)
    return Table(pandas.DataFrame(columns), name)


def _word(cell: Any) -> str:
    """A cell as a CSV file would hold it: 7.0 in a column of codes is the code 7."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def typed(table: str, name: str, cells: list[str | None], decimal: str, text: bool):
    """Numbers where all cells are, text otherwise; a column without any value is of numbers."""
    pandas = extra("pandas", "report", "Tables")
    column = pandas.Series(cells, dtype=object)
    if text:
        return column
    numbers = to_numbers(column, decimal)
    if (np.isnan(numbers) & column.notna()).any():
        return column
    return _finite(table, name, numbers)


def _finite(table: str, name: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise TableError(
            f"{table}, row {infinite[0] + 1}, column {name!r}: the number is infinite; correct it "
            "or leave the cell empty."
        )
    return numbers


def to_numbers(cells: Any, decimal: str) -> NDArray[np.float64]:
    """Cells as numbers, NaN for those that are none."""
    pandas = extra("pandas", "report", "Tables")
    cells = pandas.Series(cells, dtype=object)
    if decimal == ",":
        cells = cells.str.replace(",", ".", regex=False) if cells.notna().any() else cells
    return pandas.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
