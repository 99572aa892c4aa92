"""Predictions as a feature moves: what would another value change?"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..checks.arguments import check_name
from .drawing import ORANGE, PALE, TEAL, axes
from .effect_parts import parts_of
from .effects import KINDS, MOST_CURVES, MOST_ROWS, Effect, effect_of_part, sentence, target_words
from .interface import Cyclic
from .selection import number_of, sampled
from .text import drawn
from .view import ModelView, view_of

Array = NDArray[np.float64]

# A stroke of a slope is this part of the axis wide.
STROKE = 0.03


@dataclass(eq=False)
class EffectDisplay:
    """The predictions of q rows as a feature takes g values, and a summary of them.

    Attributes
    ----------
    grid : array (g,)
        Values of the feature: numbers, or the texts of a column of text.
    curves : array (q, g)
        The prediction of each row with each value, and everything else as it is (ICE). For a
        classifier, the probability of the class.
    mean : array (g,)
        The mean of the curves (partial dependence).
    accumulated : array (g,)
        Accumulated local effects: changes of the prediction, whose mean over the rows is 0. From
        one value to the next they are taken in rows that are near the two.
    kind : {"mean", "accumulated"}
        Which of the two `plot` draws.
    dependence : float or None
        The share of the feature's variance that the other features explain, from 0 to 1; None where
        rows are too few to know.
    values, predictions : arrays (q,)
        What the rows hold, and their predictions as they are.
    slopes : array (q,), (q, g) or None
        The slope of each row's linear model in the units of the feature. For a column of text,
        what the row's linear model says that each text would add to the prediction. None for
        classes: their linear models are of scores and not of probabilities.
    feature_name, target_name : str
    sentence : str
        What the picture shows.
    label : str
        The feature's name, with what its numbers count where cells do not say it.
    has_order : bool
        Whether the texts of the grid are drawn in their order, as months are.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> from locallinear.explain import EffectDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = FALLRegressor(n_neighbors=20, random_state=0).fit(X[:300], y[:300])
    >>> shown = EffectDisplay.from_estimator(model, X[300:], "bmi")
    >>> shown.curves.shape, shown.kind
    ((142, 25), 'accumulated')
    """

    grid: NDArray
    curves: Array
    mean: Array
    accumulated: Array
    kind: str
    dependence: float | None
    values: NDArray
    predictions: Array
    slopes: Array | None
    feature_name: str
    target_name: str
    sentence: str
    label: str = ""
    has_order: bool = False
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        feature: int | str,
        *,
        target: int | str = 0,
        kind: str = "auto",
        max_rows: int = MOST_ROWS,
    ) -> Self:
        """The Display of one feature.

        Parameters
        ----------
        estimator : as for `report_data`
        X : array-like (q, d)
            Rows whose predictions are followed, better not those that the model was fitted on.
        feature : int or str
            The feature's number or name. Of a column of dates it is their trend, and
            "time: time of year" or "time: weekday" one of their cycles. Of a time of day it is the
            hours.
        target : int or str, default=0
            Which target or class, by number or name.
        kind : {"auto", "mean", "accumulated"}, default="auto"
            The summary to draw. "auto" takes accumulated local effects where trees that are grown
            on the other features explain more than a quarter of the feature's variance in rows
            that they have not seen, and else the mean.
        max_rows : int, default=300
            Of more rows, a sample is used.
        """
        check_name(kind, KINDS, "kind")
        view = view_of(estimator)
        t = number_of(target, view.target_names, "target")
        j = _column_of(view, feature)
        inputs = np.asarray(view.encode(X), dtype=np.float64)
        inputs = inputs[sampled(len(inputs), max_rows)]
        parts = parts_of(view, inputs, j)
        part = next((part for part in parts if part.name == feature), parts[0])
        effect = effect_of_part(view, inputs, j, part, kind)
        return cls(
            grid=effect.grid,
            curves=effect.curves[:, :, t],
            mean=effect.mean[:, t],
            accumulated=effect.accumulated[:, t],
            kind=effect.kind,
            dependence=effect.dependence,
            values=effect.part.values,
            predictions=effect.predictions[:, t],
            slopes=None if effect.slopes is None else effect.slopes[..., t],
            feature_name=effect.part.name,
            label=effect.part.label,
            target_name=target_words(view, t),
            sentence=_sentences(effect, effect.part.name, target_words(view, t)),
            has_order=effect.part.is_cycle,
        )

    @property
    def summary(self) -> Array:
        """The summary that `plot` draws, (g,)."""
        return self.accumulated if self.kind == "accumulated" else self.mean

    @property
    def _levels(self) -> Array:
        """Where `plot` draws the rows, (q,): predictions, or how far these are from their mean."""
        return self.predictions - (self.predictions.mean() if self.kind == "accumulated" else 0.0)

    @property
    def is_text(self) -> bool:
        """Whether the feature is a column of text."""
        return self.grid.dtype.kind == "U"

    def plot(self, ax: Any = None, *, max_curves: int = MOST_CURVES) -> Self:
        """Draw the summary, with the curves of some rows beside the mean, and the slopes.

        Slopes are short strokes at the rows, for a column of text small marks at the mean of what
        the rows' linear models say.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_curves : int, default=20
            How many rows have a thin line, or small points, or a stroke.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes(ax, (7, 4.2), "constrained")
        self.figure_ = ax.figure
        sort = self.is_text and not self.has_order
        order = np.argsort(self.summary, kind="stable") if sort else slice(None)
        x = np.arange(len(self.grid)) if self.is_text else self.grid
        rows = np.unique(np.linspace(0, len(self.curves) - 1, max_curves).astype(np.intp))
        if self.kind == "mean":
            points = {"marker": ".", "markersize": 3, "linestyle": ""}
            thin = points if self.is_text else {"linewidth": 0.7}
            ax.plot(x, self.curves[rows][:, order].T, color=PALE, alpha=0.8, zorder=1, **thin)
        style: dict[str, Any] = (
            {"marker": "o", "linestyle": ""}
            if self.is_text or len(x) == 1  # a line through one value would not be seen
            else {"linewidth": 2.6}
        )
        label = "accumulated local effects" if self.kind == "accumulated" else "mean prediction"
        ax.plot(x, self.summary[order], color=TEAL, zorder=3, label=label, **style)
        if self.slopes is not None:
            self._draw_slopes(ax, x, order, rows)
        self._name(ax, x, order)
        return self

    def _draw_slopes(self, ax: Any, x: NDArray, order: Any, rows: NDArray[np.intp]) -> None:
        """Strokes with the rows' slopes, or marks at what their models say of each text."""
        assert self.slopes is not None
        if self.is_text:
            by_slopes = (self._levels[:, None] + self.slopes).mean(axis=0)[order]
            ax.plot(x, by_slopes, "_", color=ORANGE, markersize=14, zorder=4, label="by the slopes")
            return
        half = STROKE / 2 * (np.ptp(self.values) or 1.0)
        at, level, slope = self.values[rows], self._levels[rows], self.slopes[rows]
        ends = [at - half, at + half], [level - half * slope, level + half * slope]
        lines = ax.plot(*ends, color=ORANGE, linewidth=1.6, zorder=2)
        lines[0].set_label("rows and the slopes of their models")

    def _name(self, ax: Any, x: NDArray, order: Any) -> None:
        if self.is_text:
            many = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if len(x) > 5 else {}
            ax.set_xticks(x, [drawn(text, 20) for text in self.grid[order]], **many)
            ax.margins(x=0.08)
        ax.set_xlabel(drawn(self.label or self.feature_name, 60))
        change = "" if self.kind == "mean" else "change in "
        ax.set_ylabel(f"{change}prediction of {drawn(self.target_name, 40)}")
        ax.set_title(
            f"{drawn(self.target_name, 30)} as {drawn(self.feature_name, 30)} moves", loc="left"
        )
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(facecolor="white", edgecolor="none", framealpha=0.8, fontsize=9)


def _column_of(view: ModelView, feature: int | str) -> int:
    """The number of a column, which may be named by a part of it, such as "time: weekday"."""
    for j, column in enumerate(view.columns):
        for cycle in column.cycles if isinstance(column, Cyclic) else ():
            if feature == f"{column.name}: {cycle}":
                return j
    return number_of(feature, view.names, "feature")


def _sentences(effect: Effect, feature: str, target: str) -> str:
    """What `plot` draws, the slopes included."""
    summary = sentence(effect, feature, target)
    if effect.slopes is None:
        return summary
    if effect.is_text:
        return f"{summary} Dashes are what the linear models of the rows say on average."
    return f"{summary} Each stroke is one row, with the slope of its linear model."
