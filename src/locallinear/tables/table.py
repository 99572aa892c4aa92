"""Table: a data frame with a name, and clear errors for what cannot be used.

A frame may come from pandas, polars, an array or a file. Error messages count rows from 1, below
the header.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks.inputs import LARGEST
from .cells import pandas_module

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

# The name that messages give to a table that did not come from a file.
FRAME = "the table"


class TableError(ValueError):
    """A table cannot be used; the message says where, why and what to do."""


@dataclass(frozen=True)
class Table:
    """Columns of any types, whose rows are numbered from 0.

    Attributes
    ----------
    frame : DataFrame
    name : str
        The table's name in messages.
    decimal : str or None
        The decimal mark of numbers in text, "." or ",", where the user gives one.
    missing : tuple of str
        Cells that mean "no value", in addition to the usual ones.
    shown_decimal : str or None
        The decimal mark that the numbers of a file show.
    numbers : array (n,) or None
        Where these are some of the rows of a table, their numbers in it, for messages.
    """

    frame: "pandas.DataFrame"
    name: str = FRAME
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    shown_decimal: str | None = None
    numbers: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.columns)

    @property
    def is_file(self) -> bool:
        """Whether the table came from a file, so that messages may name options of commands."""
        return self.name != FRAME

    @property
    def usual_decimal(self) -> str | None:
        """The decimal mark of numbers that could have either."""
        return self.decimal or self.shown_decimal

    def marks(self, known: str) -> list[str]:
        """Decimal marks with which to read a column: the user's, the column's, the file's, none."""
        return list(dict.fromkeys([*filter(None, [self.decimal, known, self.shown_decimal]), ""]))

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
            hint = ": if that is several, pass --delimiter" if self.is_file else ""
            return f"It has a single column, {shortened(self.columns[0])!r}{hint}."
        more = f" and {len(self.columns) - 8} more" if len(self.columns) > 8 else ""
        return f"Its columns are {', '.join(self.columns[:8])}{more}."

    def refuse(self, column: str, row: int, expected: str, remedy: str) -> TableError:
        """The error for a cell that is not what was expected; `remedy` says what to do."""
        cell = shortened(str(self.frame[column].iloc[row]))
        return TableError(
            f"{self.name}, row {self._counted(row)}, column {column!r}: expected {expected}, but "
            f"found {cell!r}. {remedy}"
        )

    def _counted(self, row: int) -> int:
        """The number of a row, from 1."""
        return int(row if self.numbers is None else self.numbers[row]) + 1

    def checked_finite(self, column: str, numbers: Array) -> Array:
        """Numbers of a column, or TableError where one is infinite or its square would be."""
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            raise TableError(
                f"{self.name}, row {self._counted(infinite[0])}, column {column!r}: the number is "
                "infinite; correct it or leave the cell empty."
            )
        sizes = np.abs(numbers)
        huge = np.flatnonzero(sizes > LARGEST)
        if len(huge):
            raise TableError(
                f"{self.name}, row {self._counted(huge[0])}, column {column!r}: the number "
                f"{numbers[huge[0]]:g} is above {LARGEST:g} in size, so that its square is "
                "infinite; correct it, or change the unit."
            )
        if 0 < np.nanmax(sizes, initial=0.0) < 1 / LARGEST:
            raise TableError(
                f"{self.name}, column {column!r}: all numbers are below {1 / LARGEST:g} in size, "
                "so that their squares are zero; change the unit."
            )
        return numbers

    def take(self, rows: NDArray) -> "Table":
        """The table of some of the rows."""
        some = np.arange(len(self))[rows]
        frame = self.frame.iloc[some].reset_index(drop=True)
        numbers = some if self.numbers is None else self.numbers[some]
        return replace(self, frame=frame, numbers=numbers)

    def without(self, columns: Collection[str]) -> "Table":
        """The table without some of the columns."""
        return replace(self, frame=self.frame.drop(columns=list(columns)))


def shortened(cell: str, length: int = 40) -> str:
    """A cell cut to the length that fits into a message."""
    return cell if len(cell) <= length else cell[: length - 1] + "…"


def as_table(data: Any, missing: Collection[str] = (), name: str = FRAME) -> Table:
    """A table of a frame of pandas or polars, or of an array; a Table is returned as it is.

    Parameters
    ----------
    data : DataFrame, array-like (n, c) or Table
        The columns of an array are called x0, x1 and so on.
    missing : collection of str
        Cells that mean "no value", as text.
    name : str
        For messages.
    """
    if isinstance(data, Table):
        return data
    frame = _as_frame(data)
    names = [str(column) for column in frame.columns]
    check_names(name, names)
    frame = _with_quarters(frame.set_axis(names, axis=1).reset_index(drop=True))
    if missing:
        no_value = {cell.strip() for cell in missing}
        frame = frame.apply(lambda column: _without_cells(column, no_value))
    return Table(frame, name, missing=tuple(missing))


def _with_quarters(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """The frame with quarters as texts such as 2018Q1, which its file would have."""
    quarters = {
        name: column.map(str, na_action="ignore").astype(object)
        for name, column in frame.items()
        if str(column.dtype).startswith("period[Q")
    }
    return frame.assign(**quarters) if quarters else frame


def _without_cells(column: "pandas.Series", no_value: set[str]) -> "pandas.Series":
    """The column with gaps where the text of a cell means no value."""
    from .cells import cell_texts

    gaps = cell_texts(column).isin(no_value)
    return column.mask(gaps) if gaps.any() else column


def collected(data: Any) -> Any:
    """The frame that a LazyFrame of polars or a table of Arrow is; anything else as it is."""
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):
        return data.collect()
    return data.to_pandas() if hasattr(data, "column_names") else data


def _as_frame(data: Any) -> "pandas.DataFrame":
    pandas, data = pandas_module(), collected(data)
    if isinstance(data, pandas.DataFrame):
        of_arrow = [isinstance(kind, pandas.ArrowDtype) for kind in data.dtypes]
        if not any(of_arrow):
            return data
        columns = [
            _from_arrow(data.iloc[:, j]) if arrow else data.iloc[:, j]
            for j, arrow in enumerate(of_arrow)
        ]
        return pandas.concat(columns, axis=1)
    if hasattr(data, "columns") and hasattr(data, "schema"):  # polars
        return pandas.DataFrame({name: _from_polars(data[name]) for name in data.columns})
    if hasattr(data, "columns"):
        return pandas.DataFrame({name: list(data[name]) for name in data.columns})
    values = np.asarray(data)
    if values.ndim == 2 and values.dtype.kind in "biuf":
        return pandas.DataFrame(values, columns=array_names(values.shape[1]))
    if values.ndim == 2:
        frame = pandas.DataFrame(values.astype(object), columns=array_names(values.shape[1]))
        return frame.infer_objects()
    raise TypeError(
        "expected a DataFrame, whose columns have names, or an array (n, c), but got a "
        f"{type(data).__name__}"
    )


def array_names(c: int) -> list[str]:
    """The names of an array's columns."""
    return [f"x{j}" for j in range(c)]


def _from_arrow(column: "pandas.Series") -> "pandas.Series":
    """A column of Arrow with the type of pandas that means the same."""
    values = column.array.__arrow_array__().to_pandas()
    return values.set_axis(column.index).rename(column.name)


def _from_polars(column: Any) -> "pandas.Series":
    """A column of polars with the type of pandas that means the same."""
    pandas, kind = pandas_module(), str(column.dtype)
    values = column.to_list()
    if kind.startswith(("Datetime", "Date", "Duration")):
        read = pandas.to_timedelta if kind.startswith("Duration") else pandas.to_datetime
        if getattr(column.dtype, "time_zone", None):
            zoned = pandas.Series(pandas.to_datetime(values, utc=True))
            return zoned.dt.tz_convert(column.dtype.time_zone)
        return pandas.Series(read(values))
    if kind.startswith("Enum"):
        return pandas.Series(
            pandas.Categorical(values, categories=list(column.dtype.categories), ordered=True)
        )
    if kind.startswith("Categorical"):
        return pandas.Series(pandas.Categorical(values))
    if kind == "Boolean":
        return pandas.Series(values, dtype="boolean")
    if kind.startswith(("Int", "UInt", "Float", "Decimal")):
        return pandas.Series([np.nan if v is None else float(v) for v in values], dtype=np.float64)
    return pandas.Series(values, dtype=object)


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
