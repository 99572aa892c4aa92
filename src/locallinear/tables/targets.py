"""Targets: those that users pass to `fit`, and columns of a table that a command predicts."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d

from ..checks.inputs import check_target_values
from ..checks.values import check_no_gaps, sortable
from .amounts import Written, how_written, read_amounts
from .cells import LEADING_ZERO, cell_texts, may_hold_text, to_numbers
from .kinds import LEAST_SHARE
from .table import Table, TableError

Array = NDArray[np.float64]


def numeric_targets(y: Any, who: str) -> tuple[Array, list[str]]:
    """Targets as numbers, (n,) or (n, m), and their names; `who` is for messages."""
    check_target_values(y)
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.dtype.kind in "OUST":
        values = values.astype(np.float64)
    found = check_array(values, ensure_2d=False, dtype=np.float64, input_name="y", estimator=who)
    if found.ndim == 2 and found.shape[1] == 1 and not hasattr(y, "columns"):
        found = column_or_1d(found, warn=True)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    return found, target_names(y, 1 if found.ndim == 1 else found.shape[1])


def class_labels(y: Any, who: str) -> tuple[NDArray, list[str]]:
    """Classes (n,), and the name of the target."""
    check_no_gaps(y, "y", "a class")
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    labels = column_or_1d(values, warn=True)
    if labels.dtype.kind in "OTV":
        labels = sortable(labels if labels.dtype.names else labels.astype(object), "y")
    if labels.dtype == object and all(isinstance(label, str) for label in labels):
        labels = labels.astype(str)
    elif labels.dtype.kind == "f":
        check_array(labels, ensure_2d=False, input_name="y", estimator=who)
    return labels, target_names(y, 1)


def target_names(y: Any, m: int) -> list[str]:
    """The names that targets have, or target, or target 1 and so on."""
    if hasattr(y, "columns"):
        return [str(name) for name in y.columns]
    name = getattr(y, "name", None)
    if name is not None and not callable(name) and m == 1:
        return [str(name)]
    return ["target"] if m == 1 else [f"target {t + 1}" for t in range(m)]


# --- Columns of a table that a command predicts --------------------------------------------------


def with_targets(table: Table, targets: tuple[str, ...]) -> tuple[Table, list[str]]:
    """Return the rows that have all targets, and a note on the rows left out, if any."""
    complete = table.frame[list(targets)].notna().all(axis=1).to_numpy()
    if not complete.any():
        raise TableError(f"{table.name}: no row has a value of {' and '.join(targets)}.")
    if complete.all():
        return table, []
    n_left_out = len(table) - complete.sum()
    note = f"Rows without a target are left out: {n_left_out} of {len(table)}."
    return table.take(complete), [note]


def is_class(table: Table, targets: tuple[str, ...]) -> bool:
    """Whether a target is text, and not numbers in text."""
    text = [name for name in targets if table.frame[name].dtype.kind not in "iuf"]
    return any(target_writing(table, name) is None for name in text)


def target_writing(table: Table, name: str) -> Written | None:
    """How most cells of a target of text are written as numbers; None if they are classes."""
    column = table.frame[name]
    texts = cell_texts(column).dropna() if may_hold_text(column) else column[:0]
    if not len(texts) or any(isinstance(value, bool) for value in column):
        return None
    if texts.str.fullmatch(LEADING_ZERO).any():
        return None
    written = how_written(texts, table.usual_decimal)
    return written if written.share > LEAST_SHARE[written.cells] else None


def read_text(table: Table, names: list[str]) -> Table:
    """The table with numbers for the text of targets that are written as numbers."""
    read = {name: target_writing(table, name) for name in names}
    numbers = {
        name: outputs(table, (name,), classify=False)
        for name, written in read.items()
        if written is not None
    }
    return replace(table, frame=table.frame.assign(**numbers)) if numbers else table


def target_notes(table: Table, targets: tuple[str, ...]) -> list[str]:
    """A sentence for each target whose cells are read as numbers of another kind."""
    written = {name: target_writing(table, name) for name in targets}
    return [
        f"The target {name!r} is read as {how.words}."
        for name, how in written.items()
        if how is not None and how.words
    ]


def outputs(table: Table, targets: tuple[str, ...], *, classify: bool) -> NDArray:
    """The targets of a table, (n,) or (n, m); every row must have them."""
    table.require(targets, "the target")
    if classify:
        return table.frame[targets[0]].to_numpy(dtype=object).astype(str)
    other = "pass --classify" if table.is_file else "use TableClassifier"
    Y = np.empty((len(table), len(targets)))
    for t, name in enumerate(targets):
        column, written = table.frame[name], target_writing(table, name)
        if written is None:
            Y[:, t] = to_numbers(column, table.usual_decimal or ".")
        else:
            Y[:, t] = read_amounts(cell_texts(column), written)
        wrong = np.flatnonzero(np.isnan(Y[:, t]) & column.notna().to_numpy())
        if len(wrong):
            many = f"{len(wrong):,} of {len(table):,} rows of the target hold no number"
            named = "; if the text means no value, name it with --missing" if table.is_file else ""
            remedy = (
                f"{many if len(wrong) > 1 else 'The rest of the target is numbers'}: correct the "
                f"cell or leave it empty{named}; {other} if the target is a class."
            )
            raise table.refuse(name, int(wrong[0]), "a number", remedy)
        table.checked_finite(name, Y[:, t])
    return Y[:, 0] if len(targets) == 1 else Y


def check_targets(table: Table, targets: tuple[str, ...], classify: bool) -> None:
    """Raise TableError for targets that no model can learn."""
    if classify and len(targets) > 1:
        raise TableError(
            f"A class is one column, but the targets are {' and '.join(targets)}; fit one model "
            "for each."
        )
    if len(set(targets)) < len(targets):
        raise TableError(f"--target names a column twice: {', '.join(targets)}.")
    for name in targets:
        values = table.frame[name]
        if values.nunique() == 1:
            raise TableError(
                f"The target {name!r} is {values.iloc[0]} in every row: there is nothing to learn "
                "from a constant."
            )
        if classify and values.nunique() > max(20, len(values) // 2):
            raise TableError(
                f"The target {name!r} has {values.nunique()} different texts in {len(values)} "
                "rows, too many for classes; is it the right column?"
            )
