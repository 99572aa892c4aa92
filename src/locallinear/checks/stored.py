"""Checks of what a file holds of a fitted model, before a model is made of it.

The bytes of a file can be anything. Compiled code does not check what it is given, and arrays that
do not belong together fail much later: so every array's type, shape and range is checked here. All
errors end in one sentence of the file's own error.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import inputs

# The types of the sample columns in a file.
COLUMN_TYPES: dict[str, type] = {
    "Z": np.float64,
    "residuals": np.float64,
    "labels": np.int32,
    "weights": np.float64,
    "searchable": np.bool_,
}
NEEDED_COLUMNS = {"Z", "residuals", "labels"}

# What a state has, and which of its attributes it needs, or can have.
PARTS = {"attributes", "samples", "space", "nearness", "anchor_samples"}
NEEDED = {"_models", "_constant", "anchor_points_", "n_features_in_", "_target_names"}
ATTRIBUTES = NEEDED | {"feature_names_in_", "classes_", "calibration_", "_one_target"}

# Inputs in a feature space have finite squares; models and residuals have finite sums.
LARGEST_INPUT, LARGEST = 1e145, 1e290


class StoredError(ValueError):
    """What is wrong with the parts of a model in a file."""


def require(holds: Any, what: str) -> None:
    """Refuse a file unless a claim about it holds."""
    if not holds:
        raise StoredError(what)


def is_array(value: Any, dtype: type, shape: tuple[int, ...], largest: float = LARGEST) -> bool:
    """Whether a value is an array of this type and shape, with numbers up to a size."""
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != shape:
        return False
    if value.dtype.kind != "f" or not value.size:
        return True
    return bool(-largest <= value.min() and value.max() <= largest)  # neither with a NaN


def check_stored_shapes(
    columns: dict[str, NDArray], attributes: dict[str, Any], space: dict[str, NDArray]
) -> None:
    """Refuse arrays from a file that cannot be parts of one model."""
    require(NEEDED_COLUMNS <= set(columns) <= set(COLUMN_TYPES), "its samples have other columns")
    require(NEEDED <= set(attributes) <= ATTRIBUTES, "it has other attributes than a model")
    models, Z = attributes["_models"], columns["Z"]
    require(isinstance(models, np.ndarray) and models.ndim == 3 and Z.ndim == 2, "it has no models")
    (n, d), (k, _, m) = Z.shape, models.shape
    require(min(n, d, k, m) >= 1, "it has no samples, features, anchors or targets")
    wrong = "its arrays do not fit each other"
    require(is_array(Z, np.float64, (n, d), LARGEST_INPUT), wrong)
    require(is_array(columns["residuals"], np.float64, (n, m)), wrong)
    require(is_array(columns["labels"], np.int32, (n,)), wrong)
    require(columns["labels"].min() >= 0 and columns["labels"].max() < k, wrong)
    weights, searchable = columns.get("weights"), columns.get("searchable")
    if weights is not None:
        require(is_array(weights, np.float64, (n,), inputs.LARGEST), wrong)
        require(((weights == 0) | (weights >= 1 / inputs.LARGEST)).all(), wrong)
        require(weights.any(), "none of its samples has weight")
    if searchable is not None:
        require(is_array(searchable, np.bool_, (n,)) and searchable.any(), wrong)
    _check_anchors(attributes, k, d, m)
    _check_names(attributes, d, m)
    _check_space(space, d)


def _check_anchors(attributes: dict[str, Any], k: int, d: int, m: int) -> None:
    wrong = "its arrays do not fit each other: anchors and samples"
    require(is_array(attributes["_models"], np.float64, (k, d + 1, m)), wrong)
    points = attributes["anchor_points_"]
    given = isinstance(points, np.ndarray) and points.dtype == np.float64 and np.isnan(points).all()
    require(given or is_array(points, np.float64, (k, d)), wrong)
    require(points.shape == (k, d), wrong)
    constant = attributes["_constant"]
    require(isinstance(constant, float) and constant in (0.0, 1.0), "it has no constant feature")


def _check_names(attributes: dict[str, Any], d: int, m: int) -> None:
    n_features, targets = attributes["n_features_in_"], attributes["_target_names"]
    require(type(n_features) is int and n_features == d, "its number of features is another")
    are_names = isinstance(targets, list) and all(isinstance(name, str) for name in targets)
    require(are_names and len(targets) == m, "it does not name its targets")
    of_numbers = "_one_target" in attributes
    one = attributes.get("_one_target", False)
    require(isinstance(one, bool) and (m == 1 or not one), "it does not say what y was")
    check_stored_names(attributes, d)
    require(of_numbers != ("classes_" in attributes), "it is of classes and of numbers, or neither")
    if not of_numbers:
        classes = attributes["classes_"]
        is_list = isinstance(classes, np.ndarray) and classes.shape == (m,)
        require(is_list and len(set(classes.tolist())) == m, "its classes are none")


def check_stored_names(attributes: dict[str, Any], d: int) -> None:
    """Refuse names of features that are not as many texts as there are features."""
    names = attributes.get("feature_names_in_")
    if names is not None:
        require(
            isinstance(names, np.ndarray)
            and names.shape == (d,)
            and all(isinstance(name, str) for name in names.tolist()),
            "it does not name its features",
        )


def _check_space(space: dict[str, NDArray], d: int) -> None:
    """Refuse arrays that are no feature space of d features."""
    wrong = "its arrays do not fit each other: feature space and samples"
    multipliers = space.get("multipliers", np.ones(d))
    require(is_array(multipliers, np.float64, (d,), LARGEST_INPUT), wrong)
    require(multipliers.min() > 1 / LARGEST_INPUT, wrong)
    names = set(space) - {"multipliers"}
    if names == {"shift", "scale"}:
        require(is_array(space["shift"], np.float64, (d,), LARGEST_INPUT), wrong)
        require(is_array(space["scale"], np.float64, (d,), LARGEST_INPUT), wrong)
        require(space["scale"].min() > 1 / LARGEST_INPUT, wrong)
        return
    require(names == {"knots", "heights", "sizes"}, wrong)
    sizes, knots, heights = space["sizes"], space["knots"], space["heights"]
    require(is_array(sizes, np.int64, (d,)) and sizes.min() >= 1, wrong)
    total = sum(sizes.tolist())
    require(is_array(knots, np.float64, (total,), LARGEST_INPUT), wrong)
    require(is_array(heights, np.float64, (total,), LARGEST_INPUT), wrong)
    inner = np.ones(max(total - 1, 0), dtype=bool)
    inner[np.cumsum(sizes)[:-1] - 1] = False  # from one feature to the next
    require((np.diff(knots)[inner] > 0).all() and (np.diff(heights)[inner] > 0).all(), wrong)


def check_stored_inputs(space: dict[str, NDArray], ends: NDArray) -> None:
    """Refuse samples that no fit takes; `ends` (2, d) are the least and the largest in units."""
    require((np.abs(ends) <= inputs.LARGEST).all(), "its samples are no numbers that a fit takes")
    sizes = np.abs(ends).max(axis=0)
    require(((sizes == 0) | (sizes >= 1 / inputs.LARGEST)).all(), "its samples are too small")
    if "scale" in space:
        # The spread of a feature that is all rounding counts as 1.
        resolved = space["scale"] > np.finfo(float).eps * np.abs(space["shift"])
        require(resolved.all(), "its feature space has no spread")


def check_stored_targets(most: float, targets: Callable[[], NDArray]) -> None:
    """Refuse targets that no fit takes, none of which is larger in size than `most`.

    `targets` returns them, (n, m). They are made only where their limit leaves a doubt.
    """
    if not most <= inputs.LARGEST:
        with np.errstate(over="ignore", invalid="ignore"):
            fits = (np.abs(targets()) <= (1 + 1e-9) * inputs.LARGEST).all()
        require(fits, "its targets are no numbers that a fit takes")


def check_stored_classes(targets: Callable[[], NDArray]) -> None:
    """Refuse samples without one class each; `targets` returns 1 for it and 0 for the others."""
    with np.errstate(over="ignore", invalid="ignore"):
        own = np.rint(targets())
    fits = ((own == 0) | (own == 1)).all() and (own.sum(axis=1) == 1).all()
    require(fits, "its samples have no classes")


def check_stored_parts(state: dict[str, Any]) -> None:
    """Refuse a state that is no dict of the parts of a model."""
    known = isinstance(state, dict) and {"attributes", "samples"} <= set(state) <= PARTS
    require(known, "it has other parts than a model")
    require(all(isinstance(part, dict) for part in state.values()), "its parts are none")
    arrays = [*state["samples"].values(), *state.get("space", {}).values()]
    require(all(isinstance(array, np.ndarray) for array in arrays), "its arrays are none")


def check_stored_calibration(attributes: dict[str, Any]) -> None:
    """Refuse numbers from a file that are no map from scores to probabilities."""
    found = attributes.get("calibration_")
    if found is None:
        return
    fits = set(found) == {"n", "slope", "power"} and all(
        isinstance(value, float) and 0 <= value < 1e12 for value in found.values()
    )
    require(fits and found["n"] > 0, "its calibration is no map to probabilities")


def check_stored_ensemble(attributes: dict[str, Any], member: Any, known: set[str]) -> None:
    """Refuse attributes of an ensemble that do not fit its members, which are like this one."""
    needed = {"best_params_", "kinds_", "n_features_in_"}
    require(needed <= set(attributes) <= known, "it has other attributes than an ensemble")
    n, d = member.n_samples_fit_, member.n_features_in_
    n_features = attributes["n_features_in_"]
    require(type(n_features) is int and n_features == d, "its number of features is another")
    check_stored_names(attributes, d)
    require(isinstance(attributes["best_params_"], dict), "it has no parameters")
    kinds = attributes["kinds_"]
    require(isinstance(kinds, list) and all(isinstance(kind, dict) for kind in kinds), "no kinds")
    classes, own = attributes.get("classes_"), getattr(member, "classes_", None)
    same = classes is own is None
    if classes is not None and own is not None:
        same = np.array_equal(classes, own)
    require(same, "its classes are not those of its members")
    require(isinstance(attributes.get("cv_score_", 0.0), float), "it has no score")
    _check_out_of_fold(attributes, member, n)


def _check_out_of_fold(attributes: dict[str, Any], member: Any, n: int) -> None:
    """Refuse predictions that are none of samples, and folds that do not fit them."""
    folds, prediction = attributes.get("_cv_folds"), attributes.get("cv_prediction_")
    wrong = "its predictions of folds are none"
    if prediction is None:
        require(folds is None, wrong)
        return
    require(isinstance(prediction, np.ndarray) and prediction.dtype == np.float64, wrong)
    m = len(member._target_names)
    shape = (len(prediction),) if getattr(member, "_one_target", False) else (len(prediction), m)
    require(prediction.shape == shape, wrong)
    require((np.isnan(prediction) | (np.abs(prediction) <= LARGEST_INPUT)).all(), wrong)
    if folds is not None:
        require(is_array(folds, np.intp, (n,)) and len(prediction) == n, wrong)
        tested = folds >= 0  # those that no fold tests have -1
        numbers = np.unique(folds[tested])
        require(len(numbers) > 1 and np.array_equal(numbers, np.arange(len(numbers))), wrong)
        require((folds >= -1).all() and not np.isnan(prediction[tested]).any(), wrong)
