"""What the rows of the league say: tables, a picture, and two commits compared."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from benchmarks._run import Table, duration

REFERENCE = "LightGBM"  # ratios are to its errors and times
MOST_LOAD = 2.5  # above it, other work took part of a run's time


def read(path: Path) -> pd.DataFrame:
    """All rows; a commit of digits only stays text."""
    return pd.read_csv(path, dtype={"commit": str})


def last(rows: pd.DataFrame) -> pd.DataFrame:
    """The last row of every run."""
    return rows.drop_duplicates(["set", "fold", "model"], keep="last")


def relative(
    rows: pd.DataFrame, others: pd.DataFrame, column: str, average: str = "mean"
) -> pd.DataFrame:
    """By set and model, the average of a column over that of the others, on the folds of both."""
    other = f"other_{column}"
    others = others[["set", "fold", column]].rename(columns={column: other})
    groups = rows.merge(others, on=["set", "fold"]).groupby(["set", "model"])
    averages = groups[[column, other]].agg(average)
    return (averages[column] / averages[other]).unstack("model")


def to_reference(rows: pd.DataFrame, column: str, average: str = "mean") -> pd.DataFrame:
    return relative(rows, rows[rows["model"] == REFERENCE], column, average)


def timed(rows: pd.DataFrame) -> pd.DataFrame:
    """Runs one at a time, beside little other work, on the machine of the reference."""
    rows = rows[(rows["jobs"] == 1) & (rows["load"] <= MOST_LOAD)]
    machines = rows.loc[rows["model"] == REFERENCE, ["set", "fold", "machine"]]
    return rows.merge(machines, on=["set", "fold", "machine"])


def geometric_mean(ratios: pd.DataFrame) -> pd.Series:
    return np.exp(np.log(ratios).mean())


def draw(rows: pd.DataFrame, shapes: Mapping[str, tuple[int, int]], svg: Path) -> Iterator[Table]:
    """The tables, sets in the order of `shapes`; writes the picture."""
    rows = last(rows)
    clocked = timed(rows)
    errors = to_reference(rows, "rmse")
    times = to_reference(clocked, "fit_s", "median")  # other work of the machine makes outliers
    plot(errors, times, svg)
    table = summary(errors, times)
    if len(clocked):
        load = clocked["load"]
        table.note += (
            f" The machine's load average before the fits was {load.median():.1f} in the median "
            f"and {load.max():.1f} at most."
        )
    table.note += f"\n\n![error against fit time]({svg.name})\n\n{origin_of_ours(rows)}"
    yield table
    models = list(dict.fromkeys([*(row[0] for row in table.rows), *rows["model"]]))
    yield error_table(rows, errors, models, shapes)
    yield time_table(clocked, models, list(shapes))


def summary(errors: pd.DataFrame, times: pd.DataFrame) -> Table:
    """Models in the order of their mean error."""
    header = ["model", "sets", "mean rank", "error", "worst set"]
    table = Table("All sets", [*header, "fit time", "longest", "sets timed"])
    table.note = (
        f"Error is the RMSE, fit time the seconds of a fit, both relative to {REFERENCE}: error as "
        "the geometric mean over the sets and on the worst set, fit time as the median and on the "
        "set where it is longest."
    )
    ranks = errors.rank(axis=1).mean()
    means = geometric_mean(errors).sort_values()
    for model, error in means.items():
        cells = [str(model), str(errors[model].count()), f"{ranks[model]:.2f}", f"{error:.3f}"]
        cells.append(extreme(errors[model]))
        if model in times:
            cells += [number(times[model].median()), extreme(times[model])]
            cells.append(str(times[model].count()))
        else:
            cells += ["", "", "0"]
        table.rows.append(cells)
    return table


def extreme(ratios: pd.Series) -> str:
    """The largest ratio and its set."""
    return f"{number(ratios.max())} ({ratios.idxmax()})"


def number(ratio: float) -> str:
    """Three digits, and never an exponent."""
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}"


def origin_of_ours(rows: pd.DataFrame) -> str:
    """Sentence with the commits that made the rows of our models; they may be several."""
    ours = rows[rows["model"].str.startswith("FALL")].groupby(["model", "commit"]).size()
    counts = (f"{model} {n} of commit {code}" for (model, code), n in ours.items())
    return f"Rows of ours: {', '.join(counts) or 'none yet'}."


def error_table(
    rows: pd.DataFrame,
    errors: pd.DataFrame,
    models: Sequence[str],
    shapes: Mapping[str, tuple[int, int]],
) -> Table:
    table = Table("RMSE", ["set", "rows", "inputs", "folds", *models])
    table.note = (
        f"Mean over the folds; in brackets relative to {REFERENCE}, and the number of folds where "
        "a model has other folds than it."
    )
    groups = rows.groupby(["set", "model"])["rmse"]
    means, folds, ratios = groups.mean(), groups.count(), errors.stack()
    for name, (n, d) in shapes.items():
        expected = folds.get((name, REFERENCE), 0)
        cells = [name, f"{n:,}", str(d), str(expected)]
        for key in ((name, model) for model in models):
            details = [f"{ratios[key]:.3f}"] if key in ratios else []
            if key in folds and folds[key] != expected:
                details.append(f"folds: {folds[key]}")
            brackets = f" ({', '.join(details)})" if details else ""
            cells.append(f"{means[key]:.4g}{brackets}" if key in means else "")
        table.rows.append(cells)
    return table


def time_table(rows: pd.DataFrame, models: Sequence[str], names: Sequence[str]) -> Table:
    table = Table("Fit, median over the folds", ["set", *models])
    medians = rows.groupby(["set", "model"])["fit_s"].median()
    for name in names:
        cells = [
            duration(medians[name, model]) if (name, model) in medians else "" for model in models
        ]
        table.rows.append([name, *cells])
    return table


def plot(errors: pd.DataFrame, times: pd.DataFrame, svg: Path) -> None:
    """One point per model: how large its errors are, and how long its fits take."""
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    FigureCanvasAgg(figure)  # measures the labels
    axis = figure.add_subplot()
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.margins(x=0.1, y=0.1)
    axis.grid(alpha=0.3)
    axis.set(
        xlabel=f"fit time, relative to {REFERENCE} (geometric mean over sets)",
        ylabel=f"RMSE, relative to {REFERENCE}\n(geometric mean over sets)",
        title="Lower is more accurate, further left is faster",
    )
    points = {}
    for model, x in geometric_mean(times).items():
        n_sets = errors[model].count()
        label = f"{model} ({n_sets} sets)" if n_sets < len(errors) else model
        points[label] = x, geometric_mean(errors)[model]
        axis.plot(*points[label], "o", color="#D55E00" if model.startswith("FALL") else "#0072B2")
    put_labels(axis, points)
    with matplotlib.rc_context({"svg.hashsalt": "locallinear"}):  # the same picture, the same file
        figure.savefig(svg, metadata={"Date": None})


def put_labels(axis: Axes, points: Mapping[str, tuple[float, float]]) -> None:
    """Label each point on the first side where the label is clear of points and other labels."""
    axis.figure.canvas.draw()  # fixes the layout
    frame = axis.get_window_extent()
    taken = [
        Bbox.from_bounds(x - 5, y - 5, 10, 10)
        for x, y in axis.transData.transform(list(points.values()))
    ]
    sides = [(8, -3, "left"), (-8, -3, "right"), (6, 5, "left"), (6, -12, "left")]
    sides += [(-6, 5, "right"), (-6, -12, "right"), (0, 9, "center"), (0, -16, "center")]
    for label, point in points.items():
        for side in sides:
            right, up, anchor = side
            text = axis.annotate(
                label, point, (right, up), textcoords="offset points", ha=anchor, fontsize=9
            )
            box = text.get_window_extent()
            inside = frame.x0 < box.x0 and box.x1 < frame.x1
            clear = inside and not any(box.overlaps(other) for other in taken)
            if clear or side is sides[-1]:
                break
            text.remove()
        taken.append(box)


def two_commits(rows: pd.DataFrame, model: str, old: str, new: str) -> Table:
    """Errors of a model at a commit, relative to another commit, on the folds that both have."""
    rows = rows[rows["model"] == model]
    absent = {old, new} - set(rows["commit"])
    if absent:
        there = ", ".join(rows["commit"].unique()) or "none"
        raise SystemExit(
            f"There are no rows of {model} at commit {' and '.join(sorted(absent))}; "
            f"its commits are: {there}."
        )
    before, after = (last(rows[rows["commit"] == code]) for code in (old, new))
    ratios = relative(after, before, "rmse")
    if ratios.empty:
        raise SystemExit(f"Commits {old} and {new} have no fold of {model} in common.")
    folds = after.merge(before, on=["set", "fold"]).groupby("set").size()
    table = Table(f"{model}: RMSE at {new}, relative to {old}", ["set", "folds", "ratio"])
    for name, ratio in ratios[model].sort_values().items():
        table.rows.append([str(name), str(folds[name]), f"{ratio:.4f}"])
    mean = geometric_mean(ratios)[model]
    table.note = f"Geometric mean {mean:.4f}; the worst set is the last."
    return table
