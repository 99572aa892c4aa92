"""The paper's figures, each drawn from a real fit.

Every ``draw_*`` function takes axes and draws on them; :func:`write_figures` makes the files.
"""

import io
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.path import Path as MarkerPath
from sklearn.utils import Bunch

from .. import FALLClassifier, FALLRegressor
from ..datasets import load_moons, load_step
from ..datasets._synthetic import STEP_RANGE, step_function
from ..runtime.files import write_whole
from .tuning import Array

# Okabe and Ito's colours, which the colour-blind can tell apart.
BLACK, ORANGE, BLUE, GREEN = "#000000", "#E69F00", "#0072B2", "#009E73"
RED, PURPLE = "#D55E00", "#CC79A7"
ANCHOR_COLORS = [BLUE, ORANGE, GREEN, PURPLE]
STEP_ANCHORS = np.array([[0.0], [1.0]])
N_ANCHOR_NEIGHBORS = 20
RIDGE_ALPHA = 1000.0
PENALTIES = np.logspace(-3, 3, 13)


def write_figures(folder: Path) -> Iterator[Path]:
    """Draw all figures, each as PNG and SVG, and yield each file when it is written."""
    figures = {
        "figure-step": step_figure,
        "figure-moons": moons_figure,
        "figure-parameters": parameters_figure,
    }
    for name, draw in figures.items():
        figure = draw()
        for suffix, options in (("png", {"dpi": 150}), ("svg", {"metadata": {"Date": None}})):
            buffer = io.BytesIO()
            # A fixed salt and no date: the same figures give the same files.
            with matplotlib.rc_context({"svg.hashsalt": "locallinear"}):
                figure.savefig(buffer, format=suffix, **options)
            path = Path(folder) / f"{name}.{suffix}"
            write_whole(path, buffer.getvalue())
            yield path


def step_model(alpha: float = 1.0) -> FALLRegressor:
    """Make FALL as the paper does for the step function: two anchors, ridge with bias."""
    return FALLRegressor(
        anchor_selection=STEP_ANCHORS,
        n_anchor_neighbors=N_ANCHOR_NEIGHBORS,
        # The paper's α is Ridge's; ours is in ElasticNet's scaling, per sample.
        anchor_alpha=RIDGE_ALPHA / N_ANCHOR_NEIGHBORS,
        alpha=alpha,
        scaling=None,
    )


def step_figure(random_state: int = 0) -> Figure:
    """Draw data and truth, anchors, clusters, and predictions for many penalties."""
    step = load_step(random_state=random_state)
    figure = Figure(figsize=(10, 7), layout="constrained")
    (data, anchors), (clusters, predictions) = figure.subplots(2, 2, sharex=True, sharey=True)
    draw_step_data(data, step)
    draw_step_anchors(anchors, step)
    draw_step_clusters(clusters, step)
    draw_step_predictions(predictions, step)
    for axes in (clusters, predictions):
        axes.set_xlabel("x")
    for axes in (data, clusters):
        axes.set_ylabel("y")
    return figure


def draw_step_data(axes: Axes, step: Bunch) -> None:
    """The samples and the function behind them."""
    x = np.linspace(-STEP_RANGE, STEP_RANGE, 1201)
    axes.plot(x, step_function(x), color=RED, label="true function")
    axes.plot(step.data[:, 0], step.target, ".", color=BLACK, label="samples")
    axes.set_title("(a) Data")
    axes.legend(loc="center right")


def draw_step_anchors(axes: Axes, step: Bunch) -> None:
    """Each anchor's point, neighbourhood and model."""
    model = step_model().fit(step.data, step.target)
    axes.plot(step.data[:, 0], step.target, ".", color="0.8")
    for point, (slope, intercept), color in zip(
        model.anchor_points_[:, 0], model.anchor_models_[:, :, 0], ANCHOR_COLORS, strict=False
    ):
        near = np.argsort(np.abs(step.data[:, 0] - point))[:N_ANCHOR_NEIGHBORS]
        x = np.array([-STEP_RANGE, STEP_RANGE])
        axes.plot(step.data[near, 0], step.target[near], ".", color=color)
        axes.plot(x, slope * x + intercept, color=color, label=f"anchor model at x = {point:g}")
        axes.plot(point, slope * point + intercept, "X", color=color, markersize=10, mec="white")
    axes.set_title("(b) Anchors, their neighbourhoods and models")
    axes.legend(loc="center right")


def draw_step_clusters(axes: Axes, step: Bunch) -> None:
    """Each sample in the colour and shape of its best anchor."""
    model = step_model().fit(step.data, step.target)
    for label, (point, color, marker) in enumerate(
        zip(STEP_ANCHORS[:, 0], ANCHOR_COLORS, "os", strict=False)
    ):
        own = model.labels_ == label
        name = f"anchor at x = {point:g}"
        axes.plot(step.data[own, 0], step.target[own], marker, color=color, ms=4, label=name)
    axes.set_title("(c) Clusters: the anchor that fits each sample best")
    axes.legend(loc="center right")


def draw_step_predictions(axes: Axes, step: Bunch) -> None:
    """Predictions from a penalty that follows the samples to one that follows the anchors."""
    x = np.linspace(-STEP_RANGE, STEP_RANGE, 1201)[:, None]
    axes.plot(step.data[:, 0], step.target, ".", color="0.7", zorder=0)
    colors = matplotlib.colormaps["cividis"](np.linspace(0, 1, len(PENALTIES)))
    for i, (alpha, color) in enumerate(zip(PENALTIES, colors, strict=True)):
        predicted = step_model(alpha).fit(step.data, step.target).predict(x)
        label = f"λ = {alpha:g}" if i % 6 == 0 else None
        axes.plot(x[:, 0], predicted, color=color, linewidth=1, label=label)
    axes.set_title("(d) Predictions for 13 values of λ")
    axes.legend(loc="center right")


def moons_figure(random_state: int = 0) -> Figure:
    """The two moons and the boundary between them."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    draw_moons(figure.subplots(), load_moons(random_state=random_state))
    return figure


def draw_moons(axes: Axes, moons: Bunch) -> None:
    """Samples, anchors, the first class's probability, and where both are equally probable."""
    model = FALLClassifier(
        n_anchors=20, n_anchor_neighbors=15, n_neighbors=10, scaling=None, random_state=0
    ).fit(moons.data, moons.target)
    low, high = moons.data.min(axis=0) - 0.3, moons.data.max(axis=0) + 0.3
    x, y = np.meshgrid(np.linspace(low[0], high[0], 480), np.linspace(low[1], high[1], 320))
    queries = np.column_stack([x.ravel(), y.ravel()])
    probability = model.predict_proba(queries)[:, 1].reshape(x.shape)
    shades = axes.pcolormesh(x, y, probability, cmap="PuOr", vmin=0, vmax=1, alpha=0.5, lw=0)
    shades.set_rasterized(True)
    axes.figure.colorbar(shades, ax=axes, label="probability of the lower moon")
    axes.contour(x, y, probability, levels=[0.5], colors=[BLACK])
    for label, (color, marker) in enumerate([(RED, "o"), (BLUE, "s")]):
        own = moons.data[moons.target == label]
        name = f"{moons.target_names[label]} moon"
        axes.plot(*own.T, marker, color=color, ms=4, mec="white", mew=0.3, label=name)
    axes.plot(*model.anchor_points_.T, "X", color=BLACK, ms=8, mec="white", label="anchors")
    axes.plot([], [], color=BLACK, label="boundary")
    axes.set(title="Two moons", xlabel="x", ylabel="y", aspect="equal")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4, fontsize="small")


def parameters_figure(random_state: int = 0) -> Figure:
    """A sample's model among its anchors, and with the one anchor that it chooses."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    model, x, y, chosen = parameters_fit(random_state)
    closeness = 1 / np.abs(y - model.anchor_models_[:, :, 0] @ x)
    shares = closeness / closeness.sum()
    draw_parameters(left, model, x, y, shares)
    left.set_title("(a) Shared among the anchors, $p_i$ by their fit")
    draw_parameters(right, model, x, y, np.eye(len(shares))[chosen])
    right.set_title("(b) The optimum: the one anchor that fits best")
    left.set_ylabel("intercept")
    left.legend(loc="upper right")
    return figure


def parameters_fit(random_state: int) -> tuple[FALLRegressor, Array, float, int]:
    """A fit with one input, whose models are points in a plane, and a sample to look at.

    Returns the model, the sample's input with the constant feature, its target and its anchor.
    """
    step = load_step(noise=0.4, random_state=random_state)
    model = FALLRegressor(
        anchor_selection=np.array([[-1.0], [-0.5], [0.0], [0.5]]),
        n_anchor_neighbors=N_ANCHOR_NEIGHBORS,
        anchor_alpha=0.01,
        alpha=0.5,
        scaling=None,
    ).fit(step.data, step.target)
    inputs = np.column_stack([step.data, np.ones(len(step.data))])
    anchors = model.anchor_models_[model.labels_, :, 0]
    # The sample that its anchor fits worst, so that its model is seen to differ from the anchor.
    i = int(np.argmax(np.abs(step.target - np.sum(anchors * inputs, axis=1))))
    return model, inputs[i], step.target[i], int(model.labels_[i])


def shared_model(anchors: Array, x: Array, y: float, shares: Array, alpha: float) -> Array:
    """The model that minimises the paper's objective when the shares are given.

    W = G + x (y − Gᵀx) / (λ + ‖x‖²), where G is the mean of the anchors in these shares. W lies
    between G and the models that fit the sample exactly, the nearer to these the smaller λ is.
    """
    mean = shares @ anchors
    return mean + x * (y - mean @ x) / (alpha + x @ x)


def draw_parameters(axes: Axes, model: FALLRegressor, x: Array, y: float, shares: Array) -> None:
    """The minimiser for given shares, its anchors, and all models that fit the sample exactly."""
    anchors = model.anchor_models_[:, :, 0]
    own = shared_model(anchors, x, y, shares, model.alpha)
    slopes = np.array([anchors[:, 0].min() - 2.1, anchors[:, 0].max() + 2.1])
    axes.plot(slopes, (y - slopes * x[0]) / x[1], "--", color="0.5", label="models that fit $y_i$")
    for label, (anchor, share, color) in enumerate(
        zip(anchors, shares, ANCHOR_COLORS, strict=True)
    ):
        if share > 0:
            axes.plot(*zip(own, anchor, strict=True), color=color, lw=1 + 6 * share)
        axes.plot(*anchor, "o", ms=14, color=color, mec="white")
        text = f"$A_{label + 1}$" + (f", share {share:.2f}" if share > 0 else "")
        annotate_beyond(axes, text, own, anchor, np.ptp(anchors, axis=0))
    draw_shares(axes, own, shares)
    axes.annotate("$W_i$", (own[0], own[1]), xytext=(14, 12), textcoords="offset points")
    axes.set(xlabel="slope", xlim=tuple(slopes))
    axes.margins(y=0.15)


def annotate_beyond(axes: Axes, text: str, start: Array, end: Array, extent: Array) -> None:
    """Write a text beyond the end of a line, in the direction of the line."""
    direction = (end - start) / extent
    direction /= np.linalg.norm(direction)
    sides = [("right", "top"), ("center", "center"), ("left", "bottom")]
    across, up = (sides[1 + (part > 0.3) - (part < -0.3)] for part in direction)
    ends = (end[0], end[1]), (12 * direction[0], 12 * direction[1])
    axes.annotate(text, *ends, textcoords="offset points", ha=across[0], va=up[1])


def draw_shares(axes: Axes, point: Array, shares: Array) -> None:
    """Draw a small pie of the anchors' shares at a point."""
    if np.count_nonzero(shares) == 1:
        axes.plot(*point, "o", ms=22, color=ANCHOR_COLORS[np.argmax(shares)], mec="black", mew=0.5)
        return
    ends = np.concatenate([[0.0], np.cumsum(shares)])
    for start, end, color in zip(ends[:-1], ends[1:], ANCHOR_COLORS, strict=True):
        if end > start:
            turn = 2 * np.pi * np.linspace(start, end, 60)
            wedge = np.column_stack([np.cos(turn), np.sin(turn)])
            outline = np.vstack([[0, 0], wedge, [0, 0]])
            # Matplotlib scales a marker to its own extent: the size undoes that.
            size = 22 * np.abs(outline).max()
            (sector,) = axes.plot(*point, marker=MarkerPath(outline), markersize=size, zorder=5)
            sector.set(color=color, markeredgecolor="black", markeredgewidth=0.5)
