"""One prediction as a waterfall of its layers, beside the neighbours that it was made from."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .drawing import BLUE, ORANGE, SLATE, TEAL, axes, axes_beside, label, name_rows
from .interface import Explanation
from .neighbors import neighbor_counts
from .selection import check_row, number_of, take_rows
from .text import drawn, largest, number, signed
from .traits import common_traits, neighbor_texts
from .view import MISSING, by_feature, view_of

Array = NDArray[np.float64]

CONSTANT = "No feature counts here:\nall neighbours follow\nthe same constant."

# Where a waterfall can start; the first is the default.
REFERENCES = ("baseline", "mean", "zero")

# Features whose part is smaller than this share of all steps have one bar together.
UNSEEN = 0.002


@dataclass(eq=False)
class ContributionDisplay:
    """How one prediction comes about: from all rows, over those like this one, to this one.

    Attributes
    ----------
    baseline, neighborhood_part : float
        The mean of the training targets, and what the level of the neighbours adds to it.
    difference_parts : array (d,)
        What each feature adds because the row differs from its neighbours in it; with the two
        above they add up to `prediction`.
    traits : list of str
        What the neighbours have in common that other samples have not, as "hour 2 (11.5)": their
        mean, and that of all samples.
    neighbor_values : list of str or None, (d,)
        The neighbours' mean of each feature; of text, how many of them have the row's.
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
    >>> level = shown.baseline + shown.neighborhood_part
    >>> bool(abs(level + shown.difference_parts.sum() - shown.prediction) < 1e-9)
    True
    """

    baseline: float
    neighborhood_part: float
    difference_parts: Array
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
    traits: list[str] = field(default_factory=list)
    neighbor_values: list[str] | None = None
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
            baseline=float(why.baseline[target]),
            neighborhood_part=float(why.neighborhood_part[0, target]),
            difference_parts=why.difference_parts[0, :, target],
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
            shown.traits = [str(trait) for trait in common_traits(view, why)[0]]
            shown.neighbor_values = neighbor_texts(view, why)[0]
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
        reference: str = "baseline",
    ) -> Self:
        """Draw the layers of the prediction, and the neighbours on the right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_features : int, default=10
            The largest parts have one bar each, the others, and those too small to be seen, one
            together.
        max_neighbors : int, default=8
            How many neighbours' weights are drawn; 0 for none.
        reference : {"baseline", "mean", "zero"}, default="baseline"
            Where the waterfall starts. "baseline": at the mean of all targets; one bar leads to
            the level of the row's neighbours, the others say how the row differs from them.
            "mean": at the row's own linear model for the average sample. "zero": at the intercept
            of that model, so that bars are `contributions`. All end at the prediction.

        Returns
        -------
        self
        """
        if reference not in REFERENCES:
            raise ValueError(f"reference must be one of {REFERENCES}, but is {reference!r}")
        bars = self.waterfall(max_features, reference)
        if self.is_constant:  # bars of features would be rounding
            bars = [*bars[: 1 + (reference == "baseline")], bars[-1]]
        heights = _heights([text for text, _, _ in bars])
        self.ax_ = axes(ax, (9.5, 1.2 + 0.36 * max(heights[0] + 1, 6)), "tight")
        self.figure_ = self.ax_.figure
        self._draw_bars(self.ax_, bars, heights)
        if self.is_constant and reference != "baseline":
            self.ax_.text(
                0.45, 0.5, CONSTANT, transform=self.ax_.transAxes, ha="right", va="center"
            )
        self.neighbor_ax_ = self._draw_neighbors(self.ax_, max_neighbors) if max_neighbors else None
        return self

    def waterfall(
        self, max_features: int = 10, reference: str = "baseline"
    ) -> list[tuple[str, float, float]]:
        """What `plot` draws: (label, start, step) of each bar, totals first and last.

        Each step starts where the one before ends, and the last bar is the prediction.
        """
        start, parts, first = self.intercept, self.contributions, "intercept"
        if reference == "mean" and self.at_average is not None:
            start, parts = start + self.at_average.sum(), parts - self.at_average
            first = "at the average sample"
        steps: list[tuple[str, float]] = []
        named, rest = largest(parts, max_features)
        layered = reference == "baseline"
        if layered:
            start, parts, first = self.baseline, self.difference_parts, "rows in general"
            steps = [(self._level_label(), self.neighborhood_part)]
            seen = np.abs(parts) > UNSEEN * (abs(self.neighborhood_part) + np.abs(parts).sum())
            named, rest = largest(parts, min(max_features, int(np.count_nonzero(seen))))
        steps += [(self._feature_label(j, layered), float(parts[j])) for j in named]
        if rest:
            others = f"{len(rest)} other features" if named else "how it differs from them"
            steps.append((others, float(parts[rest].sum())))
        bars, at = [(first, 0.0, float(start))], float(start)
        for text, step in steps:
            bars.append((text, at, step))
            at += step
        return [*bars, ("prediction", 0.0, self.prediction)]

    def _level_label(self) -> str:
        """The words for the step from all rows to the neighbours."""
        if not self.traits:
            return "those like this one"
        return "\n".join(["those like this one:", *(drawn(trait, 60) for trait in self.traits)])

    def _feature_label(self, j: int, layered: bool) -> str:
        name = drawn(self.feature_names[j])
        if self.values is None:
            return name
        value = self.values[j]
        if value is None:
            text = f"{name} {MISSING}"
        else:
            text = f"{name} = {drawn(value, 20) if isinstance(value, str) else number(value)}"
        if not layered or self.neighbor_values is None:
            return text
        return f"{text} (they: {self.neighbor_values[j]})"

    def _draw_bars(self, ax: Any, bars: list[tuple[str, float, float]], heights: Array) -> None:
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
        for end, top, bottom in zip(ends, heights, heights[1:], strict=False):
            ax.plot([end, end], [top, bottom], color=SLATE, linewidth=0.8, zorder=0)
        for height, end, (_, _, step) in zip(heights[1:], ends[1:], steps, strict=False):
            side, gap = ("left", 4) if step >= 0 else ("right", -4)
            label(ax, signed(step), (end, height), (gap, 0), ha=side)
        for height, value in ((heights[0], first), (0, last)):
            label(ax, number(value, 4), (value, height), (9, 0), weight="bold", fontsize=None)
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


def _heights(texts: list[str]) -> Array:
    """Where bars are, the first highest and the last at 0, so that labels of many lines fit."""
    half = np.array([max(0.5, 0.28 * len(text.split("\n"))) for text in texts])
    gaps = half[:-1] + half[1:]
    return np.append(np.cumsum(gaps[::-1])[::-1], 0.0)
