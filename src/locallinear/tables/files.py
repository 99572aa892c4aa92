"""Tables from CSV and Parquet files: delimiter, decimal mark and encoding are found out."""

import csv
import io
import re
from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..runtime.extras import extra
from .table import Table, TableError, check_names, from_frame, to_numbers, typed

if TYPE_CHECKING:
    import pandas

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "?"}
PARQUET = {".parquet", ".pq"}

# A look at this many lines decides which delimiter and decimal a file has.
LOOK = 200

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
        Names that end in .parquet or .pq are Parquet, all others CSV.
    delimiter, decimal : str, optional
        Of a CSV file; found out where not given.
    text : names of columns that are text even if all of it looks like numbers
    missing : cells that mean "no value", beside the usual ones such as NA and an empty cell

    Returns
    -------
    Table
    """
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder; name a CSV or Parquet file.")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise TableError(_not_there(path)) from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from error
    if path.suffix.lower() in PARQUET:
        return from_frame(_read_parquet(path, content), str(path), text, missing)
    return _read_csv(path, _decoded(path, content), delimiter, decimal, text, missing)


def _not_there(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"There is no file {path}: there is no folder {folder}."
    names = [other.name for other in folder.iterdir() if not other.name.startswith(".")]
    near = get_close_matches(path.name, names, n=1, cutoff=0.8)
    hint = f" Did you mean {folder / near[0]}?" if near else ""
    return f"There is no file {path}.{hint}"


def _read_parquet(path: Path, content: bytes) -> "pandas.DataFrame":
    pandas = extra("pandas", "report", "Tables")
    try:
        return pandas.read_parquet(io.BytesIO(content))
    except ImportError as error:
        raise TableError(
            f"{path} is Parquet, which needs pyarrow: pip install 'locallinear[report]', or pass "
            "a CSV file."
        ) from error
    except Exception as error:  # whatever pyarrow says of bytes that are no Parquet
        raise TableError(f"{path} is not a whole Parquet file.") from error


def _decoded(path: Path, content: bytes) -> str:
    """The text of a file in UTF-8, UTF-16 with its mark, or else as Excel in the West writes it."""
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


def _read_csv(path, content: str, delimiter, decimal, text, missing) -> Table:
    pandas = extra("pandas", "report", "Tables")
    if not content.strip():
        raise TableError(f"{path} is empty; it should have a line of column names and rows below.")
    found = delimiter or find_delimiter(content)
    rows = [row for row in csv.reader(io.StringIO(content, newline=""), delimiter=found) if row]
    header, rows = [name.strip() for name in rows[0]], rows[1:]
    if delimiter is not None and len(header) == 1:
        _check_delimiter(path, content, delimiter)
    header, rows = _without_last_delimiter(header, rows)
    _check_rows(path, header, rows)
    header = [name or f"(column {i})" for i, name in enumerate(header, 1)]
    check_names(path, header)
    decimal = decimal or find_decimal(found, rows)
    no_value = MISSING | {cell.strip().casefold() for cell in missing}
    columns = {}
    for name, cells in zip(header, zip(*rows, strict=True), strict=True):
        stripped = (cell.strip() for cell in cells)
        column = [None if cell.casefold() in no_value else cell for cell in stripped]
        columns[name] = typed(str(path), name, column, decimal, name in text)
    return Table(pandas.DataFrame(columns), str(path), decimal)


def find_delimiter(content: str) -> str:
    r"""The delimiter with which the first lines have most often the columns of the header.

    Examples
    --------
    >>> find_delimiter("width; length\n1,5; 2,5\n")
    ';'
    """
    lines = "\n".join(content.splitlines()[:LOOK])

    def fit(delimiter: str) -> tuple[float, int]:
        sizes = [len(row) for row in csv.reader(io.StringIO(lines), delimiter=delimiter) if row]
        agree = sum(size == sizes[0] for size in sizes) / len(sizes)
        return (agree if sizes[0] > 1 else 0.0), sizes[0]

    return max(DELIMITERS, key=fit)


def find_decimal(delimiter: str, rows: list[list[str]]) -> str:
    """The decimal mark: a comma where some cells have one as a mark, and none a point.

    Examples
    --------
    >>> find_decimal(";", [["1,5", "a"], ["2", "b"]])
    ','
    """
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows[:LOOK] for cell in row]
    commas = [cell for cell in cells if DECIMAL_COMMA.fullmatch(cell)]
    points = any(DECIMAL_POINT.fullmatch(cell) for cell in cells)
    only_thousands = all(THOUSANDS.fullmatch(cell) for cell in commas)
    return "," if commas and not points and not only_thousands else "."


def _check_delimiter(path, content: str, delimiter: str) -> None:
    other = find_delimiter(content)
    header = next(csv.reader(io.StringIO(content), delimiter=other))
    if len(header) > 1:
        raise TableError(
            f"{path} has a single column with the delimiter {delimiter!r}, but {len(header)} with "
            f"a {DELIMITERS[other]}; leave --delimiter out."
        )


def _without_last_delimiter(header, rows):
    """Lines that end in a delimiter have an empty last cell each, which means nothing."""
    if header[-1] == "" and all(len(row) < len(header) or row[-1] == "" for row in rows):
        return header[:-1], [row[: len(header) - 1] for row in rows]
    return header, rows


def _check_rows(path, header: list[str], rows: list[list[str]]) -> None:
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
