"""A search whose cells are scored in other processes, by a backend of joblib such as Dask's."""

import threading
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..runtime.budgets import Schedule
from ..runtime.threads import one_blas_thread
from .search import Cell, Reasons, Search

Array = NDArray[np.float64]

# What a cell stored: positions, scores and numbers of reasons; and the reasons by number.
Scored = tuple[list[str], list[tuple[dict[str, Any], Array, Reasons]]]


class SpreadSearch(Search):
    """A search that sends its cells to the processes of joblib's backend."""

    def _score_cells(self, n_jobs: int | None) -> None:
        elsewhere = SearchElsewhere(self.grid, self.splits, self.metrics)
        for cells in self._cells_in_time():
            parallel = Parallel(n_jobs, return_as="generator_unordered")
            for names, found in parallel(self._calls(elsewhere, cells)):
                numbers = np.array([self._number(name) for name in names], dtype=np.int32)
                for position, scores, reasons in found:
                    self._store(position, scores, numbers[reasons])

    def _calls(self, elsewhere: "SearchElsewhere", cells: list[Cell]) -> Iterator[Any]:
        """One call per cell, made when it is sent, with the seconds that are left for it."""
        for cell in cells:
            kind = self._kind(cell)
            seconds = self.schedule.deadline([kind, self._best_kind or kind]) - time.monotonic()
            if seconds > 0 or not np.isfinite(self.best):
                yield delayed(score_elsewhere)(elsewhere, cell, seconds)


class SearchElsewhere(Search):
    """A search in another process: what it finds is sent back instead of stored."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.name = uuid4().hex
        self._found = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {"given": (self.grid, self.splits, self.metrics), "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["given"])  # type: ignore[misc]
        self.name = state["name"]

    def __sizeof__(self) -> int:
        # Dask sends what is large once, and not with each cell.
        return sum(split.X.nbytes + split.Y.nbytes for split in self.splits)

    def scored(self, cell: Cell, seconds: float) -> Scored:
        """The scores of a cell, as far as so many seconds allow."""
        self.schedule = Schedule(time.monotonic() + seconds)
        self._found.rows = []
        with one_blas_thread():
            self._score_cell(cell)
        return list(self._numbers), self._found.rows

    def _store(self, position: dict[str, Any], scores: Array, reasons: Reasons) -> None:
        self._found.rows.append((position, scores, reasons))
        if np.isfinite(scores).any():
            self.best = 0.0  # there is a score, so a deadline counts


# The search that this process works on: its folds serve all cells that come here.
_at_hand: dict[str, SearchElsewhere] = {}


def score_elsewhere(search: SearchElsewhere, cell: Cell, seconds: float) -> Scored:
    """What another process runs for a cell."""
    if search.name not in _at_hand:
        _at_hand.clear()
        _at_hand[search.name] = search
    return _at_hand[search.name].scored(cell, seconds)
