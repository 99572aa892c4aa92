"""The regimes as a picture: how large, by which equation, and where they live."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.extras import extra
from ._equations import equation
from ._model import place_of
from ._regimes import regimes_of
from ._subject import Subject, subject_of
from ._text import largest, plain, plural

Array = NDArray[np.float64]

# So many characters fit between the bars' start and the map.
WIDTH = 106


@dataclass(eq=False)
class RegimeDisplay:
    """The r regimes that have samples, largest first.

    Attributes
    ----------
    labels, sizes : arrays (r,)
        Their anchors, as in `labels_`, and how many samples follow each.
    models : array (r, d + 1)
        Their linear models for the target, intercept last.
    equations : list of str
        The same as text, the terms that matter most first; the constant holds what those left out
        add at the average sample.
    offsets : array (r, d)
        How far a regime's mean is from that of all samples, in standard deviations.
    feature_names : list of str
        Of a TableModel, a column of text has a feature a category, such as "colour: red".
    target_name : str
    has_units : bool
        Whether the models are in the units of the data; with scaling "quantile" they are in ranks.

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
    sizes: NDArray[np.intp]
    models: Array
    equations: list[str]
    offsets: Array
    feature_names: list[str]
    target_name: str
    has_units: bool = True
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator, *, target: int | str = 0):
        """The Display of a fitted model's regimes.

        Parameters
        ----------
        estimator : fitted FALLRegressor or FALLClassifier, a search over them, or a TableModel
        target : int or str, default=0
            Which target or class, by place or name the equations are of.
        """
        subject = subject_of(estimator)
        target = place_of(target, subject.targets, "target")
        found = regimes_of(subject)
        word = subject.targets[target]
        models = found.models[:, :, target]
        return cls(
            labels=found.labels,
            sizes=found.sizes,
            models=models,
            equations=[_short_equation(subject, line, word) for line in models],
            offsets=found.offsets,
            feature_names=subject.feature_names,
            target_name=word,
            has_units=subject.fall.regime_model.feature_space.has_units,
        )

    def plot(self, ax=None, *, max_regimes: int = 8, max_features: int = 6):
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
        if ax is None:
            pyplot = extra("matplotlib.pyplot", "plot", "Pictures")
            _, ax = pyplot.subplots(figsize=(11, 2.0 + 0.62 * n), layout="tight")
        self.ax_, self.figure_ = ax, ax.figure
        places = np.arange(n)[::-1]
        ax.barh(places - 0.16, self.sizes[:n], height=0.3, color="#0f766e")
        for place, size, text in zip(places, self.sizes, self.equations, strict=False):
            ax.annotate(
                text.replace("$", r"\$"),
                (0, place + 0.06),
                (2, 2),
                textcoords="offset points",
                fontsize=8.5,
                va="bottom",
                annotation_clip=False,
            )
            ax.annotate(
                f"{size:,}",
                (size, place - 0.16),
                (3, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
        ax.set_yticks(places, [f"regime {label}" for label in self.labels[:n]])
        ax.set_ylim(-0.5, n - 0.4)
        ax.set_xlim(0, self.sizes[0] * 1.15)
        ax.set_xlabel("samples")
        rest = len(self.sizes) - n
        left = f"; {plural(rest, 'smaller one')} with {self.sizes[n:].sum():,} samples"
        title = f"{plural(len(self.sizes), 'regime')} of {plain(self.target_name)}"
        title += "" if self.has_units else " (equations in ranks, −1.73 to 1.73)"
        ax.set_title(title + (left if rest else ""), loc="left")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        self.map_ax_ = self._draw_map(ax, n, max_features)
        return self

    def _draw_map(self, ax, n: int, max_features: int):
        """Where the regimes live: their means, in standard deviations from the overall ones."""
        from mpl_toolkits.axes_grid1 import make_axes_locatable

        shown = largest(np.abs(self.offsets[:n]).max(axis=0), max_features)[0][:max_features]
        where = make_axes_locatable(ax).append_axes("right", size="42%", pad=0.35)
        where.imshow(
            self.offsets[:n, shown],
            cmap="RdBu_r",
            vmin=-2,
            vmax=2,
            aspect="auto",
        )
        for i in range(n):
            for place, j in enumerate(shown):
                value = self.offsets[i, j]
                where.text(
                    place,
                    i,
                    f"{round(value, 1) + 0.0:+.1f}".replace("-", "−"),
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if abs(value) > 1.2 else "#1c2430",
                )
        where.set_yticks([])
        where.set_xticks(
            range(len(shown)),
            [plain(self.feature_names[j], 20) for j in shown],
            rotation=35,
            ha="right",
            rotation_mode="anchor",
            fontsize=9,
        )
        where.set_title("mean, in standard deviations", loc="left", fontsize=10)
        where.spines[:].set_visible(False)
        return where


def _short_equation(subject: Subject, model: Array, target: str) -> str:
    """An equation that fits over a bar, with fewer terms where names are long."""
    texts = [equation(subject, model, target, limit, 16) for limit in (3, 2, 1)]
    return next((text for text in texts if len(text) <= WIDTH), texts[-1])
