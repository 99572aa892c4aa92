"""The local coefficients of a feature against its value: where does the effect change?"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .drawing import COLORS, PALE, SLATE, axes
from .neighbors import main_regimes
from .selection import number_of
from .text import drawn
from .view import MISSING, by_feature, view_of

Array = NDArray[np.float64]


@dataclass(eq=False)
class CoefficientDisplay:
    """A feature's coefficient in the models of q rows.

    Attributes
    ----------
    values, coef, contributions : arrays (q,)
        The feature's value in each row, its coefficient there and what it adds to the prediction.
        For a column of text, the coefficient is how much more the row's category adds there than
        the average one.
    regimes : array (q,)
        The regime with the most weight in each row's model.
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

    values: NDArray
    coef: Array
    contributions: Array
    regimes: NDArray[np.intp]
    feature_name: str
    target_name: str
    has_units: bool = True
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, feature: int | str, *, target: int | str = 0
    ) -> Self:
        """The Display of one feature.

        Parameters
        ----------
        estimator : as for `report_data`
        X : array-like (q, d)
        feature : int or str
            The feature's number or name.
        target : int or str, default=0
            Which target or class, by number or name.
        """
        view = view_of(estimator)
        why = view.explain(X)
        target = number_of(target, why.target_names, "target")
        j = number_of(feature, why.feature_names, "feature")
        is_text = view.choices(j) is not None
        values = [row[j] for row in view.values(why)]
        coef, contributions = why.coef[:, j, target], why.contributions[:, j, target]
        if is_text:
            values = [MISSING if value is None else value for value in values]
            coef = contributions - view.at_average(by_feature(why).coef)[:, j, target]
        return cls(
            values=np.array(values, dtype=str if is_text else np.float64),
            coef=coef,
            contributions=contributions,
            regimes=main_regimes(why.neighbor_labels, why.neighbor_weights),
            feature_name=str(why.feature_names[j]),
            target_name=why.target_names[target],
            has_units=view.space.has_units,
        )

    def plot(self, ax: Any = None, *, max_regimes: int = 6) -> Self:
        """Draw one point per row, in the colour of its regime.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_regimes : int, default=6
            How many of the commonest regimes have colours, at most 7; the others are grey.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes(ax, (7, 4.2), "constrained")
        self.figure_ = ax.figure
        x = self._draw_categories(ax) if self.is_text else self.values
        labels, counts = np.unique(self.regimes, return_counts=True)
        common = labels[np.argsort(-counts, kind="stable")][: min(max_regimes, len(COLORS))]
        groups = [
            (self.regimes == label, color, f"{label}", 1.0)
            for label, color in zip(common, COLORS, strict=False)
        ]
        other = ~np.isin(self.regimes, common)
        if other.any():
            groups.append((other, PALE, f"{len(labels) - len(common)} others", 0.5))
        for rows, color, name, order in groups:
            style = {"s": 18, "alpha": 0.75, "linewidths": 0, "zorder": order}
            ax.scatter(x[rows], self.coef[rows], color=color, label=name, **style)
        ax.axhline(0, color=SLATE, linewidth=0.8, zorder=0)
        unit = "" if self.has_units else " (per rank unit)"
        ax.set_xlabel(drawn(self.feature_name, 60))
        ax.set_ylabel("adds, against the average" if self.is_text else f"coefficient{unit}")
        ax.set_title(
            f"Effect of {drawn(self.feature_name, 30)} on {drawn(self.target_name, 22)}", loc="left"
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

    def _draw_categories(self, ax: Any) -> Array:
        """Name the categories on the axis, the highest last, and return the points' x."""
        names, inverse = np.unique(self.values, return_inverse=True)
        typical = [np.median(self.coef[inverse == k]) for k in range(len(names))]
        order = np.argsort(typical, kind="stable")
        turn = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if len(names) > 5 else {}
        ax.set_xticks(range(len(names)), [drawn(names[k], 20) for k in order], **turn)
        # Spread a little, or points of equal height would hide one another.
        spread = np.random.default_rng(0).uniform(-0.25, 0.25, len(inverse))
        return np.argsort(order)[inverse] + spread
