"""The local coefficients of a feature against its value: where does the effect change?"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._model import check_target, fall_of, main_regimes
from ._text import plain

Array = NDArray[np.float64]

COLORS = ["#0f766e", "#c2410c", "#6d28d9", "#a16207", "#be185d", "#1d4ed8", "#4d7c0f"]
OTHER = "#94a3b8"


@dataclass(eq=False)
class CoefficientDisplay:
    """A feature's coefficient in the models of q rows.

    Attributes
    ----------
    values, coef, contributions : arrays (q,)
        The feature in each row, its coefficient there and what it adds to the prediction.
    regimes : array (q,)
        The anchor with the most weight in each row's model.
    feature_name, target_name : str
    has_units : bool
        Whether the coefficients are in the units of the data; with scaling "quantile" they are
        per unit of the scaled feature.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> from locallinear.explain import CoefficientDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = FALLRegressor(random_state=0).fit(X, y)
    >>> CoefficientDisplay.from_estimator(model, X, "bmi").coef.shape
    (442,)
    """

    values: Array
    coef: Array
    contributions: Array
    regimes: NDArray[np.intp]
    feature_name: str
    target_name: str
    has_units: bool = True
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator, X, feature: int | str, *, target: int = 0):
        """The Display of one feature.

        Parameters
        ----------
        estimator : fitted FALLRegressor or FALLClassifier, or a search over them
        X : array-like (q, d)
        feature : int or str
            The feature's place or name.
        target : int, default=0
            Which target or class.
        """
        model = fall_of(estimator)
        explanation = model.explain(X)
        target = check_target(target, explanation.target_names)
        j = _place(feature, explanation.feature_names)
        return cls(
            values=explanation.X[:, j],
            coef=explanation.coef[:, j, target],
            contributions=explanation.contributions[:, j, target],
            regimes=main_regimes(explanation.neighbor_labels, explanation.neighbor_weights),
            feature_name=str(explanation.feature_names[j]),
            target_name=explanation.target_names[target],
            has_units=model._space.has_units,
        )

    def plot(self, ax=None, *, max_regimes: int = 6):
        """Draw a point a row, in the colour of its regime.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_regimes : int, default=6
            So many of the commonest regimes have colours, at most 7; the others are grey.

        Returns
        -------
        self
        """
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        labels, counts = np.unique(self.regimes, return_counts=True)
        common = labels[np.argsort(-counts, kind="stable")][: min(max_regimes, len(COLORS))]
        other = ~np.isin(self.regimes, common)
        style = {"s": 18, "alpha": 0.75, "linewidths": 0}
        for label, color in zip(common, COLORS, strict=False):
            rows = self.regimes == label
            ax.scatter(self.values[rows], self.coef[rows], color=color, label=f"{label}", **style)
        if other.any():
            n_other = len(labels) - len(common)
            ax.scatter(
                self.values[other],
                self.coef[other],
                color=OTHER,
                label=f"{n_other} others",
                zorder=0.5,
                **style,
            )
        ax.axhline(0, color="#475569", linewidth=0.8, zorder=0)
        unit = "" if self.has_units else " (per rank unit)"
        ax.set_xlabel(plain(self.feature_name, 60))
        ax.set_ylabel(f"coefficient{unit}")
        ax.set_title(
            f"Effect of {plain(self.feature_name, 36)} on {plain(self.target_name)}", loc="left"
        )
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(
            title="regime", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9
        )
        return self


def _place(feature: int | str, names: list[str]) -> int:
    """A feature's place from its name or place."""
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"feature must be one of {[str(n) for n in names]}, not {feature!r}")
        return list(names).index(feature)
    if not -len(names) <= feature < len(names):
        raise ValueError(f"feature must be below {len(names)} or a name, but is {feature}")
    return feature % len(names)
