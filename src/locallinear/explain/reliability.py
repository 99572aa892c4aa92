"""Whether probabilities are true: of rows said to be of a class with 80 %, how many are?

`probability_scores` has the errors of probabilities in numbers, and `reliability` the curve that a
picture draws. Both want rows that the model had not seen: `unseen_probabilities` returns them.
Axis letters: n rows, m classes, b bins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

Array = NDArray[np.float64]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]

N_BINS = 10
# Where two in three samples of a bin are: a standard deviation to both sides.
DEVIATIONS = 1.0
SMALLEST = 1e-15


@dataclass(frozen=True, eq=False)
class Reliability:
    """What was said and what came true, by bins of the predicted probability; empty ones left out.

    Attributes
    ----------
    predicted : array (b,)
        The mean probability that was predicted in each bin.
    observed : array (b,)
        The share of rows that are of the class.
    counts : array (b,)
        How many pairs of a row and a class a bin has, by the weights of the rows if there are any.
    low, high : arrays (b,)
        Wilson's interval of one standard deviation around the observed shares: probabilities
        between them agree with the rows.
    """

    predicted: Array
    observed: Array
    counts: NDArray
    low: Array
    high: Array


def reliability(
    y: NDArray,
    probabilities: Array,
    classes: NDArray,
    target: int | None = None,
    n_bins: int = N_BINS,
    sample_weight: Array | None = None,
) -> Reliability:
    """The reliability curve of probabilities (n, m).

    Parameters
    ----------
    y : array (n,)
        The true classes.
    probabilities : array (n, m)
        Of rows that the model had not seen, or the curve flatters the model.
    classes : array (m,)
    target : int, optional
        The number of one class; by default all classes count, each row once per class.
    n_bins : int, default=10
        Bins of equal width from 0 to 1.
    sample_weight : array (n,), optional
        How often each row counts.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.1, 0.1, 0.9, 0.9])
    >>> found = reliability(np.array([0, 0, 1, 0]), np.c_[1 - p, p], np.array([0, 1]), target=1)
    >>> found.predicted, found.observed, found.counts
    (array([0.1, 0.9]), array([0. , 0.5]), array([2, 2]))
    """
    chosen = slice(None) if target is None else [target]
    true = one_hot(y, classes)[:, chosen]
    weights = np.ones(len(true)) if sample_weight is None else sample_weight
    v, predicted = np.repeat(weights, true.shape[1]), np.asarray(probabilities)[:, chosen].ravel()
    bins = np.minimum((predicted * n_bins).astype(np.intp), n_bins - 1)
    counts = np.bincount(bins, v, n_bins)
    filled = np.flatnonzero(counts)
    counts = counts[filled]
    observed = np.bincount(bins, v * true.ravel(), n_bins)[filled] / counts
    z = DEVIATIONS**2 / counts
    middle = (observed + z / 2) / (1 + z)
    half = np.sqrt(z * observed * (1 - observed) + z**2 / 4) / (1 + z)
    return Reliability(
        predicted=np.bincount(bins, v * predicted, n_bins)[filled] / counts,
        observed=observed,
        counts=counts.astype(np.intp) if sample_weight is None else counts,
        low=middle - half,
        high=middle + half,
    )


def probability_scores(
    y: NDArray, probabilities: Array, classes: NDArray, sample_weight: Array | None = None
) -> dict[str, float]:
    """Errors of probabilities (n, m), of which small ones are good; rows may have weights (n,).

    ``log loss`` is the mean of −log(probability of the true class); ``Brier score`` the mean of the
    squared distance to the true classes as 0 and 1, summed over the classes. ``log loss of shares``
    and ``Brier score of shares`` belong to the shares of the classes as the same for all rows.
    """
    true, v = one_hot(y, classes), sample_weight
    shares = np.broadcast_to(np.average(true, axis=0, weights=v), true.shape)
    found = {}
    for predicted, name in ((np.asarray(probabilities), ""), (shares, " of shares")):
        likely = np.maximum((true * predicted).sum(axis=1), SMALLEST)
        squares = ((predicted - true) ** 2).sum(axis=1)
        found[f"log loss{name}"] = float(-np.average(np.log(likely), weights=v))
        found[f"Brier score{name}"] = float(np.average(squares, weights=v))
    return found


def unseen_probabilities(
    estimator: Any,
    X: Array,
    y: NDArray,
    splits: Sequence[Split],
    sample_weight: Array | None = None,
) -> Array:
    """Probabilities (n, m) of the rows of a partition, by models fitted on the other rows.

    The map from scores to probabilities stays the model's own.
    """
    scores = np.empty((len(X), len(estimator.classes_)))
    for train, test in splits:
        v = None if sample_weight is None else sample_weight[train]
        model = clone(estimator).partial_fit(X[train], y[train], v, classes=estimator.classes_)
        scores[test] = model.predict_scores(X[test])
    return estimator.probabilities_of(scores)


def one_hot(y: NDArray, classes: NDArray) -> Array:
    """1 where a row is of a class and 0 elsewhere, (n, m)."""
    return (np.asarray(y)[:, None] == np.asarray(classes)).astype(np.float64)
