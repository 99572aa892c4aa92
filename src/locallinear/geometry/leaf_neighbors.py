"""Neighbours that share leaves of trees."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ..runtime.interrupts import interruptible
from ..runtime.threads import in_threads, thread_parts
from .forest import Codes, Forest
from .neighbors import Neighbors, leave_out

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Lists of the points in each leaf are used where a query meets at most so many points in them.
MAX_LISTED = 5000
# Otherwise sorted tables: their number, and the candidates that each gives to a query.
N_TABLES, N_CANDIDATES = 16, 32
# Points that the structure does not hold yet are compared one by one, up to so many, or up to this
# part of all.
MAX_NEWEST, NEWEST_PART = 1024, 64
# Points that tell how many others a query meets in its leaves.
N_PROBES = 4096


@dataclass(frozen=True, eq=False)
class Lists:
    """The points in each leaf (see `kernels.trees.leaves`)."""

    starts: NDArray[np.int32]
    members: NDArray[np.int32]

    @classmethod
    def from_codes(cls, codes: Codes, n_leaves: int) -> "Lists":
        """Lists for the codes (n, T) of points."""
        from ..kernels.trees.leaves import leaf_members  # compiled: loaded when needed

        return cls(*leaf_members(codes, n_leaves))

    def point_codes(self, dtype: np.dtype) -> Codes:
        """The leaves (n, T) of the points."""
        T, n = self.members.shape
        codes: Any = np.empty((n, T), dtype)
        leaves = np.arange(self.starts.shape[1] - 1, dtype=dtype)
        for t in range(T):
            codes[self.members[t], t] = np.repeat(leaves, np.diff(self.starts[t]))
        return codes

    def search(
        self, X: Array, codes: Codes, points: Array, newest: Codes, searchable: Mask, K: int
    ) -> tuple[Rows, Rows]:
        """Shared leaves (q, K) and rows (q, K) of the points that share the most."""
        from ..kernels.trees.leaves import most_shared_in_lists  # compiled: loaded when needed

        held = points, self.starts, self.members, newest, searchable
        return most_shared_in_lists(X, codes, *held, K)


@dataclass(frozen=True, eq=False)
class Tables:
    """Points sorted by the leaves of a few trees, in several ways (see `kernels.trees.leaves`).

    They find most of the nearest points. A point is the less likely missed, the more of a query's
    leaves it shares. Points that may not be found are not sorted: they would take the place of
    others among the candidates.
    """

    codes: Codes
    trees: Rows
    keys: NDArray[np.uint64]
    members: NDArray[np.int32]

    def point_codes(self, dtype: np.dtype) -> Codes:
        """The leaves (n, T) of the points."""
        return self.codes

    @classmethod
    def from_codes(cls, codes: Codes, listed: Rows, n_threads: int = 1) -> "Tables":
        """Tables for the codes (n, T) of points, of which those in the rows `listed` are sorted."""
        from ..kernels.trees.leaves import table_keys  # compiled: loaded when needed

        n, T = len(listed), codes.shape[1]
        per_key = 8 // codes.itemsize
        rng = np.random.default_rng(T)  # any trees will do, but always the same ones
        trees = np.array([rng.permutation(T)[:per_key] for _ in range(N_TABLES)])
        keys = np.empty((N_TABLES, n), dtype=np.uint64)
        members = np.empty((N_TABLES, n), dtype=np.int32)

        def sort(number: int) -> None:
            unsorted = table_keys(codes, trees[number])[listed]
            order = np.argsort(unsorted, kind="stable")
            members[number], keys[number] = listed[order], unsorted[order]

        in_threads(sort, range(N_TABLES), n_threads)
        return cls(codes, trees, keys, members)

    def search(
        self, X: Array, codes: Codes, points: Array, newest: Codes, searchable: Mask, K: int
    ) -> tuple[Rows, Rows]:
        """Shared leaves (q, K) and rows (q, K) of the points that share the most."""
        from ..kernels.trees.leaves import most_shared_in_tables  # compiled: loaded when needed

        n_candidates = max(N_CANDIDATES, 2 * K)
        held = points, self.codes, self.trees, self.keys, self.members, n_candidates
        return most_shared_in_tables(X, codes, *held, newest, searchable, K)


@dataclass(frozen=True, eq=False)
class LeafIndex:
    """A structure for the first points, and the codes of the newest ones."""

    structure: Lists | Tables
    n_held: int
    newest: Codes

    @classmethod
    def from_codes(
        cls, codes: Codes, n_leaves: int, searchable: Mask, n_threads: int = 1
    ) -> "LeafIndex":
        """An index of points with these codes (n, T)."""
        listed = np.flatnonzero(searchable)
        structure: Lists | Tables
        if points_met(codes, listed) <= MAX_LISTED:
            structure = Lists.from_codes(codes, n_leaves)
        else:
            structure = Tables.from_codes(codes, listed, n_threads)
        return cls(structure, len(codes), codes[:0])

    def __len__(self) -> int:
        return self.n_held + len(self.newest)

    def codes(self) -> Codes:
        """The leaves (n, T) of all points."""
        held: Any = self.structure.point_codes(self.newest.dtype)
        return np.concatenate([held, self.newest])


def points_met(codes: Codes, listed: Rows) -> float:
    """How many points, with repetition, stand in the leaves of a query that is like the points.

    Of the points with these codes, only those in the rows `listed` count.
    """
    n, T = len(listed), codes.shape[1]
    probes = codes[listed[:: -(-n // N_PROBES)]]
    sizes = [np.bincount(probes[:, t]) / len(probes) for t in range(T)]
    return n * float(sum((of_tree**2).sum() for of_tree in sizes))


class LeafNeighbors:
    """Finds the K points that share the most leaves with a query; has the interface of `Neighbors`.

    If two points share s of T leaves, their distance is T / s − 1 + `min_distance` of the forest.
    With a minimum of 1, the weight 1 / distance is the shared part s / T. With a minimum of 0, it
    is the odds of sharing a leaf, s / (T − s), so that a point that shares all leaves takes all the
    weight. A point that shares no leaf counts as if it shared half a leaf. Of points that share
    equally many leaves, the nearer one comes first, then the one with the lower row number.
    """

    def __init__(
        self,
        forest: Forest,
        points: Array,
        searchable: Mask | None = None,
        index: LeafIndex | None = None,
        by_distance: Neighbors | None = None,
    ):
        self.forest = forest
        self.points, self.searchable = points, searchable
        self._index = index
        # For queries that share leaves with too few points; it makes its structure when asked.
        self._by_distance = by_distance or Neighbors(points, searchable)

    def update(self, points: Array, searchable: Mask | None) -> "LeafNeighbors":
        """The same for these points: rows were appended or removed, or moved in memory."""
        # Where points were removed, the others have other rows.
        index = None if len(points) < len(self.points) else self._index
        by_distance = self._by_distance.update(points, searchable)
        return LeafNeighbors(self.forest, points, searchable, index, by_distance)

    def build(self, n_jobs: int | None = 1) -> LeafIndex:
        """The index of all points; only points that are new go through the trees."""
        # Several threads may run this: each works on what it has read, which is always complete.
        index, points, n_threads = self._index, self.points, effective_n_jobs(n_jobs)
        if index is not None and len(index) == len(points):
            return index
        if index is not None:
            more = self.forest.leaves(points[len(index) :], n_threads)
            newest: Codes = np.vstack([index.newest, more])  # type: ignore[assignment]
            if len(newest) <= max(MAX_NEWEST, index.n_held // NEWEST_PART):
                self._index = grown = replace(index, newest=newest)
                return grown
        codes = self.forest.leaves(points, n_threads)
        made = LeafIndex.from_codes(codes, self.forest.n_leaves, self._mask(), n_threads)
        self._index = made
        return made

    def _mask(self) -> Mask:
        """Which points may be found, (n,)."""
        if self.searchable is None:
            return np.ones(len(self.points), dtype=bool)
        return self.searchable

    def query(self, X: Array, n_neighbors: int, n_jobs: int | None = None) -> tuple[Array, Rows]:
        """Distances and rows of the nearest points, both (q, K), nearest first."""
        return self._search(X, None, n_neighbors, n_jobs)

    def others(self, rows: Rows, n_neighbors: int, n_jobs: int | None = None) -> tuple[Array, Rows]:
        """Distances and rows of the points nearest to stored ones, these left out, both (q, K)."""
        codes = self.build(n_jobs).codes()[rows]
        found = self._search(self.points[rows], codes, n_neighbors + 1, n_jobs)
        return leave_out(*found, rows)

    def _search(
        self, X: Array, known: Codes | None, n_neighbors: int, n_jobs: int | None
    ) -> tuple[Array, Rows]:
        """`query` of points whose leaves (q, T) may be known."""
        from ..kernels.trees.leaves import fill_up  # compiled: loaded when needed

        index, points = self.build(n_jobs), np.ascontiguousarray(self.points)
        searchable, X = self._mask(), np.ascontiguousarray(X)

        def search(part: slice) -> tuple[Rows, Rows]:
            codes = self.forest.leaves(X[part]) if known is None else known[part]
            given = X[part], codes, points, index.newest, searchable, n_neighbors
            with interruptible():
                return index.structure.search(*given)

        workers = effective_n_jobs(n_jobs)
        found = in_threads(search, thread_parts(len(X), workers), workers)
        n_shared, rows = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        lacking = np.flatnonzero(rows[:, -1] < 0)
        if len(lacking):
            nearest = self._by_distance.query(X[lacking], n_neighbors, n_jobs)[1]
            fill_up(rows, lacking, nearest)
        n_trees = len(self.forest.roots)
        return n_trees / np.maximum(n_shared, 0.5) - 1 + self.forest.min_distance, rows
