"""Scores of many configurations at once, equal to those of scikit-learn's scorers.

`Errors` need only sums of errors, which are fast to make; all other metrics need the predictions
themselves. Where a configuration has no score, the metric says why.
"""

import inspect
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer

from ..kernels.local.probabilities import TIE_DECIMALS, class_probabilities
from .failures import Failure
from .predictor import GridPredictor

Array = NDArray[np.float64]


class Metric(ABC):
    """Scores of all configurations on one split."""

    @abstractmethod
    def scores(self, predictor: GridPredictor) -> Array:
        """One score per configuration; not a finite number where there is none."""

    def reason(self, configuration: int) -> str:
        """Why this configuration has no score."""
        return "the score is not a finite number"


class Errors(Metric):
    """Scores that follow from sums of errors.

    Parameters
    ----------
    Y : (q, m) targets; weights : (q,) sample weights, or None
    """

    squared = True

    def __init__(self, Y: Array, weights: Array | None):
        self.Y = Y
        self.weights = np.ones(len(Y)) if weights is None else weights

    def scores(self, predictor: GridPredictor) -> Array:
        """One score per configuration."""
        return self._scores_of(predictor.error_sums(self.Y, self.weights, self.squared))

    @abstractmethod
    def _scores_of(self, sums: Array) -> Array:
        """Scores from the sums of the errors (m, configurations)."""


class NegMeanSquaredError(Errors):
    """neg_mean_squared_error."""

    def _scores_of(self, sums: Array) -> Array:
        return -(sums / self.weights.sum()).mean(axis=0)


class NegRootMeanSquaredError(Errors):
    """neg_root_mean_squared_error."""

    def _scores_of(self, sums: Array) -> Array:
        return -np.sqrt(sums / self.weights.sum()).mean(axis=0)


class NegMeanAbsoluteError(NegMeanSquaredError):
    """neg_mean_absolute_error."""

    squared = False


class R2(Errors):
    """r2, with scikit-learn's convention for a constant target."""

    def _scores_of(self, sums: Array) -> Array:
        mean = np.average(self.Y, axis=0, weights=self.weights)
        spread = (self.weights @ (self.Y - mean) ** 2)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            r2 = np.where(spread > 0, 1 - sums / spread, np.where(sums > 0, 0.0, 1.0))
        return r2.mean(axis=0) if len(self.Y) > 1 else np.full(r2.shape[1], np.nan)

    def reason(self, configuration: int) -> str:
        """Why this configuration has no score."""
        if len(self.Y) == 1:
            return (
                "R² needs at least two test samples in each split; give more samples, or fewer "
                "splits by cv"
            )
        return super().reason(configuration)


class Accuracy(Metric):
    """accuracy, of the class with the highest score; of equal scores the first class.

    Parameters
    ----------
    codes : (q,) the position of each sample's class; weights : (q,) sample weights, or None
    """

    def __init__(self, codes: NDArray[np.intp], weights: Array | None):
        self.codes = codes
        self.weights = np.ones(len(codes)) if weights is None else weights

    def scores(self, predictor: GridPredictor) -> Array:
        """One score per configuration."""
        tie = 0.5 * 10.0**-TIE_DECIMALS
        hits = np.zeros(math.prod(predictor.shape))
        for block, predictions in predictor.predictions():
            best = (predictions >= predictions.max(axis=0) - tie).argmax(axis=0)
            hits += self.weights[block] @ (best == self.codes[block, None])
        return np.minimum(hits / self.weights.sum(), 1.0)  # rounding may make it more


REGRESSION: dict[str, Callable[..., Errors]] = {
    "r2": R2,
    "neg_mean_squared_error": NegMeanSquaredError,
    "neg_root_mean_squared_error": NegRootMeanSquaredError,
    "neg_mean_absolute_error": NegMeanAbsoluteError,
}


def score_weights(
    scoring: str | Callable[..., float] | None, weights: Array | None
) -> Array | None:
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


class AnyScorer(Metric):
    """Any scorer of scikit-learn, called once per configuration.

    The scorer gets a model that returns the configuration's predictions. If the scorer fails, the
    configuration has no score, as in GridSearchCV.

    Parameters
    ----------
    scoring : name of a scorer, or the scorer
    X, y, weights : the test samples, and their weights or None
    make_replay : makes the model that the scorer gets
    """

    def __init__(
        self,
        scoring: str | Callable[..., float],
        X: Array,
        y: NDArray[Any],
        weights: Array | None,
        make_replay: "Callable[[], ReplayRegressor | ReplayClassifier]",
    ):
        self.replay = make_replay()
        self.scorer = check_scoring(self.replay, scoring=scoring)
        self.X, self.y = X, y
        self.extra = {} if weights is None else {"sample_weight": weights}
        self.failures: dict[int, str] = {}

    def scores(self, predictor: GridPredictor) -> Array:
        """One score per configuration."""
        blocks = [predictions for _, predictions in predictor.predictions()]
        by_configuration = np.concatenate(blocks, axis=1).T
        out = np.full(len(by_configuration), np.nan)
        for configuration, predictions in enumerate(by_configuration):
            self.replay.values = predictions
            try:
                out[configuration] = self.scorer(self.replay, self.X, self.y, **self.extra)
            except Exception as error:  # a user's scorer can fail in any way
                self.failures[configuration] = Failure.of("scoring", error)
        return out

    def reason(self, configuration: int) -> str:
        """Why this configuration has no score."""
        return self.failures.get(configuration, super().reason(configuration))


class ReplayRegressor(RegressorMixin, BaseEstimator):
    """A fitted regressor that predicts `values` (q, m), whatever the inputs are."""

    def __init__(self, one_target: bool = True):
        self.one_target = one_target
        self.values = np.empty((0, 1))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> Self:
        """Nothing to fit."""
        return self

    def predict(self, X: Any) -> Array:
        """The values."""
        return self.values[:, 0] if self.one_target else self.values


class ReplayClassifier(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose class scores are `values` (q, m), whatever the inputs are.

    `n` is the number of training samples.
    """

    def __init__(self, classes: NDArray[Any] | None = None, n: float = 1.0):
        self.classes = classes
        self.n = n
        self.classes_ = classes
        self.values = np.empty((0, 1))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> Self:
        """Nothing to fit."""
        return self

    def predict_proba(self, X: Any) -> Array:
        """The probabilities that a single model makes of the values."""
        return class_probabilities(self.values, self.n)

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes with the highest probability."""
        assert self.classes_ is not None
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
