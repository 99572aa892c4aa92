"""The live view of many runs: bars with the time left, and the table so far."""

import sys
from collections import defaultdict
from collections.abc import Callable

from .protocol import Run
from .store import Store


class LiveView:
    """Bars for data sets, models and runs, drawn from what the store says.

    Parameters
    ----------
    store : Store
    runs : list of Run
        What is to be done.
    jobs : int
        Workers, for the time left.
    table : callable () → str
        Draws the table so far, shown when a model is through with a data set.
    """

    def __init__(self, store: Store, runs: list[Run], jobs: int, table: Callable[[], str]):
        self.store = store
        self.jobs = jobs
        self.table = table
        self.cells: dict[tuple, set[Run]] = defaultdict(set)
        self.datasets: dict[tuple, set[Run]] = defaultdict(set)
        for run in runs:
            self.cells[cell_of(run)].add(run)
            self.datasets[run.split, run.dataset].add(run)
        self.runs = set(runs)
        self.n_shown = self.count(self.cells, store.finished())
        self.bars = self._make_bars()

    def __enter__(self) -> "LiveView":
        self.refresh()
        return self

    def __exit__(self, *exception) -> None:
        for bar in reversed(self.bars):
            bar.close()

    def refresh(self) -> None:
        """Bring bars and table up to date."""
        finished = self.store.finished()
        done = (
            self.count(self.datasets, finished),
            self.count(self.cells, finished),
            len(self.runs & finished),
        )
        for bar, n in zip(self.bars, done, strict=False):
            bar.n = n
            bar.refresh()
        if self.bars:
            self.bars[-1].set_postfix_str(self.time_left(finished))
        if self.n_shown < done[1] < len(self.cells):  # the last one is printed by the command
            self.n_shown = done[1]
            self._print(self.table())

    def time_left(self, finished: set[Run]) -> str:
        """What remains, by the mean time of each model on each data set so far."""
        spent = defaultdict(list)
        for row in self.store.rows():
            cell = (row["split"], row["dataset"], row["model"], row["tuner"], row["budget"])
            spent[cell].append(row["tuning_s"] + row["fit_s"] + row["test_s"])
        seconds, unknown = 0.0, False
        for cell, runs in self.cells.items():
            left = len(runs - finished)
            if left and cell not in spent:
                unknown = True
            elif left:
                seconds += left * sum(spent[cell]) / len(spent[cell])
        return f"{'at least ' if unknown else ''}{clock(seconds / self.jobs)} left"

    @staticmethod
    def count(groups: dict[tuple, set[Run]], finished: set[Run]) -> int:
        """How many groups of runs are complete."""
        return sum(runs <= finished for runs in groups.values())

    def _make_bars(self) -> list:
        try:
            from tqdm import tqdm
        except ModuleNotFoundError:
            return []
        totals = (
            ("data sets", len(self.datasets)),
            ("models", len(self.cells)),
            ("runs", len(self.runs)),
        )
        # Not the time left of tqdm itself, which takes all runs to be alike.
        layout = "{desc:<10}{percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} {elapsed}{postfix}"
        return [
            tqdm(desc=name, total=total, position=place, bar_format=layout, disable=None)
            for place, (name, total) in enumerate(totals)
        ]

    def _print(self, text: str) -> None:
        if self.bars:
            self.bars[0].write(text, file=sys.stderr)
        else:
            print(text, file=sys.stderr)


def cell_of(run: Run) -> tuple:
    """All of a run but its seed."""
    return (run.split, run.dataset, run.model, run.tuner, run.budget)


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss.

    Examples
    --------
    >>> from locallinear.paper.live import clock
    >>> clock(3725.4)
    '1:02:05'
    """
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}"
