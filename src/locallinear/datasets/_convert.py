"""From the original file, as its authors wrote it, to the tidy CSV, digit for digit."""

import csv
import io

from ..runtime.extras import extra
from ._sources import Source


def tidy_csv(source: Source, original: bytes) -> bytes:
    """Convert the content of an original file to the tidy CSV.

    Raises a ValueError where the original has other columns, another number of rows, or cells that
    are no number.
    """
    rows = READERS[source.layout](source, original)
    check(source, rows)
    lines = [",".join(row) for row in [list(source.columns), *rows]]
    return ("\n".join(lines) + "\n").encode()


def read_named(source: Source, original: bytes) -> list[list[str]]:
    """Read rows that are comma separated below a header; columns are picked by name."""
    header, *rows = list(csv.reader(io.StringIO(original.decode("utf-8-sig")))) or [[]]
    missing = [name for name in source.columns if name not in header]
    if missing:
        raise ValueError(f"{source.original} has no column {missing[0]!r}; it has {header[:5]}...")
    order = [header.index(name) for name in source.columns]
    return [[row[column] for column in order] for row in rows if len(row) == len(header)]


def read_headerless(source: Source, original: bytes) -> list[list[str]]:
    """Read rows that are semicolon separated without a header, in the order of the tidy file."""
    return [row for row in csv.reader(io.StringIO(original.decode()), delimiter=";") if row]


def read_sheet(source: Source, original: bytes) -> list[list[str]]:
    """Read the rows below the header of an .xls file; numbers get their shortest digits."""
    xlrd = extra("xlrd", "tables", f"{source.original} and other .xls files")
    sheet = xlrd.open_workbook(file_contents=original).sheet_by_index(0)
    return [
        [str(int(cell)) if float(cell).is_integer() else repr(cell) for cell in sheet.row_values(i)]
        for i in range(1, sheet.nrows)
    ]


def check(source: Source, rows: list[list[str]]) -> None:
    """Check that rows, columns and cells are those that the source announces."""
    width = len(source.columns)
    if len(rows) != source.n_samples or any(len(row) != width for row in rows):
        raise ValueError(
            f"{source.original} should have {source.n_samples} rows of {width} columns; "
            f"it has {len(rows)} rows of {sorted({len(row) for row in rows})[:3]}."
        )
    for number, row in enumerate(rows, start=1):
        try:
            finite = all(abs(float(cell)) < float("inf") for cell in row)
        except ValueError:
            finite = False
        if not finite:
            raise ValueError(f"{source.original} holds no finite numbers in row {number}: {row}.")


READERS = {"named": read_named, "headerless": read_headerless, "sheet": read_sheet}
