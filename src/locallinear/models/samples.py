"""The fitted samples: rows that can be appended and removed cheaply."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.nearness import Geometry

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


def weights_above_zero(weights: Array | None) -> Mask | None:
    """Which samples count and can be found as neighbours; None for all."""
    return None if weights is None or weights.all() else weights > 0


class Samples:
    """Columns of equal length in memory that grows by a quarter at a time.

    A removed row stays stored, unsearchable, until removed rows are a tenth of all. Users number
    the samples that are left, 0 to len(self) − 1; `rows` and `numbers` translate.

    Parameters
    ----------
    searchable : mask of the rows that may be found as neighbours, or None for all
    columns : arrays whose first axis is the samples
    """

    def __init__(self, searchable: Mask | None, **columns: NDArray):
        self._buffers = columns
        self._used = len(next(iter(columns.values())))
        self._live: Rows | None = None  # None while nothing is removed
        self.version = 0  # how often rows came or went
        self.n_searchable = self._used
        if searchable is not None:
            self._buffers["searchable"] = searchable
            self.n_searchable = int(np.count_nonzero(searchable))

    @classmethod
    def located(cls, geometry: Geometry, searchable: Mask | None, **columns: NDArray) -> "Samples":
        """Samples with inputs Z in a geometry's space, located for the neighbour search.

        There is a column `points` only where Z itself does not say where the samples are.
        """
        points = geometry.nearness.points(columns["Z"])
        if points is not columns["Z"]:
            columns["points"] = points
        return cls(searchable, **columns)

    def beside(self, **columns: NDArray) -> "Samples":
        """The same rows with more columns, in the same memory as far as they are the same."""
        mask = self.searchable
        shared = {name: self[name] for name in self if name != "searchable"}
        return Samples(None if mask is None else mask.copy(), **shared, **columns)

    def __getstate__(self) -> dict[str, Any]:
        self.trim()
        return self.__dict__.copy()

    def __len__(self) -> int:
        return self._used if self._live is None else len(self._live)

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __contains__(self, name: str) -> bool:
        return name in self._buffers

    def __getitem__(self, name: str) -> NDArray:
        """A column, removed rows included."""
        return self._buffers[name][: self._used]

    def get(self, name: str) -> NDArray | None:
        """A column, or None where there is none of that name."""
        return self[name] if name in self._buffers else None

    @property
    def n_stored(self) -> int:
        """The number of rows, removed rows included."""
        return self._used

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
        live = np.arange(self._used) if self._live is None else self._live
        return live if numbers is None else live[numbers]

    def numbers(self, rows: Rows) -> Rows:
        """The numbers of the samples in these rows."""
        return rows if self._live is None else np.searchsorted(self._live, rows)

    def append(self, searchable: Mask, **columns: NDArray) -> int:
        """Add rows to the end; returns the first of them."""
        self.version += 1
        start, stop = self._used, self._used + len(searchable)
        if "searchable" not in self and not searchable.all():
            self._buffers["searchable"] = np.ones(start, dtype=bool)
        if "searchable" in self:
            columns["searchable"] = searchable
        for name, new in columns.items():
            buffer = self._buffers[name]
            if stop > len(buffer):
                grown = np.empty((stop + stop // 4, *buffer.shape[1:]), dtype=buffer.dtype)
                grown[:start] = buffer[:start]
                self._buffers[name] = buffer = grown
            buffer[start:stop] = new
        if self._live is not None:
            self._live = np.concatenate([self._live, np.arange(start, stop)])
        self._used = stop
        self.n_searchable += int(np.count_nonzero(searchable))
        return start

    def cut(self, first: int) -> None:
        """Take back what `append` added from row `first` on."""
        self.version += 1
        if "searchable" in self:
            self.n_searchable -= int(np.count_nonzero(self["searchable"][first:]))
        else:
            self.n_searchable = first
        if self._live is not None:
            self._live = self._live[self._live < first]
        self._used = first

    def trim(self) -> None:
        """Free the memory that is kept ready for more rows."""
        for name, buffer in self._buffers.items():
            if len(buffer) > self._used:
                self._buffers[name] = buffer[: self._used]

    def add_column(self, name: str, value: float) -> None:
        """Add a column that has the same value in all rows so far."""
        self._buffers[name] = np.full(self._used, value)

    def share(self, other: "Samples", names: tuple[str, ...]) -> bool:
        """Hold these columns in the memory of samples whose columns are equal.

        Returns whether any column moved.
        """
        mine, theirs = self._buffers, other._buffers
        moved = [name for name in names if name in mine and mine[name] is not theirs[name]]
        for name in moved:
            mine[name] = theirs[name]
        return bool(moved)

    def remove(self, numbers: Rows) -> None:
        """Remove the rows with these numbers."""
        self.version += 1
        if "searchable" not in self:
            self.add_column("searchable", True)
        gone = self.rows(numbers)
        self.n_searchable -= int(np.count_nonzero(self["searchable"][gone]))
        self["searchable"][gone] = False
        self._live = np.delete(self.rows(), numbers)
        if self._used - len(self._live) > self._used // 10:
            self._buffers = {name: buffer[self._live] for name, buffer in self._buffers.items()}
            self._used, self._live = len(self._live), None
