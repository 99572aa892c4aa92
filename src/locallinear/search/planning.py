"""The plan of a search within a time budget, made before the first score.

Each kind of neighbourhood is fitted once on a few samples. This says how long its fit on all
samples will take, so that the search can end early enough for it, and how many samples can choose
the parameters so that there is time to try each kind.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from ..models.fall import FALL
from ..models.pilot import LEAST, Pilot, pilot_size, run_pilot
from ..runtime.budgets import Budget, Schedule
from .grids import Grid
from .splits import Split, draw_rows, thinned

Array = NDArray[np.float64]

# Of the time for a search, this part is for a first configuration of each kind.
FIRST_ROUND = 0.5
# Fewer samples than this do not choose parameters well.
FEWEST = LEAST


@dataclass(frozen=True)
class SearchSamples:
    """Checked samples, and the seed of all that is drawn from them."""

    X: Array
    y: NDArray[Any]
    weights: Array | None
    seed: int


def plan_search(
    budget: Budget,
    estimator: FALL,
    grid: Grid,
    samples: SearchSamples,
    splits: list[Split],
    after: Callable[[float], float],
    *,
    may_thin: bool,
) -> tuple[Schedule, list[Split]]:
    """When the steps of a search must end, and the splits that there is time for.

    Parameters
    ----------
    budget : Budget
    estimator : FALLRegressor or FALLClassifier
    grid : values of all parameters
    samples : SearchSamples
    splits : those that would be scored without a budget
    after : function
        The seconds that follow the search, if one fit on all samples is expected to take so many;
        0 is for samples that are too few to ask.
    may_thin : bool
        Whether fewer samples may choose the parameters.
    """
    if budget.is_endless:
        return Schedule(), splits
    kinds = grid["neighborhood"]
    if len(samples.X) <= 2 * FEWEST:
        return Schedule(budget.end, None, after), splits
    pilots = {kind: _pilot(estimator, grid, kind, samples) for kind in kinds}
    expected = {kind: pilot.expected for kind, pilot in pilots.items()}
    schedule = Schedule(budget.end, expected, after)
    if may_thin:
        workers = effective_n_jobs(estimator.n_jobs)
        n_kept = affordable_samples(schedule, pilots, len(splits), workers)
        classifier = is_classifier(estimator)
        splits = thinned(splits, samples.y, n_kept, samples.seed, classifier)
    return schedule, splits


def affordable_samples(
    schedule: Schedule, pilots: dict[Any, Pilot], n_splits: int, workers: int
) -> int:
    """How many samples can choose the parameters, so that there is time to try each kind.

    A configuration of a kind takes about as long as one fit of it per split. Kinds whose fit on all
    samples leaves less than half as much time for the search as others do not count.
    """
    now = time.monotonic()
    time_for = {kind: schedule.deadline([kind]) - now for kind in pilots}
    longest = max(time_for.values())
    if longest <= 0:
        return FEWEST
    tried = [kind for kind, seconds in time_for.items() if seconds >= longest / 2]
    per_sample = sum(pilots[kind].seconds / pilots[kind].n_samples for kind in tried)
    per_sample *= n_splits / min(workers, len(tried))
    available = FIRST_ROUND * min(time_for[kind] for kind in tried)
    return max(FEWEST, int(available / max(per_sample, 1e-9)))


def _pilot(estimator: FALL, grid: Grid, kind: Any, samples: SearchSamples) -> Pilot:
    """A fit of a kind on a few samples, with the values of the grid that take the longest."""
    given = {name: values[0] for name, values in grid.items()}
    for name in ("n_anchors", "n_anchor_neighbors", "assignment_neighbors", "metric_iterations"):
        given[name] = max(grid[name])
    if "kmeans" in [value for value in grid["anchor_selection"] if isinstance(value, str)]:
        given["anchor_selection"] = "kmeans"
    given |= {"neighborhood": kind, "n_neighbors": 1}
    X, y, weights = samples.X, samples.y, samples.weights
    rows = draw_rows(y, pilot_size(len(X)), samples.seed, is_classifier(estimator))
    if weights is not None and not weights[rows].any():
        return Pilot(len(rows), 0.0, 0.0)
    return run_pilot(clone(estimator).set_params(**given), X, y, weights, rows)
