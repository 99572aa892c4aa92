"""Anchors of a fold: their models for all penalties, and which anchor each sample chooses."""

import weakref
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.local import models as local_models
from ..kernels.local.anchors import Moments, ridge_path
from ..models.anchors import Anchors, neighborhoods
from ..runtime.chunks import BLOCK_BYTES, row_chunks

Array = NDArray[np.float64]


class AnchorSet:
    """Anchors of a fold; a smaller number of anchors takes the first of them.

    Parameters
    ----------
    fold : the Fold of the anchors
    served : which values of n_anchors in the grid the set serves
    counts : for each of these values, how many anchors there really are
    anchors : where they are, or their models given beforehand
    """

    def __init__(self, fold: Any, served: slice, counts: list[int], anchors: Anchors):
        # The fold holds its sets; if they held the fold, both would outlive the search.
        self.fold: Any = weakref.proxy(fold)
        self.served, self.models = served, anchors.models
        # Increasing numbers of anchors, and the position among them of each value served.
        self.anchor_counts, self.count_positions = np.unique(counts, return_inverse=True)
        self._moments_kept: dict[tuple[int, int, bool], Moments] = {}
        if anchors.models is None:
            n_near = min(max(fold.grid["n_anchor_neighbors"]), fold.n_searchable)
            located = fold.geometry.nearness.points(anchors.points)
            self.near = fold.neighbors.query(located, n_near, fold.n_jobs)[1]

    @property
    def assignment_bytes(self) -> int:
        """The size of the labels and residuals for one penalty."""
        n, m = self.fold.Y.shape
        return n * len(self.anchor_counts) * (4 + 8 * m)

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
        # Where all anchors have all samples as neighbours, they have one model.
        weights = self.fold.weights  # count samples: a neighbourhood ends where their sum is n_near
        held = max(self.fold.n_searchable, 0 if weights is None else weights.sum())
        different = k if n_near < held else min(k, 1)
        for chunk in row_chunks(different, min(n_near, self.near.shape[1]) * (d + m) * 8 * 4):
            if squared.size:
                part = self._neighborhoods(chunk, n_near)
                path[smooth, chunk] = ridge_path(*part, squared, fit_intercept)
            if mixed.size:
                moments = self._moments(chunk, n_near, fit_intercept)
                path[~smooth, chunk] = moments.elastic_net_path(mixed, l1_ratio)
        path[:, different:] = path[:, :1]
        return path

    def _neighborhoods(self, chunk: slice, n_near: int) -> tuple[Array, Array, Array]:
        """Inputs, targets and weights of the samples around some of the anchors."""
        fold = self.fold
        return neighborhoods(fold.Z, fold.Y, fold.weights, self.near[chunk, :n_near], n_near)

    def _moments(self, chunk: slice, n_near: int, fit_intercept: bool) -> Moments:
        """Moments of some anchors' neighbourhoods; kept for other penalties if they are small."""
        key = chunk.start, n_near, fit_intercept
        if key in self._moments_kept:
            return self._moments_kept[key]
        moments = Moments(*self._neighborhoods(chunk, n_near), fit_intercept)
        numbers = 2 * len(self.fold.grid["n_anchor_neighbors"])
        if numbers * len(self.near) * self.fold.Z.shape[1] ** 2 * 8 <= BLOCK_BYTES:
            self._moments_kept[key] = moments
        return moments

    def assign(self, models: Array, n_near: int) -> tuple[NDArray[np.int32], Array]:
        """Each sample's anchor and the residual from it, for p penalties and c anchor counts.

        Parameters
        ----------
        models : (p, k, d + 1, m)
        n_near : number of samples whose errors decide a sample's anchor

        Returns
        -------
        labels : (n, p c), with the anchors of all penalties numbered one after the other
        own : (m, n, p c) residuals
        """
        fold, (n, m), (p, k) = self.fold, self.fold.Y.shape, models.shape[:2]
        labels = np.empty((n, p, len(self.anchor_counts)), dtype=np.int32)
        own = np.empty((m, *labels.shape))
        # One row per sample and penalty.
        floor = np.repeat(fold.floor, p)
        best, chosen = np.full(n * p, np.inf), np.zeros(n * p, dtype=np.intp)
        residual = np.empty((m, n * p))
        for first, stop in pairwise(self._block_edges(n * p * (m + 2) * 8)):
            block = models[:, first:stop].reshape(p * (stop - first), *models.shape[2:])
            residuals = local_models.anchor_residuals(fold.Z, fold.Y, block)
            errors = local_models.squared_errors(residuals)
            if min(n_near, fold.n_searchable) > 1:
                errors = local_models.summed_errors(errors, *fold.assignment_shares(n_near))
            errors = errors.reshape(n * p, stop - first)
            local_models.choose_again(errors, floor, first, best, chosen)
            new = np.flatnonzero(chosen >= first)
            residuals = residuals.reshape(m, *errors.shape)
            residual[:, new] = residuals[:, new, chosen[new] - first]
            at = self.anchor_counts == stop
            labels[..., at] = chosen.reshape(n, p, 1)
            own[..., at] = residual.reshape(m, n, p, 1)
        labels += k * np.arange(p, dtype=np.int32)[:, None]
        return labels.reshape(n, -1), own.reshape(m, n, -1)

    def _block_edges(self, anchor_bytes: int) -> list[int]:
        """Where blocks of anchors begin and end: at each anchor count, and where they get large."""
        step = max(1, BLOCK_BYTES // anchor_bytes)
        every_step = np.arange(0, self.anchor_counts[-1], step)
        return np.union1d(every_step, self.anchor_counts).tolist()
