"""What users may pass in, checked once at the public door."""

from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

Array = NDArray[np.float64]

# The square of a number of this size, times another, is still finite and not zero.
LARGEST = 1e140

TIMES = (date, timedelta, np.datetime64, np.timedelta64)


def check_not_huge(values: Array, name: str) -> None:
    """Refuse numbers whose squares are not finite."""
    largest = max(values.max(), -values.min())
    if largest > LARGEST:
        raise ValueError(
            f"{name} must hold numbers of at most {LARGEST} in size, so that their squares are "
            f"finite, but one is {largest:.3g}; divide by a power of ten first"
        )


def check_magnitudes(values: Array, name: str) -> None:
    """Refuse columns of numbers whose squares are not finite, or all lost to rounding."""
    check_not_huge(values, name)
    sizes = np.maximum(values.max(axis=0), -values.min(axis=0))
    lost = (sizes > 0) & (sizes < 1 / LARGEST)
    if lost.any():
        raise ValueError(
            f"column {np.argmax(lost)} of {name} must hold numbers of at least {1 / LARGEST} in "
            f"size or only zeros, so that their squares are not zero, but the largest is "
            f"{sizes[lost][0]:.3g}; multiply by a power of ten first"
        )


def validated(estimator, X, **options):
    """scikit-learn's checks of X and y; where they fail on text or dates in X, what to do."""
    try:
        return validate_data(estimator, X, dtype=np.float64, **options)
    except (TypeError, ValueError) as error:
        sentence = other_than_numbers(X)
        if sentence is None:
            raise
        raise ValueError(sentence) from error


def validated_targets(estimator, X, y, *, reset: bool = True) -> tuple[Array, NDArray]:
    """Inputs (n, d) and numeric targets, (n,) or (n, m) as given."""
    check_numeric_targets(y)
    X, y = validated(estimator, X, y=y, reset=reset, multi_output=True, y_numeric=True)
    check = check_magnitudes if reset else check_not_huge
    check(X, "X")
    check(np.asarray(y, dtype=np.float64).reshape(len(X), -1), "y")
    return X, y


def validated_classes(estimator, X, y, *, reset: bool = True) -> tuple[Array, NDArray]:
    """Inputs (n, d) and labels of classes (n,), which are all there."""
    labels = np.asarray(y)
    if labels.dtype == object and labels.ndim == 1:
        missing = [i for i, label in enumerate(labels) if _is_missing(label)]
        if missing:
            raise ValueError(
                f"y must have a class for every sample, but sample {missing[0]} has none "
                f"({labels[missing[0]]!r}); leave such samples out"
            )
    X, y = validated(estimator, X, y=y, reset=reset)
    check = check_magnitudes if reset else check_not_huge
    check(X, "X")
    return X, check_labels(y)


def _is_missing(label) -> bool:
    return label is None or type(label).__name__ == "NAType" or label != label


def check_queries(estimator, X) -> Array:
    """What a fitted model is asked about, (q, d)."""
    check_is_fitted(estimator)
    X = validated(estimator, X, reset=False)
    check_not_huge(X, "X")
    return X


def other_than_numbers(X) -> str | None:
    """A sentence on the first column of X that holds text or dates, None where there is none."""
    names = getattr(X, "columns", None)
    cells = np.asarray(X, dtype=object)
    for j in range(cells.shape[1] if cells.ndim == 2 else 0):
        column = j if names is None else repr(str(names[j]))
        time = next((cell for cell in cells[:, j] if isinstance(cell, TIMES)), None)
        if time is not None:
            return (
                f"X must hold numbers, but column {column} holds times, such as {time}; turn them "
                "into numbers, as days since the first"
            )
        word = _first_text(cells[:, j])
        if word is not None:
            return (
                f"X must hold numbers, but column {column} holds text, such as {word!r}; turn it "
                "into numbers, as scikit-learn's OneHotEncoder does, or make a TableModel with "
                "locallinear fit, which takes text as it is"
            )
    return None


def check_numeric_targets(y) -> None:
    """Refuse text as the targets of a regression."""
    if getattr(y, "dtype", None) is None or np.asarray(y).dtype.kind in "OUST":
        word = _first_text(np.asarray(y, dtype=object).ravel())
        if word is not None:
            raise ValueError(
                f"y must hold numbers, but holds text, such as {word!r}; for classes use "
                "FALLClassifier or FALLEnsembleClassifier"
            )


def _first_text(cells: NDArray) -> str | None:
    """The first text that is not a number."""
    for cell in cells:
        if isinstance(cell, str):
            try:
                float(cell)
            except ValueError:
                return cell
    return None


def check_labels(y: NDArray) -> NDArray:
    """Labels of classes, (n,)."""
    if y.dtype == object:
        try:
            np.unique(y)
        except TypeError:
            kinds = sorted({type(label).__name__ for label in y.ravel()})
            raise TypeError(
                "y must hold labels of one kind, all words or all numbers, but holds "
                f"{' and '.join(kinds)}; turn them all into words with str"
            ) from None
    check_classification_targets(y)
    return column_or_1d(y)


def check_classes(classes, known: NDArray) -> None:
    """Refuse other classes in a later call of partial_fit than in the first."""
    if classes is not None and not np.array_equal(np.unique(classes), known):
        raise ValueError(
            f"classes must be those of the first call, {known.tolist()}, but are "
            f"{np.unique(classes).tolist()}; fit a new model for others"
        )


def check_sample_weights(sample_weight, n_samples: int) -> Array | None:
    """Weights as an array, None where none are given."""
    if sample_weight is None:
        return None
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, copy=True, input_name="sample_weight"
    )
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one entry a sample, so shape ({n_samples},), but has shape "
            f"{weights.shape}"
        )
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight must not be negative, but entry {np.argmax(weights < 0)} is "
            f"{weights[np.argmax(weights < 0)]}; use 0 to leave a sample out"
        )
    return weights


def check_some_weight(weights: Array | None) -> None:
    """Refuse to fit on samples of which none counts."""
    if weights is not None and not weights.any():
        raise ValueError("sample_weight is zero for every sample; at least one must count")


def check_enough_samples(n_neighbors: int, n_samples: int | np.integer) -> None:
    """Refuse to average more neighbours than there are."""
    if n_neighbors > n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} samples were to make each prediction, but only "
            f"n_samples={n_samples} are there (with sample_weight above zero); give more samples "
            "or fewer neighbours"
        )


def check_anchor_points(points, n_features: int) -> Array:
    """Anchor points as an array (k, d)."""
    points = check_array(
        points, dtype=np.float64, copy=True, ensure_min_samples=0, input_name="anchor_selection"
    )
    if points.shape[1] != n_features or not len(points):
        raise ValueError(
            f"anchor_selection must hold points with the {n_features} features of X, one at "
            f"least, but has shape {points.shape}"
        )
    return points


def check_anchor_models(models, n_features: int, n_targets: int) -> Array:
    """Anchor models as an array (k, d + 1, m)."""
    models = check_array(
        models,
        dtype=np.float64,
        copy=True,
        allow_nd=True,
        ensure_min_samples=0,
        input_name="anchor_models",
    )
    if models.ndim != 3 or models.shape[1:] != (n_features + 1, n_targets) or not len(models):
        raise ValueError(
            "anchor_models must have shape (n_anchors, n_features + 1, n_targets) with the "
            f"intercept last, so (k, {n_features + 1}, {n_targets}), but has shape {models.shape}"
        )
    return models


def check_graph(graph, n_samples: int) -> csr_array:
    """The graph as a sparse matrix of n x n, without stored zeros."""
    if not issparse(graph):
        raise ValueError(
            f"graph must be a sparse matrix (scipy.sparse), but is a {type(graph).__name__}; "
            "sklearn.neighbors.kneighbors_graph makes one"
        )
    if graph.shape != (n_samples, n_samples):
        raise ValueError(
            f"graph must have a row and a column for each of the {n_samples} samples, but has "
            f"shape {graph.shape}"
        )
    graph = csr_array(graph, copy=True)
    graph.sum_duplicates()
    graph.eliminate_zeros()
    return graph


def check_indices(indices, n_samples: int) -> NDArray[np.intp]:
    """Numbers of samples as an array: integers from 0 to n - 1 (or negative, from the end)."""
    indices = np.atleast_1d(np.asarray(indices))
    if indices.ndim != 1 or not (np.issubdtype(indices.dtype, np.integer) or indices.size == 0):
        hint = "; np.flatnonzero makes them of a mask" if indices.dtype == bool else ""
        raise ValueError(
            "indices must be whole numbers that say which samples are meant, but came as "
            f"{indices.dtype} in shape {indices.shape}{hint}"
        )
    indices = indices.astype(np.intp)
    unknown = (indices < -n_samples) | (indices >= n_samples)
    if unknown.any():
        raise ValueError(
            f"indices must name samples from 0 to {n_samples - 1}, or from -1 to {-n_samples} "
            f"counted from the end, but one is {indices[unknown][0]}"
        )
    return np.where(indices < 0, indices + n_samples, indices)


def check_features(features, n_features: int) -> NDArray[np.intp] | None:
    """Numbers of features as an array in ascending order, None where all are meant."""
    if features is None:
        return None
    found = np.unique(features)
    if (
        np.ndim(features) != 1
        or not len(found)
        or not np.issubdtype(found.dtype, np.integer)
        or not 0 <= found[0] <= found[-1] < n_features
    ):
        raise ValueError(
            "neighborhood_features must be numbers of features, from 0 to "
            f"{n_features - 1} and one at least, but is {features!r}; None means all"
        )
    return found.astype(np.intp)


def check_neighbor_weights(weights, shape: tuple[int, int]) -> Array:
    """What a user's weight function returned."""
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != shape:
        raise ValueError(
            f"weights was given distances of shape {shape} and must return as many weights, but "
            f"returned shape {weights.shape}"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            "weights must return finite numbers that are not negative, but returned "
            f"{weights[~np.isfinite(weights) | (weights < 0)][0]}"
        )
    return weights


# What the columns of the samples are in a file.
STORED: dict[str, type] = {
    "Z": np.float64,
    "residuals": np.float64,
    "labels": np.int32,
    "weights": np.float64,
    "searchable": np.bool_,
}


def check_stored_shapes(
    columns: dict[str, NDArray], attributes: dict, space: dict[str, NDArray]
) -> None:
    """Refuse arrays from a file that cannot be parts of one model."""
    (n, d), (k, rows, m) = columns["Z"].shape, attributes["_models"].shape
    vectors = [columns[name] for name in ("labels", "weights", "searchable") if name in columns]
    features = space["sizes"] if "sizes" in space else space["shift"]
    multipliers = space.get("multipliers", np.ones(d))
    fits = (
        (rows, attributes["n_features_in_"], len(features)) == (d + 1, d, d)
        and columns["residuals"].shape == (n, m)
        and len(attributes["_target_names"]) == m
        and attributes["_constant"] in (0.0, 1.0)
        and all(vector.shape == (n,) for vector in vectors)
        and all(columns[name].dtype == STORED.get(name) for name in columns)
        and bool(np.isin(columns["labels"], np.arange(k)).all())
        and multipliers.shape == (d,)
        and bool((multipliers > 0).all())
    )
    if not fits:
        raise ValueError("its arrays do not fit each other")
