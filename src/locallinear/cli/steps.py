"""The steps that commands are made of: read, search, judge, tell, load and write.

Each says on standard output what it found, and refuses bad input with `BadInput`.
"""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from ..io import load
from ..runtime.files import write_whole
from ..runtime.progress import watched, working
from ..search.grids import GRIDS
from ..tables.encoding import fit_encoding
from ..tables.model import TableModel
from ..tables.read import PARQUET, read_table
from ..tables.table import Table, TableError
from .comparison import baselines, compile_kernels, folds_of, judge, make_search, rivals
from .outputs import report_of, table_bytes
from .summary import data_lines, parameter_lines, regime_lines, score_lines


class BadInput(click.ClickException):
    """Something that the caller can put right: one sentence, and exit status 2."""

    exit_code = 2


# --- Reading and learning ------------------------------------------------------------------------


def prepare(data: Path, options: dict):
    """The encoding, the inputs and the targets of a file, after saying what is in it."""
    text = (*options["categorical"], *(options["target"] if options["classify"] else ()))
    table = read(data, options["delimiter"], options["decimal"], text, options["missing"])
    if not options["target"]:
        raise TableError(f"Say which column of {data} to predict, by --target. {table.listing()}")
    names = ("classify", "categorical", "ignore", "missing")
    encoding, table, notes = fit_encoding(
        table, options["target"], **{name: options[name] for name in names}
    )
    if len(table) < 10:
        raise TableError(f"{data} has {len(table)} rows with a target; at least 10 are needed.")
    X, y = encoding.inputs(table), encoding.outputs(table)
    say_data(table, encoding, y, notes)
    return encoding, X, y


def read(path: Path, delimiter, decimal, text, missing) -> Table:
    """A table from a file."""
    delimiter = separator(delimiter)
    with working(f"Reading {path}"):
        return read_table(path, delimiter=delimiter, decimal=decimal, text=text, missing=missing)


def separator(delimiter: str | None) -> str | None:
    """A delimiter as it can be typed in a shell: a tab by its name."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise BadInput(f"--delimiter takes one character, or the word tab, not {delimiter!r}.")
    return delimiter


def say_data(table, encoding, y, notes: list[str]) -> None:
    """What was read, and what was left out of it."""
    say(data_lines(table.name, len(table), encoding, y))
    say([f"Note: {note}" for note in notes])


def say(lines: list[str]) -> None:
    """Lines on standard output."""
    for line in lines:
        click.echo(line)


def make_search_for(y, encoding, options: dict, budget: float | None, verbose: int = 0):
    """The search over FALL that the options describe."""
    grid = options["grid"]
    if options["scaling"]:
        grid = GRIDS[grid] | {"scaling": [options["scaling"]]}
    return make_search(
        y,
        encoding.classify,
        options["seed"],
        grid=grid,
        time_budget=budget,
        n_jobs=options["jobs"],
        verbose=verbose,
    )


def searched(X, y, encoding, options: dict, budget: float | None):
    """The search on all rows, watched."""
    start = time.perf_counter()
    search = make_search_for(y, encoding, options, budget, verbose=int(sys.stderr.isatty()))
    search.fit(X, y)
    if not encoding.classify:
        search.best_estimator_._target_names = list(encoding.targets)
    total = len(search.cv_results_["mean_test_score"])
    part = "" if search.n_configurations_ == total else f" of {total:,}"
    click.echo(
        f"Search: {search.n_configurations_:,}{part} configurations by {search.n_splits_}-fold "
        f"cross-validation in {time.perf_counter() - start:.1f} s."
    )
    return search


def judged_lines(X, y, encoding, options, folds, budget, *, full: bool = False) -> None:
    """Cross-validate FALL and others, and say how they did."""
    splitter = folds_of(y, folds, encoding.classify, options["seed"])
    n_train = len(X) - -(-len(X) // splitter.get_n_splits())
    models = {
        "FALL": make_search_for(y, encoding, options, budget),
        **baselines(y, encoding.classify, n_train),
    }
    notes: list[str] = []
    if full:
        with working("Compiling, which is done once"):  # and is no part of a model's time
            compile_kernels()
        more, notes = rivals(y, encoding.classify, n_train)
        models |= more
    watch = partial(watched, title="Comparing models on unseen rows", unit="fits")
    judged = judge(models, X.to_numpy(), y, splitter, encoding.classify, watch)
    error = "share of wrong classes" if encoding.classify else "root mean squared error"
    click.echo(f"\nHow good is it? The {error} on rows that a model had not seen:\n")
    say(score_lines(judged, y, encoding.targets, encoding.classify, times=full))
    click.echo(
        f"({splitter.get_n_splits()}-fold cross-validation; every model was tuned within the "
        "training part of each fold.\n± is half of the 95 % interval that resampling the rows "
        "gives.)"
    )
    say(notes)


def summary(model, params: dict) -> None:
    """What was chosen and what was found."""
    click.echo("\nWhat was chosen:\n")
    say(parameter_lines(params))
    click.echo("\nWhat was found:\n")
    say(regime_lines(model))


# --- Models and files ----------------------------------------------------------------------------


def check_writable(path: Path | None, *inputs: Path) -> None:
    """Refuse an output that cannot be written, before any work is done for it."""
    if path is None:
        return
    if any(path.resolve() == other.resolve() for other in inputs):
        raise BadInput(f"--out is {path}, which is read from; name another file.")
    folder = path.parent
    if not folder.is_dir():
        raise BadInput(f"{path} cannot be written: there is no folder {folder}.")
    if path.is_dir():
        raise BadInput(f"{path} cannot be written: it is a folder.")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{path} cannot be written: the folder {folder} is read-only for you.")


def written(write: Callable[..., None], path: Path, *content) -> None:
    """Write a file, or say why it cannot be."""
    try:
        write(path, *content)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from error


def load_model(path: Path):
    """The TableModel in a file."""
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


def read_for(model, path: Path, delimiter, decimal):
    """A table for a model, with words on values that it has not seen."""
    table = read(path, delimiter, decimal, model.encoding.text, model.encoding.missing)
    table.require(model.encoding.names, "which the model takes")
    for note in model.encoding.unseen(table):
        click.echo(f"Note: {note}", err=True)
    return table


def write_table(frame, out: Path | None) -> None:
    """Write a frame to a file, or as CSV to standard output."""
    content = table_bytes(frame, out or Path("-"))
    if out is None:
        click.echo(content, nl=False)
        return
    written(write_whole, out, content)
    click.echo(f"{len(frame):,} rows are in {out}.", err=True)


def write_html(model, out: Path, table, max_rows: int, jobs: int) -> None:
    """Write the report on a model and the rows of a table."""
    from ..explain.report import write_report  # jinja2 and plotly are extras

    with working("Writing the report"):
        data = report_of(model, table, max_rows=max_rows, jobs=jobs)
        written(write_report, out, data)
