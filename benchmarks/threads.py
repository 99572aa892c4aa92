"""Fits and predictions in all threads of a machine against one thread, beside LightGBM's.

40,000 samples with 20 features (make_friedman1), 20,000 queries. A fit includes the search.
LightGBM has 500 trees at a rate of 0.05. Everything is compiled before, and each time is that of
one fit, or the best of three predictions.
"""

import os
from collections.abc import Iterator
from functools import partial

from sklearn.datasets import make_friedman1

from benchmarks._run import Table, duration, seconds, verdict
from locallinear import FALLEnsembleRegressor, FALLRegressorCV

LONG = True  # five minutes in one thread: only run when asked for by name
N_SAMPLES, N_QUERIES, N_FEATURES = 40_000, 20_000, 20
AT_LEAST = 8.0  # times, on a machine with 16 cores


def run() -> Iterator[Table]:
    n_threads = os.cpu_count() or 1
    X, y = make_friedman1(N_SAMPLES + N_QUERIES, N_FEATURES, noise=1.0, random_state=0)
    queries, X, y = X[N_SAMPLES:], X[:N_SAMPLES], y[:N_SAMPLES]
    header = "model", "step", "one thread", f"{n_threads} threads", "times faster", "target", ""
    table = Table(f"{n_threads} threads against one", header)
    for name, make in models().items():
        make(n_jobs=2).fit(X[:600], y[:600]).predict(queries[:100])
        one, many = (make(n_jobs=n_jobs) for n_jobs in (1, n_threads))
        fits = [seconds(partial(model.fit, X, y)) for model in (one, many)]
        answers = [
            min(seconds(partial(model.predict, queries)) for _ in range(3)) for model in (one, many)
        ]
        for step, (alone, together) in (("fit", fits), ("predict", answers)):
            faster = alone / together
            goal = ("", "")
            if name.startswith("FALLEnsemble"):
                goal = f"≥ {AT_LEAST:.0f}", verdict(faster, AT_LEAST, at_least=True)
            times = duration(alone), duration(together), f"{faster:.1f}"
            table.rows.append((name, step, *times, *goal))
            print(*table.rows[-1], flush=True)
    yield table


def models() -> dict[str, partial]:
    """Models by name; LightGBM where it is installed."""
    found: dict[str, partial] = {
        "FALLEnsembleRegressor": partial(FALLEnsembleRegressor, random_state=0),
        "FALLRegressorCV": partial(FALLRegressorCV, random_state=0),
    }
    try:
        from lightgbm import LGBMRegressor
    except ImportError:
        return found
    boosted = partial(LGBMRegressor, n_estimators=500, learning_rate=0.05, verbose=-1)
    return found | {"LightGBM": boosted}
