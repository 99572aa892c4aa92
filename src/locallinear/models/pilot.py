"""How long a fit on all samples will take, from a fit on a few of them.

A fit looks for the neighbours of each sample, which takes the longer the more points there are:
this is timed for a few samples among all points. All else (scaling, growing trees, comparing
anchors) is extrapolated from the fit on a few samples.
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
ONE_OF, LEAST, MOST = 20, 500, 5000
# All but the search for neighbours takes a time that grows as this power of the samples: 0.5 to 1.1
# was measured for the kinds of neighbourhoods, from 500 to 40,000 samples.
GROWTH = 0.8
# Samples whose neighbours are looked for to time one search.
N_QUERIES = 200


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
        stride = -(-n // MAX_DECIDING)
        searched_all = _seconds_per_search(fitted, X[::stride])
    rest = max(0.0, taken - few * searched_few)
    return Pilot(few, taken, rest * (n / few) ** GROWTH + n * searched_all)


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
