"""How the time and memory of a fit grow with the samples, search included.

`make_friedman1` with 20 features, of which 15 are noise; two cores, `n_jobs=2`, all else at its
defaults. Each fit has a process of its own, where everything is compiled before; memory is that of
the process at the peak, above what it held before the fit. R² is on 10,000 other rows. "power" is
p, where time grows as n to the power p from 10,000 samples on.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from math import log

from sklearn.datasets import make_friedman1

from benchmarks._run import ROOT, Table, duration, resident, seconds, verdict
from locallinear import FALLEnsembleRegressor, FALLRegressorCV

LONG = True  # a quarter of an hour
MODELS = {"FALLRegressorCV": FALLRegressorCV, "FALLEnsembleRegressor": FALLEnsembleRegressor}
SAMPLES = (10_000, 20_000, 100_000, 1_000_000)
N_QUERIES = 10_000
# What was wanted: seconds and GB, by model and samples, and the power.
WANTED = {
    ("FALLRegressorCV", 20_000): (15, None),
    ("FALLRegressorCV", 1_000_000): (300, 6),
    ("FALLEnsembleRegressor", 100_000): (180, 2),
    ("FALLEnsembleRegressor", 1_000_000): (900, 6),
}
MOST_POWER = 1.1


HEADER = ("samples", "time", "target", "", "memory", "target", "", "R²", "power")


def run() -> Iterator[Table]:
    for model in MODELS:
        table = Table(model, HEADER)
        times: list[float] = []
        for n in SAMPLES:
            found = in_own_process(model, n)
            times.append(found["seconds"])
            most_seconds, most_memory = WANTED.get((model, n), (None, None))
            time = duration(times[-1]), *goal(times[-1], most_seconds, "s")
            memory = f"{found['gigabytes']:.2f} GB", *goal(found["gigabytes"], most_memory, "GB")
            grown = f"{power(times):.2f}" if len(times) > 1 else ""
            table.rows.append((f"{n:,}", *time, *memory, f"{found['score']:.3f}", grown))
            print(*table.rows[-1], flush=True)
        table.note = (
            f"Power up to {SAMPLES[-1]:,} samples: {power(times):.2f}, at most {MOST_POWER} is "
            f"wanted: {verdict(power(times), MOST_POWER)}."
        )
        yield table


def power(times: list[float]) -> float:
    """p, where time grows as n to the power p from the first number of samples to the last."""
    return log(times[-1] / times[0]) / log(SAMPLES[len(times) - 1] / SAMPLES[0])


def goal(value: float, most: float | None, unit: str) -> tuple[str, str]:
    return ("", "") if most is None else (f"≤ {most} {unit}", verdict(value, most))


def in_own_process(model: str, n: int) -> dict[str, float]:
    code = f"from benchmarks.growth import measure; measure({model!r}, {n})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(name: str, n: int) -> None:
    """Print what a fit of n samples takes in this process."""
    X, y = make_friedman1(n + N_QUERIES, n_features=20, noise=1.0, random_state=0)
    for few in (300, 4000):  # compiles and loads all that a fit needs
        MODELS[name](n_jobs=2, random_state=0, time_budget=5).fit(X[:few], y[:few])
    model = MODELS[name](n_jobs=2, random_state=0)
    before = resident("VmRSS")
    taken = seconds(partial(model.fit, X[:n], y[:n]))
    found = {"seconds": taken, "gigabytes": (resident("VmHWM") - before) / 1e9}
    print(json.dumps(found | {"score": model.score(X[n:], y[n:])}))
