"""What intervals and predictions without oneself cost, beside `predict`.

20,000 samples with ten features (make_friedman1), 4,000 queries; FALL has its defaults but for
the neighbourhood. Intervals are timed after the first call, which computes once what all later
ones use; its time is given in queries of `predict` that would take as long. Runs of both alternate,
and ratios are medians of the ratios of successive runs. Memory is the peak during one call with
100,000 queries, in a process of its own, above what was there before the call (on Linux).
"""

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray
from sklearn.datasets import make_friedman1

from benchmarks._run import Table, duration, in_subprocess, interleaved, seconds, verdict
from locallinear import FALLEnsembleRegressor, FALLRegressor

N, Q = 20_000, 4_000
NEIGHBORHOODS = ("euclidean", "learned", "forest", "boosted")

MEMORY = """
from pathlib import Path
import numpy as np
from benchmarks._run import resident
from benchmarks.interval_times import fitted, problem
X, y, queries = problem()
model = fitted({name!r}, X, y)
model.predict_interval(queries[:1])
queries = np.tile(queries, (25, 1))
Path("/proc/self/clear_refs").write_text("5")  # forgets the peak of the fit
before = resident("VmRSS")
model.{call}(queries)
print((resident("VmHWM") - before) / 2**20)
"""


def problem() -> Any:
    X, y = make_friedman1(N + Q, noise=1.0, random_state=0)
    return X[:N], y[:N], X[N:]


def fitted(name: str, X: Any, y: Any) -> Any:
    if name == "ensemble":
        return FALLEnsembleRegressor(10, search=None, random_state=0).fit(X, y)
    return FALLRegressor(neighborhood=name, random_state=0).fit(X, y)


def run() -> Iterator[Table]:
    X, y, queries = problem()
    head = ("model", "predict", "predict_interval", "ratio", "target", "", "first call")
    intervals = Table(f"predict_interval, {Q:,} queries", head)
    alone = Table("loo_prediction_, all samples", (*head[:2], "loo_prediction_", *head[3:6]))
    for name in (*NEIGHBORHOODS, "ensemble"):
        model = fitted(name, X, y)
        intervals.rows.append((name, *times_of_intervals(model, queries)))
        alone.rows.append((name, *times_alone(model, X, target=name != "ensemble")))
    yield intervals
    yield alone
    memory = Table("peak memory of a call", ("model", "predict", "predict_interval"))
    for name in ("euclidean", "ensemble"):
        cells = [
            f"{in_subprocess(MEMORY.format(name=name, call=call)):.1f} MiB"
            for call in ("predict", "predict_interval")
        ]
        memory.rows.append((name, *cells))
    yield memory


def times_of_intervals(model: Any, queries: NDArray) -> Iterator[str]:
    def predict() -> NDArray:
        return model.predict(queries)

    predict()
    first = seconds(lambda: model.predict_interval(queries[:1])) / seconds(predict) * len(queries)
    ours, theirs, ratio = interleaved(lambda: model.predict_interval(queries), predict)
    yield from (duration(theirs), duration(ours), f"{ratio:.2f}", "≤ 2", verdict(ratio, 2))
    yield f"{first:,.0f} queries"


def times_alone(model: Any, X: NDArray, *, target: bool) -> Iterator[str]:
    ours, theirs, ratio = interleaved(lambda: model.loo_prediction_, lambda: model.predict(X))
    yield from (duration(theirs), duration(ours), f"{ratio:.2f}")
    yield from ("≤ 1", verdict(ratio, 1)) if target else ("", "")
