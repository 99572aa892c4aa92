"""Predictions of one split, and sums of their errors, for all configurations at once."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ._chunks import CACHE_BYTES, Scratch
from ._folds import LANES, Fold, Weighting
from ._scores import Errors

Array = NDArray[np.float64]


class Predictor:
    """Predicts a fold's queries for all levels, models, anchor counts and λ: C configurations.

    Parameters
    ----------
    fold, models : the split, and p sets of anchor models, (p, k, d + 1, m)
    labels, own : (p, n, c), (m, p, n, c) each sample's anchor and residual at c counts
    weightings : which together serve all levels of the fold
    scratch : memory
    """

    def __init__(
        self, fold: Fold, models, labels, own, weightings: list[Weighting], scratch: Scratch
    ):
        self.fold, self.labels, self.own, self.weightings = fold, labels, own, weightings
        self.scratch = scratch
        # By target: (m, p, d + 1, k), with anchors that no sample has up to whole lanes.
        p, k, d, m = models.shape
        self.models = np.zeros((m, p, d, k + -k % LANES))
        self.models[..., :k] = models.transpose(3, 0, 2, 1)
        # λ are padded to whole lanes.
        n_padded, self.n_alphas = len(weightings[0].alphas), len(fold.grid["alpha"])
        self.shape = len(fold.levels), len(models), labels.shape[2], n_padded

    def predictions(self) -> Iterator[tuple[slice, Array]]:
        """Predictions for blocks of queries, (m, q, C)."""
        from .kernels.grid import predict_levels  # compiled: loaded when needed

        m = len(self.own)
        for block in self._blocks(8 * m * int(np.prod(self.shape))):
            q = block.stop - block.start
            out = np.empty((m, q, *self.shape))
            for t, weighting, given in self._of_block(block):
                part = np.empty((q, len(weighting.levels), *self.shape[1:]))
                predict_levels(*given, part)  # type: ignore[call-arg]
                out[t, :, weighting.place] = part
            yield block, out[..., : self.n_alphas].reshape(m, q, -1)

    def error_sums(self, metric: Errors) -> Array:
        """Sums over the queries of the errors of the predictions, (m, C)."""
        from .kernels.grid import add_errors  # compiled: loaded when needed

        m = len(self.own)
        sums = np.zeros((m, *self.shape))
        for block in self._blocks(4 * 8 * self.models[0, :, 0].size):
            counts = metric.weights[block]
            for t, weighting, given in self._of_block(block):
                y, out = metric.Y[block, t], sums[t, weighting.place]
                add_errors(*given, y, counts, metric.squared, out)  # type: ignore[call-arg]
        return sums[..., : self.n_alphas].reshape(m, -1)

    def _blocks(self, query_bytes: int) -> Iterator[slice]:
        """Blocks of queries that fit the cache."""
        n, step = len(self.fold.queries), max(16, CACHE_BYTES // query_bytes)
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))

    def _of_block(self, block: slice) -> Iterator[tuple[int, Weighting, tuple]]:
        """What the compiled functions take, for each target and weighting."""
        from .kernels.grid import fit_queries  # compiled: loaded when needed

        fold, (p, _, k) = self.fold, self.models.shape[1:]
        by_anchor = self.scratch.array("by_anchor", (p, block.stop - block.start, k))
        for t, (models, own) in enumerate(zip(self.models, self.own, strict=True)):
            fit_queries(fold.wide_queries, models, block.start, block.stop, by_anchor)
            of_models = by_anchor, self.labels, own
            for weighting in self.weightings:
                yield t, weighting, (fold.near[block], *weighting.of(block), *of_models)
