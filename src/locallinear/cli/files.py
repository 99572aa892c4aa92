"""Files of the commands: tables and models are read, results are written completely or not at all.

Each function raises `BadInput` or `TableError` for what the user can correct.
"""

import errno
import io
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from ..io import load
from ..runtime.files import check_destination, write_whole
from ..runtime.progress import working
from ..tables.estimators import TableClassifier, TableRegressor
from ..tables.read import EXCEL, PARQUET, read_table
from ..tables.table import Table, TableError
from .terminal import echo, printable

if TYPE_CHECKING:
    import pandas

TableModel = TableRegressor | TableClassifier

# Names of the columns of a file without a header.
UNNAMED = re.compile(r"column \d+")

# The name of standard output, as --out takes it, and of standard input, as DATA.
STANDARD_OUTPUT = STANDARD_INPUT = Path("-")

# How text begins that a spreadsheet takes for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")

# What the system says of a stream that takes no more.
OUTPUT_ERRORS = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}

# The exit status of a program that the system ends because nobody reads what it writes.
READER_HAS_GONE = 141


class BadInput(click.ClickException):
    """An error that the user can correct: one sentence, and exit status 2."""

    exit_code = 2

    def format_message(self) -> str:
        """The sentence, as one line."""
        return printable(self.message)


def read(
    path: Path,
    options: dict[str, Any],
    text: Collection[str],
    missing: Collection[str],
    decimals: Mapping[str, str] | None = None,
) -> Table:
    """Read a table from a file, with the options of `options.reading`."""
    delimiter = options["delimiter"]
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise BadInput(f"--delimiter takes one character, or the word tab, not {delimiter!r}.")
    content = None
    if path == STANDARD_INPUT:
        path, content = Path("standard input"), sys.stdin.buffer.read()
    with working(printable(f"Reading {path}")):
        return read_table(
            path,
            content=content,
            delimiter=delimiter,
            decimal=options["decimal"],
            text=text,
            missing=missing,
            header=options["header"],
            decimals=decimals,
        )


def own_name(data: Path) -> str:
    """What a file that is made of a table is called by default, without its ending."""
    if data == STANDARD_INPUT or (data.exists() and not data.is_file()):
        return "table"  # a pipe has a number for a name
    return Path(data.stem).stem if data.suffix == ".gz" else data.stem


def read_for(model: TableModel, path: Path, options: dict[str, Any]) -> Table:
    """Read a table for a model, and print notes on values that the model does not know."""
    encoding = model.table_model.encoding
    if options["header"] is None and all(UNNAMED.fullmatch(name) for name in encoding.names):
        options = options | {"header": False}  # as the table of the fit
    classes = model.target_names_ if isinstance(model, TableClassifier) else []
    text = [*encoding.text, *classes]
    table = read(path, options, text, encoding.missing, encoding.decimals)
    table.require(encoding.names, "which the model takes")
    for note in encoding.unseen(table):
        echo(f"Note: {note}", err=True)
    return table


def load_model(path: Path) -> TableModel:
    """Load a model of a table from a file."""
    try:
        if path.is_dir():
            raise BadInput(f"{path} is a folder; name a model file that locallinear fit made.")
        if not path.is_file():
            raise BadInput(f"There is no model file {path}; make one with locallinear fit.")
        if path.suffix.lower() in {".csv", ".tsv", ".txt", *PARQUET, *EXCEL}:
            raise BadInput(f"{path} is a table; name the model first, and then the table.")
        model = load(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.") from error
    if not isinstance(model, TableRegressor | TableClassifier):
        raise BadInput(
            f"{path} holds a {type(model).__name__} without the columns of its table; use "
            "locallinear.load in Python, or make a model with locallinear fit."
        )
    return model


def check_writable(path: Path | None, *inputs: Path) -> None:
    """Raise BadInput for an output that cannot be written, before any work is done for it."""
    if path is None or path == STANDARD_OUTPUT:
        if sys.stdout is None:
            raise BadInput("Standard output is closed; open it, or name a file with --out.")
        return
    try:
        check_destination(path)
        if path.is_file() and any(other.exists() and path.samefile(other) for other in inputs):
            raise BadInput(f"--out is {path}, which is also an input; name another file.")
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def destination(out: Path) -> Iterator[Path | IO[bytes]]:
    """Where a command writes its result: a file, or for the path - standard output.

    In the second case the block prints to standard error, so that the result stays alone.
    """
    if out != STANDARD_OUTPUT:
        yield out
        return
    stream = sys.stdout.buffer
    with redirect_stdout(sys.stderr):
        yield stream


def is_stream(out: Path) -> bool:
    """Whether what is written cannot be replaced: standard output, a pipe or a device."""
    return out == STANDARD_OUTPUT or (out.exists() and not out.is_file())


def check_not_terminal(out: Path) -> None:
    """Refuse to print a model, which is no text, on a terminal."""
    if out == STANDARD_OUTPUT and sys.stdout.isatty():
        raise BadInput(
            "--out - writes the model to standard output, which is a terminal; redirect it to a "
            "file or a pipe."
        )


@contextmanager
def explained_output() -> Iterator[None]:
    """Turn what goes wrong with standard output into one sentence."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in OUTPUT_ERRORS:
            raise
        # What is left in the buffers would fail again when the program ends.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:  # the reader has what it wanted, as `head` does
            raise click.exceptions.Exit(READER_HAS_GONE) from error
        raise BadInput(f"Standard output cannot be written: {error.strerror}.") from error


def write_file(write: Callable[..., None], path: Path | IO[bytes], *content: Any) -> None:
    """Call `write` with a destination and content; raise BadInput if the file cannot be written."""
    if not isinstance(path, Path):
        write(path, *content)  # `Commands` explains what goes wrong with standard output
        return
    try:
        write(path, *content)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> BadInput:
    """The refusal of an output: the error's own sentence, or the system's reason."""
    if error.strerror is None:
        return BadInput(f"{error}.")
    return BadInput(f"{path} cannot be written: {error.strerror}.")


def write_table(frame: "pandas.DataFrame", out: Path | None) -> None:
    """Write a frame to a CSV or Parquet file, or as CSV to standard output."""
    out = out or STANDARD_OUTPUT
    content = _table_bytes(frame, out)
    if out == STANDARD_OUTPUT:
        click.echo(content, nl=False)
        return
    write_file(write_whole, out, content)
    echo(f"Wrote {len(frame):,} rows to {out}.", err=True)


def _harmless(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """The frame with an apostrophe before text that a spreadsheet would run as a formula."""

    def quoted(cell: Any) -> Any:
        return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell

    out = frame.rename(columns=quoted)
    for name, kind in out.dtypes.items():
        if kind.kind not in "biufM":
            out[name] = out[name].map(quoted, na_action="ignore")
    return out


def _table_bytes(frame: "pandas.DataFrame", path: Path) -> bytes:
    if path.suffix.lower() not in PARQUET:
        return _harmless(frame).to_csv(index=False, lineterminator="\n").encode()
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False)
    except ImportError as error:
        raise TableError(
            f"{path} is Parquet, which needs pyarrow: pip install 'locallinear[report]', or write "
            "a .csv file."
        ) from error
    return buffer.getvalue()
