"""What pictures and reports ask of a fitted model beside its predictions."""

from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..models.fall import FALL

Array = NDArray[np.float64]


def fall_of(estimator) -> FALL:
    """The fitted FALL in an estimator: itself, or the best of a search.

    An ensemble passes for one: it is a model of the same samples, with the first member's regimes.
    """
    model = getattr(estimator, "best_estimator_", estimator)
    if not hasattr(type(model), "regime_model"):
        raise TypeError(
            "expected a fitted FALLRegressor, FALLClassifier, a search over them, an ensemble of "
            "them or a TableModel, "
            f"but got {type(estimator).__name__}; of a pipeline, pass the last step and "
            "transformed rows"
        )
    check_is_fitted(model)
    return model


def neighbor_counts(neighbors: NDArray) -> NDArray[np.intp]:
    """How many neighbours each row really has; an ensemble fills up with the first, (q,)."""
    new = np.ones(neighbors.shape, dtype=bool)
    new[:, 1:] = neighbors[:, 1:] != neighbors[:, :1]
    return new.sum(axis=1)


def held_out(model) -> tuple[NDArray, NDArray] | None:
    """What a model said of its samples in folds of its own, and each one's fold, if it has any."""
    known = model.out_of_fold()
    if known is None:
        return None
    said, folds = known
    return model.classes_[said.argmax(axis=1)] if hasattr(model, "classes_") else said, folds


def main_regimes(neighbor_labels: NDArray, neighbor_weights: Array) -> NDArray[np.intp]:
    """The anchor with the most weight among each query's neighbours, (q,)."""
    labels, inverse = np.unique(neighbor_labels, return_inverse=True)
    inverse = inverse.reshape(neighbor_labels.shape)
    totals = np.zeros((len(neighbor_labels), len(labels)))
    np.add.at(totals, (np.arange(len(totals))[:, None], inverse), neighbor_weights)
    return labels[totals.argmax(axis=1)]


def take_rows(X, rows: NDArray[np.intp]):
    """Rows of an array, a list or a frame, as the same kind of thing."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "columns") else np.asarray(X)[rows]


def check_row(row: int, n: int) -> int:
    """The number of a row, counted from the end where negative."""
    if not isinstance(row, Integral) or not -n <= row < n:
        raise ValueError(f"row must be below {n}, the number of rows, but is {row!r}")
    return int(row) % n


def place_of(wanted: int | str, names: list[str], what: str) -> int:
    """The number of a feature or target, given by name or number (from the end where negative)."""
    if isinstance(wanted, str) and wanted in names:
        return list(names).index(wanted)
    if not isinstance(wanted, Integral) or not -len(names) <= wanted < len(names):
        raise ValueError(
            f"{what} must be below {len(names)} or one of {[str(name) for name in names]}, but is "
            f"{wanted!r}"
        )
    return int(wanted) % len(names)
