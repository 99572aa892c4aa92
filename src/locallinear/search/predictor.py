"""Predictions of one split, and sums of their errors, for all configurations at once."""

import math
from collections.abc import Iterator, Sized

import numpy as np
from numpy.typing import NDArray

from ..runtime.chunks import CACHE_BYTES, LANES, Scratch, whole_lanes
from .anchor_sets import AnchorSet
from .folds import Weighting
from .scores import Errors

Array = NDArray[np.float64]


class Predictor:
    """Predicts a fold's queries for all levels, λ and choices of anchors: C configurations.

    Parameters
    ----------
    anchors, models : anchors of a fold, and p sets of models of theirs, (p, k, d + 1, m)
    labels, own : (g, n, 8), (m, g, n, 8) each sample's anchor and residual for each choice, in
        groups of eight, with choices that do not count at the end
    weightings : of increasing levels
    scratch : memory
    """

    def __init__(
        self,
        anchors: AnchorSet,
        models: Array,
        labels: NDArray[np.int32],
        own: Array,
        weightings: list[Weighting],
        scratch: Scratch,
    ):
        self.fold = anchors.fold
        self.labels, self.own, self.weightings, self.scratch = labels, own, weightings, scratch
        self.n_choices = len(models) * len(anchors.counts)
        # By target: (m, d + 1, p k), with anchors that no sample has up to whole lanes.
        p, k, width, m = models.shape
        self.models = np.zeros((m, width, whole_lanes(p * k)))
        self.models[..., : p * k] = models.transpose(3, 2, 0, 1).reshape(m, width, p * k)

    def predictions(self) -> Iterator[tuple[slice, Array]]:
        """Predictions for blocks of queries, (m, q, C)."""
        from ..kernels.grid.grid import predict_levels  # compiled: loaded when needed

        m = len(self.own)
        for block in self._blocks(8 * m * math.prod(self._shape(self.fold.levels))):
            q = block.stop - block.start
            parts = [np.empty((m, q, *self._shape(each.levels))) for each in self.weightings]
            for t, w, given in self._of_block(block):
                predict_levels(*given, parts[w][t])  # type: ignore[call-arg]
            yield block, self._by_configuration(parts)

    def error_sums(self, metric: Errors) -> Array:
        """Sums over the queries of the errors of the predictions, (m, C)."""
        from ..kernels.grid.grid import add_errors  # compiled: loaded when needed

        m = len(self.own)
        sums = [
            self.scratch.array(f"sums {w}", (m, *self._shape(weighting.levels)))
            for w, weighting in enumerate(self.weightings)
        ]
        for part in sums:
            part[:] = 0.0
        for block in self._blocks(4 * 8 * self.models.shape[2]):
            counts = metric.weights[block]
            for t, w, given in self._of_block(block):
                y, out = metric.Y[block, t], sums[w][t]
                add_errors(*given, y, counts, metric.squared, out)  # type: ignore[call-arg]
        return self._by_configuration(sums)

    def _shape(self, levels: Sized) -> tuple[int, ...]:
        return len(self.labels), len(levels), len(self.fold.grid["alpha"]), LANES

    def _by_configuration(self, parts: list[Array]) -> Array:
        """The values (..., g, levels, L, 8) of each weighting as those of all C configurations."""
        values = np.concatenate(parts, axis=-3)
        *first, g, n_levels, n_alphas, _ = values.shape
        by_choice = np.moveaxis(values, -4, -2).reshape(*first, n_levels, n_alphas, g * LANES)
        return by_choice[..., : self.n_choices].reshape(*first, -1)

    def _blocks(self, query_bytes: int) -> Iterator[slice]:
        """Blocks of queries that fit the cache."""
        n, step = len(self.fold.queries), max(16, CACHE_BYTES // query_bytes)
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))

    def _of_block(self, block: slice) -> Iterator[tuple[int, int, tuple]]:
        """The number of each target and weighting, and what the compiled functions take."""
        from ..kernels.grid.grid import fit_queries  # compiled: loaded when needed

        fold, shape = self.fold, (block.stop - block.start, self.models.shape[2])
        by_anchor = self.scratch.array("by_anchor", shape)
        for t, (models, own) in enumerate(zip(self.models, self.own, strict=True)):
            fit_queries(fold.wide_queries, models, block.start, block.stop, by_anchor)
            of_models = by_anchor, self.labels, own
            for w, weighting in enumerate(self.weightings):
                yield t, w, (fold.near[block], *weighting.of(block), *of_models)
