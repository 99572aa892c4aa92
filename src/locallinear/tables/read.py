"""Read a CSV, Parquet or Excel file into a Table.

The delimiter, the decimal mark and the text encoding of a CSV file are detected.
"""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .amounts import THOUSANDS, usual_decimal
from .cells import LEADING_ZERO, MISSING, pandas_module, to_numbers, values_in
from .table import Table, TableError, as_table, check_names, shortened

if TYPE_CHECKING:
    import pandas

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
PARQUET = {".parquet", ".pq"}
# Workbooks, and the package that reads each kind.
EXCEL = {".xlsx": "openpyxl", ".xlsm": "openpyxl", ".xls": "xlrd"}

# Python's own limit, 131,072 characters, is less than a row of 15,000 columns.
LONGEST_CELL = 2**31 - 1

# How a compressed file begins.
GZIP = b"\x1f\x8b"

# No cell of a text file, which has no null bytes: a last line that shows where the file ends.
END = "\0"

# This many lines at the start of a file decide on its delimiter and decimal mark.
N_FIRST_LINES = 200

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    text: Collection[str] = (),
    missing: Collection[str] = (),
    header: bool | None = None,
    decimals: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> Table:
    """Read a CSV, Parquet or Excel file.

    Parameters
    ----------
    path : str or Path
        A name that ends in .parquet or .pq is a Parquet file, one in .xlsx or .xls a workbook,
        whose first sheet is read. All others are CSV files, perhaps compressed by gzip.
    delimiter, decimal : str, optional
        Marks of a CSV file; detected if not given.
    text : collection of str
        Columns that are text even if all their values look like numbers.
    missing : collection of str
        Cells that mean "no value", in addition to the usual ones such as NA and an empty cell.
    header : bool, optional
        Whether the first line of a CSV file has the names of the columns; without one they are
        called column 1, column 2 and so on. By default it has, and a file that seems to have none
        is refused.
    decimals : mapping, optional
        The decimal marks that columns are known to have, where `decimal` is not given.
    content : bytes, optional
        What the file holds, where it is no file, such as standard input; `path` is then a name for
        messages.

    Returns
    -------
    Table
    """
    path = Path(path)
    if content is None:
        content = _content(path)
    if content.startswith(GZIP):
        content = _decompressed(path, content)
    if path.suffix.lower() in PARQUET:
        return as_table(_read_parquet(path, content), missing, str(path))
    if path.suffix.lower() in EXCEL:
        return as_table(_read_excel(path, content), missing, str(path))
    given = delimiter, decimal, text, missing, header, decimals or {}
    return _read_csv(path, _decoded(path, content), *given)


def _content(path: Path) -> bytes:
    """The bytes of a file."""
    try:
        if path.is_dir():
            raise TableError(f"{path} is a folder; name a CSV, Parquet or Excel file.")
        return path.read_bytes()
    except FileNotFoundError:
        raise TableError(_no_such_file(path)) from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from error


def _decompressed(path: Path, content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path} is not a complete gzip file.") from error


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


def _read_excel(path: Path, content: bytes) -> "pandas.DataFrame":
    reader = EXCEL[path.suffix.lower()]
    try:
        frame = pandas_module().read_excel(io.BytesIO(content), engine=reader)
    except ImportError as error:
        raise TableError(
            f"{path} is a workbook, which needs {reader}: pip install 'locallinear[tables]', or "
            "save the sheet as CSV."
        ) from error
    except Exception as error:  # readers raise many types for bytes that are no workbook
        raise TableError(f"{path} is not a complete workbook.") from error
    if not len(frame):
        raise TableError(f"{path} has no rows in its first sheet.")
    return frame


def _decoded(path: Path, content: bytes) -> str:
    """The text of a file in UTF-8, in UTF-16 with a byte order mark, or else in Windows-1252."""
    if content[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise TableError(
            f"{path} is a workbook or an archive, not a CSV file; give a workbook the ending .xlsx "
            "or .xls, or save the sheet as CSV."
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
    header: bool | None,
    decimals: Mapping[str, str],
) -> Table:
    if not content.strip():
        raise TableError(f"{path} is empty; it should have a line of column names and rows below.")
    mark = delimiter or find_delimiter(content)
    rows = _closed_rows(path, content, mark)
    first = [name.strip() for name in rows[0]]
    if delimiter is not None and len(first) == 1:
        _check_delimiter(path, content, delimiter)
    if header is False:
        names = [f"column {i}" for i in range(1, len(first) + 1)]
    else:
        names, rows = first, rows[1:]
        names, rows = _without_last_delimiter(names, rows)
    _check_rows(path, names, rows)
    if header is None:
        _check_header(path, names, rows)
    names = [name or f"(column {i})" for i, name in enumerate(names, 1)]
    check_names(str(path), names)
    shown = find_decimal(mark, rows)
    no_value = MISSING | {cell.strip().casefold() for cell in missing}
    columns = {}
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        stripped = (cell.strip() for cell in cells)
        column = [None if cell.casefold() in no_value else cell for cell in stripped]
        usual = decimal or decimals.get(name) or shown
        columns[name] = _parsed(column, usual, name in text)
    frame = pandas_module().DataFrame(columns)
    return Table(frame, str(path), decimal, tuple(missing), shown)


def _parsed(cells: list[str | None], decimal: str | None, text: bool) -> "pandas.Series":
    """Numbers if all cells are gaps or plain numbers with the usual decimal mark, else text.

    What text is, is decided where columns are understood; `text` asks for text. Digits behind a
    zero are a code, which as a number would lose the zero.
    """
    column = pandas_module().Series(cells, dtype=object)
    if text or any(cell is not None and LEADING_ZERO.fullmatch(cell) for cell in cells):
        return column
    values = values_in(column)
    if len(values):
        decimal = decimal or usual_decimal(values.unique().tolist())
    elif column.notna().any():
        return column
    numbers = to_numbers(column, decimal or ".")
    if np.isnan(numbers[values.index]).any():
        return column
    return pandas_module().Series(numbers)


def _rows(content: str, delimiter: str, *, strict: bool = False) -> list[list[str]]:
    """The cells of each line of a CSV file that is not empty."""
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        lines = io.StringIO(content, newline="")
        return [row for row in csv.reader(lines, delimiter=delimiter, strict=strict) if row]
    finally:
        csv.field_size_limit(limit)


def _closed_rows(path: Path, content: str, delimiter: str) -> list[list[str]]:
    """The rows of a CSV file, or TableError if a quote in it never ends, or ends within a cell."""
    content = f"{content}\n{END}"
    try:
        rows = _rows(content, delimiter, strict=True)
    except csv.Error:
        _check_ends_of_quotes(path, content, delimiter)
        rows = _rows(content, delimiter)
    if rows.pop() != [END]:  # a cell that never ends has swallowed it
        raise TableError(
            f'{path}: a cell in row {len(rows)} begins with a quote (") that is never closed; '
            "close or remove it."
        )
    return rows


def _check_ends_of_quotes(path: Path, content: str, delimiter: str) -> None:
    """Raise TableError where a cell goes on behind its closing quote; spaces may follow."""
    mark = re.escape(delimiter)
    stray = re.search(rf'(?:^|{mark})("(?:[^"]|"")*" *[^{mark}"\s][^{mark}\n]*)', content, re.M)
    if stray is not None:
        raise TableError(
            f"{path}, row {content.count(chr(10), 0, stray.start(1))}: the cell "
            f'{shortened(stray[1])} goes on behind its closing quote ("); remove the quotes, or '
            "double those that belong to the cell."
        )


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


def find_decimal(delimiter: str, rows: list[list[str]]) -> str | None:
    """The decimal mark that the cells of a file show; None where they leave it open.

    It is a comma if some cells have a decimal comma and none a decimal point.

    Examples
    --------
    >>> find_decimal(";", [["1,5", "1.250"], ["2", "b"]])
    ','
    """
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows[:N_FIRST_LINES] for cell in row]
    commas = [cell for cell in cells if DECIMAL_COMMA.fullmatch(cell)]
    points = [cell for cell in cells if DECIMAL_POINT.fullmatch(cell)]
    if any(not THOUSANDS["."].fullmatch(cell) for cell in points):
        return "."
    if not commas:
        return None
    return "." if all(THOUSANDS[","].fullmatch(cell) for cell in commas) else ","


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
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            remedy = "correct the row, or pass the right --delimiter"
            if header[0].startswith("#"):
                remedy = "lines that begin with # are no comments here: remove them"
            raise TableError(
                f"{path}, row {number} has {len(row)} cells, but the header has {len(header)}; "
                f"{remedy}."
            )


def _check_header(path: Path, names: list[str], rows: list[list[str]]) -> None:
    """Refuse a first line that looks like the rows below it, with the option that answers.

    Names are neither numbers nor dates, and no column of few texts has its own name as a cell.
    """
    first = rows[:N_FIRST_LINES]
    numbers = int((~np.isnan(to_numbers(names, "."))).sum())
    repeated = sum(
        name != "" and [row[j] for row in first].count(name) >= 2 for j, name in enumerate(names)
    )
    if numbers == len(names) or numbers + repeated > len(names) / 2:
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise TableError(
            f"{path} should begin with a line of column names, but its first line ({shown}) looks "
            "like a row; pass --no-header if it is one, or --header if these are names."
        )
