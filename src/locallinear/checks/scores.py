"""`score` of regressors and classifiers, which checks targets and weights as `fit` does."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score

from ..arrays import to_numpy
from .arguments import check_sample_weights, check_some_weight
from .inputs import checked_labels, checked_targets

Array = NDArray[np.float64]


class ScoredNumbers(RegressorMixin):
    """A regressor of scikit-learn whose score checks what it is given."""

    def score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions of X, the mean over the targets.

        Parameters
        ----------
        X : as for `predict`
        y : as for `fit`
        sample_weight : array-like (q,), optional
            How often each row counts.
        """
        predicted = to_numpy(self.predict(X))
        targets = checked_targets(y, predicted.shape)
        weights = _weights(sample_weight, len(targets))
        return float(r2_score(targets, predicted, sample_weight=weights))


class ScoredClasses(ClassifierMixin):
    """A classifier of scikit-learn whose score checks what it is given."""

    def score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right predictions of X.

        Parameters
        ----------
        X : as for `predict`
        y : as for `fit`
        sample_weight : array-like (q,), optional
            How often each row counts.
        """
        predicted = to_numpy(self.predict(X))
        labels = checked_labels(y, predicted)
        weights = _weights(sample_weight, len(labels))
        return float(np.average(labels == predicted, weights=weights))


def _weights(sample_weight: Any, n_samples: int) -> Array | None:
    weights = check_sample_weights(sample_weight, n_samples)
    check_some_weight(weights)
    return weights
