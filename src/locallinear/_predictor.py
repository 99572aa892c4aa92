"""Predictions of one split, and sums of their errors, for all configurations at once."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ._chunks import CACHE_BYTES
from ._folds import Fold, Weighting
from ._scores import Errors

Array = NDArray[np.float64]


class Predictor:
    """Predicts a fold's queries for all levels, anchor counts and λ: C configurations.

    Parameters
    ----------
    fold, models : the split, and its anchor models (k, d + 1, m)
    labels, own : (n, c), (m, n, c) each sample's anchor and residual at c numbers of anchors
    weightings : which together serve all levels of the fold
    """

    def __init__(self, fold: Fold, models, labels, own, weightings: list[Weighting]):
        self.fold, self.models, self.labels, self.own = fold, models, labels, own
        self.weightings = weightings
        # λ are padded to whole lanes.
        self.shape = len(fold.levels), labels.shape[1], len(weightings[0].alphas)
        self.n_alphas = len(fold.grid["alpha"])

    def predictions(self) -> Iterator[tuple[slice, Array]]:
        """Predictions for blocks of queries, (m, q, C)."""
        from .kernels.grid import predict_levels  # compiled: loaded when needed

        m = len(self.own)
        for block in self._blocks(8 * m * int(np.prod(self.shape))):
            q = block.stop - block.start
            out = np.empty((m, q, *self.shape))
            for t, weighting, given in self._of_block(block):
                predict_levels(*given, out[t, :, weighting.place])  # type: ignore[call-arg]
            yield block, out[..., : self.n_alphas].reshape(m, q, -1)

    def error_sums(self, metric: Errors) -> Array:
        """Sums over the queries of the errors of the predictions, (m, C)."""
        from .kernels.grid import add_errors  # compiled: loaded when needed

        m = len(self.own)
        sums = np.zeros((m, *self.shape))
        for block in self._blocks(8 * 8 * len(self.models)):
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
        fold = self.fold
        for t, own in enumerate(self.own):
            by_anchor = fold.queries[block] @ self.models[:, :-1, t].T + self.models[:, -1, t]
            for weighting in self.weightings:
                yield (
                    t,
                    weighting,
                    (
                        by_anchor,
                        fold.near[block],
                        weighting.weights[block],
                        weighting.factors(block),
                        self.labels,
                        own,
                        weighting.levels,
                    ),
                )
