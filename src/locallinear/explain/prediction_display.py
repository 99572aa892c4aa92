"""Predicted against true."""

from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import PredictionErrorDisplay

from ..runtime.extras import extra
from .drawing import TEAL
from .selection import number_of
from .text import drawn
from .view import view_of


class PredictionDisplay(PredictionErrorDisplay):
    """Predicted against true: scikit-learn's picture, for one of several targets or a class.

    For a classifier the prediction is the probability of the class, and the truth 1 or 0.

    Parameters
    ----------
    y_true, y_pred : arrays (q,)
    target_name : str, default="y"

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> from locallinear.explain import PredictionDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FALLRegressor(random_state=0).fit(X[:300], y[:300])
    >>> PredictionDisplay.from_estimator(model, X[300:], y[300:]).y_pred.shape
    (142,)
    """

    def __init__(self, *, y_true: NDArray, y_pred: NDArray, target_name: str = "y") -> None:
        super().__init__(y_true=y_true, y_pred=y_pred)
        self.target_name = target_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike | None = None, *, target: int | str = 0
    ) -> Self:
        """The Display of a fitted model's predictions.

        Parameters
        ----------
        estimator : as for `report_data`
        X : array-like (q, d)
        y : array-like (q,) or (q, m)
            Targets in units. For a `TableRegressor` by default the target columns of X. Where the
            log of the target was modelled, the picture is of logs.
        target : int or str, default=0
            Which target or class, by number or name.
        """
        view = view_of(estimator)
        target = number_of(target, view.target_names, "target")
        true, model = view.true_targets(X, y), cast(Any, view.estimator)
        if view.classes is not None:
            true = (true == view.classes[target]).astype(np.float64)
            predicted = model.predict_proba(view.encode(X))[:, target]
        else:
            true = true.reshape(len(true), -1)[:, target]
            predicted = model.predict(view.encode(X)).reshape(len(true), -1)[:, target]
        return cls(y_true=true, y_pred=predicted, target_name=view.target_names[target])

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "actual_vs_predicted",
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw; parameters are those of scikit-learn's PredictionErrorDisplay.

        Returns
        -------
        self
        """
        ticks = extra("matplotlib.ticker", "plot", "Pictures")
        style = {"color": TEAL, "alpha": 0.6, "s": 16} | (scatter_kwargs or {})
        super().plot(ax, kind=kind, scatter_kwargs=style, line_kwargs=line_kwargs)
        # scikit-learn divides the range of the data, which gives ticks such as 263.6.
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            axis.set_major_locator(ticks.MaxNLocator(6))
        self.ax_.set_title(drawn(self.target_name, 60), loc="left")
        return self
