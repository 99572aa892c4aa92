"""The live view of many runs: a bar with the time left, and the table so far."""

from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from operator import attrgetter, itemgetter

from ..runtime.progress import Bar
from .protocol import Run
from .store import Store

CELL = ("split", "dataset", "model", "tuner", "budget")  # all of a run but its seed


class LiveView:
    """A bar that counts runs, models and data sets, drawn from what the store holds.

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
        self.bar = Bar(len(self.runs), "runs")

    def __enter__(self) -> "LiveView":
        self.refresh()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.close()

    def refresh(self) -> None:
        """Bring the bar and the table up to date."""
        finished = self.store.finished()
        n_cells = count_complete(self.cells, finished)
        counts = (
            f"{n_cells} of {len(self.cells)} models",
            f"{count_complete(self.datasets, finished)} of {len(self.datasets)} data sets",
        )
        n_new = len(self.runs & finished) - self.bar.done
        self.bar.advance(n_new, ", ".join((*counts, self.time_left(finished))))
        if self.n_shown < n_cells < len(self.cells):  # the command prints the last one
            self.n_shown = n_cells
            self.bar.print_above(self.table())

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


def count_complete(groups: dict[tuple, set[Run]], finished: set[Run]) -> int:
    """Count the groups whose runs are all finished."""
    return sum(runs <= finished for runs in groups.values())
