"""Table: a data frame whose columns are numbers or text, with clear errors for other data.

A column of numbers is float64, with NaN for missing values. A column of text holds str, with None
for missing values. Error messages count rows from 1, below the header.
"""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks.inputs import LARGEST
from ..runtime.extras import extra

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

# The name that messages give to a table that did not come from a file.
FRAME = "the table"


class TableError(ValueError):
    """A table cannot be used; the message says where, why and what to do."""


@dataclass(frozen=True)
class Table:
    """Columns of numbers and of text.

    Attributes
    ----------
    frame : DataFrame
        float64 and object columns.
    name : str
        The table's name in messages.
    decimal : str
        The decimal mark in text that looks like a number, "." or ",".
    """

    frame: "pandas.DataFrame"
    name: str = FRAME
    decimal: str = "."

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.columns)

    def is_text(self, column: str) -> bool:
        """Whether a column holds text."""
        return self.frame[column].dtype == object

    def require(self, wanted: Collection[str], role: str) -> None:
        """Raise TableError if a wanted column is absent, and propose a similar name.

        `role` says in the message what the column is wanted for.
        """
        absent = [column for column in wanted if column not in self.frame.columns]
        if not absent:
            return
        first, rest = absent[0], len(absent) - 1
        more = f" and {rest} more" if rest else ""
        similar = self._similar_names(first) if len(self.columns) > 1 else ""
        hint = f"Did you mean {similar}?" if similar else self.listing()
        raise TableError(f"{self.name} has no column {first!r}{more}, {role}. {hint}")

    def _similar_names(self, column: str) -> str:
        names = {name.casefold(): name for name in self.columns}
        wanted = column.casefold()
        similar = get_close_matches(wanted, names, n=3, cutoff=0.7)
        similar = similar or [name for name in names if wanted in name][:3]
        return " or ".join(repr(names[name]) for name in similar)

    def listing(self) -> str:
        """A sentence with the names of the columns."""
        if len(self.columns) == 1:
            hint = "" if self.name == FRAME else ": if that is several, pass --delimiter"
            return f"It has a single column, {shortened(self.columns[0])!r}{hint}."
        more = f" and {len(self.columns) - 8} more" if len(self.columns) > 8 else ""
        return f"Its columns are {', '.join(self.columns[:8])}{more}."

    def numbers(self, column: str, remedy: str) -> Array:
        """Return a column as numbers, or raise TableError for its first cell that is none.

        `remedy` is the last sentence of the message: what the user can do.
        """
        cells = self.frame[column]
        if not self.is_text(column):
            return cells.to_numpy()
        numbers = to_numbers(cells, self.decimal)
        wrong = np.flatnonzero(np.isnan(numbers) & cells.notna().to_numpy())
        if len(wrong):
            cell = shortened(cells.iloc[wrong[0]])
            raise TableError(
                f"{self.name}, row {wrong[0] + 1}, column {column!r}: expected a number, but "
                f"found {cell!r}. {remedy}"
            )
        return numbers

    def share_of_numbers(self, column: str) -> float:
        """Share of the values of a text column that are numbers, from 0 to 1."""
        cells = self.frame[column].dropna()
        return float(np.mean(~np.isnan(to_numbers(cells, self.decimal)))) if len(cells) else 0.0

    def take(self, rows: NDArray) -> "Table":
        """The table of some of the rows."""
        return Table(self.frame[rows].reset_index(drop=True), self.name, self.decimal)


def pandas_module() -> ModuleType:
    """Import pandas, which is optional."""
    return extra("pandas", "report", "Tables")


def shortened(cell: str, length: int = 40) -> str:
    """A cell cut to the length that fits into a message."""
    return cell if len(cell) <= length else cell[: length - 1] + "…"


def as_table(data: Any, text: Collection[str] = (), missing: Collection[str] = ()) -> Table:
    """Convert a DataFrame of pandas or polars; a Table is returned as it is.

    Parameters
    ----------
    data : DataFrame or Table
    text : collection of str
        Columns that are text even if all their values are numbers.
    missing : collection of str
        Cells that mean "no value", as text.
    """
    if isinstance(data, Table):
        return data
    pandas = pandas_module()
    if not hasattr(data, "columns"):
        raise TypeError(
            f"expected a DataFrame, whose columns have names, but got a {type(data).__name__}"
        )
    if not isinstance(data, pandas.DataFrame):
        data = pandas.DataFrame({name: list(data[name]) for name in data.columns})
    return from_frame(data, FRAME, text, missing)


def from_frame(
    frame: "pandas.DataFrame", name: str, text: Collection[str], missing: Collection[str]
) -> Table:
    """Convert a pandas DataFrame with columns of any types; `name` is for messages."""
    pandas = pandas_module()
    frame = frame.reset_index(drop=True)
    names = [str(column) for column in frame.columns]
    check_names(name, names)
    if not len(frame):
        raise TableError(f"{name} has no rows.")
    no_value = {cell.strip() for cell in missing}
    no_number = to_numbers(sorted(no_value), ".")
    columns: dict[str, Any] = {}
    for i, column in enumerate(names):
        cells = frame.iloc[:, i]
        if pandas.api.types.is_numeric_dtype(cells) and cells.dtype != bool and column not in text:
            numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
            numbers = np.where(np.isin(numbers, no_number), np.nan, numbers)
            columns[column] = _checked_finite(name, column, numbers)
        else:
            texts = [_cell_text(cell) for cell in cells]
            values = [
                None if is_missing or cell in no_value else cell
                for is_missing, cell in zip(cells.isna(), texts, strict=True)
            ]
            columns[column] = parsed_column(name, column, values, ".", column in text)
    return Table(pandas.DataFrame(columns), name)


def check_names(table: str, names: list[str]) -> None:
    """Raise TableError if two columns have the same name."""
    positions: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if name in positions:
            raise TableError(
                f"{table} has two columns {name!r} (number {positions[name]} and {position}); "
                "rename one."
            )
        positions[name] = position


def parsed_column(
    table: str, name: str, cells: list[str | None], decimal: str, text: bool
) -> "pandas.Series | Array":
    """Numbers if all cells are numbers or missing, else text; `text` asks for text."""
    column = pandas_module().Series(cells, dtype=object)
    if text:
        return column
    numbers = to_numbers(column, decimal)
    if (np.isnan(numbers) & column.notna()).any():
        return column
    return _checked_finite(table, name, numbers)


def to_numbers(cells: Any, decimal: str) -> Array:
    """Cells as numbers, NaN where a cell is not a number."""
    pandas = pandas_module()
    cells = pandas.Series(cells, dtype=object)
    if decimal == ",":
        cells = cells.str.replace(",", ".", regex=False) if cells.notna().any() else cells
    return pandas.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)


def _cell_text(cell: Any) -> str:
    """The text of a cell in a CSV file: 7.0 in a column of codes is the code 7."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _checked_finite(table: str, name: str, numbers: Array) -> Array:
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise TableError(
            f"{table}, row {infinite[0] + 1}, column {name!r}: the number is infinite; correct it "
            "or leave the cell empty."
        )
    sizes = np.abs(numbers)
    huge = np.flatnonzero(sizes > LARGEST)
    if len(huge):
        raise TableError(
            f"{table}, row {huge[0] + 1}, column {name!r}: the number {numbers[huge[0]]:g} is "
            f"above {LARGEST:g} in size, so that its square is infinite; correct it, or change "
            "the unit."
        )
    if 0 < np.nanmax(sizes, initial=0.0) < 1 / LARGEST:
        raise TableError(
            f"{table}, column {name!r}: all numbers are below {1 / LARGEST:g} in size, so that "
            "their squares are zero; change the unit."
        )
    return numbers
