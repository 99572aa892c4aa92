"""Checks of what a file holds of a fitted model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# The types of the sample columns in a file.
COLUMN_TYPES: dict[str, type] = {
    "Z": np.float64,
    "residuals": np.float64,
    "labels": np.int32,
    "weights": np.float64,
    "searchable": np.bool_,
}


def check_stored_shapes(
    columns: dict[str, NDArray], attributes: dict[str, Any], space: dict[str, NDArray]
) -> None:
    """Refuse arrays from a file that cannot be parts of one model."""
    (n, d), (k, n_rows, m) = columns["Z"].shape, attributes["_models"].shape
    vectors = [columns[name] for name in ("labels", "weights", "searchable") if name in columns]
    features = space["sizes"] if "sizes" in space else space["shift"]
    multipliers = space.get("multipliers", np.ones(d))
    fits = (
        (n_rows, attributes["n_features_in_"], len(features)) == (d + 1, d, d)
        and columns["residuals"].shape == (n, m)
        and len(attributes["_target_names"]) == m
        and attributes["_constant"] in (0.0, 1.0)
        and all(vector.shape == (n,) for vector in vectors)
        and all(columns[name].dtype == COLUMN_TYPES.get(name) for name in columns)
        and bool(np.isin(columns["labels"], np.arange(k)).all())
        and multipliers.shape == (d,)
        and bool((multipliers > 0).all())
    )
    if not fits:
        raise ValueError("its arrays do not fit each other")


def check_stored_calibration(attributes: dict[str, Any]) -> None:
    """Refuse numbers from a file that are no map from scores to probabilities."""
    found = attributes.get("calibration_")
    if found is None:
        return
    fits = set(found) == {"n", "slope", "power"} and all(
        isinstance(value, float) and 0 <= value < np.inf for value in found.values()
    )
    if not (fits and found["n"] > 0):
        raise ValueError("its calibration is no map to probabilities")
