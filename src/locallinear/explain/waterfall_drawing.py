"""How a waterfall and the neighbours beside it are drawn with matplotlib."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .drawing import BLUE, ORANGE, SLATE, TEAL, axes_beside, label, name_rows
from .text import number, signed

Array = NDArray[np.float64]

# A label, where a bar starts, and how long it is; the first and the last bar are totals.
Bar = tuple[str, float, float]


def bar_heights(texts: list[str]) -> Array:
    """Where bars are, the first highest and the last at 0, so that labels of many lines fit."""
    half = np.array([max(0.5, 0.28 * len(text.split("\n"))) for text in texts])
    gaps = half[:-1] + half[1:]
    return np.append(np.cumsum(gaps[::-1])[::-1], 0.0)


def draw_bars(
    ax: Any, bars: list[Bar], heights: Array, unsure: list[bool], interval: Array | None
) -> Any:
    """Draw the steps from the first total to the last; return their bars.

    Parameters
    ----------
    ax : matplotlib Axes
    bars, heights : one per bar, totals first and last
    unsure : one per step
        These are hatched.
    interval : (2,) or None
        Of the last total.
    """
    first, last, steps = bars[0][2], bars[-1][2], bars[1:-1]
    colors = [ORANGE if step >= 0 else BLUE for _, _, step in steps]
    drawn = ax.barh(
        heights[1:-1],
        [step for _, _, step in steps],
        left=[start for _, start, _ in steps],
        height=0.62,
        color=["white" if hatched else c for hatched, c in zip(unsure, colors, strict=True)],
        edgecolor=colors,
        hatch=["////" if hatched else "" for hatched in unsure],
        linewidth=0.8,
    )
    ax.plot([first, last], [heights[0], 0], "D", color=SLATE, markersize=8, linestyle="none")
    ends = [first, *(start + step for _, start, step in steps)]
    for end, top, bottom in zip(ends, heights, heights[1:], strict=False):
        ax.plot([end, end], [top, bottom], color=SLATE, linewidth=0.8, zorder=0)
    for height, end, (_, _, step) in zip(heights[1:], ends[1:], steps, strict=False):
        side, gap = ("left", 4) if step >= 0 else ("right", -4)
        label(ax, signed(step), (end, height), (gap, 0), ha=side)
    bold = {"weight": "bold", "fontsize": None}
    label(ax, number(first, 4), (first, heights[0]), (9, 0), **bold)
    reach = [*ends, last]
    if interval is None:
        label(ax, number(last, 4), (last, 0), (9, 0), **bold)
    else:
        reach += interval.tolist()
        ax.plot(interval, [0, 0], "|-", color=SLATE, linewidth=2, markersize=10)
        # The line goes through where the number would be, and its ends say more.
        for end, side, gap in zip(interval, ("right", "left"), (-5, 5), strict=True):
            label(ax, number(end), (end, 0), (gap, 0), ha=side)
    names = [text for text, _, _ in bars]
    if interval is not None:
        names[-1] = f"{names[-1]} {number(last, 4)}"
    name_rows(ax, heights, names)
    margin = 0.22 * (max(reach) - min(reach) or abs(first) or 1.0)
    ax.set_xlim(min(reach) - margin, max(reach) + margin)
    return drawn


def draw_neighbors(ax: Any, weights: Array, names: list[str], notes: list[str], n_left: int) -> Any:
    """Draw the weights of neighbours, with a note beside each, on new axes right of others."""
    near = axes_beside(ax, "28%", 1.5)
    heights = np.arange(len(weights))[::-1]
    near.barh(heights, weights, color=TEAL, height=0.55)
    name_rows(near, heights, names, fontsize=9)
    for height, weight, note in zip(heights, weights, notes, strict=True):
        label(near, note, (weight, height), (3, 0), fontsize=8, color=SLATE)
    near.set_title("made from", loc="left", fontsize=10)
    near.set_xlabel(f"weight ({n_left} more)" if n_left else "weight")
    near.set_xlim(0, max(float(weights.max()) * 1.5, 1e-12))
    near.set_ylim(min(-0.6, len(weights) - 1 - 8), len(weights) - 0.4)
    return near
