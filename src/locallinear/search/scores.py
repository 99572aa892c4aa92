"""Scores of many predictions at once, equal to scikit-learn's scorers.

A metric gives C scores for the predictions of C configurations: NaN where there is none, and then
it says why. `Errors` need only the sums of the errors (m, C); all others take the predictions,
for a block of q samples at a time, as an array (m, q, C).
"""

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer

from ..kernels.local.combine import TIE_DECIMALS, nearest_probabilities

Array = NDArray[np.float64]


class _Metric(ABC):
    """What all metrics have in common."""

    @abstractmethod
    def scores(self) -> Array:
        """One a configuration, (C,)."""

    def reason(self, configuration: int) -> str:
        """Why this one of the C configurations has no score."""
        return "the score is not a finite number"


class OfPredictions(_Metric):
    """Scores that need the predictions themselves."""

    @abstractmethod
    def add(self, block: slice, predictions: Array) -> None:
        """Take the predictions (m, q, C) for the samples of this block."""


class Errors(_Metric):
    """Mean errors, from their sums over the samples a target and configuration."""

    squared = True

    def __init__(self, Y: Array, weights: Array | None):
        self.Y = Y
        self.weights = np.ones(len(Y)) if weights is None else weights
        self.sums = np.empty((Y.shape[1], 0))

    @property
    def means(self) -> Array:
        """Mean a target and configuration, (m, C)."""
        return self.sums / self.weights.sum()


class NegMeanSquaredError(Errors):
    """neg_mean_squared_error."""

    def scores(self) -> Array:
        """One a configuration, (C,)."""
        return -self.means.mean(axis=0)


class NegRootMeanSquaredError(Errors):
    """neg_root_mean_squared_error."""

    def scores(self) -> Array:
        """One a configuration, (C,)."""
        return -np.sqrt(self.means).mean(axis=0)


class NegMeanAbsoluteError(Errors):
    """neg_mean_absolute_error."""

    squared = False

    def scores(self) -> Array:
        """One a configuration, (C,)."""
        return -self.means.mean(axis=0)


class R2(Errors):
    """r2, with scikit-learn's convention for a constant target."""

    def scores(self) -> Array:
        """One a configuration, (C,)."""
        mean = np.average(self.Y, axis=0, weights=self.weights)
        spread = (self.weights @ (self.Y - mean) ** 2)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            r2 = np.where(spread > 0, 1 - self.sums / spread, np.where(self.sums > 0, 0.0, 1.0))
        return r2.mean(axis=0) if len(self.Y) > 1 else np.full(r2.shape[1], np.nan)

    def reason(self, configuration: int) -> str:
        """Why this one of the C configurations has no score."""
        if len(self.Y) == 1:
            return (
                "R² needs at least two test samples in each split; give more samples, or fewer "
                "splits by cv"
            )
        return super().reason(configuration)


class Accuracy(OfPredictions):
    """accuracy, of the class with the highest score; of equal ones the first."""

    def __init__(self, codes: NDArray[np.intp], weights: Array | None):
        self.codes = codes
        self.weights = np.ones(len(codes)) if weights is None else weights
        self.hits: Array | None = None

    def add(self, block: slice, predictions: Array) -> None:
        """Take the scores (m, q, C) of the classes for the samples of this block."""
        tie = 0.5 * 10.0**-TIE_DECIMALS
        best = (predictions >= predictions.max(axis=0) - tie).argmax(axis=0)
        hits = self.weights[block] @ (best == self.codes[block, None])
        self.hits = hits if self.hits is None else self.hits + hits

    def scores(self) -> Array:
        """One a configuration, (C,)."""
        assert self.hits is not None
        return self.hits / self.weights.sum()


Metric = Errors | OfPredictions

REGRESSION: dict[str, Callable[..., Errors]] = {
    "r2": R2,
    "neg_mean_squared_error": NegMeanSquaredError,
    "neg_root_mean_squared_error": NegRootMeanSquaredError,
    "neg_mean_absolute_error": NegMeanAbsoluteError,
}


def score_weights(scoring: str | Callable | None, weights: Array | None) -> Array | None:
    """The sample weights, or None with a warning where the scorer takes none."""
    if weights is None or scoring is None:
        return weights
    scorer = get_scorer(scoring)
    parameters = inspect.signature(getattr(scorer, "_score_func", scorer)).parameters
    takes_all = any(p.kind == p.VAR_KEYWORD for p in parameters.values())
    if "sample_weight" in parameters or takes_all:
        return weights
    warnings.warn(
        f"scoring={scoring!r} takes no sample_weight: the fits are weighted, their scores are not",
        UserWarning,
        stacklevel=4,  # where fit was called
    )
    return None


class AnyScorer(OfPredictions):
    """Any scorer of scikit-learn: called once a configuration on a model that replays its part.

    A scorer that fails leaves the configuration without a score, as in GridSearchCV.
    """

    def __init__(self, scoring: str | Callable, X, y, weights: Array | None, make_replay):
        replay = make_replay()
        self.scorer = check_scoring(replay, scoring=scoring)
        self.X, self.y, self.replay = X, y, replay
        self.extra = {} if weights is None else {"sample_weight": weights}
        self.blocks: list[Array] = []
        self.failures: dict[int, str] = {}

    def add(self, block: slice, predictions: Array) -> None:
        """Take the predictions (m, q, C) for the samples of this block."""
        self.blocks.append(predictions)

    def scores(self) -> Array:
        """One a configuration, (C,)."""
        predictions = np.concatenate(self.blocks, axis=1)
        out = np.empty(predictions.shape[2])
        for c in range(len(out)):
            self.replay.values = predictions[:, :, c].T
            try:
                out[c] = self.scorer(self.replay, self.X, self.y, **self.extra)
            except Exception as error:  # a user's scorer can fail in any way
                out[c] = np.nan
                self.failures[c] = f"scoring failed with {type(error).__name__}: {error}"
        return out

    def reason(self, configuration: int) -> str:
        """Why this one of the C configurations has no score."""
        return self.failures.get(configuration, super().reason(configuration))


class ReplayRegressor(RegressorMixin, BaseEstimator):
    """Predicts what it holds."""

    def __init__(self, one_target: bool = True):
        self.one_target = one_target
        self.values = np.empty((0, 1))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X, y):
        """Nothing to fit."""
        return self

    def predict(self, X) -> Array:
        """The values that it holds."""
        return self.values[:, 0] if self.one_target else self.values


class ReplayClassifier(ClassifierMixin, BaseEstimator):
    """Predicts the classes of the scores that it holds."""

    def __init__(self, classes=None):
        self.classes = classes
        self.classes_ = classes
        self.values = np.empty((0, 1))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X, y):
        """Nothing to fit."""
        return self

    def predict_proba(self, X) -> Array:
        """The probabilities nearest to the scores that it holds."""
        return nearest_probabilities(self.values)

    def predict(self, X) -> NDArray:
        """The classes with the highest probability."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
