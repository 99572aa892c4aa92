"""The results of a search, in the columns of GridSearchCV.

The columns of a million configurations take hundreds of megabytes, and ranks take long to sort:
threads make the columns at the same time, and temporary arrays are small.
"""

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.chunks import row_chunks
from .grids import Grid
from .search import Search

Array = NDArray[np.float64]

# The scores are ranked in so many parts, at the same time where there are threads.
RANKED_PARTS = 4


def results_of(search: Search, names: Iterable[str], n_threads: int) -> dict[str, NDArray[Any]]:
    """Columns `param_*` of the named parameters, of scores and ranks, and `reason`."""
    scores = search.scores.reshape(len(search.scores), -1)
    mean = _mean(scores)
    scored = np.isfinite(mean)
    n_scored = int(np.count_nonzero(scored))
    if not n_scored:
        reason = str(search.reasons().flat[0])
        remedy = "; give more samples, or smaller values of n_neighbors"
        raise ValueError(
            f"no configuration of the grid could be scored: {reason}"
            + (remedy if reason.startswith("n_neighbors") else "")
        ) from search.cause()
    ranks = np.full(len(mean), n_scored + 1, dtype=np.int32)
    with ThreadPoolExecutor(n_threads) as pool:
        parts = pairwise(_cuts(mean, RANKED_PARTS))
        ranked = [pool.submit(_rank_between, mean, scored, *part, ranks) for part in parts]
        columns = {name: pool.submit(_column, search.grid, name) for name in sorted(names)}
        spread = pool.submit(_spread, scores, mean)
        reasons = pool.submit(search.reasons)
    for part in ranked:
        part.result()
    results = {f"param_{name}": column.result() for name, column in columns.items()}
    results |= {f"split{split}_test_score": part for split, part in enumerate(scores)}
    results |= {"mean_test_score": mean, "std_test_score": spread.result()}
    return results | {"rank_test_score": ranks, "reason": reasons.result().ravel()}


def _mean(scores: Array) -> Array:
    """Over the splits: split by split, so that equal scores have equal means."""
    total = scores[0].copy()
    with np.errstate(invalid="ignore", over="ignore"):  # scores that are infinite, or nearly
        for split_scores in scores[1:]:
            total += split_scores
        total /= len(scores)
    return total


def _spread(scores: Array, mean: Array) -> Array:
    """The standard deviation over the splits."""
    squares = np.zeros_like(mean)
    with np.errstate(invalid="ignore", over="ignore"):
        for some in row_chunks(len(mean), 4 * mean.itemsize):
            for split_scores in scores:
                squares[some] += (split_scores[some] - mean[some]) ** 2
        squares /= len(scores)
        return np.sqrt(squares, out=squares)


def _column(grid: Grid, name: str) -> NDArray[Any]:
    """The values of a parameter in all configurations, in the order of the grid."""
    values, sizes, axis = grid[name], [len(v) for v in grid.values()], list(grid).index(name)
    kinds = {type(value) for value in values}
    plain = kinds <= {int} or kinds <= {float, int} or kinds <= {bool}
    column = np.array(values) if plain else np.empty(len(values), dtype=object)
    if not plain:
        for i, value in enumerate(values):  # values that are arrays stay whole
            column[i] = value
    before, after = math.prod(sizes[:axis]), math.prod(sizes[axis + 1 :])
    return np.broadcast_to(column[:, None], (before, len(values), after)).flatten()


def _cuts(scores: Array, n_parts: int) -> Array:
    """Increasing numbers from -inf to inf that cut scores into parts of about the same size."""
    sample = scores[:: len(scores) // 1000 + 1]
    sample = np.sort(sample[np.isfinite(sample)])
    return np.unique([-np.inf, *sample[:: len(sample) // n_parts + 1], np.inf])


def _rank_between(
    mean: Array, scored: NDArray[np.bool_], low: float, high: float, ranks: NDArray[np.int32]
) -> None:
    """Write the ranks of the scores above low, up to high: 1 plus the number of higher scores."""
    rows = np.flatnonzero(scored & (mean > low) & (mean <= high))
    costs = -mean[rows]
    order = np.argsort(costs)
    costs = costs[order]
    # Equal scores share the rank of the first of them.
    first = np.arange(1, len(rows) + 1, dtype=np.int32)
    first[1:][costs[1:] == costs[:-1]] = 0
    first = np.maximum.accumulate(first, out=first)
    ranks[rows[order]] = first + np.count_nonzero(scored & (mean > high))
