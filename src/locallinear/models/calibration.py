"""What all classifiers do with linear scores: probabilities, and the map that makes them.

The map has three numbers (`kernels.local.probabilities` has its formula). Models that have seen
folds fit it to scores of samples that their folds had left out, and keep it in `calibration_`. A
single model has no folds: its map is the nearest probabilities after one more sample of each class,
which is a function of the scores alone, so that a search can score it without a fit of its own.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import at, is_numpy, moved, namespace, to_numpy
from ..kernels.local.probabilities import class_probabilities, fit_probability_map
from .moments import Moments

Array = NDArray[np.float64]


class Calibrated(Moments):
    """Probabilities of a classifier, by its `calibration_` where it has one."""

    classes_: NDArray
    calibration_: dict[str, float]

    def predict_scores(self, X: Any) -> Array:
        """The linear scores of the classes, (q, m)."""
        raise NotImplementedError

    def _total_weight(self) -> float:
        """How many samples the model keeps; each counts as often as its weight says."""
        raise NotImplementedError

    @property
    def probability_map(self) -> dict[str, float]:
        """``n``, ``slope`` and ``power`` of the map from scores to probabilities."""
        if hasattr(self, "calibration_"):
            return self.calibration_
        return {"n": self._total_weight(), "slope": 0.0, "power": 1.0}

    def probabilities_of(self, scores: Array) -> Array:
        """The probabilities (q, m) that belong to linear scores (q, m)."""
        return class_probabilities(scores, **self.probability_map)

    def predict(self, X: Any) -> NDArray:
        """Predict the classes of X, (q,)."""
        now = self.at_this_moment()
        probabilities = now.predict_proba(X)
        best = namespace(probabilities).argmax(probabilities, axis=1)
        classes = now.classes_
        if is_numpy(best) or classes.dtype.kind not in "biuf":  # a device holds no text
            return classes[to_numpy(best)]
        return at(moved(classes, best), best)

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of the classes, (q, m).

        They follow from the linear scores that `explain` returns, and keep their order: see Notes.
        """
        now = self.at_this_moment()
        return now.probabilities_of(now.predict_scores(X))


def calibration_of(scores: Array, Y: Array, weights: Array | None) -> dict[str, float]:
    """The map that fits scores of unseen samples best.

    Parameters
    ----------
    scores : (n, m) of samples by models that were fitted without them
    Y, weights : (n, m) one-hot targets, and (n,) sample weights, not all 0, or None
    """
    weights = np.ones(len(Y)) if weights is None else weights
    n, slope, power = fit_probability_map(scores, Y, weights)
    return {"n": n, "slope": slope, "power": power}


def scores_of_all(scores: Array, y: NDArray, classes: NDArray) -> Array:
    """Scores (q, m) of all classes, from those of the classes that y has; the others have 0.

    A fold can lack a class. Its target is then 0 for all samples, and so is its score.
    """
    out = np.zeros((len(scores), len(classes)))
    out[:, np.isin(classes, y)] = scores
    return out
