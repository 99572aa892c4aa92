"""What a file holds of a fitted model, and the way back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import is_numpy
from ..checks.stored import (
    check_stored_classes,
    check_stored_inputs,
    check_stored_parts,
    check_stored_shapes,
    check_stored_targets,
)
from ..geometry.nearness import Geometry
from .anchor_samples import AnchorSamples
from .fitted import SHARED, Fitted
from .samples import Samples

Array = NDArray[np.float64]

# The attributes in a file that are parts of `Fitted`, under the names that they have there.
PARTS = {
    "anchor_points_": "anchor_points",
    "_models": "models",
    "_constant": "constant",
}


def described(fitted: Fitted, like: Fitted | None) -> dict[str, Any]:
    """Plain values and arrays that describe a fitted model.

    `like` is in the file too: what this model shares with it is left out, that is the space and the
    samples' inputs, and of siblings the nearness as well.
    """
    if not is_numpy(fitted.models):  # a file does not care where the model is
        fitted = fitted.moved(np.empty(0))
    samples, geometry = fitted.samples, fitted.geometry
    names = [name for name in samples if name != "points"]
    state: dict[str, Any] = {
        "attributes": {name: getattr(fitted, part) for name, part in PARTS.items()}
    }
    if like is None or like.geometry.nearness is not geometry.nearness:
        state["nearness"] = geometry.nearness.arrays()
    if fitted.anchor_samples is not None:
        state["anchor_samples"] = fitted.anchor_samples.arrays()
    if like is None:
        state["space"] = geometry.space.arrays()
    else:
        names = [name for name in names if name not in SHARED]
    rows = samples.rows()
    state["samples"] = {name: samples[name][rows] for name in names}
    return state


def revived(state: dict[str, Any], like: Fitted | None) -> Fitted:
    """The fitted model that `described` described; refused where the arrays cannot be one."""
    check_stored_parts(state)
    columns: dict[str, NDArray] = dict(state["samples"])
    attributes, space = state["attributes"], state.get("space")
    if like is not None:
        space = like.geometry.space.arrays()
        columns |= {name: like.samples[name] for name in SHARED if name in like.samples}
    if space is None:
        raise ValueError("it has no feature space")
    check_stored_shapes(columns, attributes, space)
    if like is not None and "nearness" not in state:
        geometry = like.geometry
    else:
        geometry = Geometry.from_arrays(columns["Z"].shape[1], space, state["nearness"])
    anchor_samples = None
    if "anchor_samples" in state:
        shape = len(attributes["_models"]), len(columns["Z"])
        anchor_samples = AnchorSamples.from_arrays(*shape, **state["anchor_samples"])
    searchable: NDArray[np.bool_] | None = columns.pop("searchable", None)
    samples = Samples.located(geometry, searchable, **columns)
    _check_samples(geometry, samples, attributes, space if like is None else None)
    parts = {part: attributes[name] for name, part in PARTS.items()}
    parts["anchor_models"] = geometry.space.models_to_units(attributes["_models"])
    return Fitted.indexed(geometry, samples, **parts, anchor_samples=anchor_samples)


def _check_samples(
    geometry: Geometry,
    samples: Samples,
    attributes: dict[str, Any],
    space: dict[str, NDArray] | None,
) -> None:
    """Refuse samples that no fit takes. Their inputs are checked where a space is given."""
    Z, residuals, labels = (samples[name] for name in ("Z", "residuals", "labels"))
    ends = np.stack([Z.min(axis=0), Z.max(axis=0)])
    if space is not None:
        # Spaces keep the order of numbers, so that these are the ends in units, too.
        check_stored_inputs(space, geometry.space.inverse(ends))
    models = attributes["_models"]

    def targets() -> Array:
        # An anchor at a time: rounding does not matter here, and time does.
        found = residuals.copy()
        order = np.argsort(labels, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
            model = models[labels[rows[:1]]].reshape(-1, models.shape[2])
            if len(rows):
                found[rows] += Z[rows] @ model[:-1] + model[-1]
        return found

    if "classes_" in attributes:
        check_stored_classes(targets)
    else:
        sizes = np.abs(ends).max(axis=0)
        most = np.einsum("d,kdm->km", sizes, np.abs(models[:, :-1])).max()
        most += np.abs(models[:, -1]).max() + np.abs(residuals).max()
        check_stored_targets(float(most), targets)
