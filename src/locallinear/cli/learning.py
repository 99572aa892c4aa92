"""What commands do to learn: read a table, search, compare models and print a summary."""

import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..explain.judging import baselines, folds_of, judge
from ..runtime.progress import watched, working
from ..search.companion import Companion, companion_of
from ..search.grids import GRIDS
from ..tables.encoding import Encoding, fit_encoding
from ..tables.model import TableModel
from ..tables.table import Table, TableError
from .comparison import compile_kernels, make_search, more_models
from .files import read
from .summary import data_lines, parameter_lines, regime_lines, score_lines, simplicity_lines
from .terminal import echo, printable

if TYPE_CHECKING:
    import pandas

MIN_ROWS = 10

# The options of a command by name, as click passes them.
Options = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """A table in numbers.

    Attributes
    ----------
    encoding : Encoding
    X : DataFrame (n, d)
        The encoded columns.
    y : array (n,) or (n, m)
        The targets.
    """

    encoding: Encoding
    X: "pandas.DataFrame"
    y: NDArray


def read_problem(data: Path, options: Options) -> Problem:
    """Read the table that a command learns from, and print what is in it."""
    text = (*options["categorical"], *(options["target"] if options["classify"] else ()))
    table = read(data, options["delimiter"], options["decimal"], text, options["missing"])
    if not options["target"]:
        raise TableError(f"Choose a column of {data} to predict, with --target. {table.listing()}")
    names = ("classify", "categorical", "ignore", "missing")
    encoding, table, notes = fit_encoding(
        table, options["target"], **{name: options[name] for name in names}
    )
    if len(table) < MIN_ROWS:
        raise TableError(
            f"{data} has {len(table)} rows with a target; at least {MIN_ROWS} are needed. "
            "Add rows, or fill in targets that are missing."
        )
    return encode_problem(encoding, table, notes)


def encode_problem(encoding: Encoding, table: Table, notes: list[str]) -> Problem:
    """Encode a table, and print what is in it and what was left out."""
    problem = Problem(encoding, encoding.inputs(table), encoding.outputs(table))
    print_lines(data_lines(table.name, len(table), encoding, problem.y))
    print_lines([f"Note: {note}" for note in notes])
    return problem


def fit_search(problem: Problem, options: Options, budget: float | None) -> Any:
    """Search on all rows, with a progress bar, and print how many configurations were tried."""
    start = time.perf_counter()
    search = _make_search(problem, options, budget, verbose=int(sys.stderr.isatty()))
    named = problem.y if problem.encoding.classify else problem.encoding.named_outputs(problem.y)
    search.fit(problem.X, named)
    total = len(search.cv_results_["mean_test_score"])
    part = "" if search.n_configurations_ == total else f" of {total:,}"
    echo(
        f"Search: {search.n_configurations_:,}{part} configurations, each scored by "
        f"{search.n_splits_}-fold cross-validation, in {time.perf_counter() - start:.1f} s."
    )
    return search


def _make_search(problem: Problem, options: Options, budget: float | None, verbose: int) -> Any:
    """The search for FALL's parameters that the options describe, not fitted."""
    grid = options["grid"]
    if options["scaling"]:
        grid = GRIDS[grid] | {"scaling": [options["scaling"]]}
    return make_search(
        problem.y,
        problem.encoding.classify,
        options["seed"],
        grid=grid,
        time_budget=budget,
        n_jobs=options["jobs"],
        verbose=verbose,
    )


def print_comparison(
    problem: Problem, options: Options, folds: int, budget: float | None, *, full: bool = False
) -> None:
    """Cross-validate FALL and other models, and print their errors; `full` adds models and times.

    `budget` limits the seconds of each search for FALL's parameters.
    """
    X, y, classify = problem.X, problem.y, problem.encoding.classify
    splits = list(folds_of(y, folds, classify=classify, seed=options["seed"]).split(X, y))
    if len(splits) < folds:
        echo(
            f"Note: --folds is {folds}, but {len(y)} rows make at most {len(splits)} folds of two "
            f"rows or more; {len(splits)} are used."
        )
    n_train = min(len(train) for train, _ in splits)
    models = {
        "FALL": _make_search(problem, options, budget, verbose=0),
        **baselines(n_train, classify=classify),
    }
    notes: list[str] = []
    if full:
        with working("Compiling, which is done once"):  # and is not part of a model's time
            compile_kernels()
        more, notes = more_models(y, classify, n_train)
        models |= more
    watch = partial(watched, title="Comparing models on unseen rows", unit="fits")
    judged = judge(models, X.to_numpy(), y, splits, classify=classify, watch=watch)
    error = "Share of wrong classes" if classify else "Root mean squared error"
    echo(f"\n{error} on rows that the models have not seen:\n")
    print_lines(score_lines(judged, y, problem.encoding.targets, classify, times=full))
    echo(
        f"({len(splits)}-fold cross-validation; in each fold, every model was tuned on "
        "the training rows only.\n"
        "± is half the width of a 95 % interval, from resampling the rows.)"
    )
    print_lines(notes)


def print_summary(
    model: TableModel, params: dict[str, Any], options: Options, budget: float | None = None
) -> Companion:
    """Print the chosen parameters, and the regimes of the model or of its simple companion.

    Returns the companion. `budget` limits the seconds of the search for the companion.
    """
    echo("\nChosen parameters:\n")
    print_lines(parameter_lines(params))
    with working("Looking for few regimes"):
        companion = companion_of(
            model.estimator,
            options.get("regimes"),
            time_budget=budget,
            n_jobs=options["jobs"],
            random_state=options["seed"],
        )
    echo("\nEquations:\n")
    print_lines(simplicity_lines(model, companion))
    print_lines(regime_lines(model, companion))
    return companion


def print_next_steps(out: Path, data: Path, replaced: bool) -> None:
    """Print where a model is, and the commands that use it."""
    model_file, table_file = quote(str(out)), quote(str(data))
    place = f"{out}, which was replaced" if replaced else str(out)
    echo(f"\nThe model is in {place}. To explain its predictions:")
    echo(f"  locallinear explain {model_file} {table_file}")
    echo("To predict new rows:")
    echo(f"  locallinear predict {model_file} NEW.csv")


def print_lines(lines: list[str]) -> None:
    """Print lines on standard output."""
    for line in lines:
        echo(printable(line))
