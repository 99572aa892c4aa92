"""The cells of a column of numbers: read as the column writes them, or refused in a sentence."""

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .amounts import (
    DURATIONS,
    MARKED,
    MONEY,
    OTHER,
    PERCENTAGES,
    Written,
    amount,
    is_unit,
    read_amounts,
    split,
    units_of,
)
from .cells import GAP_WORDS, cell_texts, pandas_module, to_numbers
from .kinds import MAX_CATEGORIES
from .table import Table, TableError, shortened

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

# Units without which a number could mean several things: what a cell should be, and what it may be.
NEEDED_UNITS = {
    PERCENTAGES: ("a percentage such as '12 %'", "a percentage or a share of 1"),
    DURATIONS: ("a duration such as '1:30:00' or '90 min'", "hours, minutes or seconds"),
}


def cell_units(table: Table, name: str, cells: str) -> list[str | None]:
    """The unit of each cell of a column, None where a cell has none."""
    return units_of(cell_texts(table.frame[name]), cells)


def unit_word(cells: str) -> str:
    """What the unit of amounts is called."""
    return "currency" if cells == MONEY else "unit"


def read_numbers(table: Table, name: str, written: Written) -> Array:
    """A column as numbers, NaN for gaps, or TableError for its first cell that is none.

    So is a number alone where the unit could be another one than in training; 0 is 0 in each.
    """
    column, cells = table.frame[name], written.cells
    pandas = pandas_module()
    if pandas.api.types.is_timedelta64_dtype(column.dtype):
        if cells != DURATIONS and column.notna().any():
            row = int(column.notna().to_numpy().argmax())
            remedy = (
                "Divide by the unit of the training cells, as in column / pandas.Timedelta('1h')."
            )
            raise table.refuse(name, row, "a number, as in training", remedy)
        return (column / pandas.Timedelta(hours=1)).to_numpy(dtype=np.float64)
    if pandas.api.types.is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        _check_units(table, name, cells, numbers)
        return table.checked_finite(name, numbers)
    if pandas.api.types.infer_dtype(column, skipna=True) == "boolean":
        return column.map({True: 1.0, False: 0.0}).to_numpy(dtype=np.float64)
    texts = cell_texts(column)
    texts = texts.mask(texts.str.casefold().isin(GAP_WORDS).to_numpy(dtype=bool))
    numbers = _by_first_mark(texts, written, table.marks(written.decimal))
    wrong = np.flatnonzero(np.isnan(numbers) & texts.notna().to_numpy())
    if len(wrong):
        _check_units(table, name, cells, to_numbers(texts, written.decimal or "."))
        _check_other_units(table, name, written)
        raise _refused(table, name, texts, wrong, written)
    return table.checked_finite(name, numbers)


def _refused(
    table: Table, name: str, texts: "pandas.Series", wrong: NDArray[np.intp], written: Written
) -> TableError:
    """The error for cells in the rows `wrong` that are no numbers: the most frequent is named."""
    counts = texts.iloc[wrong].value_counts(sort=False)
    text, n_same = counts.idxmax(), int(counts.max())
    kind = "category" if texts.nunique() <= MAX_CATEGORIES else "text"
    if table.is_file:
        gap = f"pass --missing {shlex.quote(shortened(text))} to fit"
        other = f"pass --types {shlex.quote(f'{name}={kind}')}"
    else:
        gap, other = "replace it with None", f"fit with types={{{name!r}: {kind!r}}}"
    remedy = f"{len(wrong):,} of {len(table):,} rows hold no number."
    if len(wrong) == 1:
        remedy = "Correct the cell or leave it empty."
    elif n_same > 1:
        rest = f", and there is no number in {len(wrong) - n_same:,} more"
        remedy = f"This text is in {n_same:,} of {len(table):,} rows"
        remedy += f"{rest if len(wrong) > n_same else ''}. If it means no value, {gap}."
    remedy += f" If the column is no numbers, {other}.{_about_mark(text, written)}"
    example = f" {written.example}" if written.cells == MARKED else ""
    row = int((texts == text).to_numpy().argmax())
    return table.refuse(name, row, f"a number{example}", remedy)


def _about_mark(text: str, written: Written) -> str:
    """A sentence on the mark in a cell that could be a number with another decimal mark."""
    part, _ = split(text, written.cells)
    possible = [mark for mark in OTHER if not np.isnan(amount(part, mark))]
    if written.decimal == "" and len(possible) == len(OTHER):
        return " Its mark could begin decimals or stand between thousands: write it without one."
    if len(possible) == 1 and possible != [written.decimal]:
        return f" If {possible[0]!r} begins decimals here, its kind is 'number: {possible[0]}'."
    return ""


def _by_first_mark(texts: "pandas.Series", written: Written, marks: list[str]) -> Array:
    """Numbers by the first of some decimal marks with which all cells are numbers, or by the first.

    One mark is for all cells, so that no cell is a thousand times what its neighbour is.
    """
    known = texts.notna().to_numpy()
    readings = []
    for mark in marks:
        readings.append(read_amounts(texts, replace(written, decimal=mark)))
        if not np.isnan(readings[-1][known]).any():
            return readings[-1]
    return readings[0]


def _check_units(table: Table, name: str, cells: str, plain: Array) -> None:
    """Refuse numbers alone (n,), NaN for other cells, where the training cells named a unit."""
    if cells not in NEEDED_UNITS:
        return
    alone = np.flatnonzero(~np.isnan(plain) & (plain != 0))
    if len(alone):
        expected, possible = NEEDED_UNITS[cells]
        remedy = f"A number alone could be {possible}: write the unit into the cells of the column."
        raise table.refuse(name, int(alone[0]), f"{expected}, as in training", remedy)


def _check_other_units(table: Table, name: str, written: Written) -> None:
    """Refuse cells in a unit that the training cells did not have."""
    if not written.units:
        return
    found = cell_units(table, name, written.cells)
    other = [unit is not None and not is_unit(unit, written.units) for unit in found]
    if any(other):
        expected = f"an amount in {' or '.join(written.units)}, as in training"
        plural = "currencies" if written.cells == MONEY else "units"
        remedy = f"Amounts of other {plural} are not converted: do so first."
        raise table.refuse(name, other.index(True), expected, remedy)
