"""What a fit has found, as one value: `partial_fit` and `forget` make another value of it.

An estimator holds one `Fitted`. A reader takes it once and computes everything from it; a writer
makes the next one beside it and puts it in place when it is complete. So a reader sees all of an
update or none of it, and an update that breaks off has changed nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import at, moved, namespace
from ..geometry.nearness import Geometry, Index
from ..geometry.spaces import same_space
from .anchor_samples import AnchorSamples
from .assignment import assign_new, mean_target
from .samples import Made, Samples

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# The samples' columns that models of the same samples in the same feature space have alike, and
# those that models with the same geometry have alike.
SHARED = ("Z", "weights")
SIBLINGS_SHARE = ("Z", "points", "weights")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model.

    Attributes
    ----------
    geometry : the feature space, and how near is measured in it
    samples : the samples in that space, their anchors (labels) and residuals from them
    neighbors : finds neighbours among the samples
    models : (k, d + 1, m) of the anchors in the feature space, intercept last
    constant : the constant feature of every input: 1, or 0 without an intercept
    anchor_points, anchor_models : (k, d) and (k, d + 1, m), the anchors in units
    anchor_samples : the samples that shaped the anchors; None where these are no linear function of
        the targets
    """

    geometry: Geometry
    samples: Samples
    neighbors: Index
    models: Array
    constant: float
    anchor_points: Array
    anchor_models: Array
    anchor_samples: AnchorSamples | None

    @classmethod
    def indexed(cls, geometry: Geometry, samples: Samples, **others: Any) -> "Fitted":
        """A fitted model whose samples are not indexed for the neighbour search yet."""
        neighbors = geometry.index(samples.points, samples.searchable)
        return cls(geometry=geometry, samples=samples, neighbors=neighbors, **others)

    def __getstate__(self) -> dict[str, Any]:
        # The neighbours refer to the samples' memory: copied with them, it would come twice.
        return {name: value for name, value in vars(self).items() if name != "neighbors"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        samples = state["samples"]
        neighbors = state["geometry"].index(samples.points, samples.searchable)
        self.__dict__.update(state, neighbors=neighbors)

    @cached_property
    def mean_target(self) -> Array:
        """The weighted mean of the samples' numeric targets, (m,)."""
        return mean_target(self.samples, self.models)

    @property
    def located_samples(self) -> Array:
        """The inputs of all samples in the feature space, (n, d)."""
        return at(self.samples["Z"], self.samples.rows())

    def sample_inputs(self) -> Array:
        """The inputs of all samples in units, (n, d)."""
        return self.geometry.space.inverse(self.located_samples)

    def moved(self, like: Array) -> "Fitted":
        """The same model in arrays of the kind of `like`, on its device and in its precision."""
        samples, geometry = self.samples.moved(like), self.geometry.moved(like)
        names = ("models", "anchor_points", "anchor_models")
        arrays = {name: moved(getattr(self, name), like) for name in names}
        others = {"constant": self.constant, "anchor_samples": self.anchor_samples}
        return Fitted.indexed(geometry, samples, **arrays, **others)

    def sharing_memory(self, others: "Sequence[Fitted]") -> "Fitted":
        """The same, holding what is equal in the memory of the first of the others that has it.

        All of them have the same samples. Siblings share the search for neighbours as well.
        """
        nearness, space = self.geometry.nearness, self.geometry.space
        for other in others:
            if other is not self and other.geometry.nearness is nearness:
                samples = self.samples.sharing(other.samples, SIBLINGS_SHARE)
                geometry, neighbors = other.geometry, other.neighbors
                return replace(self, geometry=geometry, samples=samples, neighbors=neighbors)
        for other in others:
            if other is not self and same_space(space, other.geometry.space):
                samples = self.samples.sharing(other.samples, SHARED)
                geometry = Geometry(other.geometry.space, nearness)
                neighbors = self.neighbors.update(samples.points, samples.searchable)
                return replace(self, geometry=geometry, samples=samples, neighbors=neighbors)
        return self


def append_samples(
    siblings: Sequence[Fitted],
    X: Array,
    Y: Array,
    weights: Array | None,
    made: Made,
    *,
    assignment_neighbors: int,
    n_jobs: int | None,
) -> list[Fitted]:
    """Siblings with more samples: only these are assigned, the anchors and all others stay.

    Parameters
    ----------
    siblings : fitted models with one geometry
    X, Y, weights : (n, d) inputs in units, (n, m) targets, (n,) or None
    made : what was made for other models of the same samples
    """
    first = siblings[0]
    Z, points = first.geometry.locate(X)
    new = {"Z": Z, "residuals": Y, "labels": namespace(Y).zeros_like(Y[:, 0])}
    if points is not Z:
        new["points"] = points
    samples = [fitted.samples.append(made, weights, **new) for fitted in siblings]
    neighbors = first.neighbors.update(samples[0].points, samples[0].searchable)
    neighbors.build(n_jobs)  # here, so that no reader has to
    assigned = [(own, fitted.models) for own, fitted in zip(samples, siblings, strict=True)]
    start = first.samples.n_stored
    assign_new(assigned, neighbors, start, Y, assignment_neighbors, n_jobs)
    return [
        replace(fitted, samples=own, neighbors=neighbors)
        for own, fitted in zip(samples, siblings, strict=True)
    ]


def forget_samples(siblings: Sequence[Fitted], numbers: Rows, made: Made) -> list[Fitted]:
    """Siblings without the samples that have these numbers, in ascending order."""
    samples = [fitted.samples.remove(made, numbers) for fitted in siblings]
    neighbors = siblings[0].neighbors.update(samples[0].points, samples[0].searchable)
    neighbors.build()
    sets = [fitted.anchor_samples for fitted in siblings]
    return [
        replace(
            fitted,
            samples=own,
            neighbors=neighbors,
            anchor_samples=None if shaped is None else shaped.without(numbers),
        )
        for fitted, own, shaped in zip(siblings, samples, sets, strict=True)
    ]
