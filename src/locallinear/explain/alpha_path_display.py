"""The alpha path of a prediction: from the neighbours' targets to the anchor models."""

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .drawing import INK, ORANGE, PURPLE, TEAL, axes, label
from .selection import check_row, number_of, take_rows
from .text import drawn, number
from .view import ModelView, view_of

Array = NDArray[np.float64]


@dataclass(eq=False)
class AlphaPathDisplay:
    """What a row's prediction would be with other values of `alpha`, all else as fitted.

    Attributes
    ----------
    alphas : array (L,)
    predictions, intercepts : arrays (L,)
    contributions : array (L, d)
        With the intercepts they add up to the predictions, at each alpha.
    anchor_prediction : float
        The prediction of the neighbours' anchor models alone: the limit of a large alpha.
    label : float
        The target of the row if `y` was given, else the weighted mean of the neighbours' targets.
    own_label : bool
        Whether `label` is the target of the row.
    alpha, prediction : float
        Those of the fitted model.
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
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        row: int = 0,
        target: int | str = 0,
        alphas: ArrayLike | None = None,
    ) -> Self:
        """The Display of one row of X.

        Parameters
        ----------
        estimator : as for `report_data`, but no ensemble
        X : array-like (q, d)
        y : array-like, optional
            Targets of X, in units. Where the log of the target was modelled, the picture is of
            logs.
        row : int
        target : int or str
            Which target or class, by number or name.
        alphas : array-like (L,), optional
            Values of alpha. By default 61 values, from one so small that the targets of the
            neighbours decide the prediction to one so large that the anchors do.
        """
        view = view_of(estimator)
        if not hasattr(view.estimator, "alpha"):
            raise TypeError(
                "the path over alpha is that of one model; of an ensemble, pass a member, such as "
                "estimators_[0]"
            )
        target = number_of(target, view.target_names, "target")
        here = view.encode(take_rows(X, np.array([check_row(row, len(X))])))
        # A copy, as alpha is set on it: it acts on predictions alone, no fit depends on it.
        model: Any = copy(view.estimator)
        alpha = float(model.alpha)
        alphas = _usual_alphas(model) if alphas is None else np.asarray(alphas, dtype=np.float64)
        fitted = model.explain(here)
        path = [model.set_params(alpha=float(other)).explain(here) for other in alphas]
        anchor = model.set_params(alpha=np.inf).explain(here)
        contributions = np.concatenate([why.contributions for why in path])
        near = view.samples.targets[fitted.neighbors[0], target]
        mean_label = float(fitted.neighbor_weights[0] @ near)
        return cls(
            alphas=alphas,
            predictions=np.array([why.prediction.reshape(-1)[target] for why in path]),
            intercepts=np.array([why.intercept[0, target] for why in path]),
            contributions=view.by_column(contributions)[:, :, target],
            anchor_prediction=float(anchor.prediction.reshape(-1)[target]),
            label=mean_label if y is None else _label(view, X, y, row, target),
            own_label=y is not None,
            alpha=alpha,
            prediction=float(fitted.prediction.reshape(-1)[target]),
            target_name=view.target_names[target],
            is_score=view.is_classifier,
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the path, its two ends and the point of the fitted model.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        self
        """
        self.ax_ = ax = axes(ax, (7, 4), "constrained")
        self.figure_ = ax.figure
        (self.line_,) = ax.plot(self.alphas, self.predictions, color=TEAL, linewidth=2.2)
        if self.alpha > 0:
            ax.plot(self.alpha, self.prediction, "o", color=INK, markersize=8)
            text, here = f"as fitted: {number(self.prediction, 4)}", (self.alpha, self.prediction)
            label(ax, text, here, (8, 8), va="baseline", weight="bold", fontsize=None)
        own = "its target" if self.own_label else "its neighbours' targets"
        ends = ((self.anchor_prediction, "its anchors", PURPLE), (self.label, own, ORANGE))
        for value, text, color in ends:
            ax.axhline(value, color=color, linestyle="--", linewidth=1.2, zorder=1)
            ax.annotate(
                f"{text}\n{number(value, 4)}",
                (1.01, value),
                xycoords=("axes fraction", "data"),
                color=color,
                va="center",
                fontsize=9,
            )
        ax.set_xscale("log")
        ax.margins(y=0.15)
        ax.set_xlabel("alpha (λ)")
        ax.set_ylabel(("score of " if self.is_score else "") + drawn(self.target_name, 40))
        start = "its target" if self.own_label else "its neighbours' own models"
        ax.set_title(f"From {start} to the anchors as alpha grows", loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        return self


def _usual_alphas(model: Any) -> Array:
    """From where the targets decide to where the anchors do, with the fitted one in between."""
    d = model.n_features_in_ + 1
    return np.geomspace(min(1e-4 * d, model.alpha or d), max(1e4 * d, model.alpha), 61)


def _label(view: ModelView, X: Any, y: ArrayLike, row: int, target: int) -> float:
    """A row's target as a number: for classes 1 or 0."""
    true = view.true_targets(X, y)[row]
    if view.classes is not None:
        return float(true == view.classes[target])
    return float(np.atleast_1d(true)[target])
