"""Files of the commands: tables and models are read, results are written completely or not at all.

Each function raises `BadInput` or `TableError` for what the user can correct.
"""

import io
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..io import load
from ..runtime.files import write_whole
from ..runtime.progress import working
from ..tables.model import TableModel
from ..tables.read import PARQUET, read_table
from ..tables.table import Table, TableError

if TYPE_CHECKING:
    import pandas


class BadInput(click.ClickException):
    """An error that the user can correct: one sentence, and exit status 2."""

    exit_code = 2


def read(
    path: Path,
    delimiter: str | None,
    decimal: str | None,
    text: Collection[str],
    missing: Collection[str],
) -> Table:
    """Read a table from a file."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise BadInput(f"--delimiter takes one character, or the word tab, not {delimiter!r}.")
    with working(f"Reading {path}"):
        return read_table(path, delimiter=delimiter, decimal=decimal, text=text, missing=missing)


def read_for(model: TableModel, path: Path, delimiter: str | None, decimal: str | None) -> Table:
    """Read a table for a model, and print notes on values that the model does not know."""
    table = read(path, delimiter, decimal, model.encoding.text, model.encoding.missing)
    table.require(model.encoding.names, "which the model takes")
    for note in model.encoding.unseen(table):
        click.echo(f"Note: {note}", err=True)
    return table


def load_model(path: Path) -> TableModel:
    """Load a TableModel from a file."""
    if path.is_dir():
        raise BadInput(f"{path} is a folder; name a model file that locallinear fit made.")
    if not path.is_file():
        raise BadInput(f"There is no model file {path}; make one with locallinear fit.")
    if path.suffix.lower() in {".csv", ".tsv", ".txt", *PARQUET}:
        raise BadInput(f"{path} is a table; name the model first, and then the table.")
    try:
        model = load(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.") from error
    if not isinstance(model, TableModel):
        raise BadInput(
            f"{path} holds a {type(model).__name__} without the columns of its table; use "
            "locallinear.load in Python, or make a model with locallinear fit."
        )
    return model


def check_writable(path: Path | None, *inputs: Path) -> None:
    """Raise BadInput for an output that cannot be written, before any work is done for it."""
    if path is None:
        return
    if any(path.resolve() == other.resolve() for other in inputs):
        raise BadInput(f"--out is {path}, which is also an input; name another file.")
    folder = path.parent
    if not folder.is_dir():
        raise BadInput(f"{path} cannot be written: there is no folder {folder}.")
    if path.is_dir():
        raise BadInput(f"{path} cannot be written: it is a folder.")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{path} cannot be written: you may not write to the folder {folder}.")


def write_file(write: Callable[..., None], path: Path, *content: Any) -> None:
    """Call `write` with a path and content, and raise BadInput if the file cannot be written."""
    try:
        write(path, *content)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from error


def write_table(frame: "pandas.DataFrame", out: Path | None) -> None:
    """Write a frame to a CSV or Parquet file, or as CSV to standard output."""
    content = _table_bytes(frame, out or Path("-"))
    if out is None:
        click.echo(content, nl=False)
        return
    write_file(write_whole, out, content)
    click.echo(f"Wrote {len(frame):,} rows to {out}.", err=True)


def _table_bytes(frame: "pandas.DataFrame", path: Path) -> bytes:
    if path.suffix.lower() not in PARQUET:
        return frame.to_csv(index=False, lineterminator="\n").encode()
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False)
    except ImportError as error:
        raise TableError(
            f"{path} is Parquet, which needs pyarrow: pip install 'locallinear[report]', or write "
            "a .csv file."
        ) from error
    return buffer.getvalue()
