"""The regimes as a picture: how large, by which equation, and where their samples are."""

from dataclasses import dataclass, field, replace
from textwrap import wrap
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .drawing import INK, TEAL, axes, axes_beside, label, name_rows
from .equations import short_equation
from .interface import CompanionLike
from .regimes import regime_names, regimes_of
from .selection import number_of
from .text import count, drawn, largest, plural
from .view import ModelView, Samples, view_of

Array = NDArray[np.float64]

# So many characters fit between the left end of the bars and the map, and left of the bars.
WIDTH, NAME_WIDTH = 106, 26


@dataclass(eq=False)
class RegimeDisplay:
    """The r regimes that have samples, largest first.

    Attributes
    ----------
    labels, sizes : arrays (r,)
        Their anchors, as in `labels_`, and how many samples each has, by their weights.
    models : array (r, d + 1)
        Their linear models for the target, intercept last.
    names : list of str
        By what sets their samples apart, such as "low age, high cement".
    equations : list of str
        The models as text, of few terms, with what is left out: it is at most that in 19 of 20
        samples of the regime.
    offsets : array (r, d)
        How far a regime's mean is from that of all samples, in standard deviations.
    feature_names : list of str
        For a `TableRegressor`, a column of text has one feature per category: "colour: red".
    target_name : str
    has_units : bool
        Whether the models are in the units of the data; with scaling "quantile" they are in ranks.
    explained : float or None
        If the regimes are those of a companion, the share of the accurate model's variance that it
        explains.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> from locallinear.explain import RegimeDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FALLRegressor(n_anchors=5, random_state=0).fit(X, y)
    >>> int(RegimeDisplay.from_estimator(model).sizes.sum())
    442
    """

    labels: NDArray[np.intp]
    sizes: Array
    models: Array
    names: list[str]
    equations: list[str]
    offsets: Array
    feature_names: list[str]
    target_name: str
    has_units: bool = True
    explained: float | None = None
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, target: int | str = 0, companion: CompanionLike | None = None
    ) -> Self:
        """The Display of a fitted model's regimes.

        Parameters
        ----------
        estimator : as for `report_data`
        target : int or str, default=0
            The target or class of the equations, by number or name.
        companion : Companion, optional
            A model of few regimes beside an accurate one, from `search.companion.companion_of`:
            its regimes are shown in place of the estimator's own.
        """
        view = view_of(estimator)
        if companion is not None:
            view = replace(view, estimator=companion.model)
        target = number_of(target, view.target_names, "target")
        name = view.target_names[target]
        found = regimes_of(view)
        models = found.models[:, :, target]
        return cls(
            labels=found.labels,
            sizes=found.sizes,
            models=models,
            names=regime_names(view, found),
            equations=[
                _fitting_equation(view, model, view.of_regime(label), name)
                for model, label in zip(models, found.labels, strict=True)
            ],
            offsets=found.offsets,
            feature_names=view.feature_names,
            target_name=name,
            has_units=view.space.has_units,
            explained=None if companion is None else companion.explained,
        )

    def plot(self, ax: Any = None, *, max_regimes: int = 8, max_features: int = 6) -> Self:
        """Draw sizes with equations, and the features that set the regimes apart on the right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_regimes, max_features : int
            How many are drawn: the largest regimes, and the features that differ most among them.

        Returns
        -------
        self
        """
        n = min(max_regimes, len(self.sizes))
        self.ax_ = ax = axes(ax, (12, 2.0 + 0.62 * n), "tight")
        self.figure_ = ax.figure
        heights = np.arange(n)[::-1]
        ax.barh(heights - 0.16, self.sizes[:n], height=0.3, color=TEAL)
        style = {"va": "bottom", "fontsize": 8.5, "annotation_clip": False}
        for height, size, text in zip(heights, self.sizes, self.equations, strict=False):
            label(ax, text.replace("$", r"\$"), (0, height + 0.06), (2, 2), **style)
            label(ax, count(size), (size, height - 0.16), (3, 0))
        named = [f"{r + 1}. {drawn(name, 2 * NAME_WIDTH - 4)}" for r, name in enumerate(self.names)]
        name_rows(
            ax, heights, ["\n".join(wrap(name, NAME_WIDTH)) for name in named[:n]], fontsize=9
        )
        ax.set_ylim(-0.5, n - 0.4)
        ax.set_xlim(0, self.sizes[0] * 1.15)
        ax.set_xlabel("samples")
        rest = len(self.sizes) - n
        others = f"; {plural(rest, 'smaller one')} with {count(self.sizes[n:].sum())} samples"
        title = f"{plural(len(self.sizes), 'regime')} of {drawn(self.target_name)}"
        title += "" if self.has_units else " (equations in ranks, −1.73 to 1.73)"
        if self.explained is not None:
            title += f", which explain {max(0.0, self.explained):.0%} of what the full model says"
        ax.set_title(title + (others if rest else ""), loc="left")
        self.map_ax_ = self._draw_map(ax, n, max_features)
        return self

    def _draw_map(self, ax: Any, n: int, max_features: int) -> Any:
        """Where the regimes are: their means, in standard deviations from the overall ones."""
        shown = largest(np.abs(self.offsets[:n]).max(axis=0), max_features)[0][:max_features]
        offsets = self.offsets[:n, shown]
        where = axes_beside(ax, "42%", 0.35)
        where.imshow(offsets, cmap="RdBu_r", vmin=-2, vmax=2, aspect="auto")
        for (i, j), value in np.ndenumerate(offsets):
            text = f"{round(value, 1) + 0.0:+.1f}".replace("-", "−")
            color = "white" if abs(value) > 1.2 else INK
            where.text(j, i, text, ha="center", va="center", fontsize=8, color=color)
        where.set_yticks([])
        where.set_xticks(
            range(len(shown)),
            [drawn(self.feature_names[j], 20) for j in shown],
            rotation=35,
            ha="right",
            rotation_mode="anchor",
            fontsize=9,
        )
        where.set_title("mean, in standard deviations", loc="left", fontsize=10)
        where.spines[:].set_visible(False)
        return where


def _fitting_equation(view: ModelView, model: Array, samples: Samples, target: str) -> str:
    """An equation that fits over a bar: with shorter names, or else with fewer terms."""
    texts = [
        short_equation(view, model, samples.inputs, target, limit, length, weights=samples.weights)
        for limit in (3, 2, 1)
        for length in (16, 10)
    ]
    return next((text for text in texts if len(text) <= WIDTH), texts[-1])
