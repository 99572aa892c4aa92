"""The feature space of ranks: each feature's empirical distribution made uniform."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A uniform variable on [-√3, √3] has variance 1, like a standardised one, so that a penalty means
# the same in both spaces.
HALF_WIDTH = np.sqrt(3.0)
# Slopes are taken over so many ranks on both sides: the nearest six of a hundred samples.
REACH = 0.1
# Outside the range of the training values, the map continues with its slope over this outermost
# share of the ranks.
TAIL = 0.25


def quantile_space(
    X: Array, weights: Array, indicators: NDArray[np.intp] | None = None
) -> "QuantileSpace":
    """The space that makes the empirical distribution of each feature uniform.

    Parameters
    ----------
    X, weights : (n, d) and (n,), positive
    indicators : numbers of the features that are centred and keep their distances
    """
    found = [distribution(x, weights) for x in X.T]
    return space_of_distributions(found, weights.sum(), indicators)


def distribution(values: Array, weights: Array) -> tuple[Array, NDArray]:
    """The distinct values in ascending order, and the total weight of each."""
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct, np.bincount(inverse, weights=weights)


def space_of_distributions(
    distributions: Sequence[tuple[Array, NDArray]],
    total_weight: float,
    indicators: NDArray[np.intp] | None = None,
) -> "QuantileSpace":
    """The space that makes these distributions of the features uniform, but for indicators."""
    knots, heights = [], []
    kept = set() if indicators is None else set(indicators.tolist())
    for j, (values, mass) in enumerate(distributions):
        # The middle of the step of the distribution function at each value.
        rank = (np.cumsum(mass) - mass / 2) / total_weight
        knots.append(values)
        centred = values - mass @ values / total_weight
        heights.append(centred if j in kept else HALF_WIDTH * (2 * rank - 1))
    sizes = np.array([len(values) for values in knots])
    return QuantileSpace(np.concatenate(knots), np.concatenate(heights), sizes)


class QuantileSpace:
    """For each feature a piecewise linear map from the training values to their uniform ranks.

    Outside the training range the map continues with the slope of the outermost ranks, so that a
    model that is linear in Z extrapolates linearly in X, and slowly where the tail is long. If many
    samples share the outermost value, that slope would be too steep: it is at most the average
    slope. A feature with a single training value is constant everywhere.

    Parameters
    ----------
    knots, heights : distinct training values of all features, one feature after the other, and
        their ranks
    sizes : (d,) number of knots per feature
    """

    has_units = False

    def __init__(self, knots: Array, heights: Array, sizes: NDArray[np.intp]):
        self.knots = knots
        self.heights = heights
        self.sizes = sizes

    def transform(self, X: Array) -> Array:
        """X in this space."""
        Z = np.empty_like(X)
        for j, (values, ranks) in enumerate(self._features()):
            Z[:, j] = _interpolate(X[:, j], values, ranks, self._slopes[j])
        return Z

    def inverse(self, Z: Array) -> Array:
        """Points of this space in the user's units."""
        X = np.empty_like(Z)
        for j, (values, ranks) in enumerate(self._features()):
            slopes = self._slopes[j]
            inverse_slopes = np.divide(1.0, slopes, out=np.zeros(2), where=slopes > 0)
            X[:, j] = _interpolate(Z[:, j], ranks, values, inverse_slopes)
        return X

    def models_to_units(self, models: Array) -> Array:
        """Models on Z, unchanged: no linear models in units are equal to them."""
        return models

    def models_from_units(self, models: Array) -> Array:
        """Models on Z, unchanged, as in `models_to_units`."""
        return models

    def regressors(self, X: Array) -> Array:
        """The values that the coefficients of users' models multiply."""
        return self.transform(X)

    def from_regressors(self, regressors: Array) -> Array:
        """The inputs X that have these regressors."""
        return self.inverse(regressors)

    def slopes(self, X: Array) -> Array:
        """How fast the ranks change with X, (q, d): over a stretch of `REACH` ranks on both sides.

        The map has a kink at every training value, and between two of them its derivative hangs on
        their gap, which is chance where values are continuous. Over the stretch it is steady.
        """
        out = np.zeros_like(X)
        Z = self.transform(X)
        width = self.inverse(Z + REACH) - self.inverse(Z - REACH)
        np.divide(2 * REACH, width, out=out, where=(self.sizes > 1) & (width > 0))
        return out

    def arrays(self) -> dict[str, NDArray]:
        """The arrays that define the space, for a file."""
        return {"knots": self.knots, "heights": self.heights, "sizes": self.sizes}

    @cached_property
    def _slopes(self) -> Array:
        """Slopes of each feature's map below and above the training range, (d, 2)."""
        return np.array([_outer_slopes(values, ranks) for values, ranks in self._features()])

    def _features(self) -> Iterator[tuple[Array, Array]]:
        """The training values of each feature and their ranks."""
        edges = np.cumsum(self.sizes)[:-1]
        return zip(np.split(self.knots, edges), np.split(self.heights, edges), strict=True)


def _outer_slopes(values: Array, ranks: Array) -> Array:
    """Slopes of the map below and above the values, (2,); 0 if there is only one value."""
    width, height = values[-1] - values[0], ranks[-1] - ranks[0]
    if not width > 0:
        return np.zeros(2)
    inner = np.interp([ranks[0] + TAIL * height, ranks[-1] - TAIL * height], ranks, values)
    tails = np.array([inner[0] - values[0], values[-1] - inner[1]])
    return height / np.maximum(tails / TAIL, width)


def _interpolate(x: Array, knots: Array, heights: Array, slopes: Array) -> Array:
    """The piecewise linear function through the knots, continued below and above by slopes (2,)."""
    below, above = np.minimum(x - knots[0], 0.0), np.maximum(x - knots[-1], 0.0)
    return np.interp(x, knots, heights) + slopes[0] * below + slopes[1] * above
