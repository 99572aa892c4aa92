"""Checks of the inputs X and the targets y that users pass.

Every public method checks them once, before anything is computed.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..arrays import from_device, moved, namespace, precision, to_numpy
from .devices import check_same_place, same_place, stays_on_device
from .values import (
    COMPLEX,
    TEXT,
    TIMES,
    check_even,
    check_no_gaps,
    check_not_masked,
    check_numbers,
    first_odd,
    is_missing,
    sortable,
)

Array = NDArray[np.float64]

# The square of a number of this size, times another such number, is still finite and not zero.
LARGEST, LARGEST_SINGLE = 1e140, 1e15  # in double and single precision


def validated(estimator: BaseEstimator, X: Any, **options: Any) -> Any:
    """What scikit-learn's `validate_data` returns; errors about cells of X say what to do."""
    dtype: Any = np.float64
    if stays_on_device(estimator, X):
        xp = namespace(X)
        dtype = [xp.float64, xp.float32]
    else:
        _check_cells(X)
    try:
        checked = validate_data(estimator, X, dtype=dtype, order="C", **options)
        if not options["reset"]:
            check_same_place(estimator, checked[0] if isinstance(checked, tuple) else checked)
        return checked
    except (TypeError, ValueError, OverflowError) as error:
        X = from_device(X)
        other = _other_value(X)
        if other is not None:
            raise TypeError(f"{other} ({error})") from error
        message = _gap_or_infinity(X)
        if message is None:
            raise
        raise ValueError(message) from error


def validated_targets(
    estimator: BaseEstimator, X: Any, y: Any, *, reset: bool = True
) -> tuple[Array, NDArray]:
    """Inputs (n, d) and numeric targets, (n,) or (n, m) as given."""
    if stays_on_device(estimator, X):
        return _targets_like_inputs(estimator, X, y, reset)
    y = from_device(y)
    _check_named_once(y, "y")
    check_target_values(y)
    X, y = validated(estimator, X, y=y, reset=reset, multi_output=True, y_numeric=True)
    _check_magnitudes(X, "X", allow_tiny=not reset)
    targets = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
    _check_magnitudes(targets, "y", allow_tiny=not reset)
    return X, y


def validated_classes(
    estimator: BaseEstimator, X: Any, y: Any, *, reset: bool = True
) -> tuple[Array, NDArray]:
    """Inputs (n, d) and class labels (n,), of which none is missing, in a NumPy array."""
    y = from_device(y)
    if stays_on_device(estimator, X):
        check_no_gaps(y, "y", "a class")
        labels = _check_labels(np.asarray(_known_text(y)))
        return _targets_like_inputs(estimator, X, np.zeros(len(labels)), reset)[0], labels
    _check_named_once(y, "y")
    check_no_gaps(y, "y", "a class")
    X, y = validated(estimator, X, y=_known_text(y), reset=reset)
    _check_magnitudes(X, "X", allow_tiny=not reset)
    return X, _check_labels(y)


def checked_targets(y: Any, shape: tuple[int, ...]) -> Array:
    """Numeric targets that predictions of this shape are compared with."""
    y = from_device(y)
    check_target_values(y)
    targets = np.asarray(y, dtype=np.float64)
    _check_one_each(targets, shape[0])
    targets = targets.reshape(shape[0], -1)
    n_targets = 1 if len(shape) == 1 else shape[1]
    if targets.shape[1] != n_targets:
        raise ValueError(
            f"y must have the {n_targets} targets of the fitted model, but has {targets.shape[1]}"
        )
    _check_magnitudes(targets, "y", allow_tiny=True)
    return targets.reshape(shape)


def checked_labels(y: Any, predicted: NDArray) -> NDArray:
    """Class labels (n,) that predicted ones are compared with."""
    y = from_device(y)
    check_no_gaps(y, "y", "a class")
    labels = np.asarray(_known_text(y))
    _check_one_each(labels, len(predicted))
    labels = _check_labels(labels)
    check_same_kind(labels, predicted)
    return labels


def _check_one_each(y: Any, n_samples: int) -> None:
    """Refuse targets of which there is not one, or one row of several, per sample."""
    if y.ndim not in (1, 2) or y.shape[0] != n_samples:
        raise ValueError(
            f"y must have one entry or one row per sample, so {n_samples} of them, but has the "
            f"shape {tuple(y.shape)}"
        )


def _targets_like_inputs(estimator: BaseEstimator, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
    """Inputs that stay on their device, and numeric targets that follow them there."""
    X = validated(estimator, X, reset=reset)
    xp = namespace(X)
    if not same_place(X, y):
        y = from_device(y)
        check_target_values(y)
        y = moved(np.asarray(y, dtype=np.float64), X)
    y = xp.astype(y, X.dtype, copy=False)
    _check_one_each(y, X.shape[0])
    if not bool(xp.all(xp.isfinite(y))):
        _check_targets_known(to_numpy(y))
    _check_magnitudes(X, "X", allow_tiny=not reset)
    _check_magnitudes(xp.reshape(y, (y.shape[0], -1)), "y", allow_tiny=not reset)
    return X, y


def check_queries(estimator: BaseEstimator, X: Any) -> Array:
    """Inputs (q, d) for a fitted model."""
    check_is_fitted(estimator)
    return validated_queries(estimator, X)


def validated_queries(estimator: BaseEstimator, X: Any) -> Array:
    """Inputs (q, d) that have the features that the estimator knows."""
    if _is_plain(estimator, X):
        check_same_place(estimator, X)
    else:
        X = validated(estimator, X, reset=False)
    _check_magnitudes(X, "X", allow_tiny=True)
    return X


def _is_plain(estimator: BaseEstimator, X: Any) -> bool:
    """Whether X is an array that scikit-learn's checks would return as it is.

    They take as long as the prediction of one row.
    """
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and bool(np.isfinite(X.sum()))
    )


def check_classes(classes: ArrayLike | None, known: NDArray) -> None:
    """Refuse other classes in a later call of partial_fit than in the first."""
    if classes is not None:
        found = _named_classes(classes)
        if not np.array_equal(found, known):
            raise ValueError(
                f"classes must be those of the first call, {known.tolist()}, but are "
                f"{found.tolist()}; fit a new model for other classes"
            )


def all_classes(classes: ArrayLike | None, y: NDArray) -> NDArray:
    """All classes in order: those of the labels y, or those that a user names."""
    found = np.unique(y)
    if classes is None:
        return found
    named = _named_classes(classes)
    unknown = ~np.isin(found, named)
    if unknown.any():
        raise ValueError(
            f"classes must name every class, but y has {found[unknown].tolist()[0]!r}, which is "
            f"not among {named.tolist()}"
        )
    return named


def _named_classes(classes: Any) -> NDArray:
    """Classes that a user names, in order, of which none is missing."""
    check_not_masked(classes, "classes")
    check_even(classes, "classes")
    # Text would swallow a NaN: np.asarray(["a", nan]) holds the text "nan".
    cells = np.asarray(classes, dtype=None if hasattr(classes, "dtype") else object)
    if cells.ndim != 1 or not len(cells) or any(map(is_missing, cells.tolist())):
        raise ValueError(
            "classes must be a list of all classes, at least one, without gaps, but is "
            f"{classes!r}; leave None and NaN out"
        )
    return np.unique(sortable(classes, "classes"))


def check_known_labels(y: NDArray, known: NDArray) -> None:
    """Refuse samples of other classes than these."""
    unknown = ~np.isin(y, known)
    if unknown.any():
        raise ValueError(
            f"y has the class {y[unknown].tolist()[0]!r}, which the model was not fitted with "
            f"({known.tolist()}); fit again, or begin with partial_fit and name all classes in its "
            "first call"
        )


def check_same_kind(labels: NDArray, classes: NDArray) -> None:
    """Refuse to compare text with numbers."""
    if kind_of(labels) != kind_of(classes):
        raise TypeError(
            f"y must hold labels of the kind that the model was fitted with, {kind_of(classes)}, "
            f"but holds {kind_of(labels)}; turn them into such labels"
        )


def kind_of(labels: NDArray) -> str:
    """Whether labels (n,), at least one, are text or numbers, in words."""
    return "text" if isinstance(labels.tolist()[0], str) else "numbers"


def _check_magnitudes(values: Array, name: str, *, allow_tiny: bool) -> None:
    """Refuse numbers with infinite squares, and columns whose squares are all lost to rounding."""
    xp = namespace(values)
    limit = LARGEST if precision(values) < 1e-10 else LARGEST_SINGLE
    largest = max(float(xp.max(values)), -float(xp.min(values)))
    if largest > limit:
        raise ValueError(
            f"{name} must hold numbers of at most {limit} in size, so that their squares are "
            f"finite, but one is {largest:.3g}; divide by a power of ten first"
        )
    if not allow_tiny:
        sizes = xp.maximum(xp.max(values, axis=0), -xp.min(values, axis=0))
        check_sizes(to_numpy(sizes), name, limit)


def check_reachable(Z: Array) -> None:
    """Refuse inputs in a feature space that are too far from its samples for squared distances."""
    if not Z.shape[0]:
        return
    xp = namespace(Z)
    limit = LARGEST if precision(Z) < 1e-10 else LARGEST_SINGLE
    largest = max(float(xp.max(Z)), -float(xp.min(Z)))
    if not largest <= limit:
        raise ValueError(
            f"X must be within {limit:g} times the spread of the samples that the model was fitted "
            f"with, so that squared distances are finite, but a number is {largest:.3g} times as "
            "far; look at the units of X, or leave such rows out"
        )


def check_sizes(sizes: Array, name: str, limit: float = LARGEST) -> None:
    """Refuse columns whose squares are all lost to rounding; `sizes` are their largest values."""
    tiny = (sizes > 0) & (sizes < 1 / limit)
    if tiny.any():
        raise ValueError(
            f"column {np.argmax(tiny)} of {name} must hold numbers of at least {1 / limit} in "
            f"size or only zeros, so that their squares are not zero, but the largest is "
            f"{sizes[tiny][0]:.3g}; multiply by a power of ten first"
        )


def _check_cells(X: Any) -> None:
    """Refuse what has no cells, cells that are masked, records, times and text.

    Cells of other types are left to scikit-learn, whose error `validated` puts in words.
    """
    _check_named_once(X, "X")
    odd = first_odd(X, "X")
    if odd is None:
        return
    place, cell = odd
    typed = isinstance(X, np.ndarray) and X.dtype.kind != "O"  # then all columns are alike
    named = len(place) == 2 and not typed
    if named and isinstance(cell, TIMES):
        raise ValueError(
            f"X must hold numbers, but column {_column_name(X, place[1])} holds times, such as "
            f"{cell}; turn them into numbers, for example days since the first date"
        )
    if named and isinstance(cell, TEXT):
        raise ValueError(
            f"X must hold numbers, but column {_column_name(X, place[1])} holds text, such as "
            f"{cell!r}; turn it into numbers, for example with scikit-learn's OneHotEncoder, or "
            "use TableRegressor or TableClassifier, which take text as it is"
        )
    refused = cell is np.ma.masked or isinstance(cell, (*TIMES, *TEXT, *COMPLEX, np.void))
    if refused or (not place and not issparse(X)):
        check_numbers(X, "X")


def _check_named_once(values: Any, name: str) -> None:
    """Refuse a frame with two columns of one name."""
    columns: Any = getattr(values, "columns", None)
    if not getattr(columns, "is_unique", True):
        twice = columns[columns.duplicated()][0]
        raise ValueError(
            f"{name} must name each column once, but has two columns {twice!r}; rename one"
        )


def _gap_or_infinity(X: Any) -> str | None:
    """An error message about the first missing or infinite cell of X; None if there is none."""
    cells = np.asarray(X)
    if cells.ndim != 2 or cells.dtype.kind not in "fOSUT":
        return None
    values = _numbers(cells)
    unusable = np.argwhere(~np.isfinite(values))
    if not len(unusable):
        return None
    i, j = unusable[0]
    column = _column_name(X, j)
    if np.isnan(values[i, j]):
        return (
            f"X must have no gaps, but column {column} has one (NaN) in sample {i}; fill it, for "
            "example with scikit-learn's SimpleImputer, or use TableRegressor or TableClassifier, "
            "which take gaps as they are"
        )
    return (
        f"X must hold finite numbers, but column {column} has {values[i, j]} in sample {i}; "
        "replace it, or leave the sample out"
    )


def _other_value(X: Any) -> str | None:
    """An error message about the first cell of X that is neither a number nor missing."""
    odd = first_odd(X, "X")
    if odd is None or len(odd[0]) != 2:
        return None
    (i, j), cell = odd
    return (
        f"X must hold numbers, but column {_column_name(X, j)} has {cell!r} in sample {i}, of type "
        f"{type(cell).__name__}; turn such values into numbers"
    )


def check_target_values(y: Any) -> None:
    """Refuse targets of a regression that are masked, times, text, missing or infinite."""
    if issparse(y):
        raise TypeError("y must be a dense array, but is sparse; pass y.toarray()")
    check_numbers(
        y,
        "y",
        if_text="for classes use FALLClassifier, FALLEnsembleClassifier or TableClassifier",
    )
    _check_targets_known(y)


def _check_targets_known(y: Any) -> None:
    """Refuse targets of a regression that are missing or infinite.

    scikit-learn would turn None, and the text "nan", into NaN after it has looked for NaN.
    """
    cells = np.asarray(y)
    if cells.ndim not in (1, 2) or not cells.size or cells.dtype.kind not in "fOSUT":
        return
    values = _numbers(cells.reshape(len(cells), -1))
    unusable = np.argwhere(~np.isfinite(values))
    if not len(unusable):
        return
    i, t = unusable[0]
    if np.isnan(values[i, t]):
        raise ValueError(
            f"y must have a number for every sample, but sample {i} has none (NaN); leave such "
            "samples out"
        )
    raise ValueError(
        f"y must hold finite numbers, but sample {i} has {values[i, t]}; leave such samples out"
    )


def _numbers(cells: NDArray) -> Array:
    """Cells as numbers: NaN where one is missing, 0 where it is neither missing nor a number."""
    if cells.dtype.kind == "f":
        return cells.astype(np.float64, copy=False)

    def value(cell: Any) -> float:
        if is_missing(cell):
            return np.nan
        try:
            return float(cell)
        except OverflowError:
            return np.inf
        except (TypeError, ValueError):
            return 0.0

    return np.array([value(cell) for cell in cells.flat], dtype=np.float64).reshape(cells.shape)


def finite_numbers(values: Any, name: str) -> NDArray:
    """Numbers beside X and y, of which none is missing or infinite, as an array."""
    check_numbers(values, name)
    cells = np.asarray(values)
    if cells.dtype.kind in "fOSUT":
        cells = _numbers(cells)
        odd = np.argwhere(~np.isfinite(cells))
        if len(odd):
            place = tuple(odd[0].tolist())
            where = f"entry {place[0] if len(place) == 1 else place}" if place else "it"
            raise ValueError(
                f"{name} must hold finite numbers, but {where} is {cells[place]}; replace it"
            )
    return cells


def _column_name(X: Any, j: int) -> str:
    """A column as messages name it: by its name in a frame, else by its number."""
    names = getattr(X, "columns", None)
    return str(j) if names is None else repr(str(names[j]))


def _check_labels(y: NDArray) -> NDArray:
    """Class labels (n,), all of one type."""
    if y.dtype.kind in "OV":
        sortable(y, "y")
    check_classification_targets(y)
    return column_or_1d(y)


def _known_text(y: Any) -> Any:
    """Labels as scikit-learn knows text: of one length, or objects."""
    return y.astype(object) if getattr(getattr(y, "dtype", None), "kind", None) == "T" else y
