"""The fitted samples, as values: adding and removing rows makes other samples.

Whoever reads samples while others are made sees all rows as they were. Nothing is copied for it:
new rows are written behind those that any reader sees (see `Column`).
"""

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import at, cast, device_of, empty, is_numpy, moved, namespace, to_numpy
from ..geometry.nearness import Geometry

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# What one update of several models with the same samples has made already, by what it was made
# from: a column that they share is added to once.
Made = dict[Hashable, "Column"]

# The columns that models of the same samples have alike, whatever their feature space.
ALIKE = ("weights", "searchable")


def weights_above_zero(weights: Array | None) -> Mask | None:
    """Which samples count and can be found as neighbours; None for all."""
    if weights is None or bool(namespace(weights).all(weights > 0)):
        return None
    return weights > 0


def counted_rows(weights: Array | None, n: int) -> Rows:
    """The numbers of those of n samples that have weight."""
    return np.arange(n) if weights is None else np.flatnonzero(weights > 0)


class Column:
    """An array of rows that never change; `append` returns another column.

    That one is in the same memory, which grows by a quarter at a time. Only one column can be made
    there from these rows: a second one copies them first.

    Parameters
    ----------
    values : the rows
    memory : an array that begins with them, if nobody else has the rows behind them
    """

    def __init__(self, values: NDArray, memory: NDArray | None = None):
        self.values = values
        self._free = [] if memory is None else [memory]

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values, "_free": []}  # a copy needs no memory behind the rows

    def __len__(self) -> int:
        return self.values.shape[0]

    def append(self, new: NDArray) -> "Column":
        """These rows and new ones behind them."""
        start, stop = len(self), len(self) + new.shape[0]
        try:
            memory = self._free.pop()  # of several threads, one gets it
        except IndexError:
            memory = self.values
        if memory.shape[0] < stop:
            memory = empty((stop + stop // 4, *self.values.shape[1:]), self.values)
            memory[:start, ...] = self.values
        memory[start:stop, ...] = cast(new, memory)
        return Column(memory[:stop, ...], memory)

    def take(self, rows: Rows) -> "Column":
        """Some of the rows, in memory of their own."""
        return Column(at(self.values, rows))

    def moved(self, like: NDArray) -> "Column":
        """The same rows, of the kind of `like` and on its device."""
        return Column(moved(self.values, like))


class Samples:
    """Columns of equal length.

    A removed row stays stored, unsearchable, until removed rows are a tenth of all. Users number
    the samples that are left, 0 to len(self) − 1; `rows` and `numbers` translate.

    Parameters
    ----------
    columns : by name; one that is called `searchable` is a mask of the rows that may be found as
        neighbours, and without it all may be found
    live : the rows that are left; None while nothing is removed
    are_new : whether no rows came or went since the fit
    """

    def __init__(
        self, columns: dict[str, Column], live: Column | None = None, *, are_new: bool = True
    ):
        self._columns, self._live, self.are_new = columns, live, are_new
        self.n_stored = len(next(iter(columns.values())))
        mask = self.searchable
        n_found = self.n_stored if mask is None else namespace(mask).count_nonzero(mask)
        self.n_searchable = int(n_found)

    @classmethod
    def located(cls, geometry: Geometry, searchable: Mask | None, **arrays: NDArray) -> "Samples":
        """Samples with inputs Z in a geometry's space, located for the neighbour search.

        There is a column `points` only where Z itself does not say where the samples are.
        """
        points = geometry.nearness.points(arrays["Z"])
        if points is not arrays["Z"]:
            arrays["points"] = points
        if searchable is not None:
            arrays["searchable"] = searchable
        return cls.from_arrays(**arrays)

    @classmethod
    def from_arrays(cls, **arrays: NDArray) -> "Samples":
        """Samples with these columns."""
        return cls({name: Column(array) for name, array in arrays.items()})

    def beside(self, **arrays: NDArray) -> "Samples":
        """The same rows with more columns."""
        more = {name: Column(array) for name, array in arrays.items()}
        return Samples(self._columns | more, self._live, are_new=self.are_new)

    def sharing(self, other: "Samples", names: tuple[str, ...]) -> "Samples":
        """The same rows, with these columns in the memory of samples whose columns are equal."""
        shared = {name: other._columns[name] for name in names if name in self}
        return Samples(self._columns | shared, self._live, are_new=self.are_new)

    def moved(self, like: NDArray) -> "Samples":
        """The same samples, in arrays of the kind of `like` and on its device."""
        columns = {name: column.moved(like) for name, column in self._columns.items()}
        live = None if self._live is None else self._live.moved(like)
        return Samples(columns, live, are_new=self.are_new)

    def __len__(self) -> int:
        return self.n_stored if self._live is None else len(self._live)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> NDArray:
        """A column, removed rows included."""
        return self._columns[name].values

    def get(self, name: str) -> NDArray | None:
        """A column, or None where there is none of that name."""
        column = self._columns.get(name)
        return None if column is None else column.values

    @property
    def points(self) -> NDArray:
        """Where the rows are for the neighbour search, removed rows included."""
        return self["points" if "points" in self else "Z"]

    @property
    def searchable(self) -> Mask | None:
        """Mask of the rows that may be found as neighbours; None for all."""
        return self.get("searchable")

    def rows(self, numbers: Rows | None = None) -> Rows:
        """The rows of the samples with these numbers; without numbers, of all."""
        live = self._all_rows() if self._live is None else self._live.values
        return live if numbers is None else at(live, numbers)

    def _all_rows(self) -> Rows:
        """The numbers of all rows, of the kind of the columns."""
        Z = self["Z"]
        if is_numpy(Z):
            return np.arange(self.n_stored)
        return namespace(Z).arange(self.n_stored, device=device_of(Z))

    def numbers(self, rows: Rows) -> Rows:
        """The numbers of the samples in these rows."""
        if self._live is None:
            return rows
        xp, live = namespace(rows), self._live.values
        return xp.reshape(xp.searchsorted(live, xp.reshape(rows, (-1,))), rows.shape)

    def append(self, made: Made, weights: Array | None, **new: NDArray) -> "Samples":
        """These samples and new ones behind them; each column of `new` has their values.

        Labels and residuals are of this model alone: they can be written until others see them.
        """
        n, columns, xp = new["Z"].shape[0], dict(self._columns), namespace(self["Z"])
        ones = xp.ones_like(new["Z"][:, 0])
        if weights is not None and "weights" not in columns:
            columns["weights"] = Column(xp.ones_like(self["Z"][:, 0]))
        if "weights" in columns:
            new["weights"] = ones if weights is None else weights
        searchable = ones > 0 if weights is None else weights > 0
        if "searchable" not in columns and not bool(xp.all(searchable)):
            columns["searchable"] = Column(xp.ones_like(self["Z"][:, 0]) > 0)
        if "searchable" in columns:
            new["searchable"] = searchable

        def grown(name: str, column: Column) -> Column:
            if name in ("labels", "residuals"):
                return column.append(new[name])
            key = name if name in ALIKE else column
            if key not in made:
                made[key] = column.append(new[name])
            return made[key]

        columns = {name: grown(name, column) for name, column in columns.items()}
        live = self._live
        if live is not None:
            if "live" not in made:
                made["live"] = live.append(
                    moved(np.arange(self.n_stored, self.n_stored + n), live.values)
                )
            live = made["live"]
        return Samples(columns, live, are_new=False)

    def remove(self, made: Made, numbers: Rows) -> "Samples":
        """These samples without those that have these numbers."""
        if "live" not in made:
            is_left = np.ones(len(self), dtype=bool)
            is_left[numbers] = False
            left = self.rows()[moved(is_left, self["Z"])]
            stays = np.zeros(self.n_stored, dtype=bool)
            stays[to_numpy(left)] = True
            mask = moved(stays, self["Z"])
            made["searchable"] = Column(mask if self.searchable is None else mask & self.searchable)
            made["live"] = Column(left)
        columns, live = self._columns | {"searchable": made["searchable"]}, made["live"]
        if self.n_stored - len(live) <= self.n_stored // 10:
            return Samples(columns, live, are_new=False)
        for column in columns.values():
            if column not in made:
                made[column] = column.take(live.values)
        columns = {name: made[column] for name, column in columns.items()}
        return Samples(columns, are_new=False)
