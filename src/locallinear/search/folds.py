"""One split of the data, and what all configurations with the same geometry share in it.

Neighbour lists of the queries and of the samples are made once, for the largest numbers in the
grid; a smaller number takes the beginning of a list. The functions that make everything here are
those of the estimator, so that the scores are the estimator's.
"""

import threading
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks.parameters import GEOMETRY
from ..geometry.nearness import fit_geometry
from ..kernels.local import models as local_models
from ..kernels.local.combine import normalised
from ..models.anchors import Anchors, place_anchors
from ..models.assignment import (
    assignment_shares,
    deciding_index,
    nearest_deciding,
    with_itself,
)
from ..models.neighbors import Rule, neighbor_weights
from ..models.samples import Samples, weights_above_zero
from ..runtime.chunks import BLOCK_BYTES, row_chunks
from .anchor_sets import AnchorSet
from .failures import Failure
from .grids import Grid

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


# What another process gets of a split.
SENT = ("X", "train", "test", "Y", "weights", "options")

# The values of the parameters that shape a geometry, in the order of `GEOMETRY`.
Chosen = tuple[Any, ...]


class SplitData:
    """One split of the data: one Fold per geometry, made when it is first needed.

    Parameters
    ----------
    X : (n, d) all inputs; train, test : their rows in this split
    Y, weights : numeric targets and sample weights (or None) of the training samples
    grid, seed, n_jobs : as for `Fold`
    """

    def __init__(
        self,
        X: Array,
        train: NDArray[Any],
        test: NDArray[Any],
        Y: Array,
        weights: Array | None,
        grid: Grid,
        seed: int,
        n_jobs: int | None,
    ):
        self.X, self.train, self.test = X, train, test
        self.Y, self.weights = Y, weights
        self.options = grid, seed, n_jobs
        self.n_searchable = len(Y) if weights is None else int(np.count_nonzero(weights))
        self._folds: dict[Chosen, Fold] = {}
        self._locks: dict[Chosen, threading.Lock] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        # Folds are made again sooner than they are sent, and locks belong to a process.
        return {name: getattr(self, name) for name in SENT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        X, train, test, Y, weights, options = (state[name] for name in SENT)
        self.__init__(X, train, test, Y, weights, *options)  # type: ignore[misc]

    def fold(self, chosen: Chosen) -> "Fold":
        """The fold of a geometry, made by the first thread that needs it."""
        with self._lock:
            lock = self._locks.setdefault(chosen, threading.Lock())
        with lock:
            if chosen not in self._folds:
                inputs, queries = self.X[self.train], self.X[self.test]
                fold = Fold(inputs, self.Y, self.weights, queries, chosen, *self.options)
                self._folds[chosen] = fold
            return self._folds[chosen]


class Fold:
    """Training samples and queries of one split with one geometry.

    Parameters
    ----------
    X, Y, weights : training inputs (n, d), numeric targets (n, m), sample weights or None
    queries : (q, d) inputs of the samples to predict
    chosen : values of the parameters that shape the geometry
    grid : all values of all parameters
    seed : random_state of the estimators
    n_jobs : threads
    """

    def __init__(
        self,
        X: Array,
        Y: Array,
        weights: Array | None,
        queries: Array,
        chosen: Chosen,
        grid: Grid,
        seed: int,
        n_jobs: int | None,
    ):
        self.geometry, self.Z = fit_geometry(
            X,
            Y,
            weights,
            **dict(zip(GEOMETRY, chosen, strict=True)),
            random_state=seed,
            n_jobs=n_jobs,
        )
        self.Y, self.weights = Y, weights
        self.samples = Samples.located(self.geometry, weights_above_zero(weights), Z=self.Z)
        self.n_searchable = self.samples.n_searchable
        self.neighbors = self.geometry.index(self.samples.points, self.samples.searchable)
        self.queries, query_points = self.geometry.locate(queries)
        numbers = np.array(grid["n_neighbors"])
        # Increasing numbers of neighbours of a prediction.
        self.neighbor_counts = np.unique(numbers[numbers <= self.n_searchable]).tolist()
        n_near = max(self.neighbor_counts, default=1)
        found: tuple[Array, Rows] = self.neighbors.query(query_points, n_near, n_jobs)
        self.distances, self.near = found
        self.floor = local_models.tie_floor(Y)
        self.grid, self.seed, self.n_jobs = grid, seed, n_jobs
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
    def sample_neighbors(self) -> NDArray[np.integer]:
        """The nearest samples whose errors decide each one's anchor, itself included, (n, A)."""
        index, deciding = deciding_index(self.geometry, self.samples, self.neighbors)
        total = max(self.grid["assignment_neighbors"])
        near = nearest_deciding(self.samples, index, deciding, total, self.n_jobs)
        return near if deciding is None else with_itself(near, deciding)

    def assignment_shares(self, n_near: int) -> tuple[NDArray[np.integer], Array]:
        """The samples whose errors decide a sample's anchor, (n, A), and how much each counts."""
        near = self.sample_neighbors[:, : min(n_near, self.n_searchable)]
        return near, assignment_shares(near, self.weights, n_near)

    def weightings(
        self, rule_index: int, fit_intercept: bool
    ) -> "tuple[list[Weighting], dict[int, str]]":
        """Weights of the neighbours by one of the grid's values of `weights`, made once.

        Where a user's function fails for a number of neighbours, that number has no weights, and
        the dict says why.
        """
        key = rule_index, fit_intercept
        with self._lock:
            if key not in self._weightings:
                rule = self.grid["weights"][rule_index]
                self._weightings[key] = self._make_weightings(rule, float(fit_intercept))
            return self._weightings[key]

    def _make_weightings(
        self, rule: str | Callable[[Array], Array], constant: float
    ) -> "tuple[list[Weighting], dict[int, str]]":
        made: list[Weighting] = []
        failed: dict[int, str] = {}
        counts = self.neighbor_counts
        for served in [counts] if self._shared(rule) else [[count] for count in counts]:
            try:
                weights = self._prediction_weights(rule, served[-1])
            except Exception as error:  # a user's function can fail in any way
                failed |= dict.fromkeys(served, Failure.of("weights", error))
            else:
                made.append(Weighting(self, served, weights, constant))
        return made, failed

    def _prediction_weights(self, rule: Rule, count: int) -> Array:
        """Weights (q, count) of the nearest neighbours."""
        v = None if self.weights is None else self.weights[self.near[:, :count]]
        weights = neighbor_weights(self.distances[:, :count], rule, v)
        return weights if self._shared(rule) else normalised(weights)

    def _shared(self, rule: str | Callable[[Array], Array]) -> bool:
        """Whether a neighbour's weight is the same for all numbers of neighbours."""
        return self.weights is None and not callable(rule)

    def anchor_sets(self, selection_index: int, models_index: int) -> list[AnchorSet]:
        """Sets of anchors that serve all numbers of anchors in the grid, made once."""
        key = selection_index, models_index
        with self._lock:
            if key not in self._anchor_sets:
                selection = self.grid["anchor_selection"][selection_index]
                models = self.grid["anchor_models"][models_index]
                self._anchor_sets[key] = list(self._make_anchor_sets(selection, models))
            return self._anchor_sets[key]

    def _make_anchor_sets(self, selection: Any, models: Any) -> Iterator[AnchorSet]:
        sizes = self.grid["n_anchors"]
        selected = models is None and isinstance(selection, str)
        if selected and selection == "kmeans":
            for i, k in enumerate(sizes):
                anchors = self._place(selection, models, k)
                yield AnchorSet(self, slice(i, i + 1), [len(anchors)], anchors)
            return
        anchors = self._place(selection, models, max(sizes))
        counts = [min(k, len(anchors)) if selected else len(anchors) for k in sizes]
        yield AnchorSet(self, slice(None), counts, anchors)

    def _place(self, selection: Any, models: Any, k: int) -> Anchors:
        m = self.Y.shape[1]
        return place_anchors(
            selection, models, k, self.geometry.space, self.Z, m, self.weights, self.seed
        )


class Weighting:
    """Weights of neighbours for some numbers of neighbours, and the factors that follow from them.

    Parameters
    ----------
    fold : whose queries and neighbours
    neighbor_counts : (v,) increasing numbers of neighbours
    weights : (q, K) of the neighbours
    constant : the value of the constant feature
    """

    def __init__(self, fold: Fold, neighbor_counts: list[int], weights: Array, constant: float):
        # The fold holds its weightings; if they held the fold, both would outlive the search.
        self.fold: Any = weakref.proxy(fold)
        self.weights, self.constant = np.ascontiguousarray(weights), constant
        self.neighbor_counts = np.array(neighbor_counts)
        self.scales = 1.0 / np.cumsum(weights, axis=1).take(self.neighbor_counts - 1, axis=1)
        self.alphas = np.asarray(fold.grid["alpha"], dtype=float)
        small = weights.size * len(self.alphas) * 8 <= BLOCK_BYTES
        self._factors = self._make_factors(slice(None)) if small else None

    def arrays(self, block: slice) -> tuple[Array, Array, Rows, Array]:
        """Weights, correction factors, numbers of neighbours and scales of a block of queries.

        They are arguments of `kernels.grid.predictions.predict`.
        """
        factors = self._make_factors(block) if self._factors is None else self._factors[block]
        return self.weights[block], factors, self.neighbor_counts, self.scales[block]

    def _make_factors(self, block: slice) -> Array:
        """weight_j x̃_jᵀx̃ / (λ + s_j) of a block for all λ, (q, K, L)."""
        K = self.weights.shape[1]
        weighted = self.weights[block] * (self.fold.inner[block, :K] + self.constant)
        squares = self.fold.squares[block, :K] + self.constant
        return weighted[:, :, None] / (self.alphas + squares[:, :, None])
