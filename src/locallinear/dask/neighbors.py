"""The nearest samples of all partitions, exactly.

Queries visit the partitions that can hold a neighbour (`cells`). Each partition returns its nearest
samples with what a prediction needs of them; the nearest of all are chosen by distance and, where
distances are equal, by the sample's number, as a local model does. Everything is a graph of tasks
that Dask runs when the result is asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .cells import Cells, visit_home, visit_of, visit_others
from .partition import Candidates, Visit, search

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Partitions whose candidates are merged at a time, so that a merge holds a bounded number of them.
FAN_IN = 16


@dataclass(frozen=True, eq=False)
class Nearest:
    """Candidates of several partitions: by query, then by distance, then by number.

    All are arrays with one entry per candidate.
    """

    queries: Rows
    distances: Array
    rows: Rows
    columns: dict[str, NDArray]


@dataclass(frozen=True, eq=False)
class Found:
    """The nearest samples of q queries.

    Attributes
    ----------
    distances, rows : arrays (q, K)
        Nearest first; `rows` are numbers of samples.
    columns : dict of arrays (q, K, ...)
    """

    distances: Array
    rows: Rows
    columns: dict[str, NDArray]


def nearest(
    parts: Sequence[Delayed],
    firsts: Sequence[int],
    cells: Cells | Delayed,
    points: Delayed,
    n_near: int,
    names: Sequence[str],
    models: Delayed | None = None,
) -> Delayed:
    """The nearest samples of the queries at these points, as a task that returns `Found`.

    Parameters
    ----------
    parts, firsts : partitions, and the number of the first sample of each
    n_near : K; there are at least so many samples with weight
    names, models : the columns that are wanted, as for `partition.search`
    """
    ask = partial(_ask, parts, firsts, n_near=n_near, names=names, models=models)
    home = delayed(visit_home)(cells, points)
    near = ask(home)
    if len(parts) > 1:
        others = delayed(visit_others)(cells, home, delayed(_bounds)(near, points, n_near))
        near = delayed(_merge)([near, ask(others)], n_near)
    return delayed(_as_tables)(near, n_near)


def _ask(
    parts: Sequence[Delayed],
    firsts: Sequence[int],
    visits: Delayed,
    *,
    n_near: int,
    names: Sequence[str],
    models: Delayed | None,
) -> Delayed:
    """What the partitions answer to their visits, merged."""
    answers = []
    for p, (part, first) in enumerate(zip(parts, firsts, strict=True)):
        visit = delayed(visit_of)(visits, p)
        # The merge also needs the visit: so Dask does not fuse it into the search, which would
        # send all visits to every partition.
        answers.append((visit, delayed(search)(part, first, visit, n_near, names, models)))
    merged = [
        delayed(_merge_answers)(answers[i : i + FAN_IN], n_near)
        for i in range(0, len(answers), FAN_IN)
    ]
    while len(merged) > 1:
        groups = [merged[i : i + FAN_IN] for i in range(0, len(merged), FAN_IN)]
        merged = [delayed(_merge)(group, n_near) for group in groups]
    return merged[0]


def _merge_answers(answers: list[tuple[Visit, Candidates]], n_near: int) -> Nearest:
    """The nearest candidates of each query that visited one of some partitions."""
    found = (
        Nearest(np.repeat(visit.queries, c.counts), c.distances, c.rows, c.columns)
        for visit, c in answers
    )
    return _merge([*found], n_near)


def _merge(answers: list[Nearest], n_near: int) -> Nearest:
    """The nearest K candidates of each query."""
    queries, distances, rows = (
        np.concatenate([getattr(found, name) for found in answers])
        for name in ("queries", "distances", "rows")
    )
    order = np.lexsort((rows, distances, queries))
    order = order[_place_in_run(queries[order]) < n_near]
    columns = {
        name: np.concatenate([found.columns[name] for found in answers])[order]
        for name in answers[0].columns
    }
    return Nearest(queries[order], distances[order], rows[order], columns)


def _place_in_run(values: Rows) -> Rows:
    """How many equal values are before each of the sorted values, (n,)."""
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    lengths = np.diff(np.append(starts, len(values)))
    return np.arange(len(values)) - np.repeat(starts, lengths)


def _bounds(near: Nearest, points: Array, n_near: int) -> Array:
    """How far the K-th neighbour of each query is at most; infinity where fewer are known."""
    bounds = np.full(len(points), np.inf)
    last = _place_in_run(near.queries) == n_near - 1
    bounds[near.queries[last]] = near.distances[last]
    return bounds


def _as_tables(near: Nearest, n_near: int) -> Found:
    """Candidates, of which each query has K, as tables with one line per query."""
    distances, rows, *columns = (
        column.reshape(-1, n_near, *column.shape[1:])
        for column in (near.distances, near.rows, *near.columns.values())
    )
    return Found(distances, rows, dict(zip(near.columns, columns, strict=True)))
