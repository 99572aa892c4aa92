"""The command line: ``locallinear fit | predict | explain | compare | demo | reproduce``.

Thin: options in, sentences out. Tables are read in `_tables`, encoded in `_encoding`, judged in
`_comparison` and put into words in `_summary`.
"""

import os
import sys
import time
from functools import partial
from pathlib import Path

import click

from . import __version__
from ._files import write_whole
from .io import ModelFileError
from .paper.command import reproduce

OUT = click.Path(dir_okay=False, path_type=Path)
IN = click.Path(path_type=Path)


class BadInput(click.ClickException):
    """Something that the caller can put right: one sentence, and exit status 2."""

    exit_code = 2


class Commands(click.Group):
    """Commands whose complaints about their input are sentences, not tracebacks."""

    def invoke(self, ctx: click.Context):
        """Run a command."""
        from ._tables import TableError

        try:
            return super().invoke(ctx)
        except (TableError, ModelFileError) as error:
            raise BadInput(str(error)) from error
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in {"pandas", "jinja2", "plotly", "matplotlib"}:
                raise
            raise BadInput(
                f"This command needs {error.name}: pip install 'locallinear[report]'."
            ) from error


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="locallinear")
def main():
    """Local linear models from a table: accurate, and each prediction explained exactly.

    \b
    Example:
        locallinear fit houses.csv --target price
        locallinear predict houses.model new-houses.csv --out prices.csv
        locallinear explain houses.model new-houses.csv --out why.html
    """  # noqa: D301, click reads the backspace as "do not wrap"


def reading(command):
    """Options of every command that reads a table."""
    command = click.option("--decimal", type=click.Choice([".", ","]), help="Found out if left.")(
        command
    )
    return click.option("--delimiter", help="Of a CSV file; found out if left out.")(command)


def learning(command):
    """Options of every command that learns from a table."""
    several = partial(click.option, multiple=True, metavar="NAME")
    options = [
        several("--target", required=True, help="Column to predict; may be given several times."),
        click.option("--classify", is_flag=True, help="Take a target of numbers as classes."),
        several("--categorical", help="Column of numbers to take as text, such as a code."),
        several("--ignore", help="Column to leave out."),
        click.option("--missing", multiple=True, metavar="TEXT", help="Cell that means no value."),
        click.option("--grid", type=click.Choice(["default", "paper"]), default="default"),
        click.option(
            "--scaling",
            type=click.Choice(["standard", "quantile"]),
            help="Search with this scaling alone.",
        ),
        click.option("--time-budget", type=click.FloatRange(0, min_open=True), metavar="SECONDS"),
        click.option("--seed", type=int, default=0, show_default=True),
        click.option("--jobs", type=int, default=-1, help="Threads; all cores if left out."),
    ]
    for option in reversed(options):
        command = option(command)
    return reading(command)


@main.command()
@click.argument("data", type=IN)
@learning
@click.option("--out", type=OUT, help="Where the model goes; DATA.model if left out.")
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Of the cross-validation that judges the model.",
)
@click.option("--quick", is_flag=True, help="Do not judge the model.")
def fit(data, out, folds, quick, **options):
    """Learn to predict a column of DATA, a CSV or Parquet file, from the others.

    Text becomes categories, missing values are filled in, and the parameters are chosen by
    cross-validation; a target of text is predicted as a class. With --time-budget, half of the
    time is for the search and half for judging the model.

    \b
    Example:
        locallinear fit houses.csv --target price --ignore id --out houses.model
    """  # noqa: D301
    from ._tabular import TableModel

    out = out or Path(data.with_suffix(".model").name)
    check_writable(out)
    encoding, X, y = prepare(data, options)
    budget = options["time_budget"]
    search = searched(X, y, encoding, options, budget and (budget if quick else budget / 2))
    model = TableModel(encoding, search.best_estimator_)
    written(model.save, out)
    if not quick:
        judged_lines(X, y, encoding, options, folds, budget and budget / 2 / folds)
    summary(model, search.best_params_)
    click.echo(f"\nThe model is in {out}. Next:")
    click.echo(f"  locallinear explain {out} {data}    why each prediction is what it is")
    click.echo(f"  locallinear predict {out} NEW.csv   predictions for new rows")


@main.command()
@click.argument("model", type=IN)
@click.argument("data", type=IN)
@reading
@click.option("--out", type=OUT, help="A .csv or .parquet file; standard output if left out.")
@click.option("--with-data", is_flag=True, help="Put the columns of DATA before the predictions.")
def predict(model, data, delimiter, decimal, out, with_data):
    """Predict the rows of DATA with a MODEL that `fit` made.

    \b
    Example:
        locallinear predict houses.model new-houses.csv --out prices.csv
    """  # noqa: D301
    from ._outputs import predictions

    check_writable(out)
    fitted = load_model(model)
    table = read_for(fitted, data, delimiter, decimal)
    result = predictions(fitted, table)
    if with_data:
        kept = table.frame[[name for name in table.columns if name not in result.columns]]
        result = kept.join(result)
    write_table(result, out)


@main.command()
@click.argument("model", type=IN)
@click.argument("data", type=IN)
@reading
@click.option("--out", type=OUT, help="DATA-report.html if left out; with csv, standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "csv"]),
    help="A page for the browser, or a line a row with each column's contribution; by the "
    "ending of --out if left out.",
)
@click.option("--max-rows", type=click.IntRange(1), default=1000, help="Most rows in a page.")
@click.option("--jobs", type=int, default=-1, help="Threads; all cores if left out.")
def explain(model, data, delimiter, decimal, out, form, max_rows, jobs):
    """Explain the predictions of a MODEL that `fit` made, for the rows of DATA.

    Each prediction is a constant plus what each column adds; nothing is approximated.

    \b
    Example:
        locallinear explain houses.model new-houses.csv --out why.html
        locallinear explain houses.model new-houses.csv --format csv --out why.csv
    """  # noqa: D301
    from ._outputs import contributions
    from ._tables import PARQUET

    is_table = out is not None and out.suffix.lower() in {".csv", *PARQUET}
    form = form or ("csv" if is_table else "html")
    if form == "html":
        out = out or Path(f"{data.stem}-report.html")
    check_writable(out)
    fitted = load_model(model)
    table = read_for(fitted, data, delimiter, decimal)
    if form == "csv":
        write_table(contributions(fitted, table), out)
        return
    write_html(fitted, out, table, max_rows, jobs)
    click.echo(f"The report is in {out}; open it in a browser.")


@main.command()
@click.argument("data", type=IN)
@learning
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True)
def compare(data, folds, **options):
    """Compare FALL with other models on DATA: error on unseen rows, and time.

    With --time-budget, each search over FALL's parameters has so many seconds.

    \b
    Example:
        locallinear compare houses.csv --target price
    """  # noqa: D301
    encoding, X, y = prepare(data, options)
    judged_lines(X, y, encoding, options, folds, options["time_budget"], full=True)


@main.command()
@click.option(
    "--out", type=OUT, default="locallinear-report.html", show_default=True, help="The report."
)
@click.option("--jobs", type=int, default=-1, help="Threads; all cores if left out.")
def demo(out, jobs):
    """Show all of it on data that ship with scikit-learn, in less than a minute.

    \b
    Example:
        locallinear demo
    """  # noqa: D301
    from ._demo import TARGET, diabetes
    from ._encoding import fit_encoding
    from ._tabular import TableModel

    check_writable(out)
    table = diabetes()
    encoding, table, _ = fit_encoding(table, (TARGET,))
    X, y = encoding.inputs(table), encoding.outputs(table)
    say_data(table, encoding, y, [])
    options = {"grid": "default", "scaling": "standard", "seed": 0, "jobs": jobs}
    search = searched(X, y, encoding, options, None)
    model = TableModel(encoding, search.best_estimator_)
    judged_lines(X, y, encoding, options, 5, None, full=True)
    summary(model, search.best_params_)
    write_html(model, out, table, 1000, jobs)
    click.echo(f"\nThe report is in {out.resolve()}; open it in a browser.")


main.add_command(reproduce)


# --- Reading and learning ------------------------------------------------------------------------


def prepare(data: Path, options: dict):
    """The encoding, the inputs and the targets of a file, after saying what is in it."""
    from ._encoding import fit_encoding
    from ._tables import TableError, read_table

    text = (*options["categorical"], *(options["target"] if options["classify"] else ()))
    table = read_table(
        data,
        delimiter=separator(options["delimiter"]),
        decimal=options["decimal"],
        text=text,
        missing=options["missing"],
    )
    names = ("classify", "categorical", "ignore", "missing")
    encoding, table, notes = fit_encoding(
        table, options["target"], **{name: options[name] for name in names}
    )
    if len(table) < 10:
        raise TableError(f"{data} has {len(table)} rows with a target; at least 10 are needed.")
    X, y = encoding.inputs(table), encoding.outputs(table)
    say_data(table, encoding, y, notes)
    return encoding, X, y


def separator(delimiter: str | None) -> str | None:
    """A delimiter as it can be typed in a shell: a tab by its name."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise BadInput(f"--delimiter takes one character, or the word tab, not {delimiter!r}.")
    return delimiter


def say_data(table, encoding, y, notes: list[str]) -> None:
    """What was read, and what was left out of it."""
    from ._summary import data_lines

    say(data_lines(table.name, len(table), encoding, y))
    say([f"Note: {note}" for note in notes])


def say(lines: list[str]) -> None:
    """Lines on standard output."""
    for line in lines:
        click.echo(line)


def make_search_for(y, encoding, options: dict, budget: float | None, verbose: int = 0):
    """The search over FALL that the options describe."""
    from ._comparison import make_search
    from ._grids import GRIDS

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
    click.echo(
        f"Search: {search.n_configurations_:,} configurations by {search.n_splits_}-fold "
        f"cross-validation in {time.perf_counter() - start:.1f} s."
    )
    return search


def judged_lines(X, y, encoding, options, folds, budget, *, full: bool = False) -> None:
    """Cross-validate FALL and others, and say how they did."""
    from ._comparison import baselines, folds_of, judge, rivals
    from ._progress import watched
    from ._summary import score_lines

    splitter = folds_of(y, folds, encoding.classify, options["seed"])
    n_train = len(X) - -(-len(X) // splitter.get_n_splits())
    models = {
        "FALL": make_search_for(y, encoding, options, budget),
        **baselines(y, encoding.classify, n_train),
    }
    notes: list[str] = []
    if full:
        more, notes = rivals(y, encoding.classify, n_train)
        models |= more
    watch = partial(watched, description="Judging the models on unseen rows")
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
    from ._summary import parameter_lines, regime_lines

    click.echo("\nWhat was chosen:\n")
    say(parameter_lines(params))
    click.echo("\nWhat was found:\n")
    say(regime_lines(model))


# --- Models and files ----------------------------------------------------------------------------


def check_writable(path: Path | None) -> None:
    """Refuse an output that cannot be written, before any work is done for it."""
    if path is None:
        return
    folder = path.parent
    if not folder.is_dir():
        raise BadInput(f"{path} cannot be written: there is no folder {folder}.")
    if path.is_dir():
        raise BadInput(f"{path} cannot be written: it is a folder.")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{path} cannot be written: the folder {folder} is read-only for you.")


def written(write, path: Path) -> None:
    """Write a file, or say why it cannot be."""
    try:
        write(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from error


def load_model(path: Path):
    """The TableModel in a file."""
    from ._tabular import TableModel
    from .io import load

    if not path.is_file():
        raise BadInput(f"There is no model file {path}; make one with locallinear fit.")
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
    from ._tables import read_table

    table = read_table(
        path,
        delimiter=separator(delimiter),
        decimal=decimal,
        text=model.encoding.text,
        missing=model.encoding.missing,
    )
    table.require(model.encoding.names, "which the model takes")
    for note in model.encoding.unseen(table):
        click.echo(f"Note: {note}", err=True)
    return table


def write_table(frame, out: Path | None) -> None:
    """Write a frame to a file, or as CSV to standard output."""
    from ._outputs import table_bytes

    content = table_bytes(frame, out or Path("-"))
    if out is None:
        click.get_binary_stream("stdout").write(content)
        return
    written(lambda path: write_whole(path, content), out)
    click.echo(f"{len(frame):,} rows are in {out}.", err=True)


def write_html(model, out: Path, table, max_rows: int, jobs: int) -> None:
    """Write the report on a model and the rows of a table."""
    from ._outputs import report_of
    from .explain.report import write_report

    data = report_of(model, table, max_rows=max_rows, jobs=jobs)
    written(lambda path: write_report(path, data), out)
