"""From the original file, as its authors wrote it, to the tidy CSV, digit for digit."""

import csv
import io

from ._sources import Source


def tidy_csv(source: Source, original: bytes) -> bytes:
    """Convert an original to the tidy CSV, or say what is wrong with it.

    Parameters
    ----------
    source : Source
    original : bytes
        Content of the file that the archive holds.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        Where the original has other columns, another number of rows, or cells that are no number.
    """
    rows = READERS[source.layout](source, original)
    check(source, rows)
    lines = [",".join(row) for row in [list(source.columns), *rows]]
    return ("\n".join(lines) + "\n").encode()


def read_named(source: Source, original: bytes) -> list[list[str]]:
    """Comma separated with a header: columns are picked by name, cells kept as written."""
    header, *rows = list(csv.reader(io.StringIO(original.decode("utf-8-sig")))) or [[]]
    missing = [name for name in source.columns if name not in header]
    if missing:
        raise ValueError(f"{source.original} has no column {missing[0]!r}; it has {header[:5]}...")
    order = [header.index(name) for name in source.columns]
    return [[row[column] for column in order] for row in rows if len(row) == len(header)]


def read_headerless(source: Source, original: bytes) -> list[list[str]]:
    """Semicolon separated, no header, columns in the tidy order."""
    return [row for row in csv.reader(io.StringIO(original.decode()), delimiter=";") if row]


def read_sheet(source: Source, original: bytes) -> list[list[str]]:
    """First sheet of an .xls file, a header first; the shortest digits that name each number."""
    try:
        import xlrd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{source.original} is an .xls file, which needs xlrd to be read: "
            "pip install 'locallinear[tune]' or pip install xlrd."
        ) from error
    sheet = xlrd.open_workbook(file_contents=original).sheet_by_index(0)
    return [
        [str(int(cell)) if float(cell).is_integer() else repr(cell) for cell in sheet.row_values(i)]
        for i in range(1, sheet.nrows)
    ]


def check(source: Source, rows: list[list[str]]) -> None:
    """Rows, columns and cells are what the source's entry says."""
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
