"""Feature spaces: where distances are measured and models are fitted, and the way back to units.

A space maps X (n, d) to Z (n, d). Models on Z have shape (.., d + 1, m), with the intercept last.
Users see them as models on the `regressors` of the space: X itself where the map is affine, and the
ranks in quantile space, because no linear models on X are equal to those. Contributions are per
original feature in every space.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray as Array
from ..arrays import is_numpy, moved, namespace, precision, to_numpy
from .quantile import QuantileSpace, quantile_space

# A function of inputs, row by row, and one that averages such a function over all samples.
Term = Callable[[Array], Array]
MeanOf = Callable[[Term], Array]

# A deviation of at most this part of the values is rounding.
ROUNDING = 10 * np.finfo(float).eps
# Rows per block of a sum, to save memory; on a device, where starting a sum costs more.
BLOCK, DEVICE_BLOCK = 8192, 2**20


def fit_space(
    scaling: str | None,
    X: Array,
    weights: Array | None,
    indicators: NDArray[np.intp] | None = None,
) -> "Space":
    """The feature space of `scaling`, fitted on the rows of X with positive weight.

    Features that are `indicators`, 0 or 1, are centred and not scaled. Two values of a scaled
    feature differ by 2 on average, as a square, and so do two categories with a feature each.
    """
    if scaling is None:
        xp, row = namespace(X), X[0, ...]
        return AffineSpace(xp.zeros_like(row), xp.ones_like(row))
    if scaling == "standard":
        space = standard_space(X, weights)
        if indicators is not None:
            space.scale[indicators] = 1.0
        return space
    return quantile_space(*_rows_with_weight(X, weights), indicators)


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
    return a.keys() == b.keys() and all(
        np.array_equal(to_numpy(a[name]), to_numpy(b[name])) for name in a
    )


def standard_space(X: Array, weights: Array | None) -> "AffineSpace":
    """The space where each feature has mean 0 and variance 1, as in scikit-learn's StandardScaler.

    Rows without weight do not count.
    """
    origin, mean, scale = _moments(X, weights)
    return AffineSpace(origin + mean, scale)


def space_of_means(origin: Array, mean_of: MeanOf) -> "AffineSpace":
    """The standard space of samples that are in several places.

    Parameters
    ----------
    origin : (d,) the first sample with weight
    mean_of : the weighted mean, over all samples, of a function of their inputs
    """
    mean, scale = _mean_and_scale(origin, mean_of)
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

    def mean_of(term: Term) -> Array:
        return mean_of_blocks(block_sums(term, X, weights), namespace(X).sum(weights))

    return X[0, ...], *_mean_and_scale(X[0, ...], mean_of)


def _mean_and_scale(origin: Array, mean_of: MeanOf) -> tuple[Array, Array]:
    """Means minus the origin and standard deviations, as for `_moments`."""
    mean = mean_of(partial(_offsets, origin))
    xp = namespace(origin)
    scale = xp.sqrt(mean_of(partial(_squared_offsets, origin, mean)))
    return mean, xp.where(scale <= 10 * precision(scale) * xp.abs(origin + mean), 1.0, scale)


def _offsets(origin: Array, x: Array) -> Array:
    return x - origin


def _squared_offsets(origin: Array, mean: Array, x: Array) -> Array:
    return (x - origin - mean) ** 2


def _rows_with_weight(X: Array, weights: Array | None) -> tuple[Array, Array]:
    """The rows with positive weight and their weights, which are ones where none are given."""
    if weights is None:
        return X, namespace(X).ones_like(X[:, 0])
    return X[weights > 0], weights[weights > 0]


def block_sums(term: Term, X: Array, weights: Array) -> list[Array]:
    """Weighted sums of term(x) over each block of rows: blocks save memory."""
    n, step = X.shape[0], BLOCK if is_numpy(X) else DEVICE_BLOCK
    blocks = [slice(i, min(i + step, n)) for i in range(0, n, step)]
    return [weights[block] @ term(X[block, ...]) for block in blocks]


def mean_of_blocks(sums: list[Array], total_weight: float) -> Array:
    """The weighted mean over all rows, from the sums of their blocks in order."""
    xp = namespace(sums[0])
    return xp.sum(xp.stack(sums), axis=0) / total_weight


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
        xp = namespace(self.shift)
        return bool(xp.all(self.shift == 0)) and bool(xp.all(self.scale == 1))

    def models_to_units(self, models: Array) -> Array:
        """Models on Z as models on X."""
        xp = namespace(models)
        coef = models[..., :-1, :] / self.scale[:, None]
        moves = xp.sum(self.shift[:, None] * coef, axis=-2, keepdims=True)
        return xp.concat([coef, models[..., -1:, :] - moves], axis=-2)

    def models_from_units(self, models: Array) -> Array:
        """Models on X as models on Z."""
        xp, coef = namespace(models), models[..., :-1, :]
        moves = xp.sum(self.shift[:, None] * coef, axis=-2, keepdims=True)
        intercept = models[..., -1:, :] + moves
        return xp.concat([coef * self.scale[:, None], intercept], axis=-2)

    def regressors(self, X: Array) -> Array:
        """The values that the coefficients of users' models multiply."""
        return X

    def from_regressors(self, regressors: Array) -> Array:
        """The inputs X that have these regressors."""
        return regressors

    def slopes(self, X: Array) -> Array:
        """How fast the regressors change with X, (q, d): they are X."""
        return namespace(X).ones_like(X)

    def arrays(self) -> dict[str, NDArray]:
        """The arrays that define the space, for a file."""
        return {"shift": to_numpy(self.shift), "scale": to_numpy(self.scale)}

    def moved(self, like: Array) -> "AffineSpace":
        """The same space for arrays of the kind of `like`, and on its device."""
        return AffineSpace(moved(self.shift, like), moved(self.scale, like))


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
        return self.base.models_to_units(models * self._row_multipliers)

    def models_from_units(self, models: Array) -> Array:
        """Models that users of the base see as models on Z."""
        return self.base.models_from_units(models) / self._row_multipliers

    def regressors(self, X: Array) -> Array:
        """The values that the coefficients of users' models multiply."""
        return self.base.regressors(X)

    def from_regressors(self, regressors: Array) -> Array:
        """The inputs X that have these regressors."""
        return self.base.from_regressors(regressors)

    def slopes(self, X: Array) -> Array:
        """How fast the regressors change with X, (q, d)."""
        return self.base.slopes(X)

    def arrays(self) -> dict[str, NDArray]:
        """The arrays that define the space, for a file."""
        return {**self.base.arrays(), "multipliers": to_numpy(self.multipliers)}

    def moved(self, like: Array) -> "WeightedSpace":
        """The same space for arrays of the kind of `like`, and on its device."""
        return WeightedSpace(self.base.moved(like), moved(self.multipliers, like))

    @property
    def _row_multipliers(self) -> Array:
        """Multipliers of a model's rows, (d + 1, 1): 1 for the intercept."""
        xp = namespace(self.multipliers)
        return xp.concat([self.multipliers, xp.ones_like(self.multipliers[:1])])[:, None]


Space = AffineSpace | QuantileSpace | WeightedSpace
