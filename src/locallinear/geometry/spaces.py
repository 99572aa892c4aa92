"""Feature spaces: where distances are measured and models are fitted, and the way back to units.

A space maps X (n, d) to Z (n, d). Models on Z, with shape (.., d + 1, m) and the intercept last,
become models on what users see (`regressors`). That is X where the map is affine. In quantile space
no linear models on X exist, and users see models on the ranks. `contributions` are per original
feature in every space.
"""

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A uniform variable on [-√3, √3] has variance 1, like a standardised one, so that a penalty means
# the same in both spaces.
HALF_WIDTH = np.sqrt(3.0)
# A deviation of at most this part of the values is rounding.
ROUNDING = 10 * np.finfo(float).eps
# Outside the range of the training values, the map continues with its slope over this outermost
# share of the ranks.
TAIL = 0.25
# Rows per block of a sum, to save memory.
BLOCK = 8192


def fit_space(scaling: str | None, X: Array, weights: Array | None) -> "Space":
    """The feature space of `scaling`, fitted on the rows of X with positive weight."""
    if scaling is None:
        return AffineSpace(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    return standard_space(X, weights) if scaling == "standard" else quantile_space(X, weights)


def space_from_arrays(**arrays: NDArray) -> "Space":
    """The space that `arrays` of a space described."""
    if "multipliers" in arrays:
        multipliers = arrays.pop("multipliers")
        return WeightedSpace(space_from_arrays(**arrays), multipliers)
    return AffineSpace(**arrays) if "shift" in arrays else QuantileSpace(**arrays)


def same_space(one: "Space", other: "Space") -> bool:
    """Whether two spaces are equal to the last digit."""
    if one is other:
        return True
    a, b = one.arrays(), other.arrays()
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def standard_space(X: Array, weights: Array | None) -> "AffineSpace":
    """The space where each feature has mean 0 and variance 1, as in scikit-learn's StandardScaler.

    Rows without weight do not count.
    """
    origin, mean, scale = _moments(X, weights)
    return AffineSpace(origin + mean, scale)


def standardised(X: Array, weights: Array | None) -> tuple[Array, Array]:
    """X with mean 0 and variance 1 per column, and the standard deviations (1 for a constant).

    Rows without weight do not count. Subtracting in two steps keeps all digits below a large common
    offset. So the values depend on the order of the rows in their last digits only.
    """
    origin, mean, scale = _moments(X, weights)
    Z = X - origin
    Z -= mean
    Z /= scale
    return Z, scale


def _moments(X: Array, weights: Array | None) -> tuple[Array, Array, Array]:
    """A row of X, the columns' means minus this row, and their standard deviations, all (d,).

    Means are relative to a row so that a large common offset costs no precision. The deviation of
    a constant column is 1.
    """
    X, weights = _rows_with_weight(X, weights)
    origin = X[0]
    mean = _weighted_mean(lambda x: x - origin, X, weights)
    scale = np.sqrt(_weighted_mean(lambda x: (x - origin - mean) ** 2, X, weights))
    return origin, mean, np.where(scale <= ROUNDING * np.abs(origin + mean), 1.0, scale)


def _rows_with_weight(X: Array, weights: Array | None) -> tuple[Array, Array]:
    """The rows with positive weight and their weights, which are ones where none are given."""
    if weights is None:
        return X, np.ones(len(X))
    return X[weights > 0], weights[weights > 0]


def _weighted_mean(term: Callable[[Array], Array], X: Array, weights: Array) -> Array:
    """Weighted mean of term(x) over the rows, computed in blocks to save memory."""
    blocks = range(0, len(X), BLOCK)
    sums = [weights[i : i + BLOCK] @ term(X[i : i + BLOCK]) for i in blocks]
    return np.sum(sums, axis=0) / weights.sum()


class AffineSpace:
    """z = (x − shift) / scale, for each feature."""

    has_units = True

    def __init__(self, shift: Array, scale: Array):
        self.shift = shift
        self.scale = scale

    def transform(self, X: Array) -> Array:
        """X in this space; X itself, not a copy, where the map is the identity."""
        if self.is_identity:
            return X
        Z = X - self.shift
        Z /= self.scale
        return Z

    def inverse(self, Z: Array) -> Array:
        """Points of this space in the user's units."""
        return Z * self.scale + self.shift

    @property
    def is_identity(self) -> bool:
        """Whether the map changes nothing."""
        return not self.shift.any() and bool((self.scale == 1).all())

    def models_to_units(self, models: Array) -> Array:
        """Models on Z as models on X."""
        coef = models[..., :-1, :] / self.scale[:, None]
        intercept = models[..., -1:, :] - (self.shift[:, None] * coef).sum(-2, keepdims=True)
        return np.concatenate([coef, intercept], axis=-2)

    def models_from_units(self, models: Array) -> Array:
        """Models on X as models on Z."""
        coef = models[..., :-1, :]
        intercept = models[..., -1:, :] + (self.shift[:, None] * coef).sum(-2, keepdims=True)
        return np.concatenate([coef * self.scale[:, None], intercept], axis=-2)

    def regressors(self, X: Array) -> Array:
        """The values that the coefficients of users' models multiply."""
        return X

    def from_regressors(self, regressors: Array) -> Array:
        """The inputs X that have these regressors."""
        return regressors

    def arrays(self) -> dict[str, NDArray]:
        """The arrays that define the space, for a file."""
        return {"shift": self.shift, "scale": self.scale}


def quantile_space(X: Array, weights: Array | None) -> "QuantileSpace":
    """The space that makes the empirical distribution of each feature uniform.

    Rows without weight do not count.
    """
    X, weights = _rows_with_weight(X, weights)
    knots, heights = [], []
    for column in X.T:
        values, inverse = np.unique(column, return_inverse=True)
        mass = np.bincount(inverse, weights=weights)
        # The middle of the step of the distribution function at each value.
        rank = (np.cumsum(mass) - mass / 2) / weights.sum()
        knots.append(values)
        heights.append(HALF_WIDTH * (2 * rank - 1))
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


class WeightedSpace:
    """Another space, the base, with each feature multiplied by a positive number.

    The smaller the number, the more a penalty reduces the coefficient of the feature. Users see the
    models and regressors of the base.
    """

    def __init__(self, base: "Space", multipliers: Array):
        self.base = base
        self.multipliers = multipliers
        self.has_units: bool = base.has_units

    def transform(self, X: Array) -> Array:
        """X in this space."""
        return self.base.transform(X) * self.multipliers

    def inverse(self, Z: Array) -> Array:
        """Points of this space in the user's units."""
        return self.base.inverse(Z / self.multipliers)

    def models_to_units(self, models: Array) -> Array:
        """Models on Z as models that users of the base see."""
        return self.base.models_to_units(models * self._with_intercept)

    def models_from_units(self, models: Array) -> Array:
        """Models that users of the base see as models on Z."""
        return self.base.models_from_units(models) / self._with_intercept

    def regressors(self, X: Array) -> Array:
        """The values that the coefficients of users' models multiply."""
        return self.base.regressors(X)

    def from_regressors(self, regressors: Array) -> Array:
        """The inputs X that have these regressors."""
        return self.base.from_regressors(regressors)

    def arrays(self) -> dict[str, NDArray]:
        """The arrays that define the space, for a file."""
        return {**self.base.arrays(), "multipliers": self.multipliers}

    @property
    def _with_intercept(self) -> Array:
        """Multipliers of a model's rows, (d + 1, 1): 1 for the intercept."""
        return np.append(self.multipliers, 1.0)[:, None]


Space = AffineSpace | QuantileSpace | WeightedSpace


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
