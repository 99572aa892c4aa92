"""The paper's tables as cells with bold, marks and notes; ``render`` draws them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isnan

import numpy as np

from . import published
from .models import MODELS
from .protocol import DATASETS, N_RUNS
from .summary import Results, Summary, collect

LOWER, HIGHER = "↓", "↑"
ABSENT = "–"
LINEAR_KERNEL = (
    "On all sets but Superconductivity the paper's KRR figures are, to the digit, those of a "
    "linear kernel; ours searches the RBF and polynomial kernels that the paper lists."
)


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table."""

    text: str
    bold: bool = False
    marks: tuple[str, ...] = ()


@dataclass
class Table:
    """A table before it is drawn: ``rows`` are (first label, second label, cells)."""

    name: str
    title: str
    columns: list[str]
    rows: list[tuple[str, str, list[Cell]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def table1(
    rows,
    dataset_names=tuple(DATASETS),
    model_names=tuple(MODELS),
    tuner="exhaustive",
    budget=None,
):
    """Test errors, ours above the paper's."""
    found = collect(rows, tuner, "random", budget)
    table = Table("table1", "Mean squared error on the test part", titles(model_names))
    notes = Notes()
    starred = False
    for dataset in dataset_names:
        ours = {name: found.get((dataset, name)) for name in model_names}
        starred |= any((dataset, name) in published.UNTUNED for name in model_names)
        theirs = {name: published.ERRORS.get((dataset, name)) for name in model_names}
        table.rows.append(
            (DATASETS[dataset].title, "ours", error_cells(ours, theirs, dataset, notes))
        )
        table.rows.append(("", "paper", published_cells(theirs, dataset)))
    table.notes = [
        *general_notes(notes),
        f"{LOWER}, {HIGHER}: lower, higher than the paper's mean by more than the uncertainty of "
        "ours (95%, Student's t).",
        *(["*: the paper's figure is for fixed parameters."] if starred else []),
        *([LINEAR_KERNEL] if "kernel_ridge" in model_names else []),
        *notes.lines(),
    ]
    return table


def table2(
    rows,
    dataset_names=tuple(DATASETS),
    model_names=tuple(MODELS),
    tuner="exhaustive",
    budget=None,
):
    """Seconds to train and to test, and their ratios to KNN's, ours above the paper's."""
    found = collect(rows, tuner, "random", budget)
    table = Table("table2", "Seconds to train and to test", titles(model_names))
    notes = Notes()
    for dataset in dataset_names:
        label = DATASETS[dataset].title
        marks = {
            name: notes.how(found[dataset, name])
            for name in model_names
            if (dataset, name) in found
        }
        for what, column, theirs in (
            ("train", "fit_s", published.TRAIN_S),
            ("test", "test_s", published.TEST_S),
        ):
            ours = {
                name: (summary.mean, summary.spread)
                for (where, name), shown in found.items()
                if where == dataset and (summary := getattr(shown, column))
            }
            paper = {name: value for (where, name), value in theirs.items() if where == dataset}
            table.rows += [
                (label, f"{what} s, ours", time_cells(ours, model_names, marks)),
                ("", f"{what} s, paper", published_times(paper, model_names)),
                ("", f"{what} ÷ KNN, ours", ratio_cells(ours, model_names)),
                ("", f"{what} ÷ KNN, paper", ratio_cells(paper, model_names)),
            ]
            label = ""
    table.rows = [row for row in table.rows if row[0] or any(c.text != ABSENT for c in row[2])]
    table.notes = [
        *general_notes(notes),
        "Times are of one fit with the chosen parameters to the training part, and one prediction "
        "of the test part. The paper prints two decimals: its ratios to a printed 0.00 are absent.",
        *notes.lines(),
    ]
    return table


def honest_table(rows, dataset_names, model_names=tuple(MODELS), tuner="exhaustive", budget=None):
    """Test errors on grouped splits above those on random ones, both ours."""
    table = Table("honest", "Mean squared error on grouped and random splits", titles(model_names))
    notes = Notes()
    for dataset in dataset_names:
        for split, label in (("grouped", DATASETS[dataset].title), ("random", "")):
            found = collect(rows, tuner, split, budget)
            ours = {name: found.get((dataset, name)) for name in model_names}
            table.rows.append((label, split, error_cells(ours, {}, dataset, notes)))
    table.notes = [
        *general_notes(notes),
        "Grouped: no person (Parkinsons) and no repeated input (elsewhere) is in both the "
        "training and the test part, nor in two folds of the tuning.",
        *notes.lines(),
    ]
    return table


class Notes:
    """Footnotes, each written once and named by a letter, and the commits of what is shown."""

    def __init__(self) -> None:
        self.letters: dict[str, str] = {}
        self.codes: set[str] = set()

    def how(self, shown: Results) -> tuple[str, ...]:
        """Letter of the note on how runs were tuned, none where they are as announced."""
        self.codes |= shown.codes
        if shown.n_runs >= N_RUNS and shown.tuner == "exhaustive":
            return ()
        tuner = {
            "exhaustive": "all configurations searched",
            "optuna": f"tuned by Optuna, {shown.budget:g} s a run",
            "fixed": "fixed parameters, not tuned",
        }[shown.tuner]
        runs = "1 run" if shown.n_runs == 1 else f"{shown.n_runs} runs"
        letter = self.letters.setdefault(f"{runs}; {tuner}.", letter_name(len(self.letters)))
        return (letter,)

    def lines(self) -> list[str]:
        """The notes, in the order of their letters."""
        return [f"{letter}: {text}" for text, letter in self.letters.items()]


def letter_name(number: int) -> str:
    """Return a, b, ... z, aa, ab, ... ."""
    first, last = divmod(number, 26)
    return ("" if first == 0 else letter_name(first - 1)) + chr(ord("a") + last)


def general_notes(notes: Notes) -> list[str]:
    """What every table says."""
    codes = ", ".join(sorted(notes.codes))
    return [
        f"Mean ± 1.96 standard deviations over {N_RUNS} runs, all configurations searched, "
        "unless a letter says otherwise.",
        f"Made at commit {codes}." if codes else "No run is finished yet.",
    ]


def titles(model_names) -> list[str]:
    """Column heads."""
    return [MODELS[name].title for name in model_names]


def error_cells(ours, theirs, dataset, notes: Notes) -> list[Cell]:
    """A line of our errors: best in bold, marks against the paper, a letter for the tuning."""
    best = least(shown.error.mean for shown in ours.values() if shown)
    cells = []
    for name, shown in ours.items():
        if shown is None:
            cells.append(Cell(ABSENT))
            continue
        marks = difference(shown.error, theirs.get(name)) + notes.how(shown)
        text = two_decimals(shown.error.mean)
        if shown.n_runs > 1:
            text += f" ± {two_decimals(shown.error.spread)}"
        cells.append(Cell(text, two_decimals(shown.error.mean) == best, marks))
    return cells


def least(means: Iterable[float]) -> str:
    """The least of the means as it is printed: what prints alike is equally good."""
    return two_decimals(min(means, default=float("nan")))


def two_decimals(error: float) -> str:
    """An error as the paper prints it; one that is beyond all measure by its power of ten.

    Examples
    --------
    >>> from locallinear.paper.tables import two_decimals
    >>> two_decimals(41.238), two_decimals(967567474347.5)
    ('41.24', '9.7e+11')
    """
    return f"{error:.2f}" if not error >= 1e5 else f"{error:.1e}"


def difference(error: Summary, theirs) -> tuple[str, ...]:
    """The mark of an error that differs from the paper's beyond doubt and rounding."""
    if theirs is None or abs(error.mean - theirs[0]) <= error.uncertainty + 0.005:
        return ()
    return (LOWER,) if error.mean < theirs[0] else (HIGHER,)


def published_cells(theirs, dataset) -> list[Cell]:
    """A line of the paper's errors."""
    best = least(value[0] for value in theirs.values() if value)
    cells = []
    for name, value in theirs.items():
        if value is None:
            cells.append(Cell("N/A"))
            continue
        marks = ("*",) if (dataset, name) in published.UNTUNED else ()
        text = f"{two_decimals(value[0])} ± {two_decimals(value[1])}"
        cells.append(Cell(text, two_decimals(value[0]) == best, marks))
    return cells


def time_cells(times: dict[str, published.Value], model_names, marks) -> list[Cell]:
    """A line of our seconds."""
    cells = []
    for name in model_names:
        if name not in times:
            cells.append(Cell(ABSENT))
            continue
        mean, spread = times[name]
        text = f"{two_digits(mean)} ± {two_digits(spread)}"
        cells.append(Cell(text, marks=marks.get(name, ())))
    return cells


def published_times(times: dict[str, published.Value], model_names) -> list[Cell]:
    """A line of the paper's seconds, as printed there."""
    cells = []
    for name in model_names:
        if name not in times:
            cells.append(Cell(ABSENT))
            continue
        mean, spread = times[name]
        cells.append(Cell(f"≈ {mean:g}" if isnan(spread) else f"{mean:.2f} ± {spread:.2f}"))
    return cells


def ratio_cells(times: dict[str, published.Value], model_names) -> list[Cell]:
    """A line of ratios to KNN's time, where both are known and neither is printed as 0."""
    base = times.get("knn", (0.0, 0.0))[0]
    cells = []
    for name in model_names:
        mean = times.get(name, (0.0, 0.0))[0]
        cells.append(Cell(two_digits(mean / base) if base > 0 and mean > 0 else ABSENT))
    return cells


def two_digits(value: float) -> str:
    """A time or a ratio with two digits or decimals, or more before the point.

    Examples
    --------
    >>> from locallinear.paper.tables import two_digits
    >>> [two_digits(value) for value in (1800.0, 16.58, 0.0123, 0.000066, 0.0)]
    ['1800', '17', '0.012', '0.000066', '0.00']
    """
    if value >= 10:
        return f"{value:.0f}"
    if value >= 0.1 or value < 1e-6:  # below a microsecond, no clock is to be believed
        return f"{value:.2f}"
    return np.format_float_positional(value, 2, unique=False, fractional=False)
