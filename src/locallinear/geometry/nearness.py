"""How near is measured: what "euclidean", "learned" and the trees' neighbourhoods are.

A nearness says where inputs are for the search (`points`), makes the structure that searches them
(`index`), and how much each feature decides (`feature_weights`). It is fitted once, with the
feature space that the models live in; samples that come later change neither.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .forest import Forest, LeafNeighbors
from .metric import learn_metric
from .neighbors import Neighbors
from .spaces import Space, WeightedSpace, fit_space
from .trees import GROWERS

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Distance:
    """The Euclidean distance between some features, each multiplied with a number.

    `features` (d',) and `multipliers` (d',) may be None for all and none. `feature_weights` (d,)
    says how much each feature counts, in standard deviations and as parts of one; None for all
    alike.
    """

    features: Rows | None = None
    multipliers: Array | None = None
    feature_weights: Array | None = None

    def points(self, Z: Array) -> Array:
        """Where inputs Z are for the neighbour search."""
        points = Z if self.features is None else Z[:, self.features]
        return points if self.multipliers is None else points * self.multipliers

    def index(self, points: Array, searchable: Mask | None, n_jobs) -> Neighbors:
        """What finds neighbours among points."""
        return Neighbors(points, searchable, n_jobs)

    def fits(self, d: int) -> bool:
        """Whether this can be a distance in d features; a file may say anything."""
        features = np.arange(d) if self.features is None else self.features
        if (
            features.ndim != 1
            or features.dtype.kind != "i"
            or not np.isin(features, np.arange(d)).all()
        ):
            return False
        multipliers, feature_weights = self.multipliers, self.feature_weights
        return (multipliers is None or multipliers.shape == features.shape) and (
            feature_weights is None or feature_weights.shape == (d,)
        )

    def arrays(self) -> dict[str, NDArray]:
        """What a file holds of the distance."""
        return {name: value for name, value in vars(self).items() if value is not None}


Nearness = Distance | Forest
Index = Neighbors | LeafNeighbors


def fit_geometry(
    neighborhood: str,
    scaling: str | None,
    X: Array,
    Y: Array,
    weights: Array | None,
    *,
    features: Rows | None,
    rounds: int,
    random_state,
    n_jobs: int | None,
) -> tuple[Space, Array, Nearness]:
    """The feature space for samples X (n, d) with targets Y (n, m), X in it, and who is near there.

    `features` are those that decide who is near, None for all.
    """
    d = X.shape[1]
    space = fit_space(scaling, X, weights)
    Z = space.transform(X)
    if neighborhood in GROWERS:
        used = np.arange(d) if features is None else features
        return space, Z, GROWERS[neighborhood](Z, Y, weights, used, random_state, n_jobs)
    if neighborhood == "euclidean":
        part = None if features is None else np.bincount(features, minlength=d) / len(features)
        return space, Z, Distance(features, feature_weights=part)

    def learn(inputs: Array) -> tuple[Array, Array]:
        """Weights in standard deviations, and what to multiply the inputs by for them."""
        found, scale = learn_metric(inputs, Y, weights, rounds, n_jobs)
        # Standardised features have deviations of one; of constant ones, rounding is left.
        return found, found if scaling == "standard" else found / scale

    found, multipliers = learn(Z)
    weighted = WeightedSpace(space, multipliers)
    if features is None:
        return weighted, Z * multipliers, Distance(feature_weights=found / found.sum())
    part, of_part = learn(Z[:, features])
    feature_weights = np.zeros(d)
    feature_weights[features] = part / part.sum()
    nearness = Distance(features, of_part / multipliers[features], feature_weights)
    return weighted, Z * multipliers, nearness


def nearness_from_arrays(d: int, **arrays: NDArray) -> Nearness:
    """What `arrays` of a nearness in d features described; refused where it cannot have been."""
    found = Forest.from_arrays(**arrays) if "roots" in arrays else Distance(**arrays)
    if not found.fits(d):
        raise ValueError("its arrays do not fit each other")
    return found
