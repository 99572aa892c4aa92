"""One split of the data, and in one feature space what all configurations share.

Neighbour lists of the queries and of the samples are made once, for the largest numbers that the
grid asks for; smaller numbers are their beginnings. Everything is made by the functions that the
estimator itself uses, so that scores are those of the estimator.
"""

import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ._anchors import select_points
from ._chunks import Scratch, row_chunks
from ._nearness import fit_nearness
from ._scaling import fit_space
from ._validation import (
    check_anchor_models,
    check_anchor_points,
    check_features,
    check_neighbor_weights,
)
from .kernels import local_models
from .kernels.anchors import Moments, ridge_path
from .kernels.combine import cut_at, distance_weights, normalised

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# All anchors' errors of all samples are held in blocks of anchors of at most this size.
BLOCK_BYTES = 32 * 2**20

# Samples and choices of anchors are padded to a multiple of this: how many numbers the compiled
# functions take at a time.
LANES = 8


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
        scaling, neighborhood, rounds, features = space
        self.space = fit_space(scaling, X, weights)
        self.Z, self.Y, self.weights = self.space.transform(X), Y, weights
        self.queries = self.space.transform(queries)
        self.nearness = fit_nearness(
            neighborhood,
            self.Z,
            Y,
            weights,
            features=check_features(features, X.shape[1]),
            rounds=rounds,
            random_state=seed,
            n_jobs=n_jobs,
        )
        self.points = self.nearness.points(self.Z)
        self.neighbors = self.nearness.index(self.points, searchable, n_jobs)
        self.n_searchable = len(X) if searchable is None else int(np.count_nonzero(searchable))
        numbers = np.array(grid["n_neighbors"])
        self.possible = numbers <= self.n_searchable
        self.levels = np.unique(numbers[self.possible]).tolist()
        n_near = max(self.levels, default=1)
        self.distances, self.near = self.neighbors.query(self.nearness.points(self.queries), n_near)
        self.floor = local_models.tie_floor(Y)
        self.grid, self.seed = grid, seed
        self._anchor_sets: dict[tuple[int, int], list[AnchorSet]] = {}
        self._weightings: dict[tuple[int, bool], list[Weighting]] = {}
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

    def weightings(self, i_rule: int, fit_intercept: bool) -> "list[Weighting]":
        """How neighbours count in predictions by a rule of the grid, for all levels; made once."""
        key = i_rule, fit_intercept
        with self._lock:
            if key not in self._weightings:
                rule, constant = self.grid["weights"][i_rule], float(fit_intercept)
                self._weightings[key] = [
                    Weighting(self, levels, weights, constant)
                    for levels, weights in self._prediction_weights(rule)
                ]
            return self._weightings[key]

    def _prediction_weights(self, rule: str | Callable) -> Iterator[tuple[list[int], Array]]:
        """Weights of the neighbours, (q, K), and the numbers of neighbours that they serve.

        Weights that do not depend on how many neighbours there are serve all levels.
        """
        if self.weights is None and not callable(rule):
            yield self.levels, distance_weights(self.distances, rule)
            return
        for level in self.levels:
            # A copy, for a user's function may write into what it is given.
            weights = distance_weights(self.distances[:, :level].copy(), rule)
            if callable(rule):
                weights = check_neighbor_weights(weights, (len(self.queries), level))
            if self.weights is not None:
                weights = weights * cut_at(self.weights[self.near[:, :level]], level)
            yield [level], normalised(weights)

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
        d, sizes = self.Z.shape[1], self.grid["n_anchors"]
        if models is not None:
            models = self.space.models_from_units(check_anchor_models(models, d, self.Y.shape[1]))
            yield AnchorSet(self, slice(None), [len(models)] * len(sizes), models=models)
        elif not isinstance(selection, str):
            points = self.space.transform(check_anchor_points(selection, d))
            yield AnchorSet(self, slice(None), [len(points)] * len(sizes), points=points)
        elif selection == "random":
            points = self._select("random", max(sizes))
            counts = [min(k, len(points)) for k in sizes]
            yield AnchorSet(self, slice(None), counts, points=points)
        else:
            for i, k in enumerate(sizes):
                points = self._select(selection, k)
                yield AnchorSet(self, slice(i, i + 1), [len(points)], points=points)

    def _select(self, selection: str, k: int) -> Array:
        rng = check_random_state(self.seed)
        return select_points(selection, k, self.Z, self.weights, rng)[0]


def _with_constant(rows: Array) -> Array:
    return np.column_stack([rows, np.ones(len(rows))])


def whole_lanes(n: int) -> int:
    """The next multiple of LANES."""
    return n + -n % LANES


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
        self.fold, self.weights, self.constant = fold, np.ascontiguousarray(weights), constant
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
        """For all λ."""
        from .kernels.grid import correction_factors  # compiled: loaded when needed

        K = self.weights.shape[1]
        inner = self.fold.inner[block, :K] + self.constant
        squares = self.fold.squares[block, :K] + self.constant
        return correction_factors(inner, squares, self.weights[block], self.alphas)


class AnchorSet:
    """Anchors of a fold, of which the first few serve each smaller number of anchors.

    Parameters
    ----------
    fold : their Fold
    place : which values of n_anchors in the grid the set serves
    counts : for each of them how many anchors there really are
    points : (k, d) where the anchors are, or models : (k, d + 1, m) given beforehand
    """

    def __init__(self, fold: Fold, place: slice, counts, *, points=None, models=None):
        self.fold, self.place, self.models = fold, place, models
        # Increasing numbers of anchors, and which of them is the count for each value in the grid.
        self.levels, self.level_of = np.unique(counts, return_inverse=True)
        self._kept: dict[tuple[int, int, bool], Moments] = {}
        if points is not None:
            n_near = min(max(fold.grid["n_anchor_neighbors"]), fold.n_searchable)
            self.near = fold.neighbors.query(fold.nearness.points(points), n_near)[1]

    @property
    def assignment_bytes(self) -> int:
        """What labels and residuals of one set of models take."""
        n, m = self.fold.Y.shape
        return n * len(self.levels) * (4 + 8 * m)

    def model_path(
        self, n_near: int, alphas: list[float], l1_ratio: float, fit_intercept: bool
    ) -> Array:
        """Anchor models for each of the p penalties, (p, k, d + 1, m)."""
        if self.models is not None:
            return np.stack([self.models] * len(alphas))
        k, d, m = len(self.near), self.fold.Z.shape[1], self.fold.Y.shape[1]
        path = np.empty((len(alphas), k, d + 1, m))
        # Without a penalty, as with squares alone, the solution comes from the decomposition.
        smooth = np.array([alpha == 0 or l1_ratio == 0 for alpha in alphas])
        squared, mixed = np.extract(smooth, alphas), np.extract(~smooth, alphas)
        for chunk in row_chunks(k, min(n_near, self.near.shape[1]) * (d + m) * 8 * 4):
            if squared.size:
                part = self._neighborhoods(chunk, n_near)
                path[smooth, chunk] = ridge_path(*part, squared, fit_intercept)
            if mixed.size:
                moments = self._moments(chunk, n_near, fit_intercept)
                path[~smooth, chunk] = moments.elastic_net_path(mixed, l1_ratio)
        return path

    def _neighborhoods(self, chunk: slice, n_near: int) -> tuple[Array, Array, Array]:
        """Inputs, targets and weights of the samples around some of the anchors."""
        fold, near = self.fold, self.near[chunk, :n_near]
        weights = np.ones(near.shape)
        if fold.weights is not None:
            weights = cut_at(fold.weights[near], n_near)
        return fold.Z[near], fold.Y[near], weights

    def _moments(self, chunk: slice, n_near: int, fit_intercept: bool) -> Moments:
        """Of some anchors' neighbourhoods; kept for other penalties where that takes little."""
        key = chunk.start, n_near, fit_intercept
        if key in self._kept:
            return self._kept[key]
        moments = Moments(*self._neighborhoods(chunk, n_near), fit_intercept)
        numbers = 2 * len(self.fold.grid["n_anchor_neighbors"])
        if numbers * len(self.near) * self.fold.Z.shape[1] ** 2 * 8 <= BLOCK_BYTES:
            self._kept[key] = moments
        return moments

    def assignments(
        self, models: Array, assignment_neighbors: list[int], scratch: Scratch
    ) -> Iterator[tuple[NDArray[np.int32], Array]]:
        """For each way of assigning, labels (g, n, 8) and residuals (m, g, n, 8).

        There are p sets of models, (p, k, d + 1, m), and p times c choices, for the c levels, in
        groups of eight. What is given is good until the next is.
        """
        (n, m), p, c = self.fold.Y.shape, len(models), len(self.levels)
        n_groups = whole_lanes(p * c) // LANES
        labels = scratch.array("labels", (n_groups, n, LANES), np.int32)
        own = scratch.array("own", (m, n_groups, n, LANES))
        labels[-1], own[:, -1] = 0, 0.0
        smooth = [self._smooth_assignments(some, assignment_neighbors) for some in models]
        for n_near in assignment_neighbors:
            if n_near == 1:
                self._own_assignments(models, labels, own)
            else:
                for i, level in product(range(p), range(c)):
                    if level == 0:
                        of_levels, residuals = next(smooth[i])
                    g, lane = divmod(i * c + level, LANES)
                    labels[g, :, lane] = of_levels[level] + i * models.shape[1]
                    own[:, g, :, lane] = residuals[:, level]
            yield labels, own

    def _own_assignments(self, models: Array, labels: NDArray[np.int32], own: Array) -> None:
        """Labels and residuals by each sample's own error."""
        from .kernels.grid import best_at_levels  # compiled: loaded when needed

        by_target = np.ascontiguousarray(models.transpose(0, 3, 1, 2))
        best_at_levels(*self.fold.samples_in_lanes, by_target, self.levels, labels, own)

    def _smooth_assignments(
        self, models: Array, assignment_neighbors: list[int]
    ) -> Iterator[tuple[NDArray[np.int32], Array]]:
        """By the errors of each sample's nearest: labels (c, n) and residuals (m, c, n).

        A block of anchors at a time, for all samples.
        """
        from .kernels.grid import running_best, summed_over  # compiled: loaded when needed

        fold, levels, (n, m) = self.fold, self.levels, self.fold.Y.shape
        several = [n_near for n_near in assignment_neighbors if n_near > 1]
        states = [
            (
                np.full(n, np.inf),
                np.zeros(n, dtype=np.int32),
                np.zeros((n, m)),
                np.empty((len(levels), n), dtype=np.int32),
                np.empty((m, len(levels), n)),
            )
            for _ in several
        ]
        step = max(1, BLOCK_BYTES // (n * 8 * (m + 2)))
        for first in range(0, levels[-1] if several else 0, step):
            block = models[first : min(first + step, levels[-1])]
            residuals = local_models.anchor_residuals(fold.Z, fold.Y, block)
            own_errors = local_models.squared_errors(residuals)
            for n_near, (best, labels, own, *notes) in zip(several, states, strict=True):
                errors = summed_over(own_errors, *fold.assignment_shares(n_near))
                running_best(
                    errors, residuals, first, fold.floor, best, labels, own, levels, *notes
                )
        for *_, out_labels, out_own in states:
            yield out_labels, out_own
