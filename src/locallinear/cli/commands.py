"""The command line: ``locallinear fit | predict | explain | compare | demo``.

Thin: options in, sentences out. Tables are read in `_read_table`, encoded in `_encoding`, judged in
`_comparison` and put into words in `_summary`.
"""

from functools import partial
from pathlib import Path
from shlex import quote

import click

from .. import __version__
from ..io import ModelFileError
from ..runtime.extras import MissingExtraError
from ..tables.encoding import fit_encoding
from ..tables.model import TableModel
from ..tables.read import PARQUET
from ..tables.table import TableError
from . import steps as _steps
from .demo import TARGET, diabetes
from .options import SECONDS, SEED, THREADS
from .outputs import contributions, predictions
from .steps import BadInput

OUT = click.Path(dir_okay=False, path_type=Path)
IN = click.Path(path_type=Path)


class Commands(click.Group):
    """Commands whose complaints about their input are sentences, not tracebacks."""

    def invoke(self, ctx: click.Context):
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (TableError, ModelFileError, MissingExtraError) as error:
            raise BadInput(str(error)) from error


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
    for option in (
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="Mark in the numbers of a CSV file; found out if left out.",
        ),
        click.option(
            "--delimiter",
            metavar="MARK",
            help="Mark between the columns of a CSV file, or the word tab; found out if left out.",
        ),
    ):
        command = option(command)
    return command


def learning(command):
    """Options of every command that learns from a table."""
    several = partial(click.option, multiple=True, metavar="NAME")
    options = [
        several("--target", help="Column to predict; may be given several times."),
        click.option("--classify", is_flag=True, help="Take a target of numbers as classes."),
        several("--categorical", help="Column of numbers to take as text, such as a code."),
        several("--ignore", help="Column to leave out."),
        click.option("--missing", multiple=True, metavar="TEXT", help="Cell that means no value."),
        click.option(
            "--grid",
            type=click.Choice(["default", "paper"]),
            default="default",
            show_default=True,
            help="Which parameters to try; the paper's million take longer.",
        ),
        click.option(
            "--scaling",
            type=click.Choice(["standard", "quantile"]),
            help="Search with this scaling alone.",
        ),
        click.option(
            "--time-budget",
            type=SECONDS,
            metavar="SECONDS",
            help="End the search by then, with the best that was found.",
        ),
        click.option(
            "--seed", type=SEED, default=0, show_default=True, help="Of everything random."
        ),
        click.option("--jobs", type=THREADS, default=-1, help="Threads; all cores if left out."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@main.command(short_help="Learn to predict a column of a table.")
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
@click.option("--quick", is_flag=True, help="Do not judge the model: search, save and say.")
@reading
def fit(data, out, folds, quick, **options):
    """Learn to predict a column of DATA, a CSV or Parquet file, from the others.

    Text becomes categories, missing values are filled in, and the parameters are chosen by
    cross-validation; a target of text is predicted as a class. With --time-budget, half of the
    time is for the search and half for judging the model.

    \b
    Example:
        locallinear fit houses.csv --target price --ignore id --out houses.model
    """  # noqa: D301
    out = out or Path(data.with_suffix(".model").name)
    _steps.check_writable(out, data)
    encoding, X, y = _steps.prepare(data, options)
    budget = options["time_budget"]
    search = _steps.searched(X, y, encoding, options, budget and (budget if quick else budget / 2))
    model = TableModel(encoding, search.best_estimator_)
    _steps.written(model.save, out)
    if not quick:
        _steps.judged_lines(X, y, encoding, options, folds, budget and budget / 2 / folds)
    _steps.summary(model, search.best_params_)
    model_file, table_file = quote(str(out)), quote(str(data))
    click.echo(f"\nThe model is in {out}. To see why each prediction is what it is:")
    click.echo(f"  locallinear explain {model_file} {table_file}")
    click.echo("To predict new rows:")
    click.echo(f"  locallinear predict {model_file} NEW.csv")


@main.command(short_help="Predict the rows of a table.")
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
    if out is not None and out.suffix.lower() not in {"", ".csv", *PARQUET}:
        raise BadInput(f"--out should end in .csv or .parquet, but {out} does not.")
    _steps.check_writable(out, model, data)
    fitted = _steps.load_model(model)
    table = _steps.read_for(fitted, data, delimiter, decimal)
    result = predictions(fitted, table)
    if with_data:
        kept = table.frame[[name for name in table.columns if name not in result.columns]]
        result = kept.convert_dtypes().join(result)  # 251 was read as 251.0
    _steps.write_table(result, out)


@main.command(short_help="Say why each prediction is what it is.")
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
@click.option(
    "--max-rows",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Most rows in a page; of more, so many are drawn.",
)
@click.option("--jobs", type=THREADS, default=-1, help="Threads; all cores if left out.")
def explain(model, data, delimiter, decimal, out, form, max_rows, jobs):
    """Explain the predictions of a MODEL that `fit` made, for the rows of DATA.

    Each prediction is a constant plus what each column adds; nothing is approximated.

    \b
    Example:
        locallinear explain houses.model new-houses.csv --out why.html
        locallinear explain houses.model new-houses.csv --format csv --out why.csv
    """  # noqa: D301
    suffix = ".html" if out is None else out.suffix.lower()
    if form is None and suffix not in {".html", ".htm", ".csv", *PARQUET}:
        raise BadInput(
            f"--out should end in .html for a report or in .csv or .parquet for a table, but "
            f"{out} does not; or say which by --format."
        )
    form = form or ("html" if suffix in {".html", ".htm"} else "csv")
    if form == "html":
        out = out or Path(f"{data.stem}-report.html")
    _steps.check_writable(out, model, data)
    fitted = _steps.load_model(model)
    table = _steps.read_for(fitted, data, delimiter, decimal)
    if form == "csv":
        _steps.write_table(contributions(fitted, table), out)
        return
    _steps.write_html(fitted, out, table, max_rows, jobs)
    click.echo(f"The report is in {out}; open it in a browser.")


@main.command(short_help="Compare FALL with other models on a table.")
@click.argument("data", type=IN)
@learning
@reading
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Of the cross-validation.",
)
def compare(data, folds, **options):
    """Compare FALL with other models on DATA: error on unseen rows, and time.

    With --time-budget, each search over FALL's parameters has so many seconds.

    \b
    Example:
        locallinear compare houses.csv --target price
    """  # noqa: D301
    encoding, X, y = _steps.prepare(data, options)
    _steps.judged_lines(X, y, encoding, options, folds, options["time_budget"], full=True)


@main.command(short_help="Show all of it on real data.")
@click.option(
    "--out", type=OUT, default="locallinear-report.html", show_default=True, help="The report."
)
@click.option("--jobs", type=THREADS, default=-1, help="Threads; all cores if left out.")
def demo(out, jobs):
    """Show all of it on data that ship with scikit-learn, in less than a minute.

    \b
    Example:
        locallinear demo
    """  # noqa: D301
    _steps.check_writable(out)
    table = diabetes()
    encoding, table, _ = fit_encoding(table, (TARGET,))
    X, y = encoding.inputs(table), encoding.outputs(table)
    _steps.say_data(table, encoding, y, [])
    options = {"grid": "default", "scaling": "standard", "seed": 0, "jobs": jobs}
    search = _steps.searched(X, y, encoding, options, None)
    model = TableModel(encoding, search.best_estimator_)
    _steps.judged_lines(X, y, encoding, options, 5, None, full=True)
    _steps.summary(model, search.best_params_)
    _steps.write_html(model, out, table, 1000, jobs)
    click.echo(f"\nThe report is in {out.resolve()}; open it in a browser.")
