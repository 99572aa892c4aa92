"""The live view of many runs: bars with the time left, and the table so far."""

import sys
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from operator import attrgetter, itemgetter
from typing import Any

from .protocol import Run
from .store import Store

CELL = ("split", "dataset", "model", "tuner", "budget")  # all of a run but its seed


class LiveView:
    """Bars for data sets, models and runs, drawn from what the store holds.

    Parameters
    ----------
    store : Store
    runs : list of Run
        All runs that are wanted.
    jobs : int
        Number of workers, for the time left.
    table : callable () → str
        Draws the table so far, which is shown when all runs of a model on a data set are finished.
    """

    def __init__(self, store: Store, runs: list[Run], jobs: int, table: Callable[[], str]):
        self.store = store
        self.jobs = jobs
        self.table = table
        self.cells: dict[tuple, set[Run]] = defaultdict(set)
        self.datasets: dict[tuple, set[Run]] = defaultdict(set)
        for run in runs:
            self.cells[attrgetter(*CELL)(run)].add(run)
            self.datasets[run.split, run.dataset].add(run)
        self.runs = set(runs)
        self.n_shown = count_complete(self.cells, store.finished())
        self.bars = self._make_bars()

    def __enter__(self) -> "LiveView":
        self.refresh()
        return self

    def __exit__(self, *exception: object) -> None:
        for bar in reversed(self.bars):
            bar.close()

    def refresh(self) -> None:
        """Bring bars and table up to date."""
        finished = self.store.finished()
        n_cells = count_complete(self.cells, finished)
        done = (count_complete(self.datasets, finished), n_cells, len(self.runs & finished))
        for bar, n in zip(self.bars, done, strict=False):
            bar.n = n
            bar.refresh()
        if self.bars:
            self.bars[-1].set_postfix_str(self.time_left(finished))
        if self.n_shown < n_cells < len(self.cells):  # the command prints the last one
            self.n_shown = n_cells
            self._print(self.table())

    def time_left(self, finished: set[Run]) -> str:
        """Estimate the time left by the mean time of each model on each data set so far."""
        spent = defaultdict(list)
        for row in self.store.rows():
            spent[itemgetter(*CELL)(row)].append(row["tuning_s"] + row["fit_s"] + row["test_s"])
        seconds, unknown = 0.0, False
        for cell, runs in self.cells.items():
            left = len(runs - finished)
            if left and cell not in spent:
                unknown = True
            elif left:
                seconds += left * sum(spent[cell]) / len(spent[cell])
        whole = timedelta(seconds=int(seconds / self.jobs))
        return f"{'at least ' if unknown else ''}{whole} left"

    def _make_bars(self) -> list[Any]:
        try:
            from tqdm import tqdm
        except ModuleNotFoundError:
            return []
        totals = (
            ("data sets", len(self.datasets)),
            ("models", len(self.cells)),
            ("runs", len(self.runs)),
        )
        # The time left is ours: tqdm takes all runs to be equally long.
        layout = "{desc:<10}{percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} {elapsed}{postfix}"
        return [
            tqdm(desc=name, total=total, position=i, bar_format=layout, disable=None)
            for i, (name, total) in enumerate(totals)
        ]

    def _print(self, text: str) -> None:
        if self.bars:
            self.bars[0].write(text, file=sys.stderr)
        else:
            print(text, file=sys.stderr)


def count_complete(groups: dict[tuple, set[Run]], finished: set[Run]) -> int:
    """Count the groups whose runs are all finished."""
    return sum(runs <= finished for runs in groups.values())
