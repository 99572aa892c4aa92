"""The commands ``locallinear demo | fit | predict | explain | compare`` and their options."""

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..io import ModelFileError
from ..runtime.budgets import Budget, BudgetWarning
from ..runtime.extras import MissingExtraError
from ..tables.read import PARQUET
from ..tables.table import TableError
from .cluster import connected, fit_on_cluster, model_name
from .demo import EXAMPLES
from .files import (
    STANDARD_OUTPUT,
    BadInput,
    check_not_terminal,
    check_writable,
    destination,
    explained_output,
    is_stream,
    load_model,
    own_name,
    read_for,
    write_file,
    write_table,
)
from .laws import law_lines
from .learning import (
    as_problem,
    fit_model,
    print_comparison,
    print_lines,
    print_next_steps,
    print_summary,
    read_problem,
)
from .options import FILE, SHARE, jobs_option, learning, reading
from .outputs import (
    already_seen,
    contributions,
    explained_row,
    predictions,
    unlike_anything,
    write_html,
)
from .terminal import echo, warnings_as_notes

MAX_ROWS = 100_000
# The part of a time budget for the model; the rest is for other models, and one of few regimes.
# Both have a little time in any case.
FIT_SHARE, LEAST_SECONDS, COMPANION_SECONDS = 0.8, 0.1, 1.0

# What `explain` writes, by the ending of the file.
FORMS = {".html": "html", ".htm": "html"} | dict.fromkeys([".csv", *PARQUET], "csv")


@dataclass(frozen=True)
class ProgramStart:
    """What a program used up before its command ran; the context of a command holds it.

    Attributes
    ----------
    processor_seconds : float
        The processor time of the start: a wait for a slow disk does not count.
    """

    processor_seconds: float


class Commands(click.Group):
    """A group of commands that report bad input in one sentence, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with explained_output():
            try:
                return super().invoke(ctx)
            except (TableError, ModelFileError, MissingExtraError) as error:
                raise BadInput(str(error)) from error

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments; --help and --version print here."""
        with explained_output():
            return super().make_context(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands in the order in which a new user needs them."""
        return list(self.commands)


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="locallinear")
def main() -> None:
    """Fit local linear models to a table, and explain each prediction exactly.

    \b
    Example:
        locallinear fit houses.csv --target price
        locallinear predict houses.model new-houses.csv --out prices.csv
        locallinear explain houses.model new-houses.csv --out why.html
    """  # noqa: D301, click reads the backspace as "do not wrap"
    click.get_current_context().with_resource(warnings_as_notes())


@main.command(short_help="Show all steps on example data.")
@click.option(
    "--data",
    type=click.Choice(list(EXAMPLES)),
    default="rentals",
    show_default=True,
    help="rentals: simulated, with known laws; diabetes: patients, from scikit-learn.",
)
@click.option(
    "--out",
    type=FILE,
    default="locallinear-report.html",
    show_default=True,
    help="File for the report; - is standard output.",
)
@jobs_option
def demo(data: str, out: Path, jobs: int) -> None:
    """Fit, compare and explain models of example data, within a minute.

    The rentals are simulated, so that the explanation can be compared with the laws that made
    them. For the diabetes data one linear model is as good, which the comparison shows.

    \b
    Example:
        locallinear demo
        locallinear demo --data diabetes
    """  # noqa: D301
    check_writable(out)
    with destination(out) as place:
        example = EXAMPLES[data]()
        problem = as_problem(example.table, (example.target,), {})
        options: dict[str, Any] = {"model": "single", "grid": example.grid, "scaling": None}
        options |= {"target_scale": "identity", "seed": 0, "jobs": jobs, "packages": False}
        start = time.perf_counter()
        model = fit_model(problem, options, None)
        print_comparison(model, problem, options, seconds=time.perf_counter() - start)
        print_summary(model, options)
        if example.new is not None:
            click.echo()
            print_lines(law_lines(model, example.simulated, example.new))
        write_html(model, example.table, place, max_rows=MAX_ROWS, jobs=jobs)
    if out != STANDARD_OUTPUT:
        echo(f"\nThe report is in {out.resolve()}; open it in a browser.")


@main.command(short_help="Fit a model that predicts a column of a table.")
@click.argument("data", type=FILE)
@learning
@click.option(
    "--out",
    type=FILE,
    show_default="name of DATA with the ending .model, in the current folder",
    help="File for the model; - is standard output.",
)
@click.option(
    "--regimes",
    type=click.IntRange(1),
    metavar="N",
    show_default="the simplest number within one standard error of the best",
    help="Number of regimes whose equations are printed.",
)
@click.option("--quick", is_flag=True, help="Do not measure the error on unseen rows.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Fit on a Dask cluster, such as tcp://host:8786, or local for one on this machine. DATA "
    "is then a pattern of Parquet files, in quotation marks; nothing but the model is made.",
)
@reading
def fit(data: Path, out: Path | None, quick: bool, cluster: str | None, **options: Any) -> None:
    """Fit a model that predicts a column of DATA, a CSV, Parquet or Excel file, from the others.

    Numbers, categories, text, dates and gaps are understood, and what became of each column is
    printed. Cross-validation chooses the parameters and measures the error, within the time budget.
    A target of text is predicted as a class. The equations are those of a simple model of few
    regimes; the model that is written predicts with more.

    \b
    Example:
        locallinear fit houses.csv --target price --out houses.model
        locallinear fit houses.csv --target price --types postcode=category --model ensemble
        locallinear fit 'houses-*.parquet' --target price --cluster tcp://host:8786
    """  # noqa: D301
    out = out or (model_name(data) if cluster else Path(f"{own_name(data)}.model"))
    check_writable(out, data)
    check_not_terminal(out)
    if cluster:
        with destination(out) as place, connected(cluster):
            write_file(fit_on_cluster(data, options).save, place)
        echo(f"The model is in {out}; locallinear predict and explain take it.", err=True)
        return
    with destination(out) as place:
        start: ProgramStart | None = click.get_current_context().obj
        spent = 0.0 if start is None else start.processor_seconds
        budget = Budget(options["time_budget"], spent=spent)
        problem = read_problem(data, options)
        to_fit = FIT_SHARE * budget.seconds - budget.elapsed()
        with warnings.catch_warnings():
            # The user knows the budget of the whole command, not that of this part.
            warnings.simplefilter("ignore", BudgetWarning)
            model = fit_model(problem, options, max(to_fit, LEAST_SECONDS))
        replaced = out.is_file()
        if not is_stream(out):  # whatever breaks off from here on, the model is there
            write_file(model.save, place)
        if not quick:
            print_comparison(model, problem, options)
        print_summary(model, options, max(budget.left(), COMPANION_SECONDS))
        write_file(model.save, place)  # with the regimes that were printed
    if budget.is_late():
        remedies = "give a longer one, or fit fewer rows"
        if not quick:
            remedies = "give a longer one, fit fewer rows, or leave out the comparison with --quick"
        echo(
            f"Note: --time-budget is {budget.seconds:.3g} s, but the command took "
            f"{budget.elapsed():.3g} s; {remedies}.",
            err=True,
        )
    if out != STANDARD_OUTPUT:
        print_next_steps(out, data, replaced)


@main.command(short_help="Predict the rows of a table.")
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "--out",
    type=FILE,
    show_default="CSV on standard output",
    help="File for the predictions, .csv or .parquet; - is standard output.",
)
@click.option("--with-data", is_flag=True, help="Put the columns of DATA before the predictions.")
@click.option(
    "--interval",
    type=SHARE,
    metavar="SHARE",
    help="Add intervals that contain this share of the true values, such as 0.9 (for classes: the "
    "possible ones), and how unlike the training rows each row is, from 0 to 1.",
)
@reading
def predict(
    model: Path,
    data: Path,
    out: Path | None,
    with_data: bool,
    interval: float | None,
    **options: Any,
) -> None:
    """Predict each row of DATA with a MODEL that `fit` made; DATA may be - for standard input.

    \b
    Example:
        locallinear predict houses.model new-houses.csv --out prices.csv
        locallinear predict houses.model new-houses.csv --interval 0.9 --out prices.csv
    """  # noqa: D301
    if out is not None and out.suffix.lower() not in {"", ".csv", *PARQUET}:
        raise BadInput(f"--out should end in .csv or .parquet, but {out} does not.")
    check_writable(out, model, data)
    fitted = load_model(model)
    table = read_for(fitted, data, options)
    result = predictions(fitted, table, interval)
    taken = [name for name in table.columns if name in result.columns]
    if with_data and taken:
        raise BadInput(
            f"{table.name} has a column {taken[0]!r} already, which is the name of a column of the "
            "predictions. Rename it, or leave --with-data out."
        )
    notes = [already_seen(fitted, table), None if interval is None else unlike_anything(result)]
    if with_data:
        result = table.frame.convert_dtypes().join(result)  # 251 was read as 251.0
    write_table(result, out)
    for note in filter(None, notes):
        echo(note, err=True)


@main.command(short_help="Explain the prediction of each row of a table.")
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "--out",
    type=FILE,
    show_default="name of DATA with -report.html; for csv, standard output",
    help="File for the explanation, .html, .csv or .parquet; - is standard output.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "csv"]),
    show_default="by the ending of --out",
    help="html: a page for the browser; csv: a table of what each column adds to each prediction.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(1),
    metavar="N",
    default=MAX_ROWS,
    show_default=True,
    help="Largest number of rows that the page holds; if DATA has more, it holds a sample.",
)
@click.option(
    "--row",
    type=click.IntRange(1),
    metavar="N",
    help="Print the explanation of this row, counted from 1, in the terminal, and write nothing.",
)
@jobs_option
@reading
def explain(
    model: Path,
    data: Path,
    out: Path | None,
    form: str | None,
    max_rows: int,
    row: int | None,
    jobs: int,
    **options: Any,
) -> None:
    """Explain the prediction of each row of DATA by a MODEL that `fit` made.

    A prediction is the mean of all rows, plus the level of those like it, plus how the row differs
    from them by each column; nothing is approximated. Intervals contain 90 % of the true values.

    \b
    Example:
        locallinear explain houses.model new-houses.csv --row 3
        locallinear explain houses.model new-houses.csv --out why.html
        locallinear explain houses.model new-houses.csv --format csv --out why.csv
    """  # noqa: D301
    if row is not None:
        fitted = load_model(model)
        table = read_for(fitted, data, options)
        if row > len(table):
            raise BadInput(f"--row is {row}, but {data} has {len(table)} rows.")
        print_lines(explained_row(fitted, table, row))
        return
    named = out not in {None, STANDARD_OUTPUT}
    suffix = out.suffix.lower() if out and named else ".html"
    if form is None and suffix not in FORMS:
        raise BadInput(
            f"--out should end in .html for a report, or in .csv or .parquet for a table, but "
            f"{out} does not; rename it, or choose with --format."
        )
    by_suffix = FORMS.get(suffix)
    if form and named and by_suffix not in {None, form}:
        raise BadInput(
            f"--format is {form}, but {out} ends in {suffix}; leave out --format or rename the "
            "file."
        )
    form = form or by_suffix
    if form == "html":
        out = out or Path(f"{own_name(data)}-report.html")
    check_writable(out, model, data)
    fitted = load_model(model)
    table = read_for(fitted, data, options)
    if out is None or form == "csv":
        write_table(contributions(fitted, table), out)
        return
    with destination(out) as place:
        write_html(fitted, table, place, max_rows=max_rows, jobs=jobs)
    if out != STANDARD_OUTPUT:
        echo(f"The report is in {out}; open it in a browser.")


@main.command(short_help="Compare FALL with other models on a table.")
@click.argument("data", type=FILE)
@learning
@reading
def compare(data: Path, **options: Any) -> None:
    """Compare FALL with other models on DATA, by their errors on unseen rows and their times.

    FALL is the model that `fit` makes, within the time budget; the others take as long as they
    take. Boosted trees are scikit-learn's; LightGBM, CatBoost and EBM join where they are
    installed.

    \b
    Example:
        locallinear compare houses.csv --target price
    """  # noqa: D301
    problem = read_problem(data, options)
    start = time.perf_counter()
    model = fit_model(problem, options, options["time_budget"])
    print_comparison(model, problem, options, seconds=time.perf_counter() - start)
