"""Predicted against true."""

import numpy as np
from sklearn.metrics import PredictionErrorDisplay

from ..runtime.extras import extra
from ._model import place_of
from ._subject import labels_of, subject_of
from ._text import plain


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

    def __init__(self, *, y_true, y_pred, target_name="y"):
        super().__init__(y_true=y_true, y_pred=y_pred)
        self.target_name = target_name

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, target: int | str = 0):
        """The Display of a fitted model's predictions.

        Parameters
        ----------
        estimator : fitted FALLRegressor or FALLClassifier, a search over them, or a TableModel
        X : array-like (q, d)
        y : array-like (q,) or (q, m)
            For a TableModel by default the target columns of X.
        target : int or str, default=0
            Which target or class, by place or name.
        """
        subject = subject_of(estimator)
        target = place_of(target, subject.targets, "target")
        truth = labels_of(subject, X, y)
        inputs = subject.inputs(X)
        if hasattr(subject.fall, "classes_"):
            true = (truth == subject.fall.classes_[target]).astype(np.float64)
            predicted = subject.fall.predict_proba(inputs)[:, target]
        else:
            true = truth.reshape(len(truth), -1)[:, target]
            predicted = subject.fall.predict(inputs).reshape(len(truth), -1)[:, target]
        return cls(y_true=true, y_pred=predicted, target_name=subject.targets[target])

    def plot(self, ax=None, *, kind="actual_vs_predicted", scatter_kwargs=None, line_kwargs=None):
        """Draw; parameters are those of scikit-learn's PredictionErrorDisplay.

        Returns
        -------
        self
        """
        ticks = extra("matplotlib.ticker", "plot", "Pictures")
        style = {"color": "#0f766e", "alpha": 0.6, "s": 16} | (scatter_kwargs or {})
        super().plot(ax, kind=kind, scatter_kwargs=style, line_kwargs=line_kwargs)
        # scikit-learn divides the range of the data, which gives ticks such as 263.6.
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            axis.set_major_locator(ticks.MaxNLocator(6))
        self.ax_.set_title(plain(self.target_name, 60), loc="left")
        return self
