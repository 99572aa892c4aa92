"""Scores of all configurations of a grid by cross-validation, sharing what can be shared.

A grid is a box with an axis a parameter, in alphabetical order, as scikit-learn's ParameterGrid
runs through it. The outer axes (feature space, and all that shapes the anchor models) are walked
a cell at a time, in an order that spreads over the box from the start; the inner axes (n_anchors,
alpha, n_neighbors, weights) are scored in one go for each cell.
"""

import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import combinations, islice, product

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ._chunks import CACHE_BYTES
from ._folds import AnchorSet, Fold, Weighting
from ._progress import Progress
from ._scores import Errors
from ._threads import one_blas_thread

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
NO_NUMBER = "the score is not a finite number"

# How many cells of how many the order of a search is chosen from, at most.
MAX_SPREAD = 2_000_000


class Search:
    """Scores (splits, *axes) of a grid; NaN where a configuration was not or cannot be scored.

    Parameters
    ----------
    grid : values of every searched parameter, and single values for all others
    folds : one dictionary a split, from the feature space (a tuple over SPACE_AXES) to its Fold
    metrics : one function a split that makes a fresh metric
    """

    def __init__(self, grid: dict[str, list], folds, metrics):
        self.axes = sorted(grid)
        self.grid = {name: grid[name] for name in self.axes}
        self.folds, self.metrics = folds, metrics
        shape = [len(self.grid[name]) for name in self.axes]
        self.scores = np.full((len(folds), *shape), np.nan)
        self.visited = np.zeros(shape, dtype=bool)
        self.failure = NO_NUMBER
        self.best = -np.inf
        self._lock = threading.Lock()
        self._deadline = np.inf

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
        finally:
            progress.close()

    def _run_threads(self, workers: int) -> None:
        cells = iter(self.cells())
        with ThreadPoolExecutor(workers) as pool:
            running = {pool.submit(self._score_cell, cell) for cell in islice(cells, workers)}
            try:
                while running:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
                    more = islice(cells, len(done))
                    running |= {pool.submit(self._score_cell, cell) for cell in more}
            except BaseException:
                self._deadline = -np.inf  # the threads end after the step that they are in
                raise

    def cells(self) -> list[dict[str, int]]:
        """Positions on the outer axes, in an order that covers the box evenly from the start."""
        names = SPACE_AXES + MODEL_AXES
        sizes = [len(self.grid[name]) for name in names]
        return [dict(zip(names, cell, strict=True)) for cell in spread_order(sizes)]

    def _score_cell(self, cell: dict[str, int]) -> None:
        """All configurations that share this cell's outer parameters."""
        if time.monotonic() > self._deadline and np.isfinite(self.best):
            return
        value = {name: self.grid[name][i] for name, i in cell.items()}
        space = tuple(value[name] for name in SPACE_AXES)
        folds = [of_split[space] for of_split in self.folds]
        choice = cell["anchor_selection"], cell["anchor_models"]
        for anchors in zip(*(fold.anchor_sets(*choice) for fold in folds), strict=True):
            self._score_anchors(cell, value, anchors)

    def _score_anchors(self, cell, value, anchors: tuple[AnchorSet, ...]) -> None:
        """One kind of anchors, a set a split: all penalties, ways of assigning, and the rest."""
        paths = [
            of_split.model_path(
                value["n_anchor_neighbors"],
                self.grid["anchor_alpha"],
                value["anchor_l1_ratio"],
                value["fit_intercept"],
            )
            for of_split in anchors
        ]
        at: dict[str, int | slice] = {**cell, "n_anchors": anchors[0].place}
        for i, models in enumerate(zip(*paths, strict=True)):
            if time.monotonic() > self._deadline and np.isfinite(self.best):
                return
            at["anchor_alpha"] = i
            where = tuple(at.get(name, slice(None)) for name in self.axes)
            scores = np.stack(
                [
                    self._score_split(split, anchors[split], models[split], value["fit_intercept"])
                    for split in range(len(anchors))
                ]
            )
            self._note(where, scores)

    def _note(self, where, scores: Array) -> None:
        with self._lock:
            self.scores[(slice(None), *where)] = scores
            self.visited[where] = True
            mean = scores.mean(axis=0)
            found = mean[np.isfinite(mean)]
            if found.size:
                self.best = max(self.best, float(found.max()))
            self._progress.advance(mean.size, self.best)

    def reasons(self) -> NDArray[np.object_]:
        """Why a configuration has no score, an empty word where it has one; (*axes)."""
        smallest = min(fold.n_searchable for spaces in self.folds for fold in spaces.values())
        out = np.full(self.visited.shape, "", dtype=object)
        out[~np.isfinite(self.scores).all(axis=0)] = self.failure
        out[~self.visited] = STOPPED
        for i, K in enumerate(self.grid["n_neighbors"]):
            if smallest < K:
                out.swapaxes(0, self.axes.index("n_neighbors"))[i] = (
                    f"n_neighbors={K} is more than the {smallest} training samples of a split"
                )
        return out

    def _score_split(
        self, split: int, anchors: AnchorSet, models: Array, fit_intercept: bool
    ) -> Array:
        """Scores of one split for given anchor models.

        Returns
        -------
        scores : (alpha, assignment_neighbors, n_anchors, n_neighbors, weights), that is, the axes
            that are left in alphabetical order
        """
        grid, fold = self.grid, anchors.fold
        out = np.full(
            (
                len(grid["alpha"]),
                len(grid["assignment_neighbors"]),
                len(anchors.counts),
                len(grid["n_neighbors"]),
                len(grid["weights"]),
            ),
            np.nan,
        )
        if not fold.levels:
            return out
        place = np.searchsorted(fold.levels, np.array(grid["n_neighbors"])[fold.possible])
        shape = len(fold.levels), len(anchors.counts), -1
        assigned = anchors.assignments(models, grid["assignment_neighbors"])
        for a, (labels, own) in enumerate(assigned):
            for w in range(len(grid["weights"])):
                try:
                    weightings = fold.weightings(w, fit_intercept)
                except Exception as error:  # a user's function can fail in any way
                    self.failure = f"weights failed with {type(error).__name__}: {error}"
                    continue
                metric = self.metrics[split]()
                given = fold, models, labels, own, weightings
                if isinstance(metric, Errors):
                    metric.sums = error_sums(*given, metric)
                else:
                    for block, predictions in grid_predictions(*given):
                        metric.add(block, predictions)
                scores = metric.scores().reshape(shape)
                self.failure = metric.failure or self.failure
                out[:, a][:, :, fold.possible, w] = scores[place].transpose(2, 1, 0)
        return out


def grid_predictions(fold: Fold, models, labels, own, weightings: list[Weighting]):
    """Predictions for blocks of queries, (m, q, C), C running over levels, anchor counts and λ."""
    from .kernels.grid import predict_levels  # compiled: loaded when needed

    m, counts, lanes = len(own), labels.shape[1], len(weightings[0].alphas)
    size = len(fold.levels) * counts * lanes
    step = max(16, CACHE_BYTES // (8 * m * size))
    for start in range(0, len(fold.queries), step):
        block = slice(start, min(start + step, len(fold.queries)))
        q = block.stop - block.start
        out = np.empty((m, q, len(fold.levels), counts, lanes))
        for t in range(m):
            by_anchor = fold.queries[block] @ models[:, :-1, t].T + models[:, -1, t]
            for weighting in weightings:
                predict_levels(
                    by_anchor,
                    fold.near[block],
                    weighting.weights[block],
                    weighting.factors(block),
                    labels,
                    own[t],
                    weighting.levels,
                    out[t, :, weighting.place],
                )
        # λ were padded to whole lanes.
        yield block, out[..., : len(fold.grid["alpha"])].reshape(m, q, -1)


def error_sums(fold: Fold, models, labels, own, weightings: list[Weighting], metric: Errors):
    """Sums over the queries of the errors of the predictions, (m, C), C as above."""
    from .kernels.grid import add_errors  # compiled: loaded when needed

    m, counts, lanes = len(own), labels.shape[1], len(weightings[0].alphas)
    sums = np.zeros((m, len(fold.levels), counts, lanes))
    step = max(16, CACHE_BYTES // (8 * 8 * len(models)))
    for start in range(0, len(fold.queries), step):
        block = slice(start, start + step)
        for t in range(m):
            by_anchor = fold.queries[block] @ models[:, :-1, t].T + models[:, -1, t]
            for weighting in weightings:
                add_errors(
                    by_anchor,
                    fold.near[block],
                    weighting.weights[block],
                    weighting.factors(block),
                    labels,
                    own[t],
                    weighting.levels,
                    metric.Y[block, t],
                    metric.weights[block],
                    metric.squared,
                    sums[t, weighting.place],
                )
    return sums[..., : len(fold.grid["alpha"])].reshape(m, -1)


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
