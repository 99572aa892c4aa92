"""The paper's step function in four pictures: samples, anchors, clusters and predictions.

There are eighty noisy samples of a step. Two anchors have linear models of their neighbourhoods,
each sample belongs to the anchor that predicts it best, and λ (`alpha`) pulls the model of each
sample towards its anchor.
"""

from collections.abc import Sequence

import numpy as np
from gallery import finish, settings
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from locallinear import FALLRegressor

# The palette of Okabe and Ito, which colour-blind readers can distinguish.
BLUE, ORANGE, GREEN, INK, PALE = "#0072B2", "#D55E00", "#009E73", "#333333", "#C4C4C4"
MARKS = ((BLUE, "o"), (ORANGE, "s"))  # colour and marker of each anchor


def step(x: np.ndarray) -> np.ndarray:
    return np.where((x > 3.5) & (x < 6.5), 2.0, 1.0)


def step_models(
    lambdas: Sequence[float], n_near: int = 12
) -> tuple[np.ndarray, np.ndarray, list[FALLRegressor]]:
    """Noisy samples of a step, and one FALL with two anchors per penalty λ."""
    rng = np.random.default_rng(5)
    x = np.linspace(0.0, 10.0, 80) + rng.uniform(-0.06, 0.06, 80)
    y = step(x) + rng.normal(scale=0.13, size=x.size)
    models = [
        FALLRegressor(
            anchor_selection=[[1.8], [5.0]],
            n_anchor_neighbors=n_near,
            anchor_alpha=1000 / n_near,  # the paper's ridge, α = 1000, in ElasticNet's scaling
            alpha=alpha,
            n_neighbors=3,
            scaling=None,
        ).fit(x[:, None], y)
        for alpha in lambdas
    ]
    return x, y, models


def main() -> None:
    out = settings(__doc__).out
    lambdas = (0.1, 30.0, 10_000.0)
    x, y, models = step_models(lambdas)
    grid = np.linspace(0, 10, 2001)
    with plt.rc_context({"font.size": 11, "axes.titlesize": 12, "axes.titlelocation": "left"}):
        figure, axes = plt.subplots(2, 2, figsize=(10, 6), sharex=True, sharey=True)
        for axis in axes.flat:
            axis.spines[["top", "right"]].set_visible(False)
        draw_data(axes[0, 0], x, y, grid)
        draw_anchors(axes[0, 1], x, y, grid, models[0])
        draw_clusters(axes[1, 0], x, y, models[0])
        draw_predictions(axes[1, 1], x, y, grid, dict(zip(lambdas, models, strict=True)))
        axes[0, 0].set(xlim=(-0.2, 10.2), ylim=(0.55, 2.7))
        for axis in axes[1]:
            axis.set_xlabel("x")
        for axis in axes[:, 0]:
            axis.set_ylabel("y")
        figure.tight_layout()
        finish(out, step_function=figure)


def draw_data(axis: Axes, x: np.ndarray, y: np.ndarray, grid: np.ndarray) -> None:
    axis.set_title("1  Noisy samples of a step")
    axis.plot(x, y, ".", color=INK, label="samples")
    axis.plot(grid, step(grid), color=GREEN, lw=2, label="truth")
    axis.legend(frameon=False, loc="upper right")


def draw_anchors(
    axis: Axes, x: np.ndarray, y: np.ndarray, grid: np.ndarray, model: FALLRegressor
) -> None:
    axis.set_title("2  Anchors: linear models of two places")
    axis.plot(x, y, ".", color=PALE)
    lines = model.anchor_models_[:, :, 0]
    for number, (color, marker) in enumerate(MARKS):
        point, (slope, intercept) = model.anchor_points_[number, 0], lines[number]
        near = np.argsort(np.abs(x - point))[: model.n_anchor_neighbors]
        axis.axvspan(x[near].min(), x[near].max(), color=color, alpha=0.12, lw=0)
        axis.plot(grid, slope * grid + intercept, color=color, lw=2)
        axis.plot(x[near], y[near], marker, ms=5, color=color)
        axis.plot(point, slope * point + intercept, "*", ms=20, color=color, mec="white", mew=1.2)
        axis.text(point, 2.5, f"anchor {number + 1}", color=color, ha="center")


def draw_clusters(axis: Axes, x: np.ndarray, y: np.ndarray, model: FALLRegressor) -> None:
    axis.set_title("3  Clusters: each sample's best anchor")
    for number, (color, marker) in enumerate(MARKS):
        members = model.labels_ == number
        axis.plot(
            x[members], y[members], marker, ms=5, color=color, label=f"of anchor {number + 1}"
        )
    axis.legend(frameon=False, loc="upper right")


def draw_predictions(
    axis: Axes,
    x: np.ndarray,
    y: np.ndarray,
    grid: np.ndarray,
    models: dict[float, FALLRegressor],
) -> None:
    axis.set_title("4  Predictions: λ pulls to the anchors")
    axis.plot(x, y, ".", color=INK, ms=4)
    styles = [(PALE, 3.0), ("#56B4E9", 1.8), ("#000000", 1.2)]
    for (alpha, model), (color, width) in zip(models.items(), styles, strict=True):
        line = model.predict(grid[:, None])
        axis.plot(grid, line, color=color, lw=width, label=f"λ = {alpha:,g}")
    axis.legend(frameon=False, loc="upper right")


if __name__ == "__main__":
    main()
