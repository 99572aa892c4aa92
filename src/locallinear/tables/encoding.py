"""Encoding: how the columns of a table become the numbers that a model takes.

A column of numbers stays one column; missing values become its median. A column of text becomes
one 0/1 column per category. "No value" is a category of its own, and a text that was not in the
training data is 0 in all of them. Axis letters: n or q rows, c columns of the table, d encoded
columns, m targets.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .table import Table, TableError, as_table, pandas_module, shortened
from .targets import check_targets, is_class, with_targets

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

NO_VALUE = "(missing)"
# Of a column with more categories, the rarest count as unknown.
MAX_CATEGORIES = 30


@dataclass(frozen=True)
class Column:
    """How one column of the table is encoded.

    Attributes
    ----------
    name : str
    fill : float
        Replaces missing numbers.
    categories : tuple of str
        The known values of a column of text; empty for a column of numbers.
    """

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
        """Names of the encoded columns."""
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
        """The texts of the column in a table, (n,), with NO_VALUE for missing ones."""
        column = table.frame[self.name]
        if not table.is_text(self.name):  # a column without any value was read as numbers
            return np.full(len(table), NO_VALUE, dtype=object)
        return column.where(column.notna(), NO_VALUE).to_numpy(dtype=object)


@dataclass(frozen=True)
class Encoding:
    """The columns that a model takes, and its targets.

    Attributes
    ----------
    columns : tuple of Column
        The inputs, in order.
    targets : tuple of str
        Names of the target columns.
    classify : bool
        Whether the one target is a class.
    missing : tuple of str
        Cells that mean "no value", in addition to the usual ones.
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
        """Names of the columns to read as text, even if their values look like numbers."""
        targets = self.targets if self.classify else ()
        return [column.name for column in self.columns if column.is_text] + list(targets)

    @property
    def owners(self) -> NDArray[np.intp]:
        """For each encoded column the index of the input that it belongs to, (d,)."""
        sizes = [len(column.encoded_names) for column in self.columns]
        return np.repeat(np.arange(len(sizes)), sizes)

    def inputs(self, table: Table) -> "pandas.DataFrame":
        """The encoded columns of a table, (n, d)."""
        table.require(self.names, "which the model takes")
        blocks = [column.encode(table) for column in self.columns]
        names = [name for column in self.columns for name in column.encoded_names]
        return pandas_module().DataFrame(np.concatenate(blocks, axis=1), columns=names)

    def outputs(self, table: Table) -> NDArray:
        """The targets of a table, (n,) or (n, m); every row must have them."""
        table.require(self.targets, "the target")
        if self.classify:
            return table.frame[self.targets[0]].to_numpy(dtype=object).astype(str)
        remedy = "Correct the cell, or leave it empty to leave the row out."
        Y = np.column_stack([table.numbers(name, remedy) for name in self.targets])
        return Y[:, 0] if len(self.targets) == 1 else Y

    def named_outputs(self, y: NDArray) -> "pandas.Series | pandas.DataFrame":
        """The targets with their names, for an estimator that keeps these."""
        pandas = pandas_module()
        if y.ndim == 1:
            return pandas.Series(y, name=self.targets[0])
        return pandas.DataFrame(y, columns=list(self.targets))

    def unseen(self, table: Table) -> list[str]:
        """A sentence per text column of the table with values that the model does not know."""
        notes = []
        for column in self.columns:
            if not column.is_text:
                continue
            cells = column.cells(table)
            rows = np.flatnonzero(~np.isin(cells, column.categories))
            if len(rows):
                notes.append(
                    f"Column {column.name!r} has values that the model does not know (new, or "
                    f"rare in its training data) in {len(rows)} of {len(cells)} rows, such as "
                    f"{shortened(cells[rows[0]])!r} in row {rows[0] + 1}. They count as none of "
                    "the known values."
                )
        return notes

    def to_dict(self) -> dict[str, Any]:
        """The encoding as plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "Encoding":
        """The encoding whose `to_dict` is `state`."""
        columns = tuple(
            Column(str(c["name"]), float(c["fill"]), tuple(map(str, c["categories"])))
            for c in state["columns"]
        )
        targets, missing = tuple(map(str, state["targets"])), tuple(map(str, state["missing"]))
        return cls(columns, targets, bool(state["classify"]), missing)


def by_column(parts: Array, owners: NDArray[np.intp]) -> Array:
    """Sum what encoded columns add, (q, d, m), over those of each table column, (q, c, m)."""
    starts = np.searchsorted(owners, np.arange(owners[-1] + 1))
    return np.add.reduceat(parts, starts, axis=1)


def fit_encoding(
    data: Any,
    targets: tuple[str, ...],
    *,
    classify: bool = False,
    categorical: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    missing: tuple[str, ...] = (),
) -> tuple[Encoding, Table, list[str]]:
    """Decide how a table is encoded.

    Parameters
    ----------
    data : DataFrame or Table
        A Table must have been read with the same `categorical` and `missing`.
    targets : tuple of str
        Columns to predict.
    classify : bool, default=False
        Treat a target of numbers as a class; a target of text always is one.
    categorical : tuple of str
        Columns to treat as text, whatever they hold.
    ignore : tuple of str
        Columns to leave out.
    missing : tuple of str
        Cells that mean "no value", in addition to the usual ones.

    Returns
    -------
    encoding : Encoding
    table : Table
        The rows that have all targets.
    notes : list of str
        Sentences on what was left out, and why.
    """
    table = as_table(data, (*categorical, *(targets if classify else ())), missing)
    table.require(targets, "the target")
    table.require(categorical, "which --categorical names")
    table.require(ignore, "which --ignore names")
    both = [name for name in targets if name in ignore]
    if both:
        raise TableError(
            f"Column {both[0]!r} is the target, and --ignore names it too; name it only once."
        )
    classify = classify or is_class(table, targets)
    table, notes = with_targets(table, targets)
    check_targets(table, targets, classify)
    columns, left_out = fit_columns(table, skip=(*targets, *ignore), categorical=categorical)
    if not columns:
        raise TableError(
            f"{table.name} has no column to learn from beside {' and '.join(targets)}; a model "
            "needs at least one with different values."
        )
    return Encoding(columns, targets, classify, missing), table, notes + left_out


def fit_columns(
    table: Table, *, skip: tuple[str, ...] = (), categorical: tuple[str, ...] = ()
) -> tuple[tuple[Column, ...], list[str]]:
    """Choose the columns to learn from and their encoding; explain in notes what is left out."""
    columns, notes = [], []
    for name in table.columns:
        if name in skip:
            continue
        reason = _reason_to_leave_out(table, name, name in categorical)
        if reason:
            notes.append(f"Column {name!r} is left out: {reason}.")
        else:
            columns.append(_fit_column(table, name))
    many = [column.name for column in columns if len(column.categories) == MAX_CATEGORIES]
    notes += [f"Column {n!r}: the {MAX_CATEGORIES} most frequent values are used." for n in many]
    return tuple(columns), notes


def _reason_to_leave_out(table: Table, name: str, is_categorical: bool) -> str | None:
    """Why a model can learn nothing from a column, or None."""
    values = table.frame[name]
    n, n_different = len(values), values.nunique(dropna=True)
    if n_different == 0:
        return "it has no values"
    if n_different == 1 and not (table.is_text(name) and values.isna().any()):
        return "all its values are equal"
    if not table.is_text(name):
        return "it counts the rows" if n > 20 and _counts_rows(values.to_numpy()) else None
    if is_categorical:
        return None
    if table.share_of_numbers(name) > 0.5:
        table.numbers(  # raises: a cell of text among numbers is a slip
            name,
            "The rest of the column is numbers: correct the cell or leave it empty, pass "
            f"--missing for a word that means no value, or --categorical {name!r} if the "
            "column is text.",
        )
    if n_different > max(MAX_CATEGORIES, n // 2):
        return f"it has {n_different} different texts in {n} rows, like names or dates"
    return None


def _fit_column(table: Table, name: str) -> Column:
    if not table.is_text(name):
        return Column(name, fill=float(table.frame[name].median()))
    counts = Counter(Column(name).cells(table).tolist())
    kept = [category for category, _ in counts.most_common(MAX_CATEGORIES)]
    return Column(name, categories=tuple(sorted(kept)))


def _counts_rows(values: Array) -> bool:
    """Whether the numbers rise in steps of one, except where a few rows were left out."""
    steps = np.diff(values)
    return bool(
        (steps >= 1).all() and (steps == 1).mean() > 0.9 and steps.sum() < 1.2 * len(values)
    )
