"""SearchDisplay: the scores of a search against one or two parameters of its grid."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..runtime.extras import extra

Array = NDArray[np.float64]

# A numeric axis has a logarithmic scale if its largest value is this many times the smallest.
LOG_RATIO = 20.0
# If an axis of a heat map has more values, only some of them get a label.
MAX_TICKS = 12
# If a heat map has more cells, no numbers are written into them.
MAX_NUMBERS = 150


@dataclass
class SearchDisplay:
    """Best score of a search at each value of one or two parameters.

    At each point, the parameters that are not shown have their best values, so that a curve or a
    map is the upper envelope of the whole grid. Make it with `from_estimator`; `plot` draws it.

    Parameters
    ----------
    names : tuple of str
        One or two parameters.
    values : tuple of lists
        For each of them its values, in the order of the axis.
    scores : array (len(values[0]),) or (len(values[0]), len(values[1]))
        NaN where no configuration has a score.
    spread : array of the same shape
        Standard deviation over the splits of the configuration shown.
    best : tuple of int
        For each parameter, the position of the best configuration on its axis.
    score_name : str
        The name of the scores.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    artists_ : dict
        The matplotlib artists, by name.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressorCV, SearchDisplay
    >>> grid = {"n_neighbors": [5, 10, 20, 40], "alpha": [1, 10, 100]}
    >>> model = FALLRegressorCV(grid, random_state=0).fit(*load_diabetes(return_X_y=True))
    >>> SearchDisplay.from_estimator(model, "alpha", "n_neighbors").scores.shape
    (3, 4)
    """

    names: tuple[str, ...]
    values: tuple[list[Any], ...]
    scores: Array
    spread: Array
    best: tuple[int, ...]
    score_name: str = "score"
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)
    artists_: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_estimator(cls, search: Any, *parameters: str, error: bool | None = None) -> Self:
        """Make a display of the scores of a fitted search.

        Parameters
        ----------
        search : FALLRegressorCV or FALLClassifierCV, fitted
        *parameters : str
            One or two parameters of its grid.
        error : bool, default=None
            Whether to show errors, of which small ones are good, in place of scores. None shows
            errors if the scorer is a negative error by name.

        Returns
        -------
        SearchDisplay
        """
        check_is_fitted(search)
        if not hasattr(search, "cv_results_"):
            kind = type(search).__name__
            raise TypeError(f"expected a search such as FALLRegressorCV, but got a {kind}")
        searched = [name.removeprefix("param_") for name in search.cv_results_ if "param_" in name]
        if len(parameters) not in (1, 2) or len(set(parameters)) < len(parameters):
            raise ValueError(f"expected one or two parameters, each once, but got {parameters}")
        unknown = set(parameters) - set(searched)
        if unknown:
            raise ValueError(
                f"{sorted(unknown)} cannot be shown, since the grid has only {sorted(searched)}"
            )
        name, sign = _score_name(search, error)
        results = search.cv_results_
        axes = [_axis(results[f"param_{parameter}"]) for parameter in parameters]
        positions = np.stack([position for _, position in axes])
        shape = tuple(len(values) for values, _ in axes)
        top = _best_of_each(
            results["mean_test_score"], np.ravel_multi_index(tuple(positions), shape)
        )
        scores, spread = np.full((2, np.prod(shape)), np.nan)
        cells = np.ravel_multi_index(tuple(positions[:, top]), shape)
        scores[cells] = sign * results["mean_test_score"][top]
        spread[cells] = results["std_test_score"][top]
        return cls(
            names=parameters,
            values=tuple(values for values, _ in axes),
            scores=scores.reshape(shape),
            spread=spread.reshape(shape),
            best=tuple(positions[:, search.best_index_].tolist()),
            score_name=name,
        )

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a curve for one parameter, a heat map for two.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw in; by default those of a new figure.
        **kwargs
            Passed to matplotlib, for the line or for the image.

        Returns
        -------
        self
        """
        if ax is None:
            pyplot = extra("matplotlib.pyplot", "plot", "Pictures")
            _, ax = pyplot.subplots(layout="constrained")
        self.ax_, self.figure_, self.artists_ = ax, ax.figure, {}
        if len(self.names) == 1:
            self._plot_curve(**kwargs)
        else:
            self._plot_map(**kwargs)
        return self

    def _plot_curve(self, **kwargs: Any) -> None:
        ax, values = self.ax_, self.values[0]
        numeric = _is_numeric(values)
        x = np.array(values if numeric else range(len(values)), dtype=float)
        band = {"alpha": 0.15, "linewidth": 0}
        if numeric:
            style = {"marker": "o", "markersize": 4, **kwargs}
            (line,) = ax.plot(x, self.scores, **style)
            self.artists_["spread"] = ax.fill_between(
                x,
                self.scores - self.spread,
                self.scores + self.spread,
                color=line.get_color(),
                label="± a standard deviation over the splits",
                **band,
            )
            _scale_axis(ax, x)
        else:
            style = {"fmt": "o", "capsize": 3, **kwargs}
            bars = ax.errorbar(x, self.scores, self.spread, **style)
            line = bars.lines[0]
            self.artists_["spread"] = bars
            ax.set_xticks(x, [_label(value) for value in values])
            ax.margins(x=0.5 / len(values))
        self.artists_["line"] = line
        at = self.best[0]
        (self.artists_["best"],) = ax.plot(
            x[at], self.scores[at], "*", color=line.get_color(), markersize=14, label="best"
        )
        missing = np.isnan(self.scores)
        if missing.any():
            (self.artists_["missing"],) = ax.plot(
                x[missing],
                np.zeros(missing.sum()),
                "x",
                color="0.4",
                clip_on=False,
                transform=ax.get_xaxis_transform(),
                label="not scored",
            )
        ax.set(xlabel=self.names[0], ylabel=f"{self.score_name}, the others at their best")
        ax.legend(frameon=False, fontsize="small")

    def _plot_map(self, **kwargs: Any) -> None:
        ax, scores = self.ax_, self.scores.T
        small_is_good = self.score_name.endswith("error")
        style = {"cmap": "viridis_r" if small_is_good else "viridis", "aspect": "auto", **kwargs}
        image = ax.imshow(np.ma.masked_invalid(scores), origin="lower", **style)
        self.artists_["image"] = image
        for axis, values in zip((ax.xaxis, ax.yaxis), self.values, strict=True):
            every = -(-len(values) // MAX_TICKS)
            shown = range(0, len(values), every)
            axis.set_ticks(list(shown), [_label(values[i]) for i in shown])
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.artists_["colorbar"] = self.figure_.colorbar(image, ax=ax)
        self.artists_["colorbar"].set_label(f"{self.score_name}, the others at their best")
        if scores.size <= MAX_NUMBERS:
            self.artists_["numbers"] = self._write_numbers(image)
        y, x = np.nonzero(np.isnan(scores))
        if len(x):
            (self.artists_["missing"],) = ax.plot(x, y, "x", color="0.5", label="not scored")
            ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small")
        from matplotlib.patches import Rectangle

        corner = self.best[0] - 0.5, self.best[1] - 0.5
        frame = Rectangle(corner, 1, 1, fill=False, edgecolor="crimson", linewidth=2.5, zorder=3)
        self.artists_["best"] = ax.add_patch(frame)

    def _write_numbers(self, image: Any) -> list[Any]:
        """Write the score into each cell, dark on light or light on dark."""
        written = []
        digits = _digits(self.scores)
        for (i, j), score in np.ndenumerate(self.scores):
            if np.isnan(score):
                continue
            r, g, b, _ = image.cmap(image.norm(score))
            dark = 0.299 * r + 0.587 * g + 0.114 * b < 0.5
            written.append(
                self.ax_.text(
                    i,
                    j,
                    f"{score:.{digits}f}",
                    ha="center",
                    va="center",
                    fontsize="small",
                    color="white" if dark else "black",
                )
            )
        return written


def _score_name(search: Any, error: bool | None) -> tuple[str, int]:
    """The name of what is shown, and the sign by which scores are multiplied."""
    scoring = search.scoring
    if scoring is None:
        scoring = "accuracy" if hasattr(search, "predict_proba") else "r2"
    name = scoring if isinstance(scoring, str) else "score"
    negative = name.startswith("neg_")
    if error if error is not None else negative:
        name = name.removeprefix("neg_").replace("_", " ")
        return (name if name.endswith("error") else f"{name} error"), -1
    return {"r2": "R²"}.get(name, name.replace("_", " ")), 1


def _axis(column: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """The distinct values of a column, numbers sorted, and each row's position among them."""
    positions: NDArray[np.intp]
    if column.dtype.kind in "if":
        distinct, positions = np.unique(column, return_inverse=True)
        return distinct.tolist(), positions
    values: list[Any] = []
    positions = np.empty(len(column), dtype=np.intp)
    known: dict[int, int] = {}  # by id, since arrays cannot be hashed
    for i, value in enumerate(column):
        key = id(value)
        if key not in known:
            same = [j for j, other in enumerate(values) if np.array_equal(value, other)]
            known[key] = same[0] if same else len(values)
            if not same:
                values.append(value)
        positions[i] = known[key]
    return values, positions


def _best_of_each(scores: Array, cells: NDArray[np.intp]) -> NDArray[np.intp]:
    """The first configuration with the highest score in each cell that has one."""
    rows = np.flatnonzero(np.isfinite(scores))
    rows = rows[np.lexsort((rows, -scores[rows], cells[rows]))]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = cells[rows[1:]] != cells[rows[:-1]]
    return rows[first]


def _is_numeric(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _scale_axis(ax: Any, x: Array) -> None:
    """Make the axis logarithmic if the values have a wide range, and linear around zero."""
    positive = x[x > 0]
    if len(positive) > 1 and positive.max() / positive.min() >= LOG_RATIO:
        if (x > 0).all():
            ax.set_xscale("log")
        else:
            ax.set_xscale("symlog", linthresh=positive.min())
    if len(x) <= MAX_TICKS:
        ax.set_xticks(x, [_label(value) for value in x])
        ax.set_xticks([], minor=True)


def _label(value: Any) -> str:
    if np.ndim(value):
        return "array " + "×".join(map(str, np.shape(value)))
    if isinstance(value, float):
        return f"{value:.4g}"
    return getattr(value, "__name__", str(value))


def _digits(scores: Array) -> int:
    """Number of decimals by which the scores differ, at most 4."""
    finite = scores[np.isfinite(scores)]
    width = np.ptp(finite) if len(finite) else 0.0
    size = np.abs(finite).max() if len(finite) else 1.0
    step = width / 20 if width > 0 else max(size, 1e-6) / 100
    return int(np.clip(np.ceil(-np.log10(step)), 0, 4))
