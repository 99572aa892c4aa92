"""Models on a GPU, against plain torch in the same run.

Plain torch finds neighbours by `addmm` and `topk`, in blocks of 2,000 queries (of 500 where there
are ten million points, of 1,000 in double precision). Times are medians of several calls by the
clock on the wall, after a first call has compiled the kernels. Points are standard normal; where
"varying in" is less than the number of features, they are in a subspace. The times of a model
include the checks of its inputs.
"""

import os
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from sklearn import config_context

from benchmarks._run import Table, duration, normal_points, seconds, verdict
from locallinear import FALLRegressor
from locallinear.arrays import to_numpy
from locallinear.geometry.device_neighbors import DeviceNeighbors

LONG = True  # it needs a GPU: it runs only when it is asked for by name
QUERIES, K = 10_000, 10
# Points, features, in how many they vary, precision, queries per block of plain torch, and what is
# to be reached: milliseconds, or times faster than plain torch.
SEARCHES = (
    (1_000_000, 20, 20, "float32", 2000, ("at most 20 ms", 20.0)),
    (1_000_000, 20, 6, "float32", 2000, None),
    (200_000, 81, 81, "float32", 2000, ("3 times faster", 3.0)),
    (200_000, 256, 256, "float32", 2000, ("3 times faster", 3.0)),
    (10_000_000, 8, 8, "float32", 500, ("3 times faster", 3.0)),
    (1_000_000, 20, 20, "float64", 1000, ("2 times faster", 2.0)),
)
# Parameters with which a model on the GPU is compared with one on the processor.
MODELS: tuple[dict[str, Any], ...] = (
    {},
    {"scaling": None},
    {"scaling": "quantile"},
    {"neighborhood": "learned"},
    {"assignment_neighbors": 15},
)


def run() -> Iterator[Table]:
    os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    import torch

    where = f"{torch.cuda.get_device_name()}, torch {torch.__version__}."
    yield searches(where)
    yield models(where)
    yield equality(where)


def searches(where: str) -> Table:
    header = ("points", "features", "varying in", "precision", "ours", "plain torch", "ratio")
    table = Table(f"{QUERIES:,} queries, {K} neighbours", (*header, "target", "verdict"))
    for n, d, intrinsic, dtype, block, target in SEARCHES:
        points = on_gpu(normal_points(n, d, intrinsic), dtype)
        queries = on_gpu(normal_points(QUERIES, d, intrinsic, seed=1), dtype)
        index = DeviceNeighbors(points)
        ours = timed(lambda: index.query(queries, K))  # noqa: B023
        plain = timed(lambda: plain_neighbors(points, queries, K, block), 3)  # noqa: B023
        cells = [f"{n:,}", str(d), str(intrinsic), dtype, duration(ours), duration(plain)]
        words, reached = "", ""
        if target is not None:
            words = target[0]
            milliseconds = words.endswith("ms")
            value = ours * 1e3 if milliseconds else plain / ours
            reached = verdict(value, target[1], at_least=not milliseconds)
        table.rows.append([*cells, f"{plain / ours:.1f}", words, reached])
    table.note = where
    return table


def models(where: str) -> Table:
    table = Table("A model with 1,000,000 samples, 20 features, 200 anchors, float32", ())
    table.header = ("step", "time", "target", "verdict")
    X, Q = normal_points(1_000_000, 20, 20), normal_points(QUERIES, 20, 20, seed=1)
    X, Q = on_gpu(X, "float32"), on_gpu(Q, "float32")
    y = X[:, 0].sin() + X[:, 1] * X[:, 2]
    model = FALLRegressor(200, n_neighbors=K, random_state=0)
    with config_context(array_api_dispatch=True):
        steps = (
            ("fit", lambda: model.fit(X, y), 100.0),
            (f"predict {QUERIES:,} rows", lambda: model.predict(Q), 30.0),
            (f"explain {QUERIES:,} rows", lambda: model.explain(Q), None),
        )
        for name, step, target in steps:
            time = timed(step)
            words = "" if target is None else f"at most {target:.0f} ms"
            reached = "" if target is None else verdict(time * 1e3, target)
            table.rows.append([name, duration(time), words, reached])
    table.note = where
    return table


def equality(where: str) -> Table:
    """Labels, neighbours and predictions of models on the GPU and on the processor."""
    header = ("parameters", "precision", "labels that differ", "neighbours that differ")
    table = Table("The same model on the processor, 50,000 samples, 8 features", ())
    table.header = (*header, "largest difference of predictions")
    X, Q = normal_points(50_000, 8, 8), normal_points(1000, 8, 8, seed=1)
    for dtype in ("float64", "float32"):
        X, Q = X.astype(dtype).astype(float), Q.astype(dtype).astype(float)
        y = X[:, 0] + X[:, 1] * X[:, 2]
        for parameters in MODELS:
            model = FALLRegressor(50, n_neighbors=K, random_state=0, **parameters).fit(X, y)
            labels, why = model.labels_, model.explain(Q)
            with config_context(array_api_dispatch=True):
                model.fit(on_gpu(X, dtype), on_gpu(y, dtype))
                found = model.explain(on_gpu(Q, dtype))
            differ = (to_numpy(model.labels_) != labels).sum()
            others = (to_numpy(found.neighbors) != why.neighbors).sum()
            largest = abs(to_numpy(found.prediction) - why.prediction).max()
            words = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
            cells = [words or "defaults", dtype, str(differ), str(others), f"{largest:.1g}"]
            table.rows.append(cells)
    table.note = where
    return table


def on_gpu(x: Any, dtype: str) -> Any:
    import torch

    return torch.as_tensor(x, dtype=getattr(torch, dtype), device="cuda")


def timed(call: Callable[[], object], repetitions: int = 7) -> float:
    """Median seconds of a call, with all that it started on the GPU; once without the clock."""
    import torch

    def whole() -> None:
        call()
        torch.cuda.synchronize()

    whole()
    return median(seconds(whole) for _ in range(repetitions))


def plain_neighbors(points: Any, queries: Any, k: int, block: int) -> tuple[Any, Any]:
    """Squared distances, less the query's norm, and rows of the nearest points, by torch alone."""
    import torch

    norms = points.square().sum(dim=1)
    parts = queries.split(block)
    found = [norms.addmm(part, points.T, alpha=-2).topk(k, largest=False) for part in parts]
    return torch.cat([part.values for part in found]), torch.cat([part.indices for part in found])
