"""From columns of a table to the numbers that a model takes, and back to columns.

A column of numbers stays one, its missing values filled with the median. A column of text becomes
a 0/1 column a category; "no value" is a category of its own, and a text that fitting did not see
has zeros everywhere. What the encoded columns contribute is summed for the column they came from.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.extras import extra
from .table import Table, TableError, shortened

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

NO_VALUE = "(missing)"
# More categories than this, and the rarest count as unseen.
MAX_CATEGORIES = 30


@dataclass(frozen=True)
class Column:
    """How a column of the table is encoded: as a number, or as categories where there are any."""

    name: str
    fill: float = 0.0
    categories: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether the column holds text."""
        return bool(self.categories)

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The text that each category stands for; None for a cell without a value."""
        return tuple(None if c == NO_VALUE else c for c in self.categories)

    @property
    def encoded_names(self) -> list[str]:
        """What its encoded columns are called."""
        return [f"{self.name} is {c}" for c in self.categories] if self.is_text else [self.name]

    def encode(self, table: Table) -> Array:
        """The encoded columns of a table, (n, number of names)."""
        if self.is_text:
            cells = self.cells(table)
            return (cells[:, None] == np.array(self.categories, dtype=object)).astype(np.float64)
        remedy = "The model takes this column as numbers; correct the cell or leave it empty."
        numbers = table.numbers(self.name, remedy)
        return np.where(np.isnan(numbers), self.fill, numbers)[:, None]

    def cells(self, table: Table) -> NDArray:
        """The texts of a column, with a word for the missing ones."""
        column = table.frame[self.name]
        if not table.is_text(self.name):  # a column without a single value
            return np.full(len(table), NO_VALUE, dtype=object)
        return column.where(column.notna(), NO_VALUE).to_numpy(dtype=object)


@dataclass(frozen=True)
class Encoding:
    """The columns that a model takes, and its targets.

    Attributes
    ----------
    columns : the inputs, in order
    targets : names of the target columns
    classify : whether the one target is a class
    missing : cells that mean "no value", beside the usual ones
    """

    columns: tuple[Column, ...]
    targets: tuple[str, ...]
    classify: bool
    missing: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the inputs."""
        return [column.name for column in self.columns]

    @property
    def text(self) -> list[str]:
        """The columns to read as text, whatever they look like."""
        targets = self.targets if self.classify else ()
        return [column.name for column in self.columns if column.is_text] + list(targets)

    @property
    def owners(self) -> NDArray[np.intp]:
        """For each encoded column the place of the column that it came from."""
        sizes = [len(column.encoded_names) for column in self.columns]
        return np.repeat(np.arange(len(sizes)), sizes)

    def inputs(self, table: Table) -> "pandas.DataFrame":
        """The encoded columns of a table."""
        pandas = extra("pandas", "report", "Tables")
        table.require(self.names, "which the model takes")
        blocks = [column.encode(table) for column in self.columns]
        names = [name for column in self.columns for name in column.encoded_names]
        return pandas.DataFrame(np.concatenate(blocks, axis=1), columns=names)

    def outputs(self, table: Table) -> NDArray:
        """The targets of a table, (n,) or (n, m); rows without one must be gone."""
        table.require(self.targets, "the target")
        if self.classify:
            return table.frame[self.targets[0]].to_numpy(dtype=object).astype(str)
        remedy = "Correct the cell, or leave it empty to leave the row out."
        Y = np.column_stack([table.numbers(name, remedy) for name in self.targets])
        return Y[:, 0] if len(self.targets) == 1 else Y

    def unseen(self, table: Table) -> list[str]:
        """A sentence for each text column with categories that fitting did not see."""
        notes = []
        for column in self.columns:
            if not column.is_text:
                continue
            cells = column.cells(table)
            rows = np.flatnonzero(~np.isin(cells, column.categories))
            if len(rows):
                notes.append(
                    f"Column {column.name!r} has values that are new to the model, or were too "
                    f"rare in fitting, in {len(rows)} of {len(cells)} rows, such as "
                    f"{shortened(cells[rows[0]])!r} in row {rows[0] + 1}: there it counts as "
                    "none of those that the model knows."
                )
        return notes

    def to_dict(self) -> dict[str, Any]:
        """The encoding as plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "Encoding":
        """The encoding that `to_dict` described."""
        columns = tuple(
            Column(str(c["name"]), float(c["fill"]), tuple(map(str, c["categories"])))
            for c in state["columns"]
        )
        targets, missing = tuple(map(str, state["targets"])), tuple(map(str, state["missing"]))
        return cls(columns, targets, bool(state["classify"]), missing)


def by_column(parts: Array, owners: NDArray[np.intp]) -> Array:
    """Sums of what encoded columns add, (q, d, m), over those of each column, (q, c, m)."""
    starts = np.searchsorted(owners, np.arange(owners[-1] + 1))
    return np.add.reduceat(parts, starts, axis=1)


def fit_encoding(
    table: Table,
    targets: tuple[str, ...],
    *,
    classify: bool = False,
    categorical: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    missing: tuple[str, ...] = (),
) -> tuple[Encoding, Table, list[str]]:
    """Decide how a table is encoded.

    Returns
    -------
    encoding : Encoding
    table : the rows that have all targets
    notes : sentences on what was left out, and why
    """
    table.require(targets, "the target")
    table.require(categorical, "which --categorical names")
    table.require(ignore, "which --ignore names")
    classify = classify or is_class(table, targets)
    table, notes = _with_targets(table, targets)
    _check_targets(table, targets, classify)
    columns = []
    for name in table.columns:
        if name in targets or name in ignore:
            continue
        reason = _useless(table, name, name in categorical)
        if reason:
            notes.append(f"Column {name!r} is left out: {reason}.")
        else:
            columns.append(_fit_column(table, name))
    if not columns:
        raise TableError(
            f"{table.name} has no column to learn from beside {' and '.join(targets)}; a model "
            "needs at least one with different values."
        )
    rare = [c.name for c in columns if len(c.categories) == MAX_CATEGORIES]
    notes += [f"Column {n!r}: the {MAX_CATEGORIES} most frequent values are used." for n in rare]
    return Encoding(tuple(columns), targets, classify, missing), table, notes


def is_class(table: Table, targets: tuple[str, ...]) -> bool:
    """Whether a target is text, and not numbers with a slip."""
    text = [name for name in targets if table.is_text(name)]
    for name in text:
        if table.share_of_numbers(name) > 0.5:
            table.numbers(
                name,
                "The rest of the target is numbers: correct the cell or leave it empty, or pass "
                "--classify if the target is a class.",
            )
    return bool(text)


def _with_targets(table: Table, targets: tuple[str, ...]) -> tuple[Table, list[str]]:
    """The rows that have all targets, and a sentence on the others."""
    there = table.frame[list(targets)].notna().all(axis=1).to_numpy()
    if not there.any():
        raise TableError(f"{table.name}: no row has a value of {' and '.join(targets)}.")
    if there.all():
        return table, []
    left_out = np.count_nonzero(~there)
    what = (
        "1 row is left out, as it has"
        if left_out == 1
        else f"{left_out} rows are left out, as they have"
    )
    return table.take(there), [f"{what} no target."]


def _check_targets(table: Table, targets: tuple[str, ...], classify: bool) -> None:
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


def _useless(table: Table, name: str, wanted: bool) -> str | None:
    """Why a column can teach nothing, or None."""
    values = table.frame[name]
    n, different = len(values), values.nunique(dropna=True)
    if different == 0:
        return "it has no values"
    if different == 1 and not (table.is_text(name) and values.isna().any()):
        return "all its values are equal"
    if table.is_text(name):
        if table.share_of_numbers(name) > 0.5 and not wanted:
            table.numbers(
                name,
                "The rest of the column is numbers: correct the cell or leave it empty, pass "
                f"--missing for a word that means no value, or --categorical {name!r} if the "
                "column is text.",
            )
        if different > max(MAX_CATEGORIES, n // 2) and not wanted:
            return f"it has {different} different texts in {n} rows, as names and dates have"
    elif n > 20 and _counts_rows(values.to_numpy()):
        return "it counts the rows"
    return None


def _fit_column(table: Table, name: str) -> Column:
    if not table.is_text(name):
        return Column(name, fill=float(table.frame[name].median()))
    counts = Counter(Column(name).cells(table).tolist())
    kept = [category for category, _ in counts.most_common(MAX_CATEGORIES)]
    return Column(name, categories=tuple(sorted(kept)))


def _counts_rows(values) -> bool:
    """Whether numbers go up one by one, but for a few rows that were left out."""
    steps = np.diff(values)
    return bool(
        (steps >= 1).all() and (steps == 1).mean() > 0.9 and steps.sum() < 1.2 * len(values)
    )
