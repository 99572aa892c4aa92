"""Read a CSV or Parquet file into a Table.

The delimiter, the decimal mark and the text encoding of a CSV file are detected.
"""

import csv
import io
import re
from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .table import (
    Table,
    TableError,
    check_names,
    from_frame,
    pandas_module,
    parsed_column,
    to_numbers,
)

if TYPE_CHECKING:
    import pandas

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "?"}
PARQUET = {".parquet", ".pq"}

# Python's own limit, 131,072 characters, is less than a row of 15,000 columns.
LONGEST_CELL = 2**31 - 1

# No cell of a text file, which has no null bytes: a last line that shows where the file ends.
END = "\0"

# This many lines at the start of a file decide on its delimiter and decimal mark.
N_FIRST_LINES = 200

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    text: Collection[str] = (),
    missing: Collection[str] = (),
) -> Table:
    """Read a CSV or Parquet file.

    Parameters
    ----------
    path : str or Path
        A name that ends in .parquet or .pq is a Parquet file, all others are CSV files.
    delimiter, decimal : str, optional
        Marks of a CSV file; detected if not given.
    text : collection of str
        Columns that are text even if all their values look like numbers.
    missing : collection of str
        Cells that mean "no value", in addition to the usual ones such as NA and an empty cell.

    Returns
    -------
    Table
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise TableError(f"{path} is a folder; name a CSV or Parquet file.")
        content = path.read_bytes()
    except FileNotFoundError:
        raise TableError(_no_such_file(path)) from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from error
    if path.suffix.lower() in PARQUET:
        return from_frame(_read_parquet(path, content), str(path), text, missing)
    return _read_csv(path, _decoded(path, content), delimiter, decimal, text, missing)


def _no_such_file(path: Path) -> str:
    """The message for a path without a file, with a similar name if the folder has one."""
    folder = path.parent
    if not folder.is_dir():
        return f"There is no file {path}: there is no folder {folder}."
    names = [other.name for other in folder.iterdir() if not other.name.startswith(".")]
    similar = get_close_matches(path.name, names, n=1, cutoff=0.8)
    hint = f" Did you mean {folder / similar[0]}?" if similar else ""
    return f"There is no file {path}.{hint}"


def _read_parquet(path: Path, content: bytes) -> "pandas.DataFrame":
    try:
        return pandas_module().read_parquet(io.BytesIO(content))
    except ImportError as error:
        raise TableError(
            f"{path} is Parquet, which needs pyarrow: pip install 'locallinear[report]', or pass "
            "a CSV file."
        ) from error
    except Exception as error:  # pyarrow raises many types for bytes that are not Parquet
        raise TableError(f"{path} is not a complete Parquet file.") from error


def _decoded(path: Path, content: bytes) -> str:
    """The text of a file in UTF-8, in UTF-16 with a byte order mark, or else in Windows-1252."""
    if content[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise TableError(
            f"{path} is a workbook or an archive, not a CSV file; save the sheet as CSV first."
        )
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", errors="replace")
    if b"\0" in content:
        raise TableError(f"{path} is not text; a CSV or Parquet file is expected.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _read_csv(
    path: Path,
    content: str,
    delimiter: str | None,
    decimal: str | None,
    text: Collection[str],
    missing: Collection[str],
) -> Table:
    if not content.strip():
        raise TableError(f"{path} is empty; it should have a line of column names and rows below.")
    mark = delimiter or find_delimiter(content)
    rows = _closed_rows(path, content, mark)
    header, rows = [name.strip() for name in rows[0]], rows[1:]
    if delimiter is not None and len(header) == 1:
        _check_delimiter(path, content, delimiter)
    header, rows = _without_last_delimiter(header, rows)
    _check_rows(path, header, rows)
    header = [name or f"(column {i})" for i, name in enumerate(header, 1)]
    check_names(str(path), header)
    decimal = decimal or find_decimal(mark, rows)
    no_value = MISSING | {cell.strip().casefold() for cell in missing}
    columns = {}
    for name, cells in zip(header, zip(*rows, strict=True), strict=True):
        stripped = (cell.strip() for cell in cells)
        column = [None if cell.casefold() in no_value else cell for cell in stripped]
        columns[name] = parsed_column(str(path), name, column, decimal, name in text)
    return Table(pandas_module().DataFrame(columns), str(path), decimal)


def _rows(content: str, delimiter: str) -> list[list[str]]:
    """The cells of each line of a CSV file that is not empty."""
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        return [
            row for row in csv.reader(io.StringIO(content, newline=""), delimiter=delimiter) if row
        ]
    finally:
        csv.field_size_limit(limit)


def _closed_rows(path: Path, content: str, delimiter: str) -> list[list[str]]:
    """The rows of a CSV file, or TableError if a quote in it never ends."""
    rows = _rows(f"{content}\n{END}", delimiter)
    if rows.pop() != [END]:  # a cell that never ends has swallowed it
        raise TableError(
            f'{path}: a cell in row {len(rows)} begins with a quote (") that is never closed; '
            "close or remove it."
        )
    return rows


def find_delimiter(content: str) -> str:
    r"""The delimiter with which most of the first lines have as many cells as the header.

    Examples
    --------
    >>> find_delimiter("width; length\n1,5; 2,5\n")
    ';'
    """
    lines = "\n".join(content.splitlines()[:N_FIRST_LINES])

    def agreement(delimiter: str) -> tuple[float, int]:
        sizes = [len(row) for row in _rows(lines, delimiter)]
        share = sum(size == sizes[0] for size in sizes) / len(sizes)
        return (share if sizes[0] > 1 else 0.0), sizes[0]

    return max(DELIMITERS, key=agreement)


def find_decimal(delimiter: str, rows: list[list[str]]) -> str:
    """The decimal mark: a comma if some cells have a decimal comma and none a decimal point.

    Examples
    --------
    >>> find_decimal(";", [["1,5", "a"], ["2", "b"]])
    ','
    """
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows[:N_FIRST_LINES] for cell in row]
    commas = [cell for cell in cells if DECIMAL_COMMA.fullmatch(cell)]
    points = any(DECIMAL_POINT.fullmatch(cell) for cell in cells)
    only_thousands = all(THOUSANDS.fullmatch(cell) for cell in commas)
    return "," if commas and not points and not only_thousands else "."


def _check_delimiter(path: Path, content: str, delimiter: str) -> None:
    """Raise TableError if the given delimiter makes one column and another makes several."""
    other = find_delimiter(content)
    header = _rows(content, other)[0]
    if len(header) > 1:
        raise TableError(
            f"{path} has a single column with the delimiter {delimiter!r}, but {len(header)} with "
            f"a {DELIMITERS[other]}; leave --delimiter out."
        )


def _without_last_delimiter(
    header: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """Drop the empty last cell of lines that end in a delimiter."""
    if header[-1] == "" and all(len(row) < len(header) or row[-1] == "" for row in rows):
        return header[:-1], [row[: len(header) - 1] for row in rows]
    return header, rows


def _check_rows(path: Path, header: list[str], rows: list[list[str]]) -> None:
    if not rows:
        raise TableError(f"{path} has column names, but no rows below them.")
    if not np.isnan(to_numbers(header, ".")).any():
        raise TableError(
            f"{path} should begin with a line of column names, but it begins with numbers "
            f"({', '.join(header[:3])}, ...); add such a line."
        )
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise TableError(
                f"{path}, row {number} has {len(row)} cells, but the header has {len(header)}; "
                "correct the row, or pass the right --delimiter."
            )
