"""Feature spaces: where distances are measured and models live, and the way back to the units.

A space maps X (n, d) to Z (n, d). Models (.., d + 1, m; intercept last) fitted in Z are turned
into models on what users see of it (`regressors`): X where the map is affine, and the ranks in
quantile space, where no models on X exist. `contributions` are per original feature in every space.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A uniform variable on [-√3, √3] has variance 1, as a standardised one has: the same penalties
# mean the same in both spaces.
HALF_WIDTH = np.sqrt(3.0)
# A deviation that is this part of the values, or less, is their rounding.
ROUNDING = 10 * np.finfo(float).eps
# Outside the seen values the ranks go on as they do over this outermost share of them.
TAIL = 0.25

BLOCK = 8192


def fit_space(scaling: str | None, X: Array, weights: Array | None) -> "Space":
    """The feature space that the word names, learned from the rows of X that have weight."""
    if scaling is None:
        return AffineSpace(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    if weights is not None:
        X, weights = X[weights > 0], weights[weights > 0]
    if scaling == "standard":
        return standard_space(X, weights)
    return quantile_space(X, weights)


def space_from_arrays(**arrays: NDArray) -> "Space":
    """The space whose `arrays` these are."""
    if "multipliers" in arrays:
        multipliers = arrays.pop("multipliers")
        return WeightedSpace(space_from_arrays(**arrays), multipliers)
    return AffineSpace(**arrays) if "shift" in arrays else QuantileSpace(**arrays)


def same_space(one: "Space", other: "Space") -> bool:
    """Whether two spaces are equal to the last digit."""
    if one is other:
        return True
    here, there = one.arrays(), other.arrays()
    return here.keys() == there.keys() and all(np.array_equal(here[k], there[k]) for k in here)


def standard_space(X: Array, weights: Array | None) -> "AffineSpace":
    """Mean 0 and variance 1 a feature, as scikit-learn's StandardScaler."""
    weights = np.ones(len(X)) if weights is None else weights
    # Relative to the first row, so that a large common offset costs no precision.
    mean = X[0] + _weighted_mean(lambda x: x - X[0], X, weights)
    scale = np.sqrt(_weighted_mean(lambda x: (x - mean) ** 2, X, weights))
    return AffineSpace(mean, np.where(scale <= ROUNDING * np.abs(mean), 1.0, scale))


def _weighted_mean(term, X: Array, weights: Array) -> Array:
    """Weighted mean of term(x) over the rows, a block at a time to spare memory."""
    blocks = range(0, len(X), BLOCK)
    sums = [weights[i : i + BLOCK] @ term(X[i : i + BLOCK]) for i in blocks]
    return np.sum(sums, axis=0) / weights.sum()


class AffineSpace:
    """z = (x − shift) / scale, feature by feature."""

    has_units = True

    def __init__(self, shift: Array, scale: Array):
        self.shift = shift
        self.scale = scale

    def transform(self, X: Array) -> Array:
        """X in this space; X itself where the space is that of the units."""
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
        """Whether the space is that of the user's units."""
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
        """What the coefficients that a user sees multiply."""
        return X

    def from_regressors(self, regressors: Array) -> Array:
        """The inputs that have these regressors."""
        return regressors

    def arrays(self) -> dict[str, NDArray]:
        """What defines the space, for a file."""
        return {"shift": self.shift, "scale": self.scale}


def quantile_space(X: Array, weights: Array | None) -> "QuantileSpace":
    """Each feature's empirical distribution made uniform."""
    weights = np.ones(len(X)) if weights is None else weights
    knots, heights = [], []
    for column in X.T:
        values, inverse = np.unique(column, return_inverse=True)
        mass = np.bincount(inverse, weights=weights)
        # The middle of the step that a value makes in the distribution function.
        rank = (np.cumsum(mass) - mass / 2) / weights.sum()
        knots.append(values)
        heights.append(HALF_WIDTH * (2 * rank - 1))
    sizes = np.array([len(values) for values in knots])
    return QuantileSpace(np.concatenate(knots), np.concatenate(heights), sizes)


class QuantileSpace:
    """Feature by feature a piecewise linear map from the seen values to their uniform ranks.

    Outside the seen range it goes on with the slope of the outermost ranks, so that a model that is
    linear in Z extrapolates linearly in X, and in a long tail as slowly as the tail goes. Where
    many samples share the last value, that slope says nothing: it is never above the average one.
    A feature with one seen value is constant everywhere.
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
            back = np.divide(1.0, slopes, out=np.zeros(2), where=slopes > 0)
            X[:, j] = _interpolate(Z[:, j], ranks, values, back)
        return X

    def models_to_units(self, models: Array) -> Array:
        """Models on Z, which have no equal in units."""
        return models

    def models_from_units(self, models: Array) -> Array:
        """Models on Z, as `models_to_units` gives them."""
        return models

    def regressors(self, X: Array) -> Array:
        """What the coefficients that a user sees multiply."""
        return self.transform(X)

    def from_regressors(self, regressors: Array) -> Array:
        """The inputs that have these regressors."""
        return self.inverse(regressors)

    def arrays(self) -> dict[str, NDArray]:
        """What defines the space, for a file."""
        return {"knots": self.knots, "heights": self.heights, "sizes": self.sizes}

    @cached_property
    def _slopes(self) -> Array:
        """Of each feature's map below and above the seen values, (d, 2)."""
        return np.array([_outer_slopes(values, ranks) for values, ranks in self._features()])

    def _features(self):
        edges = np.cumsum(self.sizes)[:-1]
        return zip(np.split(self.knots, edges), np.split(self.heights, edges), strict=True)


class WeightedSpace:
    """Another space with each feature multiplied by a positive number.

    A penalty then weighs the heavier on a feature, the smaller its number is. Users see models and
    regressors of the other space.
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
        """Models on Z as the other space gives them to users."""
        return self.base.models_to_units(models * self._with_intercept)

    def models_from_units(self, models: Array) -> Array:
        """The way back."""
        return self.base.models_from_units(models) / self._with_intercept

    def regressors(self, X: Array) -> Array:
        """What the coefficients that a user sees multiply."""
        return self.base.regressors(X)

    def from_regressors(self, regressors: Array) -> Array:
        """The inputs that have these regressors."""
        return self.base.from_regressors(regressors)

    def arrays(self) -> dict[str, NDArray]:
        """What defines the space, for a file."""
        return {**self.base.arrays(), "multipliers": self.multipliers}

    @property
    def _with_intercept(self) -> Array:
        return np.append(self.multipliers, 1.0)[:, None]


Space = AffineSpace | QuantileSpace | WeightedSpace


def _outer_slopes(values: Array, ranks: Array) -> Array:
    """Slopes with which ranks go on below and above the values; 0 where there is one value."""
    width, height = values[-1] - values[0], ranks[-1] - ranks[0]
    if not width > 0:
        return np.zeros(2)
    inner = np.interp([ranks[0] + TAIL * height, ranks[-1] - TAIL * height], ranks, values)
    tails = np.array([inner[0] - values[0], values[-1] - inner[1]])
    return height / np.maximum(tails / TAIL, width)


def _interpolate(x: Array, knots: Array, heights: Array, slopes: Array) -> Array:
    """Piecewise linear through the knots, continued below and above with the slopes."""
    below, above = np.minimum(x - knots[0], 0.0), np.maximum(x - knots[-1], 0.0)
    return np.interp(x, knots, heights) + slopes[0] * below + slopes[1] * above
