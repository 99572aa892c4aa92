"""The λ path of a prediction: from the anchors' word to the neighbours' labels."""

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ..runtime.extras import extra
from ..tables.model import TableModel
from ._model import check_row, place_of, take_rows
from ._subject import Subject, labels_of, subject_of
from ._text import number, plain

Array = NDArray[np.float64]


@dataclass(eq=False)
class AlphaPathDisplay:
    """What a row would be predicted with other values of `alpha`, all else as fitted.

    Attributes
    ----------
    alphas : array (L,)
    predictions, intercepts : arrays (L,)
    contributions : array (L, d)
        With the intercepts they add up to the predictions, at each alpha.
    anchor_prediction : float
        What the anchor models of its neighbours say alone: the limit of a large alpha.
    label : float
        The row's own label where it was given, else the weighted mean of its neighbours'.
    own_label : bool
    alpha, prediction : float
        The fitted model's.
    target_name : str
    is_score : bool
        Whether the prediction is the score of a class.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> from locallinear.explain import AlphaPathDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FALLRegressor(random_state=0).fit(X, y)
    >>> path = AlphaPathDisplay.from_estimator(model, X, y, row=7)
    >>> bool(abs(path.predictions[0] - y[7]) < 0.1)
    True
    """

    alphas: Array
    predictions: Array
    intercepts: Array
    contributions: Array
    anchor_prediction: float
    label: float
    own_label: bool
    alpha: float
    prediction: float
    target_name: str
    is_score: bool = False
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator, X, y=None, *, row: int = 0, target: int | str = 0, alphas=None
    ):
        """The Display of one row of X.

        Parameters
        ----------
        estimator : fitted FALLRegressor or FALLClassifier, a search over them, or a TableModel
        X : array-like (q, d)
        y : array-like, optional
            Labels of X.
        row : int
        target : int or str
            Which target or class, by place or name.
        alphas : array-like (L,), optional
            By default from where the labels win to where the anchors do.
        """
        subject = subject_of(estimator)
        model = subject.fall
        if not hasattr(model, "alpha"):
            raise TypeError(
                "the path over alpha is that of one model; of an ensemble, pass a member, such as "
                "estimators_[0]"
            )
        target = place_of(target, subject.targets, "target")
        here = take_rows(X, np.array([check_row(row, len(X))]))
        fitted = subject.explain(here)
        if alphas is None:
            d = model.n_features_in_ + 1
            low, high = min(1e-4 * d, model.alpha or d), max(1e4 * d, model.alpha)
            alphas = np.geomspace(low, high, 61)
        alphas = np.asarray(alphas, dtype=np.float64)
        path = [_at(subject, here, alpha) for alpha in alphas]
        anchor = _at(subject, here, np.inf)
        near = subject.samples[1][fitted.neighbors[0], target]
        label = float(fitted.neighbor_weights[0] @ near)
        if y is not None:
            label = _label(subject, X, y, row, target)
        return cls(
            alphas=alphas,
            predictions=np.array([one.prediction.reshape(-1)[target] for one in path]),
            intercepts=np.array([one.intercept[0, target] for one in path]),
            contributions=np.array([one.contributions[0, :, target] for one in path]),
            anchor_prediction=float(anchor.prediction.reshape(-1)[target]),
            label=label,
            own_label=y is not None,
            alpha=float(model.alpha),
            prediction=float(fitted.prediction.reshape(-1)[target]),
            target_name=subject.targets[target],
            is_score=is_classifier(model),
        )

    def plot(self, ax=None):
        """Draw the path, its two ends and where the fitted model stands.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        self
        """
        if ax is None:
            pyplot = extra("matplotlib.pyplot", "plot", "Pictures")
            _, ax = pyplot.subplots(figsize=(7, 4), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.axhline(self.anchor_prediction, color="#6d28d9", linestyle="--", linewidth=1.2)
        ax.axhline(self.label, color="#c2410c", linestyle="--", linewidth=1.2)
        (self.line_,) = ax.plot(self.alphas, self.predictions, color="#0f766e", linewidth=2.2)
        if self.alpha > 0:
            ax.plot(self.alpha, self.prediction, "o", color="#1c2430", markersize=8)
            ax.annotate(
                f"as fitted: {number(self.prediction, 4)}",
                (self.alpha, self.prediction),
                (8, 8),
                textcoords="offset points",
                weight="bold",
            )
        label = "its label" if self.own_label else "its neighbours' labels"
        ends = (
            (1.01, self.anchor_prediction, "its anchors", "#6d28d9"),
            (1.01, self.label, label, "#c2410c"),
        )
        for x, value, text, color in ends:
            ax.annotate(
                f"{text}\n{number(value, 4)}",
                (x, value),
                xycoords=("axes fraction", "data"),
                color=color,
                va="center",
                fontsize=9,
            )
        ax.set_xscale("log")
        ax.margins(y=0.15)
        ax.set_xlabel("alpha (λ)")
        ax.set_ylabel(("score of " if self.is_score else "") + plain(self.target_name, 40))
        start = "its label" if self.own_label else "its neighbours' own models"
        ax.set_title(f"From {start} to the anchors as alpha grows", loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        return self


def _at(subject: Subject, X, alpha: float):
    """The explanation with another alpha: it acts on predictions alone, no fit depends on it."""
    other = copy(subject.fall)
    other.alpha = alpha
    table = None if subject.table is None else TableModel(subject.table.encoding, other)
    return Subject(other, subject.columns, table).explain(X)


def _label(subject: Subject, X, y, row: int, target: int) -> float:
    """A row's label as a number: for classes 1 or 0."""
    label = labels_of(subject, X, y)[row]
    if hasattr(subject.fall, "classes_"):
        return float(label == subject.fall.classes_[target])
    return float(np.atleast_1d(label)[target])
