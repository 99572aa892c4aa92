"""Predictions of one split, and sums of their errors, for all configurations at once."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..runtime.chunks import row_chunks
from .folds import Fold, Weighting

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Labels = NDArray[np.int32]
# What `predict` and `add_errors` have in common.
Arguments = tuple[Rows, Array, Array, Rows, Array, Array, Labels, Array]


class GridPredictor:
    """Predicts the queries of a fold for all configurations that share its anchors.

    There are v L C of them: v numbers of neighbours, L values of λ and C choices of anchors, of
    which the choice changes fastest.

    Parameters
    ----------
    fold : training samples and queries
    models : (p, k, d + 1, m) for p penalties
    labels, own : (n, C), (m, n, C) from `AnchorSet.assign`
    weightings : weights of the neighbours, for increasing numbers of neighbours
    """

    def __init__(
        self,
        fold: Fold,
        models: Array,
        labels: Labels,
        own: Array,
        weightings: list[Weighting],
    ):
        self.fold, self.labels, self.own, self.weightings = fold, labels, own, weightings
        self.models = models.reshape(-1, *models.shape[2:])
        n_counts = sum(len(weighting.neighbor_counts) for weighting in weightings)
        self.shape = n_counts, len(fold.grid["alpha"]), labels.shape[1]

    def predictions(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of queries, each with its predictions (m, q, v L C)."""
        from ..kernels.grid.predictions import predict  # compiled: loaded when needed

        m, (n_counts, *inner) = len(self.own), self.shape
        for block in row_chunks(len(self.fold.queries), 8 * m * math.prod(self.shape)):
            out = np.empty((m, n_counts, block.stop - block.start, *inner))
            for target, served, arguments in self._arguments(block):
                predict(*arguments, out[target, served])
            yield block, np.moveaxis(out, 1, 2).reshape(m, out.shape[2], -1)

    def error_sums(self, Y: Array, weights: Array, squared: bool) -> Array:
        """Weighted sums of the squared or absolute errors, (m, v L C), for targets Y (q, m)."""
        from ..kernels.grid.predictions import add_errors  # compiled: loaded when needed

        sums = np.zeros((len(self.own), *self.shape))
        for block in row_chunks(len(self.fold.queries), 8 * len(self.models)):
            for target, served, arguments in self._arguments(block):
                y = np.ascontiguousarray(Y[block, target])
                add_errors(*arguments, y, weights[block], squared, sums[target, served])
        return sums.reshape(len(sums), -1)

    def _arguments(self, block: slice) -> Iterator[tuple[int, slice, Arguments]]:
        """Per target and weighting: the neighbour counts served, and the kernels' arguments."""
        queries, near = self.fold.queries[block], self.fold.near[block]
        for target, own in enumerate(self.own):
            by_anchor = queries @ self.models[:, :-1, target].T
            by_anchor += self.models[:, -1, target]
            first = 0
            for weighting in self.weightings:
                served = slice(first, first + len(weighting.neighbor_counts))
                first = served.stop
                arrays = weighting.arrays(block)
                yield target, served, (near, *arrays, by_anchor, self.labels, own)
