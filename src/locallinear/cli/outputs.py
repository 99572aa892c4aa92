"""What `predict` and `explain` write: predictions, contributions and reports."""

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from ..explain.contribution_display import ContributionDisplay
from ..explain.explaining_rows import explain_rows, numbers_of_samples
from ..explain.how_sure import UNSEEN, how_sure
from ..explain.own_samples import count_equal
from ..explain.row_text import row_lines
from ..explain.text import plural
from ..explain.view import view_of
from ..runtime.progress import working
from ..tables.cells import pandas_module
from ..tables.estimators import TableClassifier, TableRegressor
from ..tables.scale import have_logs
from ..tables.table import Table, TableError
from ..tables.targets import outputs
from .files import write_file

if TYPE_CHECKING:
    import pandas

TableModel = TableRegressor | TableClassifier

# How many rows that are unlike anything seen are named.
MAX_NAMED = 5


def predictions(
    model: TableModel, table: Table, coverage: float | None = None
) -> "pandas.DataFrame":
    """One column per target, or the class and one column per probability of a class.

    With a coverage, two columns with the ends of an interval per target, or one with the possible
    classes, and how unusual each row is.
    """
    pandas = pandas_module()
    targets, n = model.target_names_, len(table)
    if isinstance(model, TableRegressor):
        values = model.predict(table).reshape(n, -1)
        columns: dict[str, Any] = {
            f"predicted {name}": values[:, t] for t, name in enumerate(targets)
        }
        if coverage is not None:
            ends = model.predict_interval(table, coverage).reshape(n, -1, 2)
            for t, name in enumerate(targets):
                columns |= {f"lowest {name}": ends[:, t, 0], f"highest {name}": ends[:, t, 1]}
            columns["novelty"] = model.novelty(table)
        return pandas.DataFrame(columns)
    probabilities = model.predict_proba(table)
    columns = {f"predicted {targets[0]}": model.classes_[probabilities.argmax(axis=1)]}
    columns |= {f"probability of {c}": probabilities[:, i] for i, c in enumerate(model.classes_)}
    if coverage is not None:
        sets = model.predict_set(table, coverage)
        names = [str(c) for c in model.classes_]
        columns["possible classes"] = [
            " or ".join(name for name, possible in zip(names, row, strict=True) if possible)
            for row in sets
        ]
        columns["novelty"] = model.novelty(table)
    return pandas.DataFrame(columns)


def already_seen(model: TableModel, table: Table) -> str | None:
    """A sentence where most rows are those that the model was fitted on, else None."""
    n = count_equal(view_of(model), model.encode(table).to_numpy())
    if n <= len(table) / 2:  # some are equal by chance
        return None
    verb = "has" if n == 1 else "have"
    return (
        f"Note: {n:,} of {plural(len(table), 'row')} {verb} exactly the values of a training row, "
        "so that its own target takes part in the prediction; fit prints the error on rows that "
        "the model had not seen."
    )


def unlike_anything(result: "pandas.DataFrame") -> str | None:
    """A sentence on the rows that are unlike anything seen; None if there are none."""
    novel = np.flatnonzero(result["novelty"] > UNSEEN)
    if not len(novel):
        return None
    rows = ", ".join(str(i + 1) for i in novel[:MAX_NAMED])
    more = f" and {len(novel) - MAX_NAMED} more" if len(novel) > MAX_NAMED else ""
    noun, verb = ("Row", "is") if len(novel) == 1 else ("Rows", "are")
    return (
        f"{noun} {rows}{more} {verb} unlike anything seen (novelty above {UNSEEN}); trust neither "
        "prediction nor interval there."
    )


def contributions(model: TableModel, table: Table) -> "pandas.DataFrame":
    """One line per row and target: the prediction, its layers, and its linear model.

    The layers are ``rows in general``, ``those like it`` and ``differs: ..``; the linear model is
    the ``constant`` and ``adds: ..``. Both add up to the prediction. Where the log of the target
    was modelled, ``times: ..`` and ``times per unit: ..`` say what multiplies it. Rows that the
    model was fitted on are explained without themselves, as on the page.
    """
    pandas = pandas_module()
    view = view_of(model)
    own = numbers_of_samples(view, table.frame, _targets_if_known(model, table))
    known: Any = explain_rows(view, table.frame, own)
    explanation = model.in_units(known)
    is_own = _is_own(explanation)
    if is_own.any():
        click.echo(_own_rows(is_own), err=True)
    q, _, m = explanation.contributions.shape
    kind, total = _words(model)
    columns: dict[str, Any] = {
        "row": np.repeat(np.arange(1, q + 1), m),
        **({"training row": np.repeat(is_own, m)} if is_own.any() else {}),
        kind: explanation.target_names * q,
        total: explanation.prediction.ravel(),
        **_sureness(model, explanation),
        "rows in general": np.tile(explanation.baseline, q),
        "those like it": explanation.neighborhood_part.ravel(),
    }
    names = explanation.feature_names
    columns |= _by_column("differs", names, explanation.difference_parts)
    is_number = [j for j, column in enumerate(view.columns) if column.kind == "number"]
    of_numbers = [names[j] for j in is_number]
    columns |= _by_column("slope", of_numbers, explanation.slopes[:, is_number])
    if explanation.times is not None and explanation.times_per_unit is not None:
        columns |= _by_column("times", names, explanation.times)
        columns |= _by_column(
            "times per unit", of_numbers, explanation.times_per_unit[:, is_number]
        )
    columns |= {"constant": explanation.intercept.ravel()}
    return pandas.DataFrame(columns | _by_column("adds", names, explanation.contributions))


def _is_own(explanation: Any) -> NDArray[np.bool_]:
    """Which explained rows are training rows, (q,): those were explained without themselves."""
    samples = explanation.samples
    return np.zeros(len(explanation.contributions), bool) if samples is None else samples >= 0


def _own_rows(is_own: NDArray[np.bool_]) -> str:
    """A sentence on the rows that the model was fitted on."""
    if is_own.all():
        return "The model was fitted on these rows: each is predicted and explained without itself."
    each = "this one" if is_own.sum() == 1 else "each of these"
    return (
        f"The model was fitted on {is_own.sum():,} of {plural(len(is_own), 'row')}: {each} "
        "is predicted and explained without itself, the others as new rows."
    )


def _words(model: TableModel) -> tuple[str, str]:
    """What a line of explanations is of: a class and its score, or a target."""
    return ("class", "score") if isinstance(model, TableClassifier) else ("target", "prediction")


def _by_column(word: str, names: list[str], parts: NDArray) -> dict[str, NDArray]:
    """One column per name, of parts (q, c, m)."""
    return {f"{word}: {name}": parts[:, j].ravel() for j, name in enumerate(names)}


def _sureness(model: TableModel, explanation: Any) -> dict[str, NDArray]:
    """Columns with the ends of intervals, or possible classes, and how unusual rows are."""
    try:
        known = how_sure(view_of(model), explanation)
    except ValueError as error:
        click.echo(f"Note: there are no intervals: {error}.", err=True)
        return {}
    columns: dict[str, NDArray] = {}
    if known.interval is not None:
        low, high = np.moveaxis(known.interval, 2, 0)
        columns = {"lowest": low.ravel(), "highest": high.ravel()}
    if known.possible is not None:
        possible = known.possible.astype(object)
        possible[~known.possible.any(axis=1)] = None  # of training rows it is not known
        columns["possible"] = possible.ravel()
    columns["novelty"] = np.repeat(known.novelty, len(explanation.target_names))
    return columns


def explained_row(model: TableModel, table: Table, row: int) -> list[str]:
    """The explanation of one row, counted from one, as lines of text."""
    view, one = view_of(model), table.take(np.array([row - 1]))
    own = numbers_of_samples(view, one.frame, _targets_if_known(model, one))
    known: Any = explain_rows(view, one.frame, own)
    why = model.in_units(known)
    lines = [f"Row {row} of {table.name}"]
    if _is_own(why).any():
        lines.append("The model was fitted on this row: it is explained without itself.")
    wanted = list(range(len(why.target_names)))
    if isinstance(model, TableClassifier):
        wanted = [int(np.argmax(why.prediction[0]))]
    for t in wanted:
        lines += ["", *row_lines(ContributionDisplay.from_explanation(why, target=t))]
    return lines


def write_html(
    model: TableModel,
    table: Table,
    out: Path | IO[bytes],
    *,
    max_rows: int,
    jobs: int,
) -> None:
    """Write the report on a model, and on the rows of a table, to a file.

    The regimes are those of the simple companion, which is searched for where there is none.
    """
    from ..explain import report_data, write_report  # they need optional packages

    with working("Looking for few regimes"):
        model.set_params(n_jobs=jobs).companion()
    with working("Writing the report"):
        data = report_data(
            model,
            Xq=table.frame,
            yq=_targets_if_known(model, table),
            title=f"{Path(table.name).name}: what drives {' and '.join(model.target_names_)}",
            row_names=[f"row {i}" for i in range(1, len(table) + 1)],
            max_rows=max_rows,
            n_jobs=jobs,
        )
        write_file(write_report, out, data)


def _targets_if_known(model: TableModel, table: Table) -> NDArray | None:
    """The targets in a table, in units, with gaps where rows have none; or None.

    A target that has no log, where the model is of logs, is a gap too, and a note says so.
    """
    targets = tuple(model.target_names_)
    if not set(targets) <= set(table.columns):
        return None
    has_targets = table.frame[list(targets)].notna().to_numpy().all(axis=1)
    if not has_targets.any():
        return None
    classify = isinstance(model, TableClassifier)
    try:
        known = outputs(table.take(has_targets), targets, classify=classify)
    except TableError:  # text where the model has numbers
        return None
    found: NDArray = np.full((len(table), *known.shape[1:]), None if classify else np.nan)
    found[has_targets] = known
    scales = model.table_model.scales
    if scales is None:
        return found
    has_log = have_logs(scales, found)
    n_without = int((~has_log).reshape(len(found), -1).any(axis=1).sum())
    if n_without:
        click.echo(_without_log(n_without, len(found)), err=True)
    return np.where(has_log, found, np.nan)


def _without_log(n: int, q: int) -> str:
    """A sentence on n of q rows, whose targets have no log."""
    verb, counts = ("has", "it counts") if n == 1 else ("have", "they count")
    return (
        f"Note: {n:,} of {plural(q, 'row')} {verb} a target without a log, and the model is of "
        f"logs: {counts} as new, without a target."
    )
