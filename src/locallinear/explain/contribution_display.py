"""One prediction as a waterfall of its layers, beside the neighbours that it was made from."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..checks.arguments import check_name
from ..kernels.logs import exponential
from .drawing import SLATE, axes, label
from .how_sure import COVERAGE, DEVIATIONS, UNSEEN, how_sure, pulls_on, slope_errors
from .interface import Explanation
from .neighbors import neighbor_counts
from .selection import check_row, number_of, take_rows
from .text import drawn, factor, largest, number, signed
from .traits import common_traits, neighbor_texts
from .view import MISSING, ModelView, by_feature, view_of
from .waterfall_drawing import bar_heights, draw_bars, draw_neighbors

Array = NDArray[np.float64]

CONSTANT = "No feature counts here:\nall neighbours follow\nthe same constant."

# Where a waterfall can start; the first is the default.
REFERENCES = ("baseline", "mean", "zero")

# Features whose part is smaller than this share of all steps have one bar together.
TOO_SMALL = 0.002

# What neighbours have is on a second line where it is as long as this, such as parts of the year.
LONG, LINE = 16, "\n"

UNLIKE = " (unlike anything seen: do not trust it)"

# A label, what it adds, and the number of the feature if it is one.
Step = tuple[str, float, int | None]


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
        What the neighbours have in common, as "hour 2 (−120)": their mean, or of dates where most
        of them are, and what it adds to `neighborhood_part`.
    neighbor_values : list of str or None, (d,)
        The neighbours' mean of each feature, of dates where most of them are; of text, how many of
        them have the row's.
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
    neighbor_pulls : array (K,) or None
        How far the target of each takes the prediction from `baseline`, in units; where the log
        of the target was modelled, what it multiplies the prediction by; None where anchors are not
        linear in the targets.
    interval : array (2,) or None
        It contains 90 % of the targets of such rows.
    slopes, slopes_std : arrays (d,) or None
        Slopes in units and their standard deviations, NaN for text.
    units : list of str
        What the number of each feature counts, such as "hours", where its cells do not say it.
    times, times_per_unit : arrays (d,) or None
        Where the log of the target was modelled: what each part multiplies the prediction by, and
        what a unit more of the feature does.
    novelty : float or None
        How unusual the row is, from 0 to 1.
    feature_names : list of str
    target_name : str
    is_score : bool
        Whether the prediction is the score of a class.
    probability : float or None
        The probability of that class.
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
    neighbor_pulls: Array | None = None
    interval: Array | None = None
    slopes: Array | None = None
    slopes_std: Array | None = None
    units: list[str] = field(default_factory=list)
    times: Array | None = None
    times_per_unit: Array | None = None
    novelty: float | None = None
    is_score: bool = False
    probability: float | None = None
    is_constant: bool = False
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_explanation(
        cls, explanation: Any, *, row: int = 0, target: int | str = 0, sure: bool = True
    ) -> Self:
        """The Display of one row and target of a LocalExplanation.

        Parameters
        ----------
        explanation : LocalExplanation
        row : int, default=0
        target : int or str, default=0
            Which target or class, by number or name.
        sure : bool, default=True
            Whether to say how sure the prediction and its slopes are. The model computes once, for
            the first row, what this needs: as long as some predictions of all samples take.
        """
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
        if why.log is not None:
            shown.times = why.times[0, :, target]
            shown.times_per_unit = why.times_per_unit[0, :, target]
        if why.X is not None and why.model is not None:
            view = view_of(why.model)
            shown.is_score = view.is_classifier
            if view.is_classifier:
                scores = why.contributions.sum(axis=1) + why.intercept
                shown.probability = float(view.probabilities(scores)[0, target])
            shown.values = view.values(why)[0]
            shown.traits = [str(trait) for trait in common_traits(view, why)[0][target]]
            shown.neighbor_values = neighbor_texts(view, why)[0]
            shown.at_average = view.at_average(by_feature(why).coef)[0, :, target]
            shown.is_constant = not view.counting(why)[0, :, target].any()
            shown.neighbor_targets = _targets_in_units(view, why)[shown.neighbors, target]
            if sure:
                shown._add_how_sure(view, why, target)
        return shown

    def _add_how_sure(self, view: ModelView, why: Explanation, target: int) -> None:
        """Add what is known of the row's uncertainty; with too few samples, nothing is."""
        self.slopes = why.slopes[0, :, target]
        self.units = [column.unit for column in view.columns]
        with suppress(ValueError):
            known = how_sure(view, why)
            self.slopes_std = slope_errors(view, why)[0, :, target]
            self.interval = None if known.interval is None else known.interval[0, target]
            self.novelty = float(known.novelty[0])
        with suppress(ValueError):
            self.neighbor_pulls = pulls_on(view, why, [self.neighbors], 0)[0].pulls[:, target]
            if why.log is not None:
                self.neighbor_pulls = exponential(self.neighbor_pulls)

    def pull(self, k: int) -> str:
        """The pull of a neighbour in words: an amount, or a factor where logs were modelled."""
        assert self.neighbor_pulls is not None
        pull = self.neighbor_pulls[k]
        return signed(pull) if self.times is None else f"times {factor(pull)}"

    @property
    def is_unlike_anything(self) -> bool:
        """Whether the row is unlike all samples."""
        return self.novelty is not None and self.novelty > UNSEEN

    def may_be_zero(self, j: int) -> bool:
        """Whether the interval of a feature's slope contains zero."""
        if self.slopes is None or self.slopes_std is None:
            return False
        return bool(abs(self.slopes[j]) <= DEVIATIONS * self.slopes_std[j])

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
        steps = self.steps(max_features, reference)
        if self.is_constant:  # bars of features would be rounding
            steps = steps[: 1 if reference == "baseline" else 0]
        bars = self._bars(reference, steps)
        heights = bar_heights([text for text, _, _ in bars])
        self.ax_ = axes(ax, (9.5, 1.2 + 0.36 * max(heights[0] + 1, 6)), "tight")
        self.figure_ = self.ax_.figure
        unsure = [j is not None and self.may_be_zero(j) for _, _, j in steps]
        self.bars_ = draw_bars(self.ax_, bars, heights, unsure, self.interval)
        target = ("score of " if self.is_score else "") + drawn(self.target_name, 40)
        self.ax_.set_xlabel(target)
        below = {"xycoords": "axes fraction", "ha": "center", "va": "top", "color": SLATE}
        label(self.ax_, "\n".join(self._remarks(unsure)), (0.5, 0.0), (0, -36), **below)
        title = f"{target}: {number(self.prediction, 4)}"
        title += "" if self.probability is None else f", probability {self.probability:.0%}"
        self.ax_.set_title(title + (UNLIKE if self.is_unlike_anything else ""), loc="left")
        if self.is_constant and reference != "baseline":
            self.ax_.text(
                0.45, 0.5, CONSTANT, transform=self.ax_.transAxes, ha="right", va="center"
            )
        self.neighbor_ax_ = self._draw_neighbors(max_neighbors) if max_neighbors else None
        return self

    def _remarks(self, unsure: list[bool]) -> list[str]:
        """What the interval and hatched bars mean."""
        remarks = []
        if self.interval is not None:
            remarks.append(f"the line at the prediction holds {COVERAGE:.0%} of such rows")
        if any(unsure):
            remarks.append("hatched: the interval of the slope contains zero")
        return remarks

    def _draw_neighbors(self, max_neighbors: int) -> Any:
        shown = slice(0, max_neighbors)
        names = [f"sample {i}" for i in self.neighbors[shown]]
        if self.neighbor_targets is not None:
            targets = self.neighbor_targets[shown]
            names = [f"{name}: {number(y)}" for name, y in zip(names, targets, strict=True)]
        notes = [f"regime {regime}" for regime in self.neighbor_labels[shown]]
        if self.neighbor_pulls is not None:
            notes = [f"pulls {self.pull(k)}" for k in range(len(names))]
        n_left = len(self.neighbor_weights) - len(names)
        return draw_neighbors(self.ax_, self.neighbor_weights[shown], names, notes, n_left)

    def waterfall(
        self, max_features: int = 10, reference: str = "baseline"
    ) -> list[tuple[str, float, float]]:
        """What `plot` draws: (label, start, step) of each bar, totals first and last.

        Each step starts where the one before ends, and the last bar is the prediction.
        """
        return self._bars(reference, self.steps(max_features, reference))

    def _bars(self, reference: str, steps: list[Step]) -> list[tuple[str, float, float]]:
        first, at = self._start(reference)
        bars = [(first, 0.0, at)]
        for text, step, _ in steps:
            bars.append((text, at, step))
            at += step
        return [*bars, ("prediction", 0.0, self.prediction)]

    def _start(self, reference: str) -> tuple[str, float]:
        """Where the waterfall starts: its name and value."""
        if reference == "baseline":
            return "rows in general", self.baseline
        if reference == "mean" and self.at_average is not None:
            return "at the average sample", float(self.intercept + self.at_average.sum())
        return "intercept", self.intercept

    def steps(self, max_features: int = 10, reference: str = "baseline") -> list[Step]:
        """The steps from the start to the prediction, with the numbers of the features."""
        check_name(reference, REFERENCES, "reference")
        steps: list[Step] = []
        parts, layered = self.contributions, reference == "baseline"
        if reference == "mean" and self.at_average is not None:
            parts = parts - self.at_average
        named, rest = largest(parts, max_features)
        if layered:
            parts = self.difference_parts
            steps = [(self._level_label(), self.neighborhood_part, None)]
            seen = np.abs(parts) > TOO_SMALL * (abs(self.neighborhood_part) + np.abs(parts).sum())
            named, rest = largest(parts, min(max_features, int(np.count_nonzero(seen))))
        steps += [(self._feature_label(j, layered), float(parts[j]), j) for j in named]
        if rest:
            others = f"{len(rest)} other features" if named else "how it differs from them"
            steps.append((others, float(parts[rest].sum()), None))
        return steps

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
        theirs = self.neighbor_values[j]
        return f"{text}{' ' if len(theirs) < LONG else LINE}(they: {theirs})"


def _targets_in_units(view: ModelView, why: Explanation) -> Array:
    """The targets of the samples, (n, m), in units also where their logs were modelled."""
    targets = view.samples.targets
    if why.log is None:
        return targets
    model: Any = why.model
    return model.quantiles_in_units(targets[:, :, None])[:, :, 0]
