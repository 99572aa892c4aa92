"""Time budgets: how long fits take beside the `time_budget` that they were given.

The data are `make_friedman1` with 20 features, of which 15 are noise, fitted in one thread; R² is
on 2,000 other rows. "table" and "table, ensemble" are `TableRegressor` with these models, the
judgement included; "command" is `locallinear fit` in a process of its own, from a CSV file to what
it prints. A budget is met if the fit takes at most a fifth longer, or two seconds. "said" is where
it was not, and a warning said that the budget is too short for one fit on all rows. Everything is
compiled before. All seconds are processor time, by which the library's clock goes here too: in one
thread that is the time on an idle machine, and other work on the machine does not count.

`python -m benchmarks budgets` measures all that is missing and writes the tables.
`python -m benchmarks.budgets --models single --samples 1000 10000 --budgets 5` measures a part;
`--anew` measures again what is known, and `--jobs 16` measures 16 cases side by side. Each case has
a process of its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import make_friedman1

from benchmarks._rows import append_row, read_rows
from benchmarks._run import ROOT, Table, commit, computer
from locallinear import FALLEnsembleRegressor, FALLRegressorCV, TableRegressor
from locallinear.grids import DEFAULT
from locallinear.runtime.budgets import PART, SECONDS, BudgetWarning

LONG = True  # an hour
KEPT = Path(__file__).parent / "budgets.csv"
FIELDS = ("model", "samples", "budget", "taken", "score", "tried", "warned", "commit", "machine")
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

COMMAND = """
import runpy, time
time.monotonic = time.process_time
runpy.run_module("locallinear", run_name="__main__")
"""


def run() -> Iterator[Table]:
    measure(missing(list(product(MODELS, SAMPLES, BUDGETS))), KEPT, jobs=1, code=commit())
    yield from tables()


def kept(path: Path = KEPT) -> dict[Case, dict[str, str]]:
    """The last measurement of each case."""
    rows = read_rows(path)
    return {(row["model"], int(row["samples"]), int(row["budget"])): row for row in rows}


def missing(cases: list[Case], path: Path = KEPT) -> list[Case]:
    known = kept(path)
    return [case for case in cases if case not in known]


def tables() -> Iterator[Table]:
    """One table per model, of the last measurement of each case."""
    rows = kept()
    header = ("samples", "budget", "taken", "ratio", "", "R²", "tried", "commit")
    for model in MODELS:
        table = Table(model, header)
        for (name, n, budget), row in sorted(rows.items()):
            if name == model:
                taken = float(row["taken"])
                ratio = f"{taken / budget:.2f}"
                said = verdict(taken, budget, row["warned"] == "True")
                figures = f"{taken:.1f} s", ratio, said, row["score"], row["tried"]
                table.rows.append((f"{n:,}", f"{budget} s", *figures, row["commit"]))
        absent = {n: [b for b in BUDGETS if (model, n, b) not in rows] for n in SAMPLES}
        parts = [f"{n:,} rows in {', '.join(map(str, b))} s" for n, b in absent.items() if b]
        machines = {row["machine"]: None for case, row in rows.items() if case[0] == model}
        notes = [f"Measured on {'; '.join(machines)}."] if machines else []
        table.note = " ".join(notes + ([f"Not measured: {'; '.join(parts)}."] if parts else []))
        yield table


def verdict(taken: float, budget: float, warned: bool) -> str:
    if taken <= max(budget * (1 + PART), budget + SECONDS):
        return "met"
    return "said" if warned else "**missed**"


def measure(cases: list[Case], path: Path, *, jobs: int, code: str) -> None:
    """Measure cases, the longest first, and keep each when it is done."""
    if not cases:
        return
    warm_up()  # what is compiled here, the processes of the cases read from the cache
    longest_first = sorted(cases, key=lambda case: max(case[2], case[1] / 10_000), reverse=True)
    with ThreadPoolExecutor(jobs) as pool:
        asked = {pool.submit(in_own_process, case): case for case in longest_first}
        for done in as_completed(asked):
            model, n, budget = asked[done]
            try:
                found = done.result()
            except subprocess.CalledProcessError as error:
                print(f"{model}, {n:,} rows in {budget} s failed: {error}\n{error.stderr}")
                continue
            row = {"model": model, "samples": n, "budget": budget, **found}
            append_row(path, FIELDS, row | {"commit": code, "machine": computer()})
            print(*row.values(), flush=True)


def in_own_process(case: Case) -> dict[str, Any]:
    """What a case took, measured in a process of one thread."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.budgets", "--case", *map(str, case)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def environment() -> dict[str, str]:
    """Of a process of one thread that finds the package: what threads of BLAS do counts twice."""
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return os.environ | one | {"PYTHONPATH": path}


def one_case(model: str, n: int, budget: int) -> dict[str, Any]:
    if model == "command":
        return command(n, budget)
    time.monotonic = time.process_time
    warm_up()
    return fit(MODELS[model], n, budget)


def frames(n: int) -> tuple[pd.DataFrame, pd.Series]:
    X, y = make_friedman1(n + N_QUERIES, n_features=N_FEATURES, noise=1.0, random_state=0)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(N_FEATURES)]), pd.Series(y, name="y")


def fit(make: Any, n: int, budget: float) -> dict[str, Any]:
    X, y = frames(n)
    model = make(time_budget=budget, random_state=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        started = time.process_time()
        model.fit(X[:n], y[:n])
        taken = time.process_time() - started
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
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, "fit", str(data), *options],
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    warned = "--time-budget is" in done.stderr
    return {"taken": f"{taken:.2f}", "score": "", "tried": "", "warned": warned}


def warm_up() -> None:
    """Compile and load all that fits need."""
    X, y = frames(300)
    grid = {"neighborhood": DEFAULT["neighborhood"], "assignment_neighbors": [5]}
    FALLRegressorCV(grid, random_state=0).fit(X, y)
    FALLEnsembleRegressor(2, search=grid, random_state=0).fit(X, y)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budgets")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--samples", nargs="+", type=int, default=SAMPLES)
    parser.add_argument("--budgets", nargs="+", type=int, default=BUDGETS)
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--anew", action="store_true", help="also measure what is known")
    parser.add_argument("--rows", type=Path, default=KEPT, help="file of what was measured")
    parser.add_argument("--commit", help="name of the code in the rows, where there is no git")
    parser.add_argument("--case", nargs=3, help="print the figures of one case, and keep nothing")
    given = parser.parse_args()
    if given.case:
        model, n, budget = given.case
        print(json.dumps(one_case(model, int(n), int(budget))))
        return
    cases = list(product(given.models, given.samples, given.budgets))
    wanted = cases if given.anew else missing(cases, given.rows)
    measure(wanted, given.rows, jobs=given.jobs, code=given.commit or commit())


if __name__ == "__main__":
    main()
