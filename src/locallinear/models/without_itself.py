"""Samples predicted and explained without themselves, on every FALL estimator."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .explanation import LocalExplanation

Array = NDArray[np.float64]


class WithoutItself:
    """What single models, searches and ensembles offer on their own samples."""

    def __dir__(self) -> Iterable[str]:
        # Completion, and a notebook that shows a model, read all attributes that are listed. One
        # that costs a prediction of all samples is therefore not: only who names it gets it.
        names = set(object.__dir__(self)) - {"loo_prediction_"}
        return [name for name in names if hasattr(self, name)]  # as scikit-learn lists them

    @property
    def loo_prediction_(self) -> Array:
        """Predictions of the samples, each without itself: (n,), or (n, m) for several targets.

        For a classifier they are the linear scores of the classes, (n, m). They belong to the
        explanations of `explain_samples`, which says what stays as it was fitted. They are
        computed when they are read, which takes as long as `predict` of all samples.
        """
        check_is_fitted(self)
        return self._loo_prediction()

    def explain_samples(self, indices: ArrayLike | None = None) -> LocalExplanation:
        """Explain training samples, none of which is its own neighbour.

        `explain` of a training sample finds the sample itself, at distance zero, which then takes
        all the weight. Here the K nearest other samples make the prediction. Samples that are
        equal to it in all features stay: they are others. A sample with a weight is left out
        whole, as if its weight were zero.

        Anchors, labels, feature space and the way that nearness is measured stay as they were
        fitted on all samples. Given these, the explanation of a sample does not depend on the
        sample's own target, except that the target has its part in `baseline`, the mean of all.

        Parameters
        ----------
        indices : array-like of int, optional
            Which samples, in the order in which they were fitted; all by default.

        Returns
        -------
        LocalExplanation
            Its `samples` and `index` are the numbers of the samples.
        """
        check_is_fitted(self)
        return self._explain_samples(indices)

    def _loo_prediction(self) -> Array:
        raise NotImplementedError

    def _explain_samples(self, indices: ArrayLike | None) -> LocalExplanation:
        raise NotImplementedError
