"""The local coefficients of a feature against its value: where does the effect change?"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.extras import extra
from ._model import main_regimes, place_of
from ._subject import MISSING, subject_of
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
        The feature in each row, its coefficient there and what it adds to the prediction. Of a
        column of text, the coefficient is what the row's category adds there more than the
        average one.
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
    def from_estimator(cls, estimator, X, feature: int | str, *, target: int | str = 0):
        """The Display of one feature.

        Parameters
        ----------
        estimator : fitted FALLRegressor or FALLClassifier, a search over them, or a TableModel
        X : array-like (q, d)
        feature : int or str
            The feature's place or name.
        target : int or str, default=0
            Which target or class, by place or name.
        """
        subject = subject_of(estimator)
        explanation = subject.explain(X)
        target = place_of(target, explanation.target_names, "target")
        j = place_of(feature, explanation.feature_names, "feature")
        contributions = explanation.contributions[:, j, target]
        values, coef = (
            [line[j] for line in subject.values(explanation.X)],
            explanation.coef[:, j, target],
        )
        if subject.columns[j].is_text:
            values = [MISSING if value is None else value for value in values]
            average = subject.at_average(subject.feature_coef(explanation))
            coef = contributions - average[:, j, target]
        return cls(
            values=np.array(values, dtype=str if subject.columns[j].is_text else np.float64),
            coef=coef,
            contributions=contributions,
            regimes=main_regimes(explanation.neighbor_labels, explanation.neighbor_weights),
            feature_name=str(explanation.feature_names[j]),
            target_name=explanation.target_names[target],
            has_units=subject.fall.regime_model.feature_space.has_units,
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
            pyplot = extra("matplotlib.pyplot", "plot", "Pictures")
            _, ax = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        x = self._draw_categories(ax) if self.is_text else self.values
        labels, counts = np.unique(self.regimes, return_counts=True)
        common = labels[np.argsort(-counts, kind="stable")][: min(max_regimes, len(COLORS))]
        groups = [
            (self.regimes == label, color, f"{label}", 1.0)
            for label, color in zip(common, COLORS, strict=False)
        ]
        other = ~np.isin(self.regimes, common)
        if other.any():
            groups.append((other, OTHER, f"{len(labels) - len(common)} others", 0.5))
        for rows, color, label, order in groups:
            style = {"s": 18, "alpha": 0.75, "linewidths": 0, "zorder": order}
            ax.scatter(x[rows], self.coef[rows], color=color, label=label, **style)
        ax.axhline(0, color="#475569", linewidth=0.8, zorder=0)
        unit = "" if self.has_units else " (per rank unit)"
        ax.set_xlabel(plain(self.feature_name, 60))
        ax.set_ylabel("adds, against the average" if self.is_text else f"coefficient{unit}")
        ax.set_title(
            f"Effect of {plain(self.feature_name, 30)} on {plain(self.target_name, 22)}", loc="left"
        )
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(
            title="regime", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9
        )
        return self

    @property
    def is_text(self) -> bool:
        """Whether the feature is a column of text."""
        return self.values.dtype.kind == "U"

    def _draw_categories(self, ax) -> Array:
        """Name the categories on the axis, the highest last, and return where the points go."""
        names, inverse = np.unique(self.values, return_inverse=True)
        typical = [np.median(self.coef[inverse == k]) for k in range(len(names))]
        rank = np.argsort(np.argsort(typical, kind="stable"), kind="stable")
        order = np.argsort(rank)
        turn = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if len(names) > 5 else {}
        ax.set_xticks(range(len(names)), [plain(names[k], 20) for k in order], **turn)
        # Beside each other, or points of equal height would hide one another.
        return rank[inverse] + np.random.default_rng(0).uniform(-0.25, 0.25, len(inverse))
