"""Scores of all configurations of a grid by cross-validation; what they share is computed once.

A grid is a box with one axis per parameter, in alphabetical order, as in scikit-learn's
ParameterGrid. A cell is one position on the outer axes (geometry, and all that shapes the anchor
models). Cells are scored one by one, in an order that covers the box evenly from the start; all
positions on the inner axes (n_anchors, anchor_alpha, alpha, n_neighbors, assignment_neighbors,
weights) are scored together for each cell.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ..checks.parameters import GEOMETRY
from ..runtime.budgets import Schedule
from ..runtime.chunks import CACHE_BYTES, row_chunks
from ..runtime.interrupts import interruptible
from ..runtime.progress import Progress
from ..runtime.threads import one_blas_thread
from .anchor_sets import AnchorSet
from .failures import Failure
from .folds import SplitData
from .grids import Grid
from .predictor import GridPredictor
from .scores import AnyScorer, Metric
from .spread import spread_order

Array = NDArray[np.float64]
Reasons = NDArray[np.int32]
Item = TypeVar("Item")
Cell = dict[str, int]  # a position on each outer axis
Result = TypeVar("Result")

MODEL_AXES = (
    "anchor_selection",
    "anchor_models",
    "n_anchor_neighbors",
    "fit_intercept",
    "anchor_l1_ratio",
)
OUTER_AXES = GEOMETRY + MODEL_AXES
STOPPED = "not scored: the search was stopped before"
NO_TIME = "not scored: there is no time to fit this neighborhood on all samples"


class OutOfTime(Exception):  # noqa: N818
    """The deadline has passed, and at least one configuration has a score."""


class Search:
    """Scores (splits, *axes) of a grid; NaN where a configuration was not or cannot be scored.

    Parameters
    ----------
    grid : values of every searched parameter, and single values for all others
    splits : the splits of the data
    metrics : one function per split that makes a new metric
    """

    def __init__(
        self,
        grid: Grid,
        splits: Sequence[SplitData],
        metrics: Sequence[Callable[[], Metric]],
    ):
        self.axes = sorted(grid)
        self.grid = {name: grid[name] for name in self.axes}
        self.splits, self.metrics = splits, metrics
        shape = [len(self.grid[name]) for name in self.axes]
        self.scores = np.full((len(splits), *shape), np.nan)
        # Reasons for missing scores are stored as numbers, which take little memory.
        self._numbers = {"": 0, STOPPED: 1, NO_TIME: 2}
        self._reasons = np.full(shape, self._numbers[STOPPED], dtype=np.int32)
        self.best = -np.inf
        self.interrupted = False
        self._best_kind: Any = None
        self._lock = threading.Lock()
        self.schedule = Schedule()
        self._stopped = False
        self._workers: ThreadPoolExecutor | None = None
        self._geometry_locks: dict[tuple, threading.Lock] = defaultdict(threading.Lock)

    def run(self, *, schedule: Schedule, n_jobs: int | None, progress: Progress) -> None:
        """Score all cells, or those that the time allows; an interrupt also ends the search."""
        self.schedule = schedule
        self._progress = progress
        try:
            # The matrix products are small: one thread per cell is faster than several threads
            # in each product.
            with one_blas_thread(), interruptible():
                self._score_cells(n_jobs)
        except KeyboardInterrupt:
            if not np.isfinite(self.best):
                raise
            self.interrupted = True
        finally:
            progress.close()

    def _score_cells(self, n_jobs: int | None) -> None:
        """Score all cells that could be fitted in time, in so many threads."""
        workers = effective_n_jobs(n_jobs)
        for each in self._cells_in_time():
            if workers > 1:
                self._run_threads(each, workers)
                continue
            for cell in each:
                self._score_cell(cell)

    def _run_threads(self, each: list[Cell], workers: int) -> None:
        """Score cells side by side; the work for their splits is done by so many threads."""
        cells = iter(each)
        with ThreadPoolExecutor(workers) as self._workers, ThreadPoolExecutor(workers) as pool:
            # Twice as many cells as threads are submitted, so that no thread has to wait.
            first = islice(cells, 2 * workers)
            running = {pool.submit(self._score_cell, cell) for cell in first}
            try:
                while running:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
                    more = islice(cells, len(done))
                    running |= {pool.submit(self._score_cell, cell) for cell in more}
            except BaseException:
                self._stopped = True  # the threads end after their current step
                raise

    def cells(self) -> list[Cell]:
        """Positions on the outer axes, in an order that covers the box evenly from the start.

        Each kind of neighbourhood comes once before any comes twice, the one first whose fit takes
        the least time. Where no weights are learned, one number of rounds stands for all.
        """
        sizes = [len(self.grid[name]) for name in OUTER_AXES]
        every = [dict(zip(OUTER_AXES, cell, strict=True)) for cell in spread_order(sizes)]
        cells = [cell for cell in every if cell["metric_iterations"] == 0 or self._learned(cell)]
        first: dict[int, Cell] = {}
        for cell in cells:
            first.setdefault(cell["neighborhood"], cell)
        later = [cell for cell in cells if cell is not first[cell["neighborhood"]]]
        return [*sorted(first.values(), key=lambda c: self.schedule.after(self._kind(c))), *later]

    def _kind(self, cell: Cell) -> Any:
        """The kind of neighbourhood of a cell."""
        return self.grid["neighborhood"][cell["neighborhood"]]

    def _cells_in_time(self) -> Iterator[list[Cell]]:
        """The cells that could be fitted in time; all others where none of these has a score.

        If there are none that could, those of the quickest kind stand for them.
        """
        cells, schedule = self.cells(), self.schedule
        kinds = self.grid["neighborhood"]
        chosen = [kind for kind in kinds if schedule.has_time_for(kind)]
        chosen = chosen or [max(kinds, key=lambda kind: schedule.deadline([kind]))]
        left_out = [i for i, kind in enumerate(kinds) if kind not in chosen]
        where = {"neighborhood": left_out}
        at = tuple(where.get(name, slice(None)) for name in self.axes)
        self._reasons[at] = self._numbers[NO_TIME]
        yield [cell for cell in cells if self._kind(cell) in chosen]
        if not np.isfinite(self.best):
            yield [cell for cell in cells if self._kind(cell) not in chosen]

    def _learned(self, cell: dict[str, Any]) -> bool:
        return self._kind(cell) == "learned"

    def _score_cell(self, cell: Cell) -> None:
        """Score all configurations of a cell, if the time allows."""
        value = {name: self.grid[name][i] for name, i in cell.items()}
        chosen = tuple(value[name] for name in GEOMETRY)
        with suppress(OutOfTime):
            kind = self._kind(cell)
            with self._lock:
                first_to_need = self._geometry_locks[chosen]
            with first_to_need:  # here no worker waits until the folds are made
                folds = self._for_splits(lambda split: split.fold(chosen), self.splits, kind)
                sets = self._for_splits(
                    lambda fold: fold.anchor_sets(cell["anchor_selection"], cell["anchor_models"]),
                    folds,
                    kind,
                )
            for anchors in zip(*sets, strict=True):
                self._score_anchors(cell, value, anchors)

    def _for_splits(
        self, function: Callable[[Item], Result], of_splits: Sequence[Item], kind: Any
    ) -> list[Result]:
        """What a function returns for each split, by the workers if there are some."""
        if self._workers is None:
            return [function(item) for item in self._in_time(of_splits, kind)]

        def in_time(item: Item) -> Result:
            (item,) = self._in_time([item], kind)
            return function(item)

        return list(self._workers.map(in_time, of_splits))

    def _in_time(self, items: Sequence[Item], kind: Any) -> Iterator[Item]:
        """The items one by one, of cells of a kind; raises `OutOfTime` when the time is up.

        It is up when this kind, or that of the best so far, could no longer be fitted in time. The
        first score is always waited for, unless the search was stopped.
        """
        for item in items:
            deadline = self.schedule.deadline([kind, self._best_kind or kind])
            late = time.monotonic() > deadline and np.isfinite(self.best)
            if late or self._stopped:
                raise OutOfTime
            yield item

    def _score_anchors(
        self, cell: Cell, value: dict[str, Any], anchors: tuple[AnchorSet, ...]
    ) -> None:
        """Score all configurations of a cell that use these anchors, one set per split."""
        kind = self._kind(cell)
        paths = self._for_splits(
            lambda of_split: of_split.model_path(
                value["n_anchor_neighbors"],
                self.grid["anchor_alpha"],
                value["anchor_l1_ratio"],
                value["fit_intercept"],
            ),
            anchors,
            kind,
        )
        of_splits = list(zip(self.metrics, anchors, paths, strict=True))
        # A user's scorer can be slow: then the time is checked after each penalty.
        slow = isinstance(self.metrics[0](), AnyScorer)
        penalty_bytes = CACHE_BYTES if slow else anchors[0].assignment_bytes
        for penalties in row_chunks(len(self.grid["anchor_alpha"]), penalty_bytes):
            score = partial(self._score_split, kind, penalties, value["fit_intercept"])
            parts = self._for_splits(score, of_splits, kind)
            scores, reasons = (np.stack(part) for part in zip(*parts, strict=True))
            position = {**cell, "n_anchors": anchors[0].served, "anchor_alpha": penalties}
            self._store(position, scores, reasons)

    def _store(self, position: dict[str, Any], scores: Array, reasons: Reasons) -> None:
        """Store scores (splits, *inner axes) at a position on the other axes."""
        reason = reasons.max(axis=0)  # of any split
        mean = scores.mean(axis=0)
        found = mean[np.isfinite(mean)]
        every = range(len(self.grid["metric_iterations"]))
        same_scores = [position["metric_iterations"]] if self._learned(position) else every
        with self._lock:
            for rounds in same_scores:
                indices = {**position, "metric_iterations": rounds}
                where = tuple(indices.get(name, slice(None)) for name in self.axes)
                self.scores[(slice(None), *where)] = scores
                self._reasons[where] = reason
            if found.size and found.max() > self.best:
                self.best, self._best_kind = float(found.max()), self._kind(position)
            self._progress.advance(mean.size * len(same_scores), self.best)

    def reasons(self) -> NDArray[np.object_]:
        """Why each configuration has no score, an empty string where it has one; (*axes)."""
        smallest = min(split.n_searchable for split in self.splits)
        out = np.array([str(reason) for reason in self._numbers], dtype=object)[self._reasons]
        for i, K in enumerate(self.grid["n_neighbors"]):
            if smallest < K:
                out.swapaxes(0, self.axes.index("n_neighbors"))[i] = (
                    f"n_neighbors={K} is more than the {smallest} training samples of a split"
                )
        return out

    def predictions_of(self, configuration: int) -> list[Array]:
        """Predictions (q, m) of each split's test samples by one configuration of the grid."""
        with one_blas_thread():
            return [self.prediction_of(configuration, i) for i in range(len(self.splits))]

    def prediction_of(self, configuration: int, number: int) -> Array:
        """Predictions (q, m) of the test samples of the split with this number."""
        at = np.unravel_index(configuration, self.scores.shape[1:])
        cell = dict(zip(self.axes, map(int, at), strict=True))
        if not self._learned(cell):  # one number of rounds stands for all
            cell["metric_iterations"] = 0
        value = {name: self.grid[name][i] for name, i in cell.items()}
        fold = self.splits[number].fold(tuple(value[name] for name in GEOMETRY))
        sets = fold.anchor_sets(cell["anchor_selection"], cell["anchor_models"])
        # One set serves all numbers of anchors, or there is one set per number.
        anchors = sets[cell["n_anchors"] if len(sets) > 1 else 0]
        models = anchors.model_path(
            value["n_anchor_neighbors"],
            [value["anchor_alpha"]],
            value["anchor_l1_ratio"],
            value["fit_intercept"],
        )
        labels, own = anchors.assign(models, value["assignment_neighbors"])
        weightings, _ = fold.weightings(cell["weights"], value["fit_intercept"])
        predictor = GridPredictor(fold, models, labels, own, weightings)
        counts = np.concatenate([weighting.neighbor_counts for weighting in weightings])
        choice = anchors.count_positions[cell["n_anchors"] if len(sets) == 1 else 0]
        position = np.searchsorted(counts, value["n_neighbors"]), cell["alpha"], choice
        column = np.ravel_multi_index(position, predictor.shape)
        blocks = [predictions[..., column] for _, predictions in predictor.predictions()]
        return np.concatenate(blocks, axis=1).T

    def cause(self) -> Exception | None:
        """What a user's function raised, if one has failed."""
        return next((r.error for r in self._numbers if isinstance(r, Failure)), None)

    def _score_split(
        self,
        kind: Any,
        penalties: slice,
        fit_intercept: bool,
        of_split: tuple[Callable[[], Metric], AnchorSet, Array],
    ) -> tuple[Array, Reasons]:
        """Scores of one split, of a kind, for some of the penalties.

        `of_split` are its metric, its anchors, and their models (p, k, d + 1, m) for all penalties.


        Returns
        -------
        scores : (alpha, p, assignment_neighbors, n_anchors, n_neighbors, weights), that is, the
            inner axes in alphabetical order
        reasons : of the same shape, the number of the reason why a score is missing
        """
        make_metric, anchors, path = of_split
        models = path[penalties]
        grid, fold, n_penalties = self.grid, anchors.fold, len(models)
        shape = (
            len(grid["alpha"]),
            n_penalties,
            len(grid["assignment_neighbors"]),
            len(anchors.count_positions),
            len(grid["n_neighbors"]),
            len(grid["weights"]),
        )
        scores, reasons = np.full(shape, np.nan), np.zeros(shape, dtype=np.int32)
        if not fold.neighbor_counts:
            return scores, reasons
        n_neighbors = np.array(grid["n_neighbors"])
        for a, n_near in enumerate(grid["assignment_neighbors"]):
            labels, own = anchors.assign(models, n_near)
            for w in self._in_time(range(len(grid["weights"])), kind):
                weightings, failed = fold.weightings(w, fit_intercept)
                for count, reason in failed.items():
                    reasons[:, :, a][..., n_neighbors == count, w] = self._number(reason)
                if not weightings:
                    continue
                predictor = GridPredictor(fold, models, labels, own, weightings)
                counts = np.concatenate([weighting.neighbor_counts for weighting in weightings])
                scored = np.isin(n_neighbors, counts)
                positions = np.searchsorted(counts, n_neighbors[scored])
                found: tuple[NDArray[Any], ...] = self._score_all(make_metric(), predictor)
                for out, flat in zip((scores, reasons), found, strict=True):
                    # The predictor's order, with the C choices as penalties and anchor counts.
                    box = flat.reshape(*predictor.shape[:2], n_penalties, -1)
                    box = box[positions][..., anchors.count_positions]
                    out[:, :, a][..., scored, w] = np.moveaxis(box, 0, -1)
        return scores, reasons

    def _score_all(self, metric: Metric, predictor: GridPredictor) -> tuple[Array, Reasons]:
        """Scores by a metric, and the numbers of the reasons why they are missing."""
        scores = metric.scores(predictor)
        reasons = np.zeros(len(scores), dtype=np.int32)
        for c in np.flatnonzero(~np.isfinite(scores)).tolist():
            reasons[c] = self._number(metric.reason(c))
        return scores, reasons

    def _number(self, reason: str) -> int:
        with self._lock:
            return self._numbers.setdefault(reason, len(self._numbers))
