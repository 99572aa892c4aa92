"""What a search answers after its fit: what its best estimator does."""

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..models.explanation import LocalExplanation
from ..models.fall import FALL
from ..models.intervals import HowSure
from ..models.without_itself import WithoutItself

Array = NDArray[np.float64]


class AnswersAsBest(HowSure, WithoutItself):
    """A fitted search that predicts and explains as its `best_estimator_`."""

    best_estimator_: FALL

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def at_this_moment(self) -> Self:
        """The search as it is now: later updates of its best estimator do not reach it."""
        now = super().at_this_moment()
        if "best_estimator_" in now.__dict__:
            now.best_estimator_ = now.best_estimator_.at_this_moment()
        return now

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict with the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def explain(self, X: ArrayLike) -> LocalExplanation:
        """Explain each prediction of the best estimator by its exact linear model."""
        check_is_fitted(self)
        return self.best_estimator_.explain(X)

    def _loo_prediction(self) -> Array:
        return self.best_estimator_.loo_prediction_

    def _explain_samples(self, indices: ArrayLike | None) -> LocalExplanation:
        return self.best_estimator_.explain_samples(indices)

    def local_models(self, indices: ArrayLike | None = None) -> Array:
        """The models of training samples in the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.local_models(indices)

    @property
    def labels_(self) -> NDArray[np.intp]:
        """The anchor of each sample in the best estimator, (n,)."""
        check_is_fitted(self)
        return self.best_estimator_.labels_

    @property
    def regime_model(self) -> FALL:
        """The model whose anchors and labels are the regimes in figures: the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_

    @property
    def members(self) -> list[FALL]:
        """The fitted models whose mean this is: the best estimator."""
        check_is_fitted(self)
        return [self.best_estimator_]

    def save(self, path: str | Path) -> None:
        """Write the best estimator to a file that `locallinear.load` reads."""
        check_is_fitted(self)
        self.best_estimator_.save(path)

    def to_onnx(self) -> Any:
        """The best model as a graph of ONNX, as `FALLRegressor.to_onnx`."""
        check_is_fitted(self)
        return self.best_estimator_.to_onnx()
