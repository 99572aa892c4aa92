"""Scores of all configurations of a grid by cross-validation, sharing what can be shared.

A grid is a box with an axis a parameter, in alphabetical order, as scikit-learn's ParameterGrid
runs through it. The outer axes (feature space, and all that shapes the anchor models) are walked
a cell at a time, in an order that spreads over the box from the start; the inner axes (n_anchors,
anchor_alpha, alpha, n_neighbors, weights) are scored in one go for each cell.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import combinations, islice, product
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ..runtime.chunks import CACHE_BYTES, Scratch, row_chunks
from ..runtime.progress import Progress
from ..runtime.threads import one_blas_thread
from .anchor_sets import AnchorSet
from .folds import Split
from .predictor import Predictor
from .scores import AnyScorer, Errors, Metric

Array = NDArray[np.float64]

SPACE_AXES = ("scaling", "neighborhood", "metric_iterations", "neighborhood_features")
MODEL_AXES = (
    "anchor_selection",
    "anchor_models",
    "n_anchor_neighbors",
    "fit_intercept",
    "anchor_l1_ratio",
)
STOPPED = "not scored: the search was stopped before"

# How many cells of how many the order of a search is chosen from, at most.
MAX_SPREAD = 2_000_000


class OutOfTime(Exception):  # noqa: N818
    """The deadline has passed, and there is something to show for the time."""


class Search:
    """Scores (splits, *axes) of a grid; NaN where a configuration was not or cannot be scored.

    Parameters
    ----------
    grid : values of every searched parameter, and single values for all others
    splits : the splits of the data
    metrics : one function a split that makes a fresh metric
    """

    def __init__(
        self,
        grid: dict[str, list],
        splits: Sequence[Split],
        metrics: Sequence[Callable[[], Metric]],
    ):
        self.axes = sorted(grid)
        self.grid = {name: grid[name] for name in self.axes}
        self.splits, self.metrics = splits, metrics
        shape = [len(self.grid[name]) for name in self.axes]
        self.scores = np.full((len(splits), *shape), np.nan)
        # Reasons for missing scores as numbers, which are cheap to keep.
        self._numbers = {"": 0, STOPPED: 1}
        self._reasons = np.full(shape, self._numbers[STOPPED], dtype=np.int32)
        self.best = -np.inf
        self.interrupted = False
        self._lock = threading.Lock()
        self._scratch = Scratch()
        self._deadline = np.inf
        self._stopped = False

    def run(self, *, deadline: float, n_jobs: int | None, progress: Progress) -> None:
        """Score all cells, or those that the time allows; an interrupt ends it early as well."""
        self._deadline = deadline
        self._progress = progress
        workers = effective_n_jobs(n_jobs)
        try:
            # Small matrix products: a thread a cell beats threads inside each product.
            with one_blas_thread():
                if workers == 1:
                    for cell in self.cells():
                        self._score_cell(cell)
                else:
                    self._run_threads(workers)
        except KeyboardInterrupt:
            if not np.isfinite(self.best):
                raise
            self.interrupted = True
        finally:
            progress.close()

    def _run_threads(self, workers: int) -> None:
        cells = iter(self.cells())
        with ThreadPoolExecutor(workers) as pool:
            # As many again wait, so that no thread has to.
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
                self._stopped = True  # the threads end after the step that they are in
                raise

    def cells(self) -> list[dict[str, int]]:
        """Positions on the outer axes, in an order that covers the box evenly from the start.

        Where nothing is learned, one number of rounds stands for all.
        """
        names = SPACE_AXES + MODEL_AXES
        sizes = [len(self.grid[name]) for name in names]
        cells = [dict(zip(names, cell, strict=True)) for cell in spread_order(sizes)]
        return [cell for cell in cells if cell["metric_iterations"] == 0 or self._learned(cell)]

    def _learned(self, cell: dict[str, Any]) -> bool:
        return self.grid["neighborhood"][cell["neighborhood"]] == "learned"

    def _score_cell(self, cell: dict[str, int]) -> None:
        """All configurations that share this cell's outer parameters, if the time allows."""
        value = {name: self.grid[name][i] for name, i in cell.items()}
        rounds = value["metric_iterations"] if self._learned(cell) else None
        space = value["scaling"], value["neighborhood"], rounds, value["neighborhood_features"]
        choice = cell["anchor_selection"], cell["anchor_models"]
        with suppress(OutOfTime):
            folds = [split.fold(space) for split in self._in_time(self.splits)]
            sets = [fold.anchor_sets(*choice) for fold in self._in_time(folds)]
            for anchors in zip(*sets, strict=True):
                self._score_anchors(cell, value, anchors)

    def _in_time(self, items: Sequence) -> Iterator:
        """The items one by one, unless the time is up: then `OutOfTime`.

        The first score is always waited for, but not once the search is stopped.
        """
        for item in items:
            late = time.monotonic() > self._deadline and np.isfinite(self.best)
            if late or self._stopped:
                raise OutOfTime
            yield item

    def _score_anchors(self, cell, value, anchors: tuple[AnchorSet, ...]) -> None:
        """One kind of anchors, a set a split: all penalties, ways of assigning, and the rest."""
        paths = [
            of_split.model_path(
                value["n_anchor_neighbors"],
                self.grid["anchor_alpha"],
                value["anchor_l1_ratio"],
                value["fit_intercept"],
            )
            for of_split in self._in_time(anchors)
        ]
        of_splits = list(zip(self.metrics, anchors, paths, strict=True))
        # A scorer of the user's can be slow: between penalties the time is looked at.
        slow = isinstance(self.metrics[0](), AnyScorer)
        each = CACHE_BYTES if slow else anchors[0].assignment_bytes
        for some in row_chunks(len(self.grid["anchor_alpha"]), each):
            parts = [
                self._score_split(
                    metric, of_split, path[some], fit_intercept=value["fit_intercept"]
                )
                for metric, of_split, path in self._in_time(of_splits)
            ]
            scores, reasons = (np.stack(part) for part in zip(*parts, strict=True))
            at = {**cell, "n_anchors": anchors[0].place, "anchor_alpha": some}
            self._note(at, scores, reasons)

    def _note(self, at: dict[str, Any], scores: Array, reasons: NDArray[np.int32]) -> None:
        """Keep what was found (splits, *inner axes) at a place on the outer axes."""
        reason = reasons.max(axis=0)  # of any split
        mean = scores.mean(axis=0)
        found = mean[np.isfinite(mean)]
        every = range(len(self.grid["metric_iterations"]))
        alike = [at["metric_iterations"]] if self._learned(at) else every
        with self._lock:
            for rounds in alike:
                place = {**at, "metric_iterations": rounds}
                where = tuple(place.get(name, slice(None)) for name in self.axes)
                self.scores[(slice(None), *where)] = scores
                self._reasons[where] = reason
            if found.size:
                self.best = max(self.best, float(found.max()))
            self._progress.advance(mean.size * len(alike), self.best)

    def reasons(self) -> NDArray[np.object_]:
        """Why a configuration has no score, an empty word where it has one; (*axes)."""
        smallest = min(split.n_searchable for split in self.splits)
        out = np.array(list(self._numbers), dtype=object)[self._reasons]
        for i, K in enumerate(self.grid["n_neighbors"]):
            if smallest < K:
                out.swapaxes(0, self.axes.index("n_neighbors"))[i] = (
                    f"n_neighbors={K} is more than the {smallest} training samples of a split"
                )
        return out

    def _score_split(
        self, make_metric, anchors: AnchorSet, models: Array, *, fit_intercept: bool
    ) -> tuple[Array, NDArray[np.int32]]:
        """Scores of one split for anchor models (p, k, d + 1, m) of p penalties.

        Returns
        -------
        scores : (alpha, p, assignment_neighbors, n_anchors, n_neighbors, weights), that is, the
            axes that are left in alphabetical order
        reasons : of the same shape, the number of the reason why a score is missing
        """
        grid, fold = self.grid, anchors.fold
        shape = (
            len(grid["alpha"]),
            len(models),
            len(grid["assignment_neighbors"]),
            len(anchors.count_of),
            len(grid["n_neighbors"]),
            len(grid["weights"]),
        )
        scores, reasons = np.full(shape, np.nan), np.zeros(shape, dtype=np.int32)
        if not fold.levels:
            return scores, reasons
        numbers = np.array(grid["n_neighbors"])
        assigned = anchors.assignments(models, grid["assignment_neighbors"], self._scratch)
        for a, (labels, own) in enumerate(assigned):
            for w in self._in_time(range(len(grid["weights"]))):
                weightings, failed = fold.weightings(w, fit_intercept)
                for level, reason in failed.items():
                    reasons[:, :, a][..., numbers == level, w] = self._number(reason)
                if not weightings:
                    continue
                predictor = Predictor(anchors, models, labels, own, weightings, self._scratch)
                told = self._score_all(make_metric(), predictor)
                levels = np.concatenate([weighting.levels for weighting in weightings])
                served = np.isin(numbers, levels)
                place = np.searchsorted(levels, numbers[served])
                for out, flat in zip((scores, reasons), told, strict=True):
                    by_level = flat.reshape(len(levels), *shape[:2], len(anchors.counts))
                    found = by_level[place].transpose(1, 2, 3, 0)[:, :, anchors.count_of]
                    out[:, :, a][..., served, w] = found
        return scores, reasons

    def _score_all(self, metric: Metric, predictor: Predictor) -> tuple[NDArray, NDArray]:
        """Scores (C,) by a metric, and the numbers of the reasons why they are missing."""
        if isinstance(metric, Errors):
            metric.sums = predictor.error_sums(metric)
        else:
            for block, predictions in predictor.predictions():
                metric.add(block, predictions)
        scores = metric.scores()
        reasons = np.zeros(len(scores), dtype=np.int32)
        for c in np.flatnonzero(~np.isfinite(scores)).tolist():
            reasons[c] = self._number(metric.reason(c))
        return scores, reasons

    def _number(self, reason: str) -> int:
        with self._lock:
            return self._numbers.setdefault(reason, len(self._numbers))


def spread_order(sizes: list[int]) -> list[tuple[int, ...]]:
    """All cells of a box, in an order whose every beginning covers the box evenly.

    Next comes a cell whose values, and pairs of values, were visited least. In a large box only
    the beginning is chosen so, and the rest follows shuffled.
    """
    cells = np.array(list(product(*(range(size) for size in sizes))))
    cells = np.random.default_rng(0).permutation(cells)
    axes = [axis for axis, size in enumerate(sizes) if size > 1]
    # Each cell's value on an axis, and its pair of values on two, as one number.
    codes = [cells[:, a] for a in axes]
    codes += [cells[:, a] * sizes[b] + cells[:, b] for a, b in combinations(axes, 2)]
    wear = np.zeros(len(cells))
    chosen: list[int] = []
    for _ in range(min(len(cells), MAX_SPREAD // len(cells))):
        next_cell = int(np.argmin(wear))
        chosen.append(next_cell)
        for code in codes:
            # Where there are many values, a visit to one counts for more.
            wear[code == code[next_cell]] += code.max() + 1
        wear[next_cell] = np.inf
    rest = np.setdiff1d(np.arange(len(cells)), chosen)
    return [tuple(cell) for cell in cells[[*chosen, *rest]].tolist()]
