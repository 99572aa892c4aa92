"""One split of the data, and in one feature space what all configurations share.

Neighbour lists of the queries and of the samples are made once, for the largest numbers that the
grid asks for; smaller numbers are their beginnings. Everything is made by the functions that the
estimator itself uses, so that scores are those of the estimator.
"""

import threading
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..checks.parameters import GEOMETRY
from ..geometry.nearness import fit_geometry
from ..kernels.local import models as local_models
from ..kernels.local.combine import cut_at, normalised
from ..models.anchors import Anchors, place_anchors
from ..models.neighbors import neighbor_weights
from ..runtime.chunks import BLOCK_BYTES, LANES, row_chunks, whole_lanes
from .anchor_sets import AnchorSet

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Split:
    """One split of the data: a Fold for each feature space, made when it is first asked for.

    Parameters
    ----------
    X : (n, d) all inputs; train, test : their rows in this split
    Y, weights : numeric targets and sample weights (or None) of the training samples
    grid, seed, n_jobs : as for `Fold`
    """

    def __init__(self, X, train, test, Y, weights, grid: dict[str, list], seed: int, n_jobs):
        self.X, self.train, self.test = X, train, test
        self.Y, self.weights = Y, weights
        self.options = grid, seed, n_jobs
        self.n_searchable = len(train) if weights is None else int(np.count_nonzero(weights))
        self._folds: dict[tuple, Fold] = {}
        self._locks: dict[tuple, threading.Lock] = {}
        self._lock = threading.Lock()

    def fold(self, space: tuple) -> "Fold":
        """The fold of a feature space, made by the first thread that asks for it."""
        with self._lock:
            lock = self._locks.setdefault(space, threading.Lock())
        with lock:
            if space not in self._folds:
                inputs, queries = self.X[self.train], self.X[self.test]
                fold = Fold(inputs, self.Y, self.weights, queries, space, *self.options)
                self._folds[space] = fold
            return self._folds[space]


class Fold:
    """Training samples and queries of one split in one feature space.

    Parameters
    ----------
    X, Y, weights : training inputs (n, d), numeric targets (n, m), sample weights or None
    queries : (q, d) inputs of the samples to predict
    space : scaling, neighborhood, metric_iterations and neighborhood_features
    grid : all values of all parameters
    seed : random_state of the estimators
    """

    def __init__(self, X, Y, weights, queries, space, grid: dict[str, list], seed: int, n_jobs):
        searchable = None if weights is None or weights.all() else weights > 0
        geometry, self.Z = fit_geometry(
            X,
            Y,
            weights,
            **dict(zip(GEOMETRY, space, strict=True)),
            random_state=seed,
            n_jobs=n_jobs,
        )
        self.space, self.nearness = geometry.space, geometry.nearness
        self.Y, self.weights = Y, weights
        self.queries = self.space.transform(queries)
        self.points = self.nearness.points(self.Z)
        self.neighbors = self.nearness.index(self.points, searchable, n_jobs)
        self.n_searchable = len(X) if searchable is None else int(np.count_nonzero(searchable))
        numbers = np.array(grid["n_neighbors"])
        self.levels = np.unique(numbers[numbers <= self.n_searchable]).tolist()
        n_near = max(self.levels, default=1)
        self.distances, self.near = self.neighbors.query(self.nearness.points(self.queries), n_near)
        self.floor = local_models.tie_floor(Y)
        self.grid, self.seed = grid, seed
        self._anchor_sets: dict[tuple[int, int], list[AnchorSet]] = {}
        self._weightings: dict[tuple[int, bool], tuple[list[Weighting], dict[int, str]]] = {}
        self._lock = threading.Lock()

    @cached_property
    def inner(self) -> Array:
        """x_jᵀx of each query and its neighbours, (q, K)."""
        q, K = self.near.shape
        out = np.empty((q, K))
        for chunk in row_chunks(q, K * self.Z.shape[1] * 8):
            np.einsum("qkd,qd->qk", self.Z[self.near[chunk]], self.queries[chunk], out=out[chunk])
        return out

    @cached_property
    def squares(self) -> Array:
        """||x_j||² of each query's neighbours, (q, K)."""
        return np.einsum("nd,nd->n", self.Z, self.Z)[self.near]

    @cached_property
    def wide_queries(self) -> Array:
        """The queries with a constant feature, (q, d + 1)."""
        return _with_constant(self.queries)

    @cached_property
    def samples_in_lanes(self) -> tuple[Array, Array, Array]:
        """Inputs (d + 1, n), targets (m, n) and tie floors (n,), with zeros up to whole lanes."""
        inputs, targets = _in_lanes(_with_constant(self.Z)), _in_lanes(self.Y)
        return inputs, targets, _in_lanes(self.floor[:, None])[0]

    @cached_property
    def sample_neighbors(self) -> Rows:
        """The nearest samples of each sample, itself included, (n, A)."""
        n_near = min(max(self.grid["assignment_neighbors"]), self.n_searchable)
        return self.neighbors.query(self.points, n_near)[1]

    def assignment_shares(self, n_near: int) -> tuple[Rows, Array]:
        """Whose errors decide a sample's anchor, (n, A), and how much each counts."""
        near = self.sample_neighbors[:, : min(n_near, self.n_searchable)]
        if self.weights is None:
            return near, np.ones(near.shape)
        return near, cut_at(self.weights[near], n_near)

    def weightings(
        self, i_rule: int, fit_intercept: bool
    ) -> "tuple[list[Weighting], dict[int, str]]":
        """How neighbours count in predictions by a rule of the grid, made once.

        Where a user's function fails for some levels, there are reasons by level instead.
        """
        key = i_rule, fit_intercept
        with self._lock:
            if key not in self._weightings:
                self._weightings[key] = self._make_weightings(i_rule, float(fit_intercept))
            return self._weightings[key]

    def _make_weightings(
        self, i_rule: int, constant: float
    ) -> "tuple[list[Weighting], dict[int, str]]":
        rule = self.grid["weights"][i_rule]
        made: list[Weighting] = []
        failed: dict[int, str] = {}
        for levels in [self.levels] if self._shared(rule) else [[level] for level in self.levels]:
            try:
                weights = self._prediction_weights(rule, levels[-1])
            except Exception as error:  # a user's function can fail in any way
                reason = f"weights failed with {type(error).__name__}: {error}"
                failed |= dict.fromkeys(levels, reason)
            else:
                made.append(Weighting(self, levels, weights, constant))
        return made, failed

    def _prediction_weights(self, rule: str | Callable, level: int) -> Array:
        """Weights (q, level) of the neighbours."""
        v = None if self.weights is None else self.weights[self.near[:, :level]]
        weights = neighbor_weights(self.distances[:, :level], rule, v)
        return weights if self._shared(rule) else normalised(weights)

    def _shared(self, rule: str | Callable) -> bool:
        """Whether weights do not depend on how many neighbours there are."""
        return self.weights is None and not callable(rule)

    def anchor_sets(self, i_selection: int, i_models: int) -> "list[AnchorSet]":
        """Sets of anchors that serve all numbers of anchors in the grid, made once."""
        key = i_selection, i_models
        with self._lock:
            if key not in self._anchor_sets:
                selection = self.grid["anchor_selection"][i_selection]
                models = self.grid["anchor_models"][i_models]
                self._anchor_sets[key] = list(self._make_anchor_sets(selection, models))
            return self._anchor_sets[key]

    def _make_anchor_sets(self, selection, models) -> "Iterator[AnchorSet]":
        sizes = self.grid["n_anchors"]
        if models is None and selection == "kmeans":
            for i, k in enumerate(sizes):
                anchors = self._place(selection, models, k)
                yield AnchorSet(self, slice(i, i + 1), [len(anchors)], anchors)
            return
        anchors = self._place(selection, models, max(sizes))
        random = models is None and isinstance(selection, str)
        counts = [min(k, len(anchors)) if random else len(anchors) for k in sizes]
        yield AnchorSet(self, slice(None), counts, anchors)

    def _place(self, selection, models, k: int) -> Anchors:
        m = self.Y.shape[1]
        return place_anchors(selection, models, k, self.space, self.Z, m, self.weights, self.seed)


def _with_constant(rows: Array) -> Array:
    return np.column_stack([rows, np.ones(len(rows))])


def _in_lanes(rows: Array) -> Array:
    """Rows as columns, with zeros up to whole lanes.

    Features a multiple of 512 samples apart would push each other out of the cache.
    """
    n, d = rows.shape
    width = whole_lanes(n)
    out = np.zeros((d, width if width % 512 else width + LANES))
    out[:, :n] = rows.T
    return out


class Weighting:
    """Weights (q, K) of neighbours that serve some of a fold's levels, and what follows of them."""

    def __init__(self, fold: Fold, levels: list[int], weights: Array, constant: float):
        self.fold = weakref.proxy(fold)  # which keeps this, as an AnchorSet
        self.weights, self.constant = np.ascontiguousarray(weights), constant
        self.levels = np.array(levels)
        self.scales = 1.0 / np.cumsum(weights, axis=1).take(self.levels - 1, axis=1)
        self.alphas = np.asarray(fold.grid["alpha"], dtype=float)
        small = weights.size * len(self.alphas) * 8 <= BLOCK_BYTES
        self._factors = self._make_factors(slice(None)) if small else None

    def of(self, block: slice) -> tuple[Array, Array, Rows, Array]:
        """Weights, correction factors, levels and scales, of a block of queries."""
        factors = self._make_factors(block) if self._factors is None else self._factors[block]
        return self.weights[block], factors, self.levels, self.scales[block]

    def _make_factors(self, block: slice) -> Array:
        """Correction factors of a block for all λ, (q, K, L)."""
        from ..kernels.grid.grid import correction_factors  # compiled: loaded when needed

        K = self.weights.shape[1]
        inner = self.fold.inner[block, :K] + self.constant
        squares = self.fold.squares[block, :K] + self.constant
        return correction_factors(inner, squares, self.weights[block], self.alphas)
