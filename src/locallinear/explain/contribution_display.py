"""One prediction as a waterfall of contributions, beside the neighbours that it was made from."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .drawing import BLUE, ORANGE, SLATE, TEAL, axes, axes_beside, label, name_rows
from .interface import Explanation
from .neighbors import neighbor_counts
from .selection import check_row, number_of, take_rows
from .text import drawn, largest, number, signed
from .view import MISSING, by_feature, view_of

Array = NDArray[np.float64]

CONSTANT = "No feature counts here:\nall neighbours follow\nthe same constant."


@dataclass(eq=False)
class ContributionDisplay:
    """The contributions to one prediction.

    Attributes
    ----------
    contributions : array (d,)
        What each feature adds; with `intercept` they add up to `prediction`.
    intercept, prediction : float
    coef : array (d,)
    values : list (d,) or None
        The row's values: numbers, texts, and None where one is missing.
    at_average : array (d,) or None
        What each feature would add to the same model at the average sample.
    neighbors, neighbor_weights, neighbor_labels : arrays (K,)
        The samples behind the prediction, nearest first, and their regimes.
    neighbor_targets : array (K,) or None
    feature_names : list of str
    target_name : str
    is_score : bool
        Whether the prediction is the score of a class.
    is_constant : bool
        Whether no feature counts here, as all neighbours follow the same constant.
    ax_, figure_, bars_, neighbor_ax_
        What `plot` drew on and drew.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> from locallinear.explain import ContributionDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FALLRegressor(random_state=0).fit(X, y)
    >>> shown = ContributionDisplay.from_estimator(model, X + 0.001, row=3)
    >>> bool(abs(shown.contributions.sum() + shown.intercept - shown.prediction) < 1e-9)
    True
    """

    contributions: Array
    intercept: float
    prediction: float
    coef: Array
    neighbors: NDArray[np.intp]
    neighbor_weights: Array
    neighbor_labels: NDArray[np.intp]
    feature_names: list[str]
    target_name: str
    values: list[Any] | None = None
    at_average: Array | None = None
    neighbor_targets: Array | None = None
    is_score: bool = False
    is_constant: bool = False
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_explanation(cls, explanation: Any, *, row: int = 0, target: int | str = 0) -> Self:
        """The Display of one row and target of a LocalExplanation."""
        target = number_of(target, explanation.target_names, "target")
        why: Explanation = explanation.take(
            np.array([check_row(row, len(explanation.contributions))])
        )
        near = slice(neighbor_counts(why.neighbors)[0])
        shown = cls(
            contributions=why.contributions[0, :, target],
            intercept=float(why.intercept[0, target]),
            prediction=float(why.prediction.reshape(-1)[target]),
            coef=why.coef[0, :, target],
            neighbors=why.neighbors[0, near],
            neighbor_weights=why.neighbor_weights[0, near],
            neighbor_labels=why.neighbor_labels[0, near],
            feature_names=[str(name) for name in why.feature_names],
            target_name=why.target_names[target],
        )
        if why.X is not None and why.model is not None:
            view = view_of(why.model)
            shown.is_score = view.is_classifier
            shown.values = view.values(why)[0]
            shown.at_average = view.at_average(by_feature(why).coef)[0, :, target]
            shown.is_constant = not view.counting(why)[0, :, target].any()
            shown.neighbor_targets = view.samples[1][shown.neighbors, target]
        return shown

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, row: int = 0, target: int | str = 0) -> Self:
        """The Display of one row of X.

        Parameters
        ----------
        estimator : as for `report_data`
        X : array-like (q, d)
        row : int
        target : int or str
            Which target or class, by number or name.
        """
        here = take_rows(X, np.array([check_row(row, len(X))]))
        return cls.from_explanation(view_of(estimator).explain(here), target=target)

    def plot(
        self,
        ax: Any = None,
        *,
        max_features: int = 10,
        max_neighbors: int = 8,
        reference: str = "mean",
    ) -> Self:
        """Draw the contributions, and the neighbours on the right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_features : int, default=10
            The largest contributions have one bar each, the others one together.
        max_neighbors : int, default=8
            How many neighbours' weights are drawn; 0 for none.
        reference : {"mean", "zero"}, default="mean"
            Where the waterfall starts: at the row's model for the average sample, so that bars
            say how the row differs from it, or at the intercept. Both end at the prediction.

        Returns
        -------
        self
        """
        if reference not in ("mean", "zero"):
            raise ValueError(f"reference must be 'mean' or 'zero', but is {reference!r}")
        n_bars = min(max_features, len(self.contributions)) + 3
        self.ax_ = axes(ax, (9.5, 1.2 + 0.36 * n_bars), "tight")
        self.figure_ = self.ax_.figure
        self._draw_bars(self.ax_, max_features, reference)
        self.neighbor_ax_ = self._draw_neighbors(self.ax_, max_neighbors) if max_neighbors else None
        return self

    def waterfall(
        self, max_features: int = 10, reference: str = "mean"
    ) -> list[tuple[str, float, float]]:
        """What `plot` draws: (label, start, step) of each bar, totals first and last.

        Each step starts where the one before ends, and the last bar is the prediction.
        """
        start, parts, first = self.intercept, self.contributions, "intercept"
        if reference == "mean" and self.at_average is not None:
            start, parts = start + self.at_average.sum(), parts - self.at_average
            first = "at the average sample"
        named, rest = largest(parts, max_features)
        steps = [(self._feature_label(j), float(parts[j])) for j in named]
        if rest:
            steps.append((f"{len(rest)} other features", float(parts[rest].sum())))
        bars, at = [(first, 0.0, float(start))], float(start)
        for text, step in steps:
            bars.append((text, at, step))
            at += step
        return [*bars, ("prediction", 0.0, self.prediction)]

    def _feature_label(self, j: int) -> str:
        name = drawn(self.feature_names[j])
        if self.values is None:
            return name
        value = self.values[j]
        if value is None:
            return f"{name} {MISSING}"
        return f"{name} = {drawn(value, 20) if isinstance(value, str) else number(value)}"

    def _draw_bars(self, ax: Any, max_features: int, reference: str) -> None:
        bars = self.waterfall(max_features, reference)
        bars = [bars[0], bars[-1]] if self.is_constant else bars
        heights = np.arange(len(bars))[::-1]
        first, last, steps = bars[0][2], self.prediction, bars[1:-1]
        self.bars_ = ax.barh(
            heights[1:-1],
            [step for _, _, step in steps],
            left=[start for _, start, _ in steps],
            height=0.62,
            color=[ORANGE if step >= 0 else BLUE for _, _, step in steps],
        )
        ax.plot([first, last], [heights[0], 0], "D", color=SLATE, markersize=8, linestyle="none")
        ends = [first, *(start + step for _, start, step in steps)]
        for height, end in zip(heights, ends, strict=False):
            ax.plot([end, end], [height, height - 1], color=SLATE, linewidth=0.8, zorder=0)
        for height, end, (_, _, step) in zip(heights[1:], ends[1:], steps, strict=False):
            side, gap = ("left", 4) if step >= 0 else ("right", -4)
            label(ax, signed(step), (end, height), (gap, 0), ha=side)
        for height, value in ((heights[0], first), (0, last)):
            label(ax, number(value, 4), (value, height), (9, 0), weight="bold", fontsize=None)
        if self.is_constant:
            ax.text(0.45, 0.5, CONSTANT, transform=ax.transAxes, ha="right", va="center")
        name_rows(ax, heights, [text for text, _, _ in bars])
        low, high = min(*ends, last), max(*ends, last)
        margin = 0.22 * (high - low or abs(first) or 1.0)
        ax.set_xlim(low - margin, high + margin)
        target = ("score of " if self.is_score else "") + drawn(self.target_name, 40)
        ax.set_xlabel(target)
        ax.set_title(f"{target}: {number(self.prediction, 4)}", loc="left")

    def _draw_neighbors(self, ax: Any, max_neighbors: int) -> Any:
        near = axes_beside(ax, "28%", 1.5)
        shown = slice(0, max_neighbors)
        weights = self.neighbor_weights[shown]
        heights = np.arange(len(weights))[::-1]
        near.barh(heights, weights, color=TEAL, height=0.55)
        names = [f"sample {i}" for i in self.neighbors[shown]]
        if self.neighbor_targets is not None:
            targets = self.neighbor_targets[shown]
            names = [f"{name}: {number(y)}" for name, y in zip(names, targets, strict=True)]
        name_rows(near, heights, names, fontsize=9)
        regimes = self.neighbor_labels[shown]
        for height, weight, regime in zip(heights, weights, regimes, strict=True):
            label(near, f"regime {regime}", (weight, height), (3, 0), fontsize=8, color=SLATE)
        n_left = len(self.neighbor_weights) - len(weights)
        near.set_title("made from", loc="left", fontsize=10)
        near.set_xlabel(f"weight ({n_left} more)" if n_left else "weight")
        near.set_xlim(0, max(float(weights.max()) * 1.5, 1e-12))
        near.set_ylim(min(-0.6, len(weights) - 1 - 8), len(weights) - 0.4)
        return near
