"""How long a fit on all samples will take, from a fit on a few of them.

A fit looks for the neighbours of each sample, which takes the longer the more points there are: how
much longer depends on the data, and is measured among the few samples and among ten times as many.
All else (scaling, growing trees, comparing anchors) is extrapolated from the fit on a few samples.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .assignment import MAX_DECIDING
from .fall import FALL

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# The samples of a pilot: one of so many, but at least and at most these numbers.
ONE_OF, LEAST, MOST = 20, 500, 1000
# All but the search for neighbours takes a time that grows as this power of the samples: 0.5 to 1.1
# was measured for the kinds of neighbourhoods, from 500 to 40,000 samples.
GROWTH = 0.8
# A search for neighbours is timed with so many samples, among those of the pilot and among so many
# times as many.
N_QUERIES, MORE = 200, 10


@dataclass(frozen=True)
class Pilot:
    """A fit on a few samples.

    Attributes
    ----------
    n_samples : int
    seconds : float
        How long it took.
    expected : float
        Seconds that a fit on all samples is expected to take.
    """

    n_samples: int
    seconds: float
    expected: float


def pilot_size(n: int) -> int:
    """How many of n samples a pilot takes."""
    return min(n, MOST, max(LEAST, n // ONE_OF))


def run_pilot(estimator: FALL, X: Array, y: NDArray, weights: Array | None, rows: Rows) -> Pilot:
    """Fit an estimator on some rows of the samples X, y, to know how long all will take."""
    started = time.monotonic()
    fitted = clone(estimator).fit(X[rows], y[rows], None if weights is None else weights[rows])
    taken = time.monotonic() - started
    n, few = len(X), len(rows)
    searched_few = searched_all = 0.0
    if estimator.assignment_neighbors > 1:
        searched_few = _seconds_per_search(fitted, X[rows])
        searched_all = searched_few * _growth_of_search(fitted, X, rows, searched_few)
    rest = max(0.0, taken - few * searched_few)
    return Pilot(few, taken, rest * (n / few) ** GROWTH + n * searched_all)


def _growth_of_search(fitted: FALL, X: Array, rows: Rows, seconds: float) -> float:
    """How many times as long a search takes among all samples X as among some rows of them."""
    n, few = min(len(X), MAX_DECIDING), len(rows)
    more = X[:: -(-len(X) // (MORE * few))]
    if len(more) <= few:
        return 1.0
    times_longer = _seconds_per_search(fitted, more) / max(seconds, 1e-9)
    # At most as long as a comparison with every point.
    power = np.clip(np.log(max(times_longer, 1.0)) / np.log(len(more) / few), 0.0, 1.0)
    return float((n / few) ** power)


def _seconds_per_search(fitted: FALL, X: Array) -> float:
    """Seconds to find the neighbours of one sample among X."""
    geometry = fitted.fitted.geometry
    _, points = geometry.locate(X)
    index = geometry.index(points, None)
    index.build()
    queries = points[:: -(-len(points) // N_QUERIES)]
    started = time.monotonic()
    index.query(queries, min(fitted.assignment_neighbors, len(points)), fitted.n_jobs)
    return (time.monotonic() - started) / len(queries)
