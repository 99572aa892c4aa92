"""Encoding: which columns of a table a model takes, and how they become features.

`fit_encoding` looks at each column once: `kinds.py` says what it is, and the class for that kind
says what becomes of it. Axis letters: n or q rows, c columns of the table, d features.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks.stored import require
from .cells import pandas_module
from .columns import CategoryColumn, NumberColumn, OrderedColumn
from .dates import DateColumn
from .kinds import understand
from .stored import check_stored_column, check_stored_types
from .table import Table, TableError
from .texts import TextColumn
from .wanted import Wanted

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

Column = NumberColumn | CategoryColumn | OrderedColumn | DateColumn | TextColumn
CLASSES: dict[str, Any] = {
    "number": NumberColumn,
    "category": CategoryColumn,
    "ordered": OrderedColumn,
    "date": DateColumn,
    "text": TextColumn,
}


@dataclass(frozen=True)
class Encoding:
    """The columns that a model takes.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the features.
    reasons : tuple of (str, str)
        Each column of the table and why it is what it is, in the order of the table.
    missing : tuple of str
        Cells that mean "no value", in addition to the usual ones.
    """

    columns: tuple[Column, ...]
    reasons: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the columns that the model takes."""
        return [column.name for column in self.columns]

    @property
    def text(self) -> list[str]:
        """Names of the columns to read from a file as text, even if they look like numbers."""
        return [column.name for column in self.columns if column.kind not in ("number", "date")]

    @property
    def decimals(self) -> dict[str, str]:
        """The decimal marks of columns of numbers, where their cells show it."""
        return {
            c.name: c.decimal for c in self.columns if isinstance(c, NumberColumn) and c.decimal
        }

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, (d,)."""
        return [name for column in self.columns for name in column.feature_names]

    @property
    def input_names(self) -> list[str]:
        """The names that the features have in the frame that `inputs` makes, all different."""
        return _different(self.feature_names)

    @property
    def owners(self) -> NDArray[np.intp]:
        """For each feature the number of its column, (d,)."""
        sizes = [len(column.feature_names) for column in self.columns]
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def indicators(self) -> tuple[int, ...]:
        """Numbers of the features that are 0 or 1."""
        starts = np.searchsorted(self.owners, np.arange(len(self.columns))).tolist()
        return tuple(
            start + i
            for start, column in zip(starts, self.columns, strict=True)
            for i in column.indicators
        )

    def inputs(self, table: Table) -> "pandas.DataFrame":
        """The features of a table, (n, d)."""
        table.require(self.names, "which the model takes")
        blocks = [column.encode(table) for column in self.columns]
        return pandas_module().DataFrame(np.concatenate(blocks, axis=1), columns=self.input_names)

    def cells(self, table: Table) -> "pandas.DataFrame":
        """The cells of the columns as a reader sees them: numbers, texts and gaps, (n, c)."""
        table.require(self.names, "which the model takes")
        columns = {column.name: column.shown(table) for column in self.columns}
        return pandas_module().DataFrame(columns)

    def unseen(self, table: Table) -> list[str]:
        """A sentence per column of the table with cells that the model does not know."""
        table.require(self.names, "which the model takes")
        notes = (column.unseen(table) for column in self.columns)
        return [note for note in notes if note is not None]

    def to_frame(self) -> "pandas.DataFrame":
        """What became of each column of the table, and why."""
        used = {column.name: column for column in self.columns}
        lines = [
            (name, used[name].kind, used[name].became(), reason)
            if name in used
            else (name, "skip", "left out", reason)
            for name, reason in self.reasons
        ]
        return pandas_module().DataFrame(lines, columns=["column", "kind", "encoding", "reason"])

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """The columns that the model does not take, and why."""
        used = set(self.names)
        return [(name, reason) for name, reason in self.reasons if name not in used]

    def to_dict(self) -> dict[str, Any]:
        """The encoding as plain values, for a file."""
        columns = [{"kind": column.kind, **asdict(column)} for column in self.columns]
        return {"columns": columns, "reasons": self.reasons, "missing": self.missing}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "Encoding":
        """The encoding whose `to_dict` is `state`."""
        described = [_as_tuples(column) for column in state["columns"]]
        columns = [CLASSES[column.pop("kind")](**column) for column in described]
        for column in columns:
            check_stored_types(column)
            check_stored_column(column)
        found = cls(
            tuple(columns),
            tuple((str(name), str(reason)) for name, reason in state["reasons"]),
            tuple(map(str, state["missing"])),
        )
        known = {name for name, _ in found.reasons}
        require(len(set(found.names)) == len(columns) > 0, "two columns have one name")
        require(set(found.names) <= known and len(known) == len(found.reasons), "columns differ")
        return found


def _as_tuples(value: Any) -> Any:
    """Lists of a file as the tuples that they were; a dict stays one."""
    if isinstance(value, dict):
        return {name: _as_tuples(v) for name, v in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _different(names: list[str]) -> list[str]:
    """Feature names that are all different: a column may be called as another one's feature."""
    out: list[str] = []
    taken: set[str] = set()
    for name in names:
        while name in taken:
            name += " '"
        taken.add(name)
        out.append(name)
    return out


def by_column(parts: Array, owners: NDArray[np.intp]) -> Array:
    """Sum what features add, (q, d, m), over those of each column, (q, c, m)."""
    starts = np.searchsorted(owners, np.arange(owners[-1] + 1))
    return np.add.reduceat(parts, starts, axis=1)


def fit_encoding(
    table: Table,
    types: dict[str, Wanted] | None = None,
    *,
    ignore: dict[str, str] | None = None,
) -> Encoding:
    """Decide how a table is encoded.

    Parameters
    ----------
    table : Table
        The inputs.
    types : dict, optional
        Kinds of columns where the guess would be wrong.
    ignore : dict, optional
        Columns to leave out, and why.
    """
    types, ignore = types or {}, ignore or {}
    columns: list[Column] = []
    reasons = []
    for name in table.columns:
        if name in ignore:
            reasons.append((name, ignore[name]))
            continue
        found = understand(table.frame[name], types.get(name), table.usual_decimal)
        reasons.append((name, found.reason))
        if found.kind != "skip":
            columns.append(CLASSES[found.kind].fit(table, name, found))
    if not columns:
        left_out = "; ".join(f"{name!r}: {reason}" for name, reason in reasons[:3])
        raise TableError(
            f"{table.name} has no column to learn from; a model needs at least one with different "
            f"values ({left_out or 'it has no columns'})."
        )
    return Encoding(tuple(columns), tuple(reasons), table.missing)
