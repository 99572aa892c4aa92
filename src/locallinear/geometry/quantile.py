"""The feature space of ranks: each feature's empirical distribution made uniform."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray as Array
from ..arrays import (
    at,
    cumulative_sum,
    flat_nonzero,
    interpolate,
    is_numpy,
    moved,
    namespace,
    precision,
    to_numpy,
)
from ..checks.inputs import check_reachable

# A uniform variable on [-√3, √3] has variance 1, like a standardised one, so that a penalty means
# the same in both spaces.
HALF_WIDTH = float(np.sqrt(3.0))
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
    features = [distribution(X[:, j], weights) for j in range(X.shape[1])]
    return space_of_distributions(features, namespace(X).sum(weights), indicators)


def distribution(values: Array, weights: Array) -> tuple[Array, NDArray]:
    """The distinct values in ascending order, and the total weight of each."""
    if is_numpy(values):
        distinct, inverse = np.unique(values, return_inverse=True)
        return distinct, np.bincount(inverse, weights=weights)
    xp = namespace(values)
    order = xp.argsort(values)
    ordered, total = at(values, order), cumulative_sum(at(weights, order), axis=0)
    is_last = xp.concat([ordered[1:] != ordered[:-1], xp.ones_like(ordered[:1], dtype=xp.bool)])
    total = at(total, flat_nonzero(is_last))
    return ordered[is_last], xp.concat([total[:1], total[1:] - total[:-1]])


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
        rank = (cumulative_sum(mass, axis=0) - mass / 2) / total_weight
        knots.append(values)
        if j in kept:
            heights.append(values - namespace(values).sum(mass * values) / total_weight)
        else:
            heights.append(HALF_WIDTH * (2 * rank - 1))
    sizes = np.array([values.shape[0] for values in knots])
    xp = namespace(knots[0])
    return QuantileSpace(xp.concat(knots), xp.concat(heights), sizes)


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
        Z = namespace(X).empty_like(X)
        for j, (values, ranks, slopes) in enumerate(self.features()):
            Z[:, j] = _interpolate(X[:, j], values, ranks, slopes)
        check_reachable(Z)
        return Z

    def inverse(self, Z: Array) -> Array:
        """Points of this space in the user's units."""
        X = namespace(Z).empty_like(Z)
        for j, (values, ranks, slopes) in enumerate(self.features()):
            inverse_slopes = np.divide(1.0, slopes, out=np.zeros(2), where=slopes > 0)
            X[:, j] = _interpolate(_snapped(Z[:, j], ranks), ranks, values, inverse_slopes)
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
        xp, Z = namespace(X), self.transform(X)
        width = self.inverse(Z + REACH) - self.inverse(Z - REACH)
        varies = moved(self.sizes > 1, X) & (width > 0)
        return xp.where(varies, 2 * REACH / xp.where(varies, width, 1.0), 0.0)

    def arrays(self) -> dict[str, NDArray]:
        """The arrays that define the space, for a file."""
        knots, heights = to_numpy(self.knots), to_numpy(self.heights)
        return {"knots": knots, "heights": heights, "sizes": self.sizes}

    def moved(self, like: Array) -> "QuantileSpace":
        """The same space for arrays of the kind of `like`, and on its device."""
        return QuantileSpace(moved(self.knots, like), moved(self.heights, like), self.sizes)

    @cached_property
    def _slopes(self) -> NDArray[np.float64]:
        """Slopes of each feature's map below and above the training range, (d, 2)."""
        return np.array([_outer_slopes(values, ranks) for values, ranks in self._knots()])

    def features(self) -> Iterator[tuple[Array, Array, NDArray[np.float64]]]:
        """Each feature's training values, their ranks, and the slopes (2,) below and above."""
        for (values, ranks), slopes in zip(self._knots(), self._slopes, strict=True):
            yield values, ranks, slopes

    def _knots(self) -> Iterator[tuple[Array, Array]]:
        """The training values of each feature and their ranks."""
        stop = 0
        for size in self.sizes.tolist():
            start, stop = stop, stop + size
            yield self.knots[start:stop], self.heights[start:stop]


def _outer_slopes(values: Array, ranks: Array) -> NDArray[np.float64]:
    """Slopes of the map below and above the values, (2,); 0 if there is only one value."""
    xp = namespace(values)
    width, height = float(values[-1] - values[0]), float(ranks[-1] - ranks[0])
    if not width > 0:
        return np.zeros(2)
    quarters = xp.stack([ranks[0] + TAIL * height, ranks[-1] - TAIL * height])
    inner = interpolate(quarters, ranks, values)
    tails = np.array([float(inner[0] - values[0]), float(values[-1] - inner[1])])
    return height / np.maximum(tails / TAIL, width)


def _snapped(z: Array, ranks: Array) -> Array:
    """Z (q,), and the rank itself where z is one up to rounding: its value then is exact.

    Next to a gap of many decades, the rounding of a rank would be larger than a small value.
    """
    xp, rounding = namespace(z), 4 * HALF_WIDTH * precision(z)
    first = xp.searchsorted(ranks, z - rounding)
    nearest = at(ranks, xp.clip(first, None, ranks.shape[0] - 1))
    return xp.where(xp.abs(z - nearest) <= rounding, nearest, z)


def _interpolate(x: Array, knots: Array, heights: Array, slopes: NDArray[np.float64]) -> Array:
    """The piecewise linear function through the knots, continued below and above by slopes (2,)."""
    xp = namespace(x)
    below, above = xp.clip(x - knots[0], None, 0.0), xp.clip(x - knots[-1], 0.0, None)
    before, after = slopes.tolist()
    return interpolate(x, knots, heights) + before * below + after * above
