"""FALLRegressor and its costs, beside KNeighborsRegressor with weights="distance" and the same K.

Both have their defaults (`n_jobs=None`) and find the same neighbours: KNN gets the feature space
that FALL makes for itself. The runs of both alternate. Times are medians over the runs, and
ratios are medians of the ratios of successive runs.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from benchmarks._naive import NaiveFALL
from benchmarks._run import (
    Table,
    duration,
    in_subprocess,
    interleaved,
    normal_points,
    resident,
    seconds,
    split,
    verdict,
)
from locallinear import FALLRegressor

MILLION = 1_000_000
QUERIES = 10_000
SHAPES = ((8, 8), (20, 6), (20, 20))  # features, dimensions in which they vary
IMPORTS = "sklearn.neighbors, sklearn.linear_model"


def run() -> Iterator[Table]:
    yield predict_real()
    yield predict_naive()
    yield import_time()
    yield memory()
    yield partial_fit()
    yield fit_predict_million()


def knn(**parameters: Any) -> KNeighborsRegressor:
    return KNeighborsRegressor(weights="distance", **parameters)


def million(d: int, intrinsic: int) -> tuple[NDArray, NDArray, NDArray]:
    X = normal_points(MILLION, d, intrinsic)
    return X, np.sin(X[:, 0]) + X[:, 1], normal_points(QUERIES, d, intrinsic, seed=1)


def predict_real() -> Table:
    table = Table(
        "predict, real sets (90% fitted, 10% queried, K = 5)",
        ("set", "scaling", "FALL", "KNN", "ratio", "target", ""),
    )
    missing = []
    for name in ("concrete", "parkinsons", "superconductivity"):
        parts = split(name)
        if parts is None:
            missing.append(name)
            continue
        X, y, Q, _ = parts
        for scaling in (None, "standard"):
            fall = FALLRegressor(scaling=scaling, random_state=0).fit(X, y)
            scaler = StandardScaler(with_mean=bool(scaling), with_std=bool(scaling)).fit(X)
            neighbors, Z = knn().fit(scaler.transform(X), y), scaler.transform(Q)
            a, b, ratio = interleaved(
                partial(fall.predict, Q),
                partial(neighbors.predict, Z),
                repetitions=101,
                budget=8,
            )
            table.rows.append(
                (
                    name,
                    str(scaling),
                    duration(a),
                    duration(b),
                    f"{ratio:.2f}",
                    "≤ 1.1",
                    verdict(ratio, 1.1),
                )
            )
    if missing:
        table.note = f"Not measured, as LOCALLINEAR_DATA does not hold them: {', '.join(missing)}."
    return table


def predict_naive() -> Table:
    title = "predict, Superconductivity, against the paper's loops"
    table = Table(title, ("FALL", "loops", "times faster", "target", ""))
    parts = split("superconductivity")
    if parts is None:
        table.note = "Not measured, as LOCALLINEAR_DATA does not hold the set."
        return table
    X, y, Q, _ = parts
    fall = FALLRegressor(scaling=None, random_state=0).fit(X, y)
    naive = NaiveFALL().fit(X, y)
    few = Q[:: len(Q) // 200]
    ours, loops, ratio = interleaved(
        lambda: fall.predict(Q), lambda: naive.predict(few), repetitions=7, budget=20
    )
    share = len(few) / len(Q)
    faster = 1 / (ratio * share)
    table.rows.append(
        (
            duration(ours),
            duration(loops / share),
            f"{faster:.0f}",
            "≥ 50",
            verdict(faster, 50, at_least=True),
        )
    )
    table.note = (
        f"{len(Q)} queries. The loops (benchmarks/_naive.py) store every W_i and predict one query "
        f"at a time; they were timed on {len(few)} of the queries."
    )
    return table


def import_time(repetitions: int = 9) -> Table:
    table = Table(
        "import, in a new process each time",
        ("locallinear", IMPORTS, "ratio", "target", ""),
    )
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    for module in ("locallinear", IMPORTS):
        in_subprocess(code.format(module))
    pairs = [
        (in_subprocess(code.format("locallinear")), in_subprocess(code.format(IMPORTS)))
        for _ in range(repetitions)
    ]
    ours, theirs = np.median(pairs, axis=0)
    ratio = float(np.median([a / b for a, b in pairs]))
    table.rows.append(
        [duration(ours), duration(theirs), f"{ratio:.2f}", "≤ 1.2", verdict(ratio, 1.2)]
    )
    return table


def memory() -> Table:
    table = Table(
        "peak memory of fit and predict, 1,000,000 samples, k = 200, 10,000 queries",
        ("features", "varying in", "scaling", "input", "peak", "ratio", "target", ""),
    )
    for d, intrinsic in SHAPES[:2]:
        size = MILLION * d * 8
        for scaling in ("standard", None):
            peak = in_subprocess(
                f"from benchmarks.fall import peak_memory; peak_memory({d}, {intrinsic}, "
                f"{scaling!r})"
            )
            ratio = peak / size
            table.rows.append(
                (
                    str(d),
                    str(intrinsic),
                    str(scaling),
                    f"{size / 2**20:.0f} MiB",
                    f"{peak / 2**20:.0f} MiB",
                    f"{ratio:.2f}",
                    "≤ 2.5",
                    verdict(ratio, 2.5),
                )
            )
    table.note = (
        "Measured in a separate process, without the memory that its imports took; the input, the "
        "targets and the queries are included."
    )
    return table


def peak_memory(d: int, intrinsic: int, scaling: str | None) -> None:
    """Print the most bytes that data, fit and predict take in this process."""
    before = resident("VmRSS")
    # In place, a few rows at a time: making the data must not need more than holding them.
    X, Q = np.empty((MILLION, d)), normal_points(QUERIES, d, intrinsic, seed=1)
    for start in range(0, MILLION, QUERIES):
        X[start : start + QUERIES] = normal_points(QUERIES, d, intrinsic, seed=start + 2)
    y = np.sin(X[:, 0])
    y += X[:, 1]
    FALLRegressor(n_anchors=200, scaling=scaling, random_state=0).fit(X, y).predict(Q)
    print(resident("VmHWM") - before)


def partial_fit() -> Table:
    table = Table(
        "partial_fit of 10,000 single samples into 1,000,000 x 8, k = 200",
        ("what", "reached", "target", ""),
    )
    X, y, Q = million(8, 8)
    new, new_y = Q, np.sin(Q[:, 0]) + Q[:, 1]
    queries = normal_points(QUERIES, 8, 8, seed=2)
    grown = FALLRegressor(n_anchors=200, random_state=0).fit(X, y)

    def add() -> None:
        for i in range(len(new)):
            grown.partial_fit(new[i : i + 1], new_y[i : i + 1])

    each = seconds(add) / len(new) * 1e3
    table.rows.append(["one sample", f"{each:.2f} ms", "≤ 1 ms", verdict(each, 1.0)])
    whole = FALLRegressor(n_anchors=200, random_state=0)
    whole.fit(np.concatenate([X, new]), np.concatenate([y, new_y]))
    a, b, ratio = interleaved(
        lambda: grown.predict(queries), lambda: whole.predict(queries), repetitions=7, budget=15
    )
    table.rows.append(
        ["predict afterwards / after a fresh fit", f"{ratio:.2f}", "≤ 1.3", verdict(ratio, 1.3)]
    )
    table.note = (
        f"predict of 10,000 queries takes {duration(a)} afterwards, and {duration(b)} after a "
        "fresh fit of all samples."
    )
    return table


def fit_predict(model: Any, X: NDArray, y: NDArray, Q: NDArray) -> None:
    clone(model).fit(X, y).predict(Q)


def fit_predict_million() -> Table:
    table = Table(
        "fit and predict (10,000 queries), 1,000,000 samples, k = 200, K = 5",
        ("features", "varying in", "KNN's search", "FALL", "KNN", "ratio", "target", ""),
        note=(
            "KNN chooses by itself (auto): a tree up to 15 features, brute force above. Where its "
            "tree is faster than its choice, there is a row for the tree too, without a target."
        ),
    )
    for d, intrinsic in SHAPES:
        X, y, Q = million(d, intrinsic)

        ours = partial(fit_predict, FALLRegressor(n_anchors=200, random_state=0), X, y, Q)
        for algorithm in ("auto", "kd_tree") if (d, intrinsic) == (20, 6) else ("auto",):
            theirs = partial(fit_predict, knn(algorithm=algorithm), X, y, Q)
            a, b, ratio = interleaved(
                ours, theirs, repetitions=5, budget=20, at_least=2, warm=False
            )
            target = ("≤ 1.0", verdict(ratio, 1.0)) if algorithm == "auto" else ("", "")
            table.rows.append(
                (
                    str(d),
                    str(intrinsic),
                    algorithm,
                    duration(a),
                    duration(b),
                    f"{ratio:.2f}",
                    *target,
                )
            )
    return table
