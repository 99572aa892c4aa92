"""What the pictures share: axes, colours, and labels beside what is drawn."""

from typing import Any

from ..runtime.extras import extra

# One colour per regime, in order of size.
COLORS = ["#0f766e", "#c2410c", "#6d28d9", "#a16207", "#be185d", "#1d4ed8", "#4d7c0f"]
TEAL, ORANGE, PURPLE, BLUE = COLORS[0], COLORS[1], COLORS[2], COLORS[5]
INK, SLATE, PALE = "#1c2430", "#475569", "#94a3b8"


def axes(ax: Any, figsize: tuple[float, float], layout: str) -> Any:
    """The given matplotlib axes, or those of a new figure."""
    if ax is not None:
        return ax
    pyplot = extra("matplotlib.pyplot", "plot", "Pictures")
    return pyplot.subplots(figsize=figsize, layout=layout)[1]


def axes_beside(ax: Any, size: str, pad: float) -> Any:
    """New axes on the right of others."""
    divider = extra("mpl_toolkits.axes_grid1", "plot", "Pictures").make_axes_locatable(ax)
    return divider.append_axes("right", size=size, pad=pad)


def label(
    ax: Any, text: str, xy: tuple[float, float], offset: tuple[float, float], **style: Any
) -> None:
    """Write a text beside a point, so many points of the screen away."""
    style = {"va": "center", "fontsize": 9} | style
    ax.annotate(text, xy, offset, textcoords="offset points", **style)


def name_rows(ax: Any, heights: Any, names: list[str], **style: Any) -> None:
    """Names on the left of horizontal bars, without the frame of a chart."""
    ax.set_yticks(heights, names, **style)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
