"""One prediction as a waterfall of contributions, beside the neighbours that made it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ..models.explanation import LocalExplanation
from ..runtime.extras import extra
from ._model import check_row, neighbor_counts, place_of, take_rows
from ._subject import MISSING, can_be_shown, subject_of
from ._text import largest, number, plain, signed

Array = NDArray[np.float64]

CONSTANT = "No feature counts here:\nall neighbours follow\nthe same constant."

UP, DOWN, TOTAL, NEAR = "#c2410c", "#1d4ed8", "#475569", "#0f766e"


@dataclass(eq=False)
class ContributionDisplay:
    """One prediction's contributions.

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
    values: list | None = None
    at_average: Array | None = None
    neighbor_targets: Array | None = None
    is_score: bool = False
    is_constant: bool = False
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_explanation(
        cls, explanation: LocalExplanation, *, row: int = 0, target: int | str = 0
    ):
        """The Display of one row and target of an explanation."""
        q = len(explanation.contributions)
        row = check_row(row, q)
        target = place_of(target, explanation.target_names, "target")
        near = slice(neighbor_counts(explanation.neighbors)[row])
        shown = cls(
            contributions=explanation.contributions[row, :, target],
            intercept=float(explanation.intercept[row, target]),
            prediction=float(explanation.prediction.reshape(q, -1)[row, target]),
            coef=explanation.coef[row, :, target],
            neighbors=explanation.neighbors[row, near],
            neighbor_weights=explanation.neighbor_weights[row, near],
            neighbor_labels=explanation.neighbor_labels[row, near],
            feature_names=[str(name) for name in explanation.feature_names],
            target_name=explanation.target_names[target],
        )
        if explanation.X is not None and can_be_shown(explanation.model):
            subject = subject_of(explanation.model)
            shown.is_score = is_classifier(subject.fall)
            here = slice(row, row + 1)
            coef = subject.feature_coef(explanation, here)
            shown.values = subject.values(explanation.X[here])[0]
            shown.at_average = subject.at_average(coef)[0, :, target]
            size = np.abs(explanation.prediction.reshape(q, -1)) + np.abs(explanation.intercept)
            counts = subject.counts(coef, explanation.contributions[here], size[here])
            shown.is_constant = not counts[0, :, target].any()
            shown.neighbor_targets = subject.samples[1][shown.neighbors, target]
        return shown

    @classmethod
    def from_estimator(cls, estimator, X, *, row: int = 0, target: int | str = 0):
        """The Display of one row of X.

        Parameters
        ----------
        estimator : fitted FALLRegressor or FALLClassifier, a search over them, or a TableModel
        X : array-like (q, d)
        row : int
        target : int or str
            Which target or class, by place or name.
        """
        here = take_rows(X, np.array([check_row(row, len(X))]))
        return cls.from_explanation(subject_of(estimator).explain(here), target=target)

    def plot(self, ax=None, *, max_features: int = 10, max_neighbors: int = 8, reference="mean"):
        """Draw the contributions, and the neighbours on the right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_features : int, default=10
            The largest contributions have a bar each, the others one together.
        max_neighbors : int, default=8
            Of so many neighbours the weights are drawn; 0 for none.
        reference : {"mean", "zero"}, default="mean"
            Where the waterfall starts: at the row's model for the average sample, so that bars
            say how the row differs from it, or at the intercept. Both end at the prediction.

        Returns
        -------
        self
        """
        if reference not in ("mean", "zero"):
            raise ValueError(f"reference must be 'mean' or 'zero', but is {reference!r}")
        if ax is None:
            pyplot = extra("matplotlib.pyplot", "plot", "Pictures")
            n_bars = min(max_features, len(self.contributions)) + 3
            _, ax = pyplot.subplots(figsize=(9.5, 1.2 + 0.36 * n_bars), layout="tight")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw_bars(ax, max_features, reference)
        self.neighbor_ax_ = self._draw_neighbors(ax, max_neighbors) if max_neighbors else None
        return self

    def waterfall(self, max_features: int = 10, reference: str = "mean") -> list[tuple]:
        """What `plot` draws: (label, start, step) of each bar, totals first and last.

        Each step starts where the one before ends, and the last line is the prediction.
        """
        start, parts, first = self.intercept, self.contributions, "intercept"
        if reference == "mean" and self.at_average is not None:
            start, parts = start + self.at_average.sum(), parts - self.at_average
            first = "at the average sample"
        named, rest = largest(parts, max_features)
        steps = [(self._label(j), float(parts[j])) for j in named]
        if rest:
            steps.append((f"{len(rest)} other features", float(parts[rest].sum())))
        lines, at = [(first, 0.0, float(start))], float(start)
        for label, step in steps:
            lines.append((label, at, step))
            at += step
        return [*lines, ("prediction", 0.0, self.prediction)]

    def _label(self, j: int) -> str:
        name = plain(self.feature_names[j])
        if self.values is None:
            return name
        value = self.values[j]
        if value is None:
            return f"{name} {MISSING}"
        return f"{name} = {plain(value, 20) if isinstance(value, str) else number(value)}"

    def _draw_bars(self, ax, max_features: int, reference: str) -> None:
        lines = self.waterfall(max_features, reference)
        lines = [lines[0], lines[-1]] if self.is_constant else lines
        places = np.arange(len(lines))[::-1]
        first, last = lines[0][2], self.prediction
        steps = lines[1:-1]
        self.bars_ = ax.barh(
            places[1:-1],
            [step for _, _, step in steps],
            left=[start for _, start, _ in steps],
            height=0.62,
            color=[UP if step >= 0 else DOWN for _, _, step in steps],
        )
        ax.plot([first, last], [places[0], 0], "D", color=TOTAL, markersize=8, linestyle="none")
        at = first
        for place, (_, start, step) in zip(places[1:], [*steps, (None, last, 0.0)], strict=True):
            ax.plot([at, at], [place + 1, place], color=TOTAL, linewidth=0.8, zorder=0)
            at = start + step
        for place, (_, start, step) in zip(places[1:-1], steps, strict=True):
            text = signed(step)
            side, gap = ("left", 4) if step >= 0 else ("right", -4)
            ax.annotate(
                text,
                (start + step, place),
                (gap, 0),
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=9,
            )
        for place, value in ((places[0], first), (0, last)):
            ax.annotate(
                number(value, 4),
                (value, place),
                (9, 0),
                textcoords="offset points",
                va="center",
                weight="bold",
            )
        if self.is_constant:
            ax.text(0.45, 0.5, CONSTANT, transform=ax.transAxes, ha="right", va="center")
        ax.set_yticks(places, [label for label, _, _ in lines])
        ends = np.array([first, last, *(start + step for _, start, step in steps)])
        room = 0.22 * (np.ptp(ends) or abs(first) or 1.0)
        ax.set_xlim(ends.min() - room, ends.max() + room)
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        word = ("score of " if self.is_score else "") + plain(self.target_name, 40)
        ax.set_xlabel(word)
        ax.set_title(f"{word}: {number(self.prediction, 4)}", loc="left")

    def _draw_neighbors(self, ax, max_neighbors: int):
        from mpl_toolkits.axes_grid1 import make_axes_locatable

        near = make_axes_locatable(ax).append_axes("right", size="28%", pad=1.5)
        shown = slice(0, max_neighbors)
        weights = self.neighbor_weights[shown]
        places = np.arange(len(weights))[::-1]
        near.barh(places, weights, color=NEAR, height=0.55)
        labels = [f"sample {i}" for i in self.neighbors[shown]]
        if self.neighbor_targets is not None:
            labels = [
                f"{label}: {number(y)}"
                for label, y in zip(labels, self.neighbor_targets[shown], strict=True)
            ]
        near.set_yticks(places, labels, fontsize=9)
        for place, weight, label in zip(places, weights, self.neighbor_labels[shown], strict=True):
            near.annotate(
                f"regime {label}",
                (weight, place),
                (3, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=TOTAL,
            )
        n_left = len(self.neighbor_weights) - len(weights)
        near.set_title("made by", loc="left", fontsize=10)
        near.set_xlabel(f"weight ({n_left} more)" if n_left else "weight")
        near.set_xlim(0, max(float(weights.max()) * 1.5, 1e-12))
        near.set_ylim(min(-0.6, len(weights) - 1 - 8), len(weights) - 0.4)
        near.tick_params(axis="y", length=0)
        near.spines[["top", "right", "left"]].set_visible(False)
        return near
