"""Anchors of a fold: their models for all penalties, and which anchor each sample chooses."""

import weakref
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..kernels.local import models as local_models
from ..kernels.local.anchors import Moments, ridge_path
from ..models.anchors import Anchors, neighborhoods
from ..runtime.chunks import BLOCK_BYTES, LANES, Scratch, row_chunks, whole_lanes

Array = NDArray[np.float64]


class AnchorSet:
    """Anchors of a fold, of which the first few serve each smaller number of anchors.

    Parameters
    ----------
    fold : their Fold
    place : which values of n_anchors in the grid the set serves
    counts : for each of them how many anchors there really are
    anchors : where they are, or their models given beforehand
    """

    def __init__(self, fold, place: slice, counts, anchors: Anchors):
        # The fold keeps its sets; were they to keep it, both would outlive the search.
        self.fold, self.place, self.models = weakref.proxy(fold), place, anchors.models
        # Increasing numbers of anchors, and which of them is meant by each value in the grid.
        self.counts, self.count_of = np.unique(counts, return_inverse=True)
        self._kept: dict[tuple[int, int, bool], Moments] = {}
        if anchors.models is None:
            n_near = min(max(fold.grid["n_anchor_neighbors"]), fold.n_searchable)
            self.near = fold.neighbors.query(fold.nearness.points(anchors.points), n_near)[1]

    @property
    def assignment_bytes(self) -> int:
        """What labels and residuals of one set of models take."""
        n, m = self.fold.Y.shape
        return n * len(self.counts) * (4 + 8 * m)

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
        fold = self.fold
        return neighborhoods(fold.Z, fold.Y, fold.weights, self.near[chunk, :n_near], n_near)

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

        There are p sets of models, (p, k, d + 1, m), and p times c choices, for the c counts of
        anchors, in groups of eight. What is given is good until the next is.
        """
        (n, m), p, c = self.fold.Y.shape, len(models), len(self.counts)
        n_groups = whole_lanes(p * c) // LANES
        labels = scratch.array("labels", (n_groups, n, LANES), np.int32)
        own = scratch.array("own", (m, n_groups, n, LANES))
        labels[-1], own[:, -1] = 0, 0.0  # what is no choice is looked up as well
        smooth = [self._smooth_assignments(some, assignment_neighbors) for some in models]
        for n_near in assignment_neighbors:
            if n_near == 1:
                self._own_assignments(models, labels, own)
            for i, assigned in enumerate(smooth if n_near > 1 else []):
                by_count, residuals = next(assigned)
                for level in range(c):
                    g, lane = divmod(i * c + level, LANES)
                    labels[g, :, lane] = by_count[level] + i * models.shape[1]
                    own[:, g, :, lane] = residuals[:, level]
            yield labels, own

    def _own_assignments(self, models: Array, labels: NDArray[np.int32], own: Array) -> None:
        """Labels and residuals by each sample's own error."""
        from ..kernels.grid.grid import best_at_levels  # compiled: loaded when needed

        by_target = np.ascontiguousarray(models.transpose(0, 3, 1, 2))
        best_at_levels(*self.fold.samples_in_lanes, by_target, self.counts, labels, own)  # type: ignore[call-arg]

    def _smooth_assignments(
        self, models: Array, assignment_neighbors: list[int]
    ) -> Iterator[tuple[NDArray[np.int32], Array]]:
        """By the errors of each sample's nearest: labels (c, n) and residuals (m, c, n).

        A block of anchors at a time, for all samples.
        """
        from ..kernels.grid.grid import running_best, summed_over  # compiled: loaded when needed

        fold, counts, (n, m) = self.fold, self.counts, self.fold.Y.shape
        several = [n_near for n_near in assignment_neighbors if n_near > 1]
        states = [
            (
                np.full(n, np.inf),
                np.zeros(n, dtype=np.int32),
                np.zeros((n, m)),
                np.empty((len(counts), n), dtype=np.int32),
                np.empty((m, len(counts), n)),
            )
            for _ in several
        ]
        step = max(1, BLOCK_BYTES // (n * 8 * (m + 2)))
        for first in range(0, counts[-1] if several else 0, step):
            block = models[first : min(first + step, counts[-1])]
            residuals = local_models.anchor_residuals(fold.Z, fold.Y, block)
            own_errors = local_models.squared_errors(residuals)
            for n_near, (best, labels, own, *notes) in zip(several, states, strict=True):
                errors = summed_over(own_errors, *fold.assignment_shares(n_near))
                running_best(
                    errors, residuals, first, fold.floor, best, labels, own, counts, *notes
                )
        for *_, out_labels, out_own in states:
            yield out_labels, out_own
