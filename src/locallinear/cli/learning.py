"""What commands do to learn: read a table, fit, judge, and print a summary."""

import re
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import Any

from numpy.typing import NDArray

from ..explain.judging import Judged, UnseenRows, baselines, later_sentence, tuning_sentence
from ..explain.view import view_of
from ..runtime.progress import duration, watched, working
from ..search.estimators import FALLClassifierCV, FALLRegressorCV
from ..search.grids import named_grid
from ..tables.encoding import fit_encoding
from ..tables.estimators import TableClassifier, TableRegressor
from ..tables.procedure import CLASS_SCORING
from ..tables.table import Table, TableError
from ..tables.targets import check_targets, is_class, outputs, target_notes, with_targets
from ..tables.wanted import KINDS, Wanted, as_kind, wrong_kind
from .comparison import compile_kernels, more_models
from .files import BadInput, read
from .summary import (
    data_lines,
    encoding_lines,
    parameter_lines,
    regime_lines,
    score_lines,
    simplicity_lines,
)
from .terminal import echo, printable

MIN_ROWS = 10
# What --types takes: the name of a column may have the sign too.
TYPE = re.compile(rf"(?P<name>.+)=(?P<kind>\s*(?:{'|'.join(KINDS)})\s*(?::.*)?)")

# The options of a command by name, as click passes them.
Options = dict[str, Any]
TableModel = TableRegressor | TableClassifier


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, and what is to be learnt from it.

    Attributes
    ----------
    table : Table
        The inputs.
    y : array (n,) or (n, m)
        The targets.
    targets : tuple of str
    classify : bool
    types : dict
        Kinds of columns that the user gave.
    """

    table: Table
    y: NDArray
    targets: tuple[str, ...]
    classify: bool
    types: dict[str, Wanted]

    def named_targets(self) -> Any:
        """The targets as an estimator takes them, with their names."""
        from ..tables.cells import pandas_module

        if self.y.ndim == 1:
            return pandas_module().Series(self.y, name=self.targets[0])
        return pandas_module().DataFrame(self.y, columns=list(self.targets))


def read_problem(data: Path, options: Options) -> Problem:
    """Read the table that a command learns from, and print what is in it."""
    types = read_types(options)
    no_text = ("number", "date", "skip")
    text = [name for name, wanted in types.items() if as_kind(wanted)[0] not in no_text]
    text += options["target"] if options["classify"] else ()
    return table_problem(read(data, options, text, options["missing"]), options)


def table_problem(table: Table, options: Options) -> Problem:
    """What the options say of a table, whose columns they must name; prints what is in it."""
    types, targets = read_types(options), tuple(options["target"])
    if not targets:
        raise TableError(
            f"Choose a column of {table.name} to predict, with --target. {table.listing()}"
        )
    table.require(targets, "the target")
    for name in ("categorical", "ignore"):
        table.require(options[name], f"which --{name} names")
    table.require(list(types), "which --types names")
    both = [name for name in targets if name in types]
    if both:
        raise TableError(
            f"Column {both[0]!r} is the target, and --ignore, --categorical or --types names it "
            "too; name it only once."
        )
    return as_problem(table, targets, types, options["classify"])


def read_types(options: Options) -> dict[str, Wanted]:
    """The kinds of columns that options give."""
    types: dict[str, Wanted] = dict.fromkeys(options["categorical"], "category")
    types |= dict.fromkeys(options["ignore"], "skip")
    for text in options["types"]:
        said = TYPE.fullmatch(text)
        if said is None:
            raise BadInput(
                f"--types takes COLUMN=KIND, with a kind of {', '.join(KINDS)}, not {text!r}."
            )
        types[said["name"]] = said["kind"]
        wrong = wrong_kind(said["kind"])
        if wrong:
            raise BadInput(f"--types {text}: {wrong}.")
    return types


def as_problem(
    table: Table, targets: tuple[str, ...], types: dict[str, Wanted], classify: bool = False
) -> Problem:
    """The rows that have targets, and what kind of targets these are; prints what was read."""
    classify = classify or is_class(table, targets)
    complete, notes = with_targets(table, targets)
    if not classify:
        notes += target_notes(complete, targets)
    check_targets(complete, targets, classify)
    if len(complete) < MIN_ROWS:
        raise TableError(
            f"{table.name} has {len(complete)} rows with a target; at least {MIN_ROWS} are needed. "
            "Add rows, or fill in targets that are missing."
        )
    y = outputs(complete, targets, classify=classify)
    problem = Problem(complete.without(targets), y, targets, classify, types)
    encoding = fit_encoding(problem.table, types)  # refuses what cannot be used
    print_lines(data_lines(table.name, problem.table, y, targets, classify))
    print_lines([f"Note: {note}" for note in notes])
    print_lines(encoding_lines(encoding))
    return problem


def make_model(problem: Problem, options: Options, budget: float | None, verbose: int) -> Any:
    """The model that the options describe, not fitted."""
    kind: Any = TableClassifier if problem.classify else TableRegressor
    model: Any = options["model"]
    if options["grid"] != "default" or options["scaling"]:
        if model == "ensemble":
            raise BadInput("--grid and --scaling are for --model single; leave them out.")
        grid = options["grid"]
        if isinstance(grid, str):
            grid = named_grid(grid, prefer="accurate", classify=problem.classify)
        if options["scaling"]:
            grid = grid | {"scaling": [options["scaling"]]}
        search: Any = FALLClassifierCV if problem.classify else FALLRegressorCV
        model = search(
            grid,
            scoring=CLASS_SCORING if problem.classify else None,
            n_jobs=options["jobs"],
            random_state=options["seed"],
            verbose=verbose,
        )
    scale = {} if problem.classify else {"target": options["target_scale"]}
    return kind(
        model,
        types=problem.types,
        time_budget=budget,
        n_jobs=options["jobs"],
        random_state=options["seed"],
        verbose=verbose,
        **scale,
    )


def fit_model(problem: Problem, options: Options, budget: float | None) -> TableModel:
    """Fit on all rows, with progress bars, and print how much was tried."""
    start = time.perf_counter()
    model = make_model(problem, options, budget, verbose=int(sys.stderr.isatty()))
    model.fit(problem.table, problem.named_targets())
    if getattr(model, "is_log_", False):
        why = ": it predicts better, in units" if options["target_scale"] == "auto" else ""
        echo(f"The log of the target is modelled{why}.")
    print_lines(effort_lines(model, time.perf_counter() - start))
    return model


def effort_lines(model: TableModel, seconds: float) -> list[str]:
    """How many configurations were tried, and what more time would buy."""
    if model.search_ is None:
        members = len(getattr(model.estimator_, "estimators_", [1]))
        return [f"Fit: an ensemble of {members} models, in {duration(seconds)}."]
    tried, total = model.search_.n_configurations_, len(model.search_.cv_results_["reason"])
    part = "" if tried == total else f" of {total:,}"
    lines = [
        f"Search: {tried:,}{part} configurations, each scored by {model.search_.n_splits_}-fold "
        f"cross-validation, and fit, in {duration(seconds)}."
    ]
    if tried < total:
        whole = duration(seconds * total / max(tried, 1))
        lines.append(
            f"More time would buy the other {total - tried:,}: all would take about {whole}, with "
            "--time-budget. --model ensemble is more accurate on most tables, and takes longer."
        )
    return lines


def print_comparison(
    model: TableModel, problem: Problem, options: Options, *, seconds: float | None = None
) -> None:
    """Print the model's own judgement beside errors of other models on the same folds.

    `seconds` are those of the model's fit: with them, more models and times are printed.
    """
    predictions: Any = model.cv_prediction_
    unseen = UnseenRows.of(predictions, model.folds_)
    classify, full = problem.classify, seconds is not None
    X, y, n_train = model.encode(problem.table).to_numpy(), problem.y, unseen.n_train
    # The search, and one fit per fold and of all rows.
    own = Judged(
        "FALL",
        model.classes_[predictions.argmax(axis=1)] if classify else predictions,
        (seconds or 0.0) / (len(unseen.splits) + 1),
    )
    models = baselines(n_train, classify=classify, slow=full, table=model.table_model)
    notes: list[str] = []
    if full:
        with working("Compiling, which is done once"):  # and is not part of a model's time
            compile_kernels()
        more, notes = more_models(
            y, classify, n_train, options["jobs"], options["seed"], options.get("packages", True)
        )
        models |= more
    watch = partial(watched, title="Comparing models on unseen rows", unit="fits")
    judged = unseen.judge(own, models, X, y, classify=classify, watch=watch)
    error = "Share of wrong classes" if classify else "Root mean squared error"
    echo(f"\n{error} on rows that the models have not seen:\n")
    print_lines(score_lines(judged, y[unseen.rows], problem.targets, classify, times=full))
    n_judged, part = len(unseen.splits), ""
    if n_judged < unseen.n_folds:
        part = f", of which {n_judged} judged, for want of time"
    echo(
        f"({unseen.n_folds}-fold cross-validation{part}; ± is half the width of a 95 % interval, "
        "from resampling the rows.)"
    )
    print_lines(wrap(tuning_sentence(is_ensemble=options["model"] == "ensemble"), 92))
    print_lines(wrap(later_sentence(view_of(model).columns) or "", 92))
    print_lines(notes)


def print_summary(model: TableModel, options: Options, budget: float | None = None) -> None:
    """Print the chosen parameters, and the regimes of the model or of its simple companion.

    The model keeps the companion. `budget` is the number of seconds for finding it.
    """
    if model.best_params_:
        echo("\nChosen parameters:\n")
        print_lines(parameter_lines(model.best_params_))
    with working("Looking for few regimes"):
        companion = model.companion(options.get("regimes"), time_budget=budget)
    echo("\nEquations:\n")
    print_lines(simplicity_lines(model, companion))
    print_lines(regime_lines(model, companion))


def print_next_steps(out: Path, data: Path, replaced: bool) -> None:
    """Print where a model is, and the commands that use it."""
    model_file = quote(str(out))
    table_file = quote(str(data)) if data.is_file() else "TABLE.csv"
    place = f"{out}, which was replaced" if replaced else str(out)
    echo(f"\nThe model is in {place}. To explain its predictions:")
    echo(f"  locallinear explain {model_file} {table_file}")
    echo("To predict new rows:")
    echo(f"  locallinear predict {model_file} NEW.csv")


def print_lines(lines: list[str]) -> None:
    """Print lines on standard output."""
    for line in lines:
        echo(printable(line))
