"""FALLRegressorCV on the paper's grid of 1,078,000 configurations, 3 folds, `n_jobs=-1`.

The search gets nine tenths of each set. Compilation ends before the measurement starts; its time
is measured separately.
"""

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold, ParameterGrid

from benchmarks._run import Table, duration, in_subprocess, resident, seconds, split, verdict
from locallinear import FALLRegressor, FALLRegressorCV
from locallinear.grids import PAPER

BUDGET = 60.0
# Seconds for the whole grid, or how many configurations within the budget.
MOST_SECONDS = {
    "concrete": 10,
    "qsar_aquatic_toxicity": 10,
    "qsar_fish_toxicity": 10,
    "parkinsons": 60,
}
FEWEST_CONFIGURATIONS = {"superconductivity": 40_000}
LOOP_SECONDS = 20.0


def run() -> Iterator[Table]:
    yield whole_grid()
    yield against_a_loop()
    yield first_use()
    yield memory()


def search(**options: Any) -> FALLRegressorCV:
    options = {"scoring": "neg_mean_squared_error", "n_jobs": -1, "random_state": 0, **options}
    return FALLRegressorCV("paper", max_samples=None, **options)


def warm_up() -> None:
    """Compile and load all that a search needs."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    grid = {"anchor_l1_ratio": [0.0, 0.5], "assignment_neighbors": [1, 2]}
    FALLRegressorCV(grid, scoring="neg_mean_squared_error").fit(X, X[:, 0])


def whole_grid() -> Table:
    table = Table(
        "the paper's grid",
        ("set", "samples", "features", "configurations", "time", "best error", "target", ""),
    )
    warm_up()
    missing = []
    for name in (*MOST_SECONDS, *FEWEST_CONFIGURATIONS):
        parts = split(name)
        if parts is None:
            missing.append(name)
            continue
        X, y, *_ = parts
        model = search(time_budget=BUDGET)
        took = seconds(partial(model.fit, X, y))
        if name in MOST_SECONDS:
            whole = model.n_configurations_ == len(ParameterGrid(PAPER))
            target = f"all in ≤ {MOST_SECONDS[name]} s"
            reached = verdict(took if whole else np.inf, MOST_SECONDS[name])
        else:
            fewest = FEWEST_CONFIGURATIONS[name]
            target = f"≥ {fewest:,} in {BUDGET:.0f} s"
            reached = verdict(model.n_configurations_, fewest, at_least=True)
        counts = (*map(str, X.shape), f"{model.n_configurations_:,}")
        table.rows.append(
            (name, *counts, duration(took), f"{-model.best_score_:.4g}", target, reached)
        )
    table.note = f"`time_budget={BUDGET:.0f}`; the time is that of `fit`, with the final fit."
    if missing:
        table.note += f" Not there, so not measured: {', '.join(missing)}."
    return table


def against_a_loop() -> Table:
    table = Table(
        "configurations per second, Concrete",
        ("FALLRegressorCV", "loop of fit and predict", "times faster", "target", ""),
    )
    parts = split("concrete")
    if parts is None:
        table.note = "Not measured, as LOCALLINEAR_DATA does not hold the set."
        return table
    X, y, *_ = parts
    warm_up()
    configurations = ParameterGrid(PAPER)
    drawn = np.random.default_rng(0).permutation(len(configurations))
    done, begin, half = 0, time.perf_counter(), LOOP_SECONDS / 2

    def loop(stop: float) -> None:
        nonlocal done
        while time.perf_counter() < stop:
            model = FALLRegressor(**configurations[int(drawn[done])], random_state=0)
            for train, test in KFold(3).split(X):
                model.fit(X[train], y[train])
                mean_squared_error(y[test], model.predict(X[test]))
            done += 1

    # Half of the loop before the search and half after, so that other work of the machine slows
    # both.
    looped = seconds(lambda: loop(begin + half))
    model = search()
    ours = seconds(lambda: model.fit(X, y))
    looped += seconds(lambda: loop(time.perf_counter() + half))
    fast, slow = model.n_configurations_ / ours, done / looped
    table.rows.append(
        (
            f"{fast:,.0f}",
            f"{slow:.1f}",
            f"{fast / slow:,.0f}",
            "≥ 20,000",
            verdict(fast / slow, 20_000, at_least=True),
        )
    )
    table.note = f"The loop takes configurations of the grid at random; it finished {done}."
    return table


FIRST_USE = """
import os, time
os.environ["NUMBA_CACHE_DIR"] = {cache!r}
from benchmarks.search import warm_up
start = time.perf_counter()
warm_up()
first = time.perf_counter() - start
start = time.perf_counter()
warm_up()
print(first - (time.perf_counter() - start))
"""


def first_use() -> Table:
    table = Table(
        "how much longer the first search in a process takes than the second",
        ("", "longer by", "target", ""),
    )
    with tempfile.TemporaryDirectory() as cache:
        code = FIRST_USE.format(cache=cache)
        compiling, cached = in_subprocess(code), in_subprocess(code)
    table.rows.append(["nothing compiled yet (once per installation)", duration(compiling), "", ""])
    table.rows.append(["compiled before", duration(cached), "≤ 5 s", verdict(cached, 5.0)])
    return table


def memory() -> Table:
    table = Table("peak memory above the data", ("set", "data", "above", "target", ""))
    for name in (*MOST_SECONDS, *FEWEST_CONFIGURATIONS):
        parts = split(name)
        if parts is None:
            continue
        above = in_subprocess(f"from benchmarks.search import peak_memory; peak_memory({name!r})")
        row = name, f"{parts[0].nbytes / 2**20:.1f} MiB", f"{above / 2**20:.0f} MiB"
        table.rows.append((*row, "≤ 1 GB", verdict(above, 1e9)))
    table.note = (
        f"Measured in a separate process with `time_budget={BUDGET / 4:.0f}`, without the memory "
        "that the data and the imports took."
    )
    return table


def peak_memory(name: str) -> None:
    """Print the most bytes that a search takes in this process, above the data."""
    parts = split(name)
    assert parts is not None
    before = resident("VmRSS")
    search(time_budget=BUDGET / 4).fit(*parts[:2])
    print(resident("VmHWM") - before)
