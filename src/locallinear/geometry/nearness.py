"""The geometry of a model: its feature space, and how near is measured in it.

`fit_geometry` is the one place where the words "standard", "learned", "forest" and so on become
something that computes; the estimator and the search both call it. A nearness says where inputs
are for the neighbour search (`points`), and holds how much each feature decides
(`feature_weights`). It is fitted once, with the feature space of the
models; samples that come later change neither.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, is_numpy, moved, namespace, to_numpy
from ..checks.arguments import check_features
from ..checks.devices import check_trees_on_processor
from .device_neighbors import DeviceNeighbors, make_neighbors
from .forest import Forest
from .leaf_neighbors import LeafNeighbors
from .metric import learn_metric
from .neighbors import Neighbors
from .spaces import Space, WeightedSpace, fit_space, space_from_arrays
from .trees import GROWERS

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


# Multipliers up to this size keep squared distances finite.
LARGEST_SIZE = 1e100


@dataclass(frozen=True, eq=False)
class Distance:
    """The Euclidean distance between some features, each multiplied with a number.

    `features` (d',) and `multipliers` (d',) may be None for all and none. `feature_weights` (d,)
    says how much each feature counts, in standard deviations and as parts of one; None where all
    count alike.
    """

    features: Rows | None = None
    multipliers: Array | None = None
    feature_weights: Array | None = None

    def points(self, Z: Array) -> Array:
        """Where inputs Z are for the neighbour search."""
        points = Z if self.features is None else columns_of(Z, self.features)
        return points if self.multipliers is None else points * self.multipliers

    def moved(self, like: AnyArray) -> "Distance":
        """The same distance between arrays of the kind of `like`, and on its device."""
        multipliers, weights = self.multipliers, self.feature_weights
        return Distance(
            self.features,
            None if multipliers is None else moved(multipliers, like),
            None if weights is None else moved(weights, like),
        )

    def fits(self, d: int) -> bool:
        """Whether this can be a distance in d features; a file may hold anything."""
        features = np.arange(d) if self.features is None else self.features
        if (
            features.ndim != 1
            or not len(features)
            or features.dtype.kind != "i"
            or not np.isin(features, np.arange(d)).all()
        ):
            return False
        multipliers, weights = self.multipliers, self.feature_weights
        return (multipliers is None or _are_sizes(multipliers, features.shape)) and (
            weights is None or _are_sizes(weights, (d,))
        )

    def arrays(self) -> dict[str, NDArray]:
        """What a file holds of the distance."""
        return {name: to_numpy(value) for name, value in vars(self).items() if value is not None}


def _are_sizes(values: NDArray, shape: tuple[int, ...]) -> bool:
    """Whether an array from a file has numbers from 0 to what a distance can be multiplied by."""
    if values.dtype != np.float64 or values.shape != shape:
        return False
    return bool(((values >= 0) & (values < LARGEST_SIZE)).all())


Nearness = Distance | Forest
Index = Neighbors | DeviceNeighbors | LeafNeighbors


@dataclass(frozen=True, eq=False)
class Geometry:
    """The feature space of the models, and how near is measured in it."""

    space: Space
    nearness: Nearness

    @property
    def uses_targets(self) -> bool:
        """Whether it was learned from the targets, or trees were grown on them."""
        return isinstance(self.nearness, Forest) or isinstance(self.space, WeightedSpace)

    def locate(self, X: Array) -> tuple[Array, Array]:
        """Inputs in the feature space, and where they are for the neighbour search."""
        Z = self.space.transform(X)
        return Z, self.nearness.points(Z)

    def index(self, points: Array, searchable: Mask | None) -> Index:
        """What finds neighbours among located points."""
        if isinstance(self.nearness, Forest):
            return LeafNeighbors(self.nearness, points, searchable)
        return make_neighbors(points, searchable)

    def moved(self, like: AnyArray) -> "Geometry":
        """The same geometry for arrays of the kind of `like`, and on its device."""
        nearness = self.nearness
        if isinstance(nearness, Forest):
            check_trees_on_processor(like, "with trees")
            return self
        return Geometry(self.space.moved(like), nearness.moved(like))

    @classmethod
    def from_arrays(cls, d: int, space: dict[str, Any], nearness: dict[str, Any]) -> "Geometry":
        """The geometry of d features that the arrays describe."""
        return cls(space_from_arrays(**space), nearness_from_arrays(d, **nearness))


def fit_geometry(
    X: Array,
    Y: Array,
    weights: Array | None,
    *,
    scaling: str | None,
    neighborhood: str,
    metric_iterations: int,
    neighborhood_features: Any,
    indicators: Any,
    random_state: Any,
    n_jobs: int | None,
) -> tuple[Geometry, Array]:
    """The geometry for samples X (n, d) with numeric targets Y (n, m), and X in its space.

    The keywords are those parameters of FALL that shape a geometry.
    """
    d = X.shape[1]
    features = check_features(neighborhood_features, d)
    unscaled = check_features(indicators, d, "indicators", "use None if there are none")
    space = fit_space(scaling, X, weights, unscaled)
    Z = space.transform(X)
    if neighborhood in GROWERS:
        check_trees_on_processor(Z, neighborhood)
        used = np.arange(d) if features is None else features
        forest = GROWERS[neighborhood](Z, Y, weights, used, random_state, n_jobs)
        return Geometry(space, forest), Z
    if neighborhood == "euclidean":
        return plain_geometry(space, features, d).moved(Z), Z

    def learn(part: Rows | None) -> tuple[Array, Array]:
        inputs = Z if part is None else columns_of(Z, part)
        return learn_metric(inputs, Y, weights, metric_iterations, n_jobs)

    is_standard = scaling == "standard" and unscaled is None
    multipliers, geometry = learned_geometry(space, is_standard, features, d, learn)
    return geometry.moved(Z), Z * moved(multipliers, Z)


def columns_of(Z: AnyArray, features: Rows) -> AnyArray:
    """Some features of all rows, one feature after the other in memory."""
    return Z[:, features] if is_numpy(Z) else namespace(Z).take(Z.T, moved(features, Z), axis=0).T


def plain_geometry(space: Space, features: Rows | None, d: int) -> Geometry:
    """The Euclidean distance in a space of d features, between some of them or all."""
    part = None if features is None else np.bincount(features, minlength=d) / len(features)
    return Geometry(space, Distance(features, feature_weights=part))


def learned_geometry(
    space: Space,
    is_standard: bool,
    features: Rows | None,
    d: int,
    learn: Callable[[Rows | None], tuple[Array, Array]],
) -> tuple[Array, Geometry]:
    """A geometry with learned weights, and what it multiplies the features of the space by, (d,).

    `is_standard` says that all features of the space have a standard deviation of one.
    `learn` returns what `learn_metric` finds for the samples in the space, with some features or,
    for None, with all.
    """

    def multipliers_of(part: Rows | None) -> tuple[Array, Array]:
        """Weights in standard deviations, and what to multiply the inputs by for them."""
        found, scale = learn(part)
        # Standardised features have deviations of one; of constant ones, rounding is left.
        return found, found if is_standard else found / scale

    found, multipliers = multipliers_of(None)
    weighted = WeightedSpace(space, multipliers)
    if features is None:
        return multipliers, Geometry(weighted, Distance(feature_weights=found / found.sum()))
    part, of_part = multipliers_of(features)
    feature_weights = np.zeros(d)
    feature_weights[features] = part / part.sum()
    nearness = Distance(features, of_part / multipliers[features], feature_weights)
    return multipliers, Geometry(weighted, nearness)


def nearness_from_arrays(d: int, **arrays: Any) -> Nearness:
    """The nearness in d features that the arrays describe; refused where they cannot be one."""
    found: Nearness = Forest.from_arrays(**arrays) if "splits" in arrays else Distance(**arrays)
    if not found.fits(d):
        raise ValueError("its arrays do not fit each other")
    return found
