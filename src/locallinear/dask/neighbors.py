"""The nearest samples of all partitions, exactly.

Queries visit the partitions that can hold a neighbour (`cells`). Each partition returns its nearest
samples with what a prediction needs of them; the nearest of all are chosen by distance and, where
distances are equal, by the sample's number, as a local model does. Everything is a graph of tasks
that Dask runs when the result is asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from .cells import Cells, visit_home, visit_of, visit_others
from .graphs import Layer, in_groups, sized
from .lookup import Candidates, Nearest, Visit, look_up, merge, place_in_run

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Answers that are merged at a time, so that a merge holds a bounded number of them.
FAN_IN = 16
# Groups of queries that are looked up together.
WAVE = 64


@sized
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


@dataclass(frozen=True, eq=False)
class Places:
    """Where the samples are.

    Attributes
    ----------
    parts : list of Delayed
        Partitions.
    firsts : list of int
        The number of the first sample of each.
    bundles : list of lists of int
        Partitions that are on one worker and are looked up by one task. A worker has as many
        bundles as threads. With one task per bundle no worker has a queue, and Dask moves none of
        the partitions to a worker that has less to do.
    cells : Cells
    """

    parts: list[Delayed]
    firsts: list[int]
    bundles: list[list[int]]
    cells: Cells

    def nearest(
        self,
        layer: Layer,
        groups: Sequence[Any],
        n_near: int,
        names: Sequence[str],
        models: Array | None = None,
    ) -> list[str]:
        """The nearest samples of groups of queries, each as a task that returns `Found`.

        Parameters
        ----------
        layer : where the tasks are added
        groups : tasks that return the points of each group
        n_near : K; there are at least so many samples with weight
        names, models : the columns that are wanted, as for `lookup.look_up`
        """
        task, cells, given = layer.task, delayed(self.cells), (n_near, tuple(names), models)
        out: list[str] = []
        for wave in in_groups(groups, WAVE):
            home = [task(visit_home, cells, points) for points in wave]
            near = self._ask(layer, home, *given)
            if len(self.parts) > 1:
                bounds = [
                    task(_bounds, found, points, n_near)
                    for found, points in zip(near, wave, strict=True)
                ]
                others = [
                    task(visit_others, cells, *pair) for pair in zip(home, bounds, strict=True)
                ]
                more = zip(near, self._ask(layer, others, *given), strict=True)
                near = [task(merge, n_near, *pair) for pair in more]
            out += [task(_as_tables, found, n_near) for found in near]
        return out

    def _ask(
        self,
        layer: Layer,
        visits: list[str],
        n_near: int,
        names: tuple[str, ...],
        models: Array | None,
    ) -> list[str]:
        """What the partitions answer to the visits of each group, merged."""
        answers: list[list[str]] = [[] for _ in visits]
        for bundle in self.bundles:
            here = [layer.task(visit_of, of_group, tuple(bundle)) for of_group in visits]
            parts, firsts = [self.parts[p] for p in bundle], tuple(self.firsts[p] for p in bundle)
            task = layer.task(look_up, n_near, names, models, firsts, *parts, *here)
            found = layer.entries(task, len(here))
            for of_group, visit, candidates in zip(answers, here, found, strict=True):
                # The merge also needs the visit: so Dask does not fuse it into the search, which
                # would send all visits to every worker.
                of_group += [visit, candidates]
        return [_merged(layer, n_near, of_group) for of_group in answers]


def _merged(layer: Layer, n_near: int, answers: list[str]) -> str:
    """The nearest candidates of one group; answers are visits and candidates in turn."""
    merged = [
        layer.task(_merge_answers, n_near, *group) for group in in_groups(answers, 2 * FAN_IN)
    ]
    while len(merged) > 1:
        merged = [layer.task(merge, n_near, *group) for group in in_groups(merged, FAN_IN)]
    return merged[0]


def _merge_answers(n_near: int, *answers: Visit | Candidates) -> Nearest:
    pairs: Any = zip(answers[::2], answers[1::2], strict=True)
    found = (
        Nearest(np.repeat(visit.queries, c.counts), c.distances, c.rows, c.columns)
        for visit, c in pairs
    )
    return merge(n_near, *found)


def _bounds(near: Nearest, points: Array, n_near: int) -> Array:
    """How far the K-th neighbour of each query is at most; infinity where fewer are known."""
    bounds = np.full(len(points), np.inf)
    last = place_in_run(near.queries) == n_near - 1
    bounds[near.queries[last]] = near.distances[last]
    return bounds


def _as_tables(near: Nearest, n_near: int) -> Found:
    """Candidates, of which each query has K, as tables with one line per query."""
    distances, rows, *columns = (
        column.reshape(-1, n_near, *column.shape[1:])
        for column in (near.distances, near.rows, *near.columns.values())
    )
    return Found(distances, rows, dict(zip(near.columns, columns, strict=True)))
