"""The paper's tables as cells with bold, marks and notes; ``render`` draws them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

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
Rows = Iterable[dict[str, Any]]
Names = Sequence[str]
Marks = tuple[str, ...]
Times = dict[str, published.Value]


@dataclass(frozen=True)
class Cell:
    """Text of one cell, whether it is bold, and the marks after it."""

    text: str
    bold: bool = False
    marks: Marks = ()


@dataclass
class ResultTable:
    """A table before it is drawn: ``rows`` are (first label, second label, cells)."""

    title: str
    columns: list[str]
    rows: list[tuple[str, str, list[Cell]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def table1(
    rows: Rows,
    dataset_names: Names,
    model_names: Names,
    tuner: str = "exhaustive",
    budget: float | None = None,
) -> ResultTable:
    """Make Table 1: test errors, ours above the paper's.

    Parameters
    ----------
    rows : dicts
        All rows of the store.
    dataset_names, model_names : str
        Which lines and columns the table has.
    tuner : str
    budget : float or None
        Of the runs that are shown where a model was tuned in several ways.
    """
    found = collect(rows, tuner, "random", budget)
    table = ResultTable("Mean squared error on the test part", titles(model_names))
    notes = Notes()
    starred = False
    for dataset in dataset_names:
        ours = {name: found.get((dataset, name)) for name in model_names}
        theirs = {name: published.ERRORS.get((dataset, name)) for name in model_names}
        starred |= any((dataset, name) in published.UNTUNED for name in model_names)
        table.rows += [
            (DATASETS[dataset].title, "ours", error_cells(ours, theirs, notes)),
            ("", "paper", published_cells(theirs, dataset)),
        ]
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
    rows: Rows,
    dataset_names: Names,
    model_names: Names,
    tuner: str = "exhaustive",
    budget: float | None = None,
) -> ResultTable:
    """Make Table 2: seconds to train and to test, and their ratios to those of KNN."""
    found = collect(rows, tuner, "random", budget)
    table = ResultTable("Seconds to train and to test", titles(model_names))
    notes = Notes()
    for dataset in dataset_names:
        shown = {name: results for (where, name), results in found.items() if where == dataset}
        marks = {name: notes.how(shown[name]) for name in model_names if name in shown}
        label = DATASETS[dataset].title
        for what, column, theirs in (
            ("train", "fit_s", published.TRAIN_S),
            ("test", "test_s", published.TEST_S),
        ):
            summaries = {name: getattr(results, column) for name, results in shown.items()}
            ours = {name: (summary.mean, summary.spread) for name, summary in summaries.items()}
            paper = {name: value for (where, name), value in theirs.items() if where == dataset}
            for second, texts, after in (
                (f"{what} s, ours", measured(ours), marks),
                (f"{what} s, paper", printed(paper), {}),
                (f"{what} ÷ KNN, ours", ratios(ours), {}),
                (f"{what} ÷ KNN, paper", ratios(paper), {}),
            ):
                if label or not set(texts).isdisjoint(model_names):
                    table.rows.append((label, second, line(model_names, texts, after)))
                label = ""
    table.notes = [
        *general_notes(notes),
        "Times are of one fit with the chosen parameters to the training part, and one prediction "
        "of the test part. The paper prints two decimals: its ratios to a printed 0.00 are absent.",
        *notes.lines(),
    ]
    return table


def honest_table(
    rows: Rows,
    dataset_names: Names,
    model_names: Names,
    tuner: str = "exhaustive",
    budget: float | None = None,
) -> ResultTable:
    """Make the table of test errors on grouped splits above those on random ones, both ours."""
    title = "Mean squared error on grouped and random splits"
    table = ResultTable(title, titles(model_names))
    notes = Notes()
    for dataset in dataset_names:
        for split, label in (("grouped", DATASETS[dataset].title), ("random", "")):
            found = collect(rows, tuner, split, budget)
            ours = {name: found.get((dataset, name)) for name in model_names}
            table.rows.append((label, split, error_cells(ours, {}, notes)))
    table.notes = [
        *general_notes(notes),
        "Grouped: no person (Parkinsons) and no repeated input (elsewhere) is in both the "
        "training and the test part, nor in two folds of the tuning.",
        *notes.lines(),
    ]
    return table


class Notes:
    """Footnotes, each written once and named by a letter, and the commits of the rows shown."""

    def __init__(self) -> None:
        self.letters: dict[str, str] = {}
        self.codes: set[str] = set()

    def how(self, shown: Results) -> Marks:
        """Letter of the note on how runs were tuned; none if the general note says it."""
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
    """Return a, b, ... z, aa, ab, ... by number."""
    first, last = divmod(number, 26)
    return ("" if first == 0 else letter_name(first - 1)) + chr(ord("a") + last)


def general_notes(notes: Notes) -> list[str]:
    """Notes that every table has."""
    codes = ", ".join(sorted(notes.codes))
    return [
        f"Mean ± 1.96 standard deviations over {N_RUNS} runs, all configurations searched, "
        "unless a letter says otherwise.",
        f"Made at commit {codes}." if codes else "No run is finished yet.",
    ]


def titles(model_names: Names) -> list[str]:
    """Column heads of a table."""
    return [MODELS[name].title for name in model_names]


def error_cells(
    ours: Mapping[str, Results | None],
    theirs: Mapping[str, published.Value | None],
    notes: Notes,
) -> list[Cell]:
    """Cells of our errors: best in bold, marks against the paper, a letter for the tuning."""
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


def published_cells(theirs: Mapping[str, published.Value | None], dataset: str) -> list[Cell]:
    """Cells of the paper's errors: best in bold, a star where it did not tune."""
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


def least(means: Iterable[float]) -> str:
    """The least of the means as it is printed; means that print alike are equally good."""
    return two_decimals(min(means, default=float("nan")))


def two_decimals(error: float) -> str:
    """An error as the paper prints it; from 100,000 on with a power of ten.

    Examples
    --------
    >>> from locallinear.paper.tables import two_decimals
    >>> two_decimals(41.238), two_decimals(967567474347.5)
    ('41.24', '9.7e+11')
    """
    return f"{error:.2f}" if not error >= 1e5 else f"{error:.1e}"


def difference(error: Summary, theirs: published.Value | None) -> Marks:
    """Mark of an error that differs from the paper's by more than uncertainty and rounding."""
    if theirs is None or abs(error.mean - theirs[0]) <= error.uncertainty + 0.005:
        return ()
    return (LOWER,) if error.mean < theirs[0] else (HIGHER,)


def line(model_names: Names, texts: Mapping[str, str], marks: Mapping[str, Marks]) -> list[Cell]:
    """Cells of the models in their order; those without a text are absent."""
    return [
        Cell(texts[name], marks=marks.get(name, ())) if name in texts else Cell(ABSENT)
        for name in model_names
    ]


def measured(times: Times) -> dict[str, str]:
    """Our seconds as text."""
    return {
        name: f"{two_digits(mean)} ± {two_digits(spread)}" for name, (mean, spread) in times.items()
    }


def printed(times: Times) -> dict[str, str]:
    """The paper's seconds as they are printed there."""
    return {
        name: f"≈ {mean:g}" if isnan(spread) else f"{mean:.2f} ± {spread:.2f}"
        for name, (mean, spread) in times.items()
    }


def ratios(times: Times) -> dict[str, str]:
    """Ratios to the time of KNN, where both are known and neither is printed as 0."""
    base = times.get("knn", (0.0, 0.0))[0]
    return {
        name: two_digits(mean / base) for name, (mean, _) in times.items() if base > 0 and mean > 0
    }


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
    if value >= 0.1 or value < 1e-6:  # no clock is exact below a microsecond
        return f"{value:.2f}"
    return np.format_float_positional(value, 2, unique=False, fractional=False)
