"""The samples of some partitions that are nearest to queries, found where the partitions are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .graphs import sized
from .partition import Part

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


@sized
@dataclass(frozen=True, eq=False)
class Visit:
    """Queries that visit some partitions.

    Attributes
    ----------
    queries : array (c,)
        Their numbers in their own group.
    points : array (c, d)
    bounds : array (c,)
        Samples farther away than this are no neighbours.
    where : mask (c, partitions)
        Which partitions each query visits.
    """

    queries: Rows
    points: Array
    bounds: Array
    where: Mask


@sized
@dataclass(frozen=True, eq=False)
class Candidates:
    """Samples that may be neighbours of visiting queries: of each query in turn, nearest first.

    Attributes
    ----------
    counts : array (c,)
        How many there are of each query.
    distances, rows : arrays (t,)
        How far they are, and their numbers among all samples.
    columns : dict of arrays with t rows
    """

    counts: Rows
    distances: Array
    rows: Rows
    columns: dict[str, NDArray]


@sized
@dataclass(frozen=True, eq=False)
class Nearest:
    """Candidates by query, then by distance, then by number: arrays with one entry for each."""

    queries: Rows
    distances: Array
    rows: Rows
    columns: dict[str, NDArray]


def merge(n_near: int, *answers: Nearest) -> Nearest:
    """The nearest K candidates of each query."""
    queries, distances, rows = (
        np.concatenate([getattr(found, name) for found in answers])
        for name in ("queries", "distances", "rows")
    )
    # Where each query has candidates of one answer only, these are in order already.
    order = np.argsort(queries, kind="stable")
    q, d, r = queries[order], distances[order], rows[order]
    if not ((q[1:] > q[:-1]) | (d[1:] > d[:-1]) | ((d[1:] == d[:-1]) & (r[1:] > r[:-1]))).all():
        order = np.lexsort((rows, distances, queries))
    order = order[place_in_run(q) < n_near]
    columns = {
        name: np.concatenate([found.columns[name] for found in answers])[order]
        for name in answers[0].columns
    }
    return Nearest(queries[order], distances[order], rows[order], columns)


def place_in_run(values: Rows) -> Rows:
    """How many equal values are before each of the sorted values, (n,)."""
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    lengths = np.diff(np.append(starts, len(values)))
    return np.arange(len(values)) - np.repeat(starts, lengths)


def look_up(
    n_near: int,
    names: Sequence[str],
    models: Array | None,
    firsts: Sequence[int],
    *given: Part | Visit,
) -> list[Candidates]:
    """The nearest samples of some partitions, for each of several visits.

    Parameters
    ----------
    n_near : how many neighbours a query can have
    names : the columns that go with each sample; "targets" can be one
    models : (k, d + 1, m) of the anchors, where targets are no longer a column
    firsts : the number of each partition's first sample among all samples
    given : the partitions, then the visits
    """
    parts: Any = given[: len(firsts)]
    visits: Any = given[len(firsts) :]
    out = []
    for visit in visits:
        found = [
            _look_up_in(part, first, visit, visit.where[:, j], n_near, names, models)
            for j, (part, first) in enumerate(zip(parts, firsts, strict=True))
        ]
        near = merge(n_near, *found)
        counts = np.bincount(near.queries, minlength=len(visit.queries))
        out.append(Candidates(counts, near.distances, near.rows, near.columns))
    return out


def _look_up_in(
    part: Part,
    first: int,
    visit: Visit,
    here: Mask,
    n_near: int,
    names: Sequence[str],
    models: Array | None,
) -> Nearest:
    """The nearest samples of one partition; queries are numbered as the visit has them."""
    queries, n_near = np.flatnonzero(here), min(n_near, part.n_searchable)
    distances = np.empty((len(queries), 0))
    near = np.empty(distances.shape, dtype=np.intp)
    if len(queries) and n_near:
        distances, near = part.index.query(visit.points[queries], n_near, 1)
    keep = distances <= visit.bounds[queries, None]
    rows = near[keep]
    columns = {
        name: part.targets(rows, models) if name == "targets" else part.columns[name][rows]
        for name in names
    }
    of_query = np.repeat(queries, np.count_nonzero(keep, axis=1))
    return Nearest(of_query, distances[keep], first + rows, columns)
