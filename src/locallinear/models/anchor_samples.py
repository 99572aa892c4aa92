"""The samples that shaped each anchor, kept after the fit so that their influence can be told."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.local.smoother import anchor_map
from ..runtime.chunks import BLOCK_BYTES
from .samples import Samples

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class AnchorSamples:
    """The neighbourhoods that k ridge anchors were fitted on.

    Attributes
    ----------
    numbers : int32 array (k, K)
        The samples, as users number them; -1 for one that is forgotten.
    weights : array (k, K) or None
        How much each counted; 0 for padding. None where all counted once.
    alpha : float
        The penalty of the fit.
    fit_intercept : bool
    """

    numbers: NDArray[np.int32]
    weights: Array | None
    alpha: float
    fit_intercept: bool

    @classmethod
    def of_fit(cls, parameters: Any, near: Rows, counted: Array) -> "AnchorSamples | None":
        """What a fit notes; None where its anchors are no linear function of the targets.

        Parameters
        ----------
        parameters : of the estimator
        near, counted : (k, K) numbers of the samples around the anchors, and how much each counted
        """
        if parameters.anchor_alpha != 0 and parameters.anchor_l1_ratio != 0:
            return None
        return cls(
            near.astype(np.int32),
            None if (counted == 1).all() else counted,
            float(parameters.anchor_alpha),
            bool(parameters.fit_intercept),
        )

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Which anchors were shaped by samples that are forgotten, (k,)."""
        counted = True if self.weights is None else self.weights > 0
        return np.any((self.numbers < 0) & counted, axis=1)

    def of(self, anchor: int) -> tuple[Rows, Array]:
        """The samples that shaped an anchor, none of which is forgotten, and their weights."""
        numbers = self.numbers[anchor].astype(np.intp)
        if self.weights is None:
            return numbers, np.ones(len(numbers))
        counted = self.weights[anchor] > 0
        return numbers[counted], self.weights[anchor, counted]

    def without(self, gone: Rows) -> "AnchorSamples":
        """The same after the samples with these numbers, in ascending order, are forgotten."""
        moved = self.numbers - np.searchsorted(gone, self.numbers).astype(np.int32)
        moved[np.isin(self.numbers, gone) | (self.numbers < 0)] = -1
        return replace(self, numbers=moved)

    def arrays(self) -> dict[str, Any]:
        """What a file holds."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_arrays(cls, k: int, n: int, **arrays: Any) -> "AnchorSamples":
        """What `arrays` described, of k anchors and n samples; refused where it cannot be that."""
        found = cls(**{"weights": None} | arrays)
        numbers, weights = found.numbers, found.weights
        fits = (
            numbers.dtype == np.int32
            and numbers.ndim == 2
            and len(numbers) == k
            and numbers.shape[1] > 0
            and bool(((numbers >= -1) & (numbers < n)).all())
            and (weights is None or _are_weights(weights, numbers.shape))
            and isinstance(found.alpha, float)
            and 0 <= found.alpha < np.inf
            and isinstance(found.fit_intercept, bool)
        )
        if not fits:
            raise ValueError("its arrays do not fit each other")
        return found


def _are_weights(weights: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array from a file has weights, and each anchor some weight."""
    if weights.dtype != np.float64 or weights.shape != shape:
        return False
    return bool((weights >= 0).all() and np.isfinite(weights).all() and weights.any(axis=1).all())


class AnchorMaps(dict[int, Array]):
    """M_l of the anchors that are asked for: computed on demand, kept while they are small."""

    def __init__(self, sets: AnchorSamples, samples: Samples):
        self._sets, self._samples, self._bytes = sets, samples, 0
        self.n_anchors = len(sets.numbers)
        self.lost = set(np.flatnonzero(sets.lost).tolist())

    def shaped_by(self, anchor: int) -> Rows:
        """The numbers of the samples that the columns of the anchor's map stand for."""
        return self._sets.of(anchor)[0]

    def __missing__(self, anchor: int) -> Array:
        numbers, weights = self._sets.of(anchor)
        inputs = self._samples["Z"][self._samples.rows(numbers)]
        found = anchor_map(inputs, weights, self._sets.alpha, self._sets.fit_intercept)
        if self._bytes + found.nbytes <= BLOCK_BYTES:
            self._bytes += found.nbytes
            self[anchor] = found
        return found
