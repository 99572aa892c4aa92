"""How often intervals contain the truth, and how wide they are, ours beside others.

Predictions. The paper's five sets and eight of the league, in ten folds; the same folds for all.
Sets of up to 1,100 rows have all ten folds, so that each row is tested once, sets of up to 6,000
rows the first two, and larger sets the first one, with 6,000 training rows drawn at random for all
methods alike. Methods give intervals of seven coverages. `covered` is the share of test targets
within those of 50, 80, 90 and 95 %; `worst fifth` the coverage of 90 % intervals in the fifth of
the predictions, ordered by their middle, that is furthest from 90 %, over all folds of a set.
`Winkler` is the mean score of 90 % intervals: their width, plus 20 times the distance of a target
that is outside. `CRPS` is twice the integral of the pinball loss over the levels of all quantiles.
Both are in standard deviations of the target, and less is better. Sixteen ways to measure
how much too small errors without refits are were compared on the test rows of parts of these sets,
and one of the two best was kept: so these sets flatter the coverage of ours a little.

Peers: MAPIE's split conformal, jackknife+ (as CV+ with ten folds) and conformalised quantile
regression, all with LightGBM (500 trees at a rate of 0.05); crepes with LightGBM, normalised by
neighbours; quantile-forest and NGBoost as they come.

Slopes. Functions with known slopes (`_functions.py`): the share of queries and features whose true
slope lies within slope ± z times `slopes_std`. `at the query` is the true slope at the very point;
`mean slope` is the mean of the true slopes at the query's neighbours, with their weights. "all" is
the share over the functions, each with the same number of cases.

Each finished run is a row of benchmarks/intervals.csv, so that the command goes on where it was
stopped. If a run was made several times, the last row counts. Each run has one thread. `--jobs`
runs several side by side; other machines write files of their own (`--rows`), which `--take` adds.
Ours need no package of the peers.
"""

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.model_selection import KFold

from benchmarks._functions import FUNCTIONS as SIMULATED
from benchmarks._functions import Problem, rentals, simulated
from benchmarks._interval_methods import COVERAGES, LEVELS, METHODS, OURS
from benchmarks._interval_tables import draw
from benchmarks._league_data import load as load_league
from benchmarks._rows import append_row, read_rows
from benchmarks._run import RESULTS, Parts, Table, commit, computer, keep
from locallinear import datasets

LONG = True  # an hour: only run when asked for by name
ROWS = Path(__file__).parent / "intervals.csv"
FIELDS = (
    *("set", "split", "method", "covered 50", "covered 80", "covered 90", "covered 95", "fifths"),
    *("mean 50", "mean 80", "mean 90", "mean 95"),
    *("Winkler", "CRPS", "fit_s", "interval_s", "n_train", "n_test", "commit", "machine"),
)
SHOWN = (0.5, 0.8, 0.9, 0.95)

PAPER = {
    "concrete": datasets.fetch_concrete,
    "aquatic": datasets.fetch_qsar_aquatic_toxicity,
    "fish": datasets.fetch_qsar_fish_toxicity,
    "parkinsons": datasets.fetch_parkinsons,
    "superconductivity": datasets.fetch_superconductivity,
}
LEAGUE = ("autompg", "forest", "stock", "gas", "skillcraft", "sml", "pol", "elevators")
SETS = (*PAPER, *LEAGUE)
FUNCTIONS = (*SIMULATED, "rentals")
N_SMALL, N_LARGE = 1100, 6000


class Task(NamedTuple):
    """One run: a set and one of its folds, or a function and the seed of a fit."""

    set: str
    split: int
    method: str


@cache
def load(name: str) -> tuple[NDArray, NDArray, NDArray]:
    """Inputs, target and the fold that tests each row."""
    if name not in PAPER:
        return load_league(name)
    X, y = PAPER[name](return_X_y=True)
    fold = np.empty(len(X), dtype=int)
    for i, (_, tested) in enumerate(KFold(10, shuffle=True, random_state=0).split(X)):
        fold[tested] = i
    return X, y[:, 0] if y.ndim == 2 else y, fold


def splits_of(name: str) -> range:
    if name in FUNCTIONS:
        return range(1)
    n = len(load(name)[1])
    return range(10 if n <= N_SMALL else 2 if n <= N_LARGE else 1)


def parts_of(name: str, split: int) -> Parts:
    """Training and test part of a split."""
    X, y, fold = load(name)
    train, test = np.flatnonzero(fold != split), fold == split
    if len(train) > N_LARGE:
        train = np.sort(np.random.default_rng(0).choice(train, N_LARGE, replace=False))
    return X[train], y[train], X[test], y[test]


def tasks(names: Sequence[str], methods: Sequence[str], splits: Sequence[int] = ()) -> list[Task]:
    """The longest first, so that no process waits for the last one."""

    def cost(task: Task) -> float:
        n, d = (1500, 10) if task.set in FUNCTIONS else load(task.set)[0].shape
        return METHODS[task.method].cost * min(n, N_LARGE) * np.sqrt(d)

    found = [
        Task(name, split, method)
        for name in names
        for split in splits or splits_of(name)
        for method in methods
        if name in SETS or method in OURS
    ]
    return sorted(found, key=cost, reverse=True)


# --- One run -------------------------------------------------------------------------------------


def one_run(task: Task, code: str) -> dict[str, Any]:
    """The finished row of a task."""
    warnings.filterwarnings("ignore")
    row = slopes_run(task) if task.set in FUNCTIONS else intervals_run(task)
    return task._asdict() | row | {"commit": code, "machine": computer()}


def intervals_run(task: Task) -> dict[str, Any]:
    X, y, X_test, y_test = parts_of(task.set, task.split)
    start = time.perf_counter()
    fitted = METHODS[task.method].fit(X, y)
    middle = time.perf_counter()
    intervals = np.asarray(fitted(X_test))
    end = time.perf_counter()
    return judged(intervals, y_test, float(np.std(y))) | {
        "fit_s": f"{middle - start:.3g}",
        "interval_s": f"{end - middle:.3g}",
        "n_train": len(y),
        "n_test": len(y_test),
    }


def judged(intervals: NDArray, y: NDArray, unit: float) -> dict[str, str]:
    """What is measured of intervals (q, c, 2)."""
    low, high = np.moveaxis(intervals, 2, 0)
    inside = (low <= y[:, None]) & (y[:, None] <= high)
    at = {c: int(np.flatnonzero(np.isclose(COVERAGES, c))[0]) for c in SHOWN}
    found = {f"covered {round(100 * c)}": f"{inside[:, at[c]].mean():.4f}" for c in SHOWN}
    middle = (low[:, 0] + high[:, 0]) / 2
    fifths = [inside[rows, at[0.9]].mean() for rows in np.array_split(np.argsort(middle), 5)]
    l90, h90 = low[:, at[0.9]], high[:, at[0.9]]
    missed = np.maximum(l90 - y, 0) + np.maximum(y - h90, 0)
    return found | {
        "fifths": " ".join(f"{share:.4f}" for share in fifths),
        "Winkler": f"{np.mean(h90 - l90 + 20 * missed) / unit:.5g}",
        "CRPS": f"{crps(low, high, y) / unit:.5g}",
    }


def crps(low: NDArray, high: NDArray, y: NDArray) -> float:
    """Twice the integral of the pinball loss over levels, by the trapezoidal rule.

    The middle of the narrowest interval is the median; the loss of levels 0 and 1 is taken as 0.
    """
    quantiles = np.column_stack([low, high, (low[:, 0] + high[:, 0]) / 2])
    levels = np.append(LEVELS, 0.5)
    off = y[:, None] - quantiles
    losses = np.maximum(levels * off, (levels - 1) * off).mean(axis=0)
    order = np.argsort(levels)
    ends = np.concatenate([[0.0], levels[order], [1.0]]), np.concatenate([[0], losses[order], [0]])
    return float(2 * np.trapezoid(ends[1], ends[0]))


def slopes_run(task: Task) -> dict[str, Any]:
    """How often intervals of slopes contain the true slope at a query, and its mean nearby."""
    problem: Problem = rentals() if task.set == "rentals" else simulated(task.set)
    model = OURS[task.method]().set_params(random_state=task.split)
    start = time.perf_counter()
    model.fit(problem.X, problem.y)
    middle = time.perf_counter()
    why = model.explain(problem.queries)
    slopes, errors = (a[:, problem.sloped, 0] for a in (why.slopes, why.slopes_std))
    end = time.perf_counter()
    nearby = problem.sample_gradients[why.neighbors]
    means = np.einsum("qk,qks->qs", why.neighbor_weights, nearby)
    row = {}
    for what, truth in (("covered", problem.gradients), ("mean", means)):
        for c in SHOWN:
            inside = np.abs(slopes - truth) <= norm.ppf((1 + c) / 2) * errors
            row[f"{what} {round(100 * c)}"] = f"{inside.mean():.4f}"
    return row | {
        "fit_s": f"{middle - start:.3g}",
        "interval_s": f"{end - middle:.3g}",
        "n_train": len(problem.y),
        "n_test": len(problem.queries),
    }


# --- All runs ------------------------------------------------------------------------------------


def make_rows(wanted: list[Task], path: Path, *, jobs: int, code: str, anew: bool) -> None:
    """Make the rows that are missing; `anew`: those that this commit lacks."""
    done = {
        Task(row["set"], int(row["split"]), row["method"])
        for row in read_rows(path)
        if not anew or row["commit"] == code
    }
    missing = []
    for task in wanted:
        absent = METHODS[task.method].missing
        if task.set == "rentals" and find_spec("pandas") is None:
            absent = ["pandas"]
        if absent:
            print(f"Left out: {task.method} on {task.set}, which needs {', '.join(absent)}.")
        elif task not in done:
            missing.append(task)
    if any(task.method in OURS for task in missing):
        warm_up()
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="all", batch_size=1)
        for row in parallel(delayed(one_run)(task, code) for task in missing):
            append_row(path, FIELDS, row)
            print(*(row.get(name, "") for name in FIELDS[:-2]), sep="  ", flush=True)


def warm_up() -> None:
    """Compile our models once, into the cache that all processes read."""
    X = np.random.default_rng(0).normal(size=(200, 4))
    for method in OURS:
        METHODS[method].fit(X, X[:, 0] * X[:, 1])(X)


def tables(path: Path = ROWS) -> Iterator[Table]:
    yield from draw(read_rows(path), list(METHODS), SETS, FUNCTIONS)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks intervals")
    every = (*SETS, *FUNCTIONS)
    chosen: dict[str, Any] = {"nargs": "+", "metavar": "NAME"}
    parser.add_argument("--sets", **chosen, choices=every, default=every, help=", ".join(every))
    parser.add_argument(
        "--methods", **chosen, choices=METHODS, default=list(METHODS), help="; ".join(METHODS)
    )
    parser.add_argument("--splits", nargs="+", type=int, choices=range(10), default=(), metavar="N")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--anew", action="store_true", help="also run what other commits have run")
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the finished runs")
    parser.add_argument(
        "--take", nargs="+", type=Path, default=(), metavar="FILE", help="add their rows; run none"
    )
    parser.add_argument("--commit", help="name of the code in the rows, where there is no git")
    parser.add_argument(
        "--draw", action="store_true", help="run nothing; write the tables of all rows"
    )
    given = parser.parse_args(arguments)
    for path in given.take:
        for row in read_rows(path):
            append_row(given.rows, FIELDS, row)
    if given.draw:
        beside = RESULTS if given.rows == ROWS else given.rows.with_suffix(".md")
        keep(beside, "intervals", __doc__, tables(given.rows))
    if given.draw or given.take:
        return
    wanted = tasks(given.sets, given.methods, given.splits)
    code = given.commit or commit()
    make_rows(wanted, given.rows, jobs=given.jobs, code=code, anew=given.anew)
