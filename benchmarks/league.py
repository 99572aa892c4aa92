"""Test error and fit time on 17 public sets that are not the paper's, ours beside other models.

The sets are those of the collection treforevans/uci_datasets (commit f073752), one gzipped CSV each
in the folder `league` of LOCALLINEAR_DATA: inputs `x0` and on, target `y`, and `fold`, the one of
ten test parts that a row belongs to. Sets of up to 1,100 rows have all ten folds, larger sets the
first three. Every choice is made on the training part. Ratios are to LightGBM with 500 trees at a
rate of 0.05, on the same folds; ranks are among the models that have rows of a set.

Each finished run is a row of benchmarks/league.csv, so that the command goes on where it was
stopped. If a run was made several times, the last row counts. All models are used as they come,
with two threads where they take a number of threads (ours run in one thread), but for two: linear
trees are penalised, since they fail on servo otherwise, and EBM has 2 of its 14 outer bags on sets
of more than 3,000 rows (column `settings`).

Times are those of runs one at a time (column `jobs` is 1) on the machine of LightGBM's runs, if its
load average before the fit (column `load`) was 2.5 at most: else other work took part of the time.
A set's time is the median over its folds. Each model is fitted once to a small problem before its
times are taken. On that machine a second thread slows LightGBM's fits down (`ensemble` has times
with one), so that ratios to them look small.
"""

import argparse
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._league_data import load
from benchmarks._league_tables import draw, read, two_commits
from benchmarks._rows import append_row, measure, read_rows
from benchmarks._run import RESULTS, Table, commit, computer, keep, versions
from benchmarks.accuracy import OURS, cubist, ebm, lightgbm
from locallinear import FALLEnsembleRegressor, FALLRegressorCV

LONG = True  # many hours: only run when asked for by name
ROWS = Path(__file__).parent / "league.csv"
FIELDS = (
    *("set", "fold", "model", "settings", "rmse", "fit_s", "predict_s"),
    *("n_train", "jobs", "load", "commit", "versions", "machine"),
)

# From small to large, so that the first hours give whole sets.
SETS = (
    *("autos", "servo", "machine", "autompg", "forest", "stock", "pendulum", "solar", "gas"),
    *("skillcraft", "sml", "pumadyn32nm", "pol", "elevators"),
    *("kin40k", "tamielectric", "keggdirected"),
)


def linear_trees() -> Any:
    """LightGBM with a linear model in every leaf, standardised and penalised.

    Without a penalty, its default, it predicts hundreds of times the largest target on servo.
    """
    return make_pipeline(StandardScaler(), lightgbm(n_jobs=2, linear_tree=True, linear_lambda=1.0))


def catboost() -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        thread_count=2, random_seed=0, verbose=False, allow_writing_files=False
    )


def knn() -> GridSearchCV:
    """Standardised, the number of neighbours and their weights chosen by cross-validation."""
    grid = {
        "kneighborsregressor__n_neighbors": [1, 2, 3, 5, 8, 12, 20, 30],
        "kneighborsregressor__weights": ["uniform", "distance"],
    }
    model = make_pipeline(StandardScaler(), KNeighborsRegressor(n_jobs=2))
    folds = KFold(3, shuffle=True, random_state=0)
    return GridSearchCV(model, grid, scoring="neg_mean_squared_error", cv=folds)


def ridge() -> Any:
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 4, 15)))


class Model(NamedTuple):
    """How to make an estimator, and the package beside scikit-learn that computes it."""

    make: Callable[..., Any]
    package: str = "scikit-learn"


MODELS = {
    OURS: Model(partial(FALLEnsembleRegressor, random_state=0), "numba"),
    "FALLRegressorCV": Model(partial(FALLRegressorCV, random_state=0), "numba"),
    "LightGBM": Model(partial(lightgbm, n_jobs=2), "lightgbm"),
    "LightGBM, linear trees": Model(linear_trees, "lightgbm"),
    "CatBoost": Model(catboost, "catboost"),
    "Cubist": Model(cubist, "cubist"),
    "EBM": Model(partial(ebm, n_jobs=2), "interpret-core"),
    "Extra trees": Model(partial(ExtraTreesRegressor, 500, n_jobs=2, random_state=0)),
    "KNN": Model(knn),
    "Ridge": Model(ridge),
}


def settings(model: str, n: int) -> dict[str, Any]:
    """What a model gets beside its usual parameters on a set of n rows."""
    return {"outer_bags": 2} if model == "EBM" and n > 3000 else {}


def folds_of(name: str) -> range:
    return range(10 if len(load(name)[1]) <= 1100 else 3)


class Task(NamedTuple):
    """One run of the league."""

    set: str
    fold: int
    model: str


def tasks(names: Sequence[str], models: Sequence[str], folds: Sequence[int] = ()) -> list[Task]:
    """Set by set and fold by fold, so that all models have the same folds after a stop."""
    return [
        Task(name, fold, model)
        for name in names
        for fold in folds or folds_of(name)
        for model in models
    ]


def one_run(task: Task, jobs: int, code: str) -> dict[str, Any]:
    """The finished row of a task."""
    X, y, fold = load(task.set)
    train, test = fold != task.fold, fold == task.fold
    chosen = settings(task.model, len(y))
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    warm_up(task.model)
    before = os.getloadavg()[0]
    model = MODELS[task.model].make(**chosen)
    error, seconds = measure(model, (X[train], y[train], X[test], y[test]))
    row = task._asdict() | {"rmse": f"{np.sqrt(error):.6g}", "n_train": int(train.sum())} | seconds
    return row | {
        "settings": " ".join(f"{name}={value}" for name, value in chosen.items()),
        "jobs": jobs,
        "load": f"{before:.1f}",
        "commit": code,
        "versions": versions("numpy", "scipy", "scikit-learn", MODELS[task.model].package),
        "machine": computer(),
    }


@cache
def warm_up(model: str) -> None:
    """Import and compile what a model needs, once per process."""
    X = np.random.default_rng(0).normal(size=(200, 4))
    MODELS[model].make().fit(X, X[:, 0] * X[:, 1]).predict(X)


def run() -> Iterator[Table]:
    make_rows(tasks(SETS, list(MODELS)), ROWS, jobs=1, code=commit(), anew=False)
    yield from tables()


def make_rows(wanted: list[Task], path: Path, *, jobs: int, code: str, anew: bool) -> None:
    """Make the rows that are missing; `anew`: those that this commit and number of jobs lack."""
    done = {
        Task(row["set"], int(row["fold"]), row["model"])
        for row in read_rows(path)
        if not anew or (row["commit"] == code and int(row["jobs"]) == jobs)
    }
    missing = [task for task in wanted if task not in done]
    if jobs > 1:
        missing.reverse()  # the longest runs first: no process waits for the last one
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    for row in parallel(delayed(one_run)(task, jobs, code) for task in missing):
        append_row(path, FIELDS, row)
        print(row["set"], row["fold"], row["model"], row["rmse"], row["fit_s"], flush=True)


def tables(path: Path = ROWS) -> Iterator[Table]:
    """Tables of the finished runs; draws the picture as well."""
    rows = read(path)
    shapes = {name: load(name)[0].shape for name in SETS if name in set(rows["set"])}
    yield from draw(rows, shapes, path.with_suffix(".svg"))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks league")
    chosen: dict[str, Any] = {"nargs": "+", "metavar": "NAME"}
    parser.add_argument("--models", **chosen, choices=MODELS, help="; ".join(MODELS))
    parser.add_argument("--sets", **chosen, choices=SETS, default=SETS, help=", ".join(SETS))
    parser.add_argument("--folds", nargs="+", type=int, choices=range(10), default=(), metavar="N")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument(
        "--anew",
        action="store_true",
        help="also run what has rows, but none of this commit with this number of jobs",
    )
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the finished runs")
    parser.add_argument("--commit", help="name of the code in the rows, where there is no git")
    parser.add_argument("--draw", action="store_true", help="run nothing; write tables and picture")
    parser.add_argument("--out", type=Path, help="file that keeps the tables")
    parser.add_argument(
        "--compare",
        nargs=2,
        metavar=("OLD", "NEW"),
        help=f"run nothing; print the errors of two commits (of {OURS}, or of --models)",
    )
    given = parser.parse_args(arguments)
    if given.compare:
        for model in given.models or [OURS]:
            print(two_commits(read(given.rows), model, *given.compare).markdown())
        return
    if not given.draw:
        wanted = tasks(given.sets, given.models or list(MODELS), given.folds)
        code = given.commit or commit()
        make_rows(wanted, given.rows, jobs=given.jobs, code=code, anew=given.anew)
    beside = RESULTS if given.rows == ROWS else given.rows.with_suffix(".md")
    keep(given.out or beside, "league", __doc__, tables(given.rows))
