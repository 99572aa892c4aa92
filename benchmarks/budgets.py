"""Time budgets: how long fits take beside the `time_budget` that they were given.

The data are `make_friedman1` with 20 features, of which 15 are noise, fitted in one thread; R² is
on 2,000 other rows. "table" and "table, ensemble" are `TableRegressor` with these models, the
judgement included; "command" is `locallinear fit` in a process of its own, from a CSV file to what
it prints. A budget is met if the fit takes at most a fifth longer, or two seconds. "said" is where
it was not, and a warning said that the budget is too short for one fit on all rows. Everything is
compiled before. "load" is how many other processes wanted a core when the fit began.

`python -m benchmarks.budgets --models single --samples 1000 10000 --budgets 5` measures a part, and
measures it again where it is known; `python -m benchmarks budgets` measures all that is missing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import make_friedman1

from benchmarks._rows import append_row, read_rows
from benchmarks._run import ROOT, Table, commit, seconds
from locallinear import FALLEnsembleRegressor, FALLRegressorCV, TableRegressor
from locallinear.runtime.budgets import PART, SECONDS, BudgetWarning

LONG = True  # an hour
KEPT = Path(__file__).parent / "budgets.csv"
FIELDS = ("model", "samples", "budget", "taken", "score", "tried", "warned", "load", "commit")
SAMPLES = (1_000, 10_000, 50_000, 200_000, 1_000_000)
BUDGETS = (5, 20, 30, 60)
N_FEATURES, N_QUERIES = 20, 2000

MODELS: dict[str, Any] = {
    "single": FALLRegressorCV,
    "ensemble": FALLEnsembleRegressor,
    "table": TableRegressor,
    "table, ensemble": partial(TableRegressor, "ensemble"),
    "command": None,
}
Case = tuple[str, int, int]


def run() -> Iterator[Table]:
    known = {(row["model"], int(row["samples"]), int(row["budget"])) for row in read_rows(KEPT)}
    measure(case for case in product(MODELS, SAMPLES, BUDGETS) if case not in known)
    yield from tables()


def tables() -> Iterator[Table]:
    """One table per model, of the last measurement of each case."""
    rows = {(row["model"], int(row["samples"]), int(row["budget"])): row for row in read_rows(KEPT)}
    header = ("samples", "budget", "taken", "ratio", "", "R²", "tried", "load", "commit")
    for model in MODELS:
        table = Table(model, header)
        for (name, n, budget), row in sorted(rows.items()):
            if name == model:
                taken = float(row["taken"])
                ratio = f"{taken / budget:.2f}"
                said = verdict(taken, budget, row["warned"] == "True")
                figures = f"{taken:.1f} s", ratio, said, row["score"], row["tried"]
                table.rows.append((f"{n:,}", f"{budget} s", *figures, row["load"], row["commit"]))
        if table.rows:
            yield table


def verdict(taken: float, budget: float, warned: bool) -> str:
    if taken <= max(budget * (1 + PART), budget + SECONDS):
        return "met"
    return "said" if warned else "**missed**"


def measure(cases: Iterable[Case]) -> None:
    """Measure cases one by one, and keep each."""
    warm_up()
    for model, n, budget in cases:
        load = f"{max(0.0, os.getloadavg()[0] - 1):.1f}"
        found = command(n, budget) if model == "command" else fit(MODELS[model], n, budget)
        row = {"model": model, "samples": n, "budget": budget, "load": load, "commit": commit()}
        append_row(KEPT, FIELDS, row | found)
        print(*(row | found).values(), flush=True)


def frames(n: int) -> tuple[pd.DataFrame, pd.Series]:
    X, y = make_friedman1(n + N_QUERIES, n_features=N_FEATURES, noise=1.0, random_state=0)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(N_FEATURES)]), pd.Series(y, name="y")


def fit(make: Any, n: int, budget: float) -> dict[str, Any]:
    X, y = frames(n)
    model = make(time_budget=budget, random_state=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        taken = seconds(partial(model.fit, X[:n], y[:n]))
    members = getattr(getattr(model, "estimator_", model), "estimators_", None)
    search = getattr(model, "search_", model)
    tried = f"{len(members)} members" if members else f"{search.n_configurations_:,}"
    return {
        "taken": f"{taken:.2f}",
        "score": f"{model.score(X[n:], y[n:]):.3f}",
        "tried": tried,
        "warned": any(issubclass(w.category, BudgetWarning) for w in said),
    }


def command(n: int, budget: float) -> dict[str, Any]:
    """The command, from the start of its process to its end."""
    X, y = frames(n)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "friedman.csv"
        X[:n].assign(y=y[:n]).to_csv(data, index=False)
        options = ["--target", "y", "--time-budget", str(budget), "--jobs", "1"]
        given = [sys.executable, "-m", "locallinear", "fit", str(data), *options]
        done: list[Any] = []
        taken = seconds(lambda: done.append(started(given, folder)))
    warned = "BudgetWarning" in done[0].stderr
    return {"taken": f"{taken:.2f}", "score": "", "tried": "", "warned": warned}


def started(arguments: list[str], folder: str) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": path}
    return subprocess.run(
        arguments, cwd=folder, env=env, capture_output=True, text=True, check=True
    )


def warm_up() -> None:
    """Compile and load all that fits need."""
    X, y = frames(300)
    for make in (FALLRegressorCV, FALLEnsembleRegressor, TableRegressor):
        make(random_state=0).fit(X, y)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budgets")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--samples", nargs="+", type=int, default=SAMPLES)
    parser.add_argument("--budgets", nargs="+", type=int, default=BUDGETS)
    given = parser.parse_args()
    measure(product(given.models, given.samples, given.budgets))


if __name__ == "__main__":
    main()
