"""FALL on a local cluster of processes with one thread each, against the local model.

Samples are in regions, and each partition has regions of its own, as files by place or time have.
They are made on the workers. Each time is the median of three calls, after each worker has fitted a
model of its own and all together a small one, so that everything is compiled. Targets: twice the
samples on twice the workers take at most 1.15 times as long; all workers take at most 1.3 times as
long as the local model with as many threads; a query moves at most 2 K (d + m + 3) numbers in the
median. "Alone": as many processes side by side, each with a local model of a worker's share, which
send one another nothing. What they lose, they lose to the machine: all cores share its memory.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from benchmarks._run import Table, duration, resident, seconds, verdict
from locallinear import FALLRegressor
from locallinear.dask import FALLRegressor as DaskRegressor
from locallinear.dask.cells import Cells, visit_home, visit_of, visit_others
from locallinear.dask.lookup import look_up
from locallinear.dask.partition import Part, boxes

LONG = True

D, REGIONS = 8, 4
MODEL = {"n_anchors": 200, "n_neighbors": 10, "random_state": 0}
WORKERS = [w for w in (1, 2, 4, 8, 16) if w <= (os.cpu_count() or 1)]
PER_WORKER = 500_000  # samples, in the weak scaling
AGAINST = 625_000  # samples per worker, against the local model: 10 million on 16
QUERIES = 5_000  # per worker
PARTITIONS = 2  # per worker
REPETITIONS = 3


def run() -> Iterator[Table]:
    yield weak_scaling()
    yield against_local()
    yield traffic()


def block(number: int, n: int, shift: float = 0.0) -> NDArray:
    """Inputs and target of one partition, (n, D + 1)."""
    rng = np.random.default_rng([number, int(shift > 0)])
    centres = np.random.default_rng(number).uniform(-20, 20, (REGIONS, D))
    X = centres[rng.integers(0, REGIONS, n)] + rng.standard_normal((n, D))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 10 + 0.1 * rng.standard_normal(n)
    return np.column_stack([X, y])


def data(n: int, n_partitions: int, shift: float = 0.0) -> tuple[da.Array, da.Array]:
    """Samples, or with a shift queries, in partitions that their workers make."""
    size = n // n_partitions
    parts = [
        da.from_delayed(delayed(block)(p, size, shift), (size, D + 1), dtype=np.float64)
        for p in range(n_partitions)
    ]
    whole = da.concatenate(parts).persist()
    return whole[:, :D], whole[:, D]


def cluster(workers: int) -> Any:
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=":0",
        memory_limit=None,
        silence_logs=40,
    )


def timed_cluster(workers: int, per_worker: int) -> dict[str, float]:
    """Times of fit and predict, memory of the largest worker, and bytes that a query moved."""
    with cluster(workers) as processes, Client(processes) as client:
        n_partitions = PARTITIONS * workers
        client.run(compile_everything)
        X, y = data(10_000 * n_partitions, n_partitions)
        DaskRegressor(**MODEL).fit(X, y).predict(X[:1000]).compute()
        before = max(client.run(partial(resident, "VmRSS")).values())
        X, y = data(per_worker * workers, n_partitions)
        Q, _ = data(QUERIES * workers, n_partitions, shift=1.0)
        dask.compute(X.sum(), Q.sum())
        fits = []
        for _ in range(REPETITIONS):
            model = DaskRegressor(**MODEL)  # what was fitted before is given up
            fits.append(seconds(lambda: model.fit(X, y)))  # noqa: B023
        moved = sum(client.run(bytes_received).values())

        def ask() -> float:
            return model.predict(Q).sum().compute()

        predictions = [seconds(ask)]
        moved = sum(client.run(bytes_received).values()) - moved
        predictions += [seconds(ask) for _ in range(REPETITIONS - 1)]
        peak = max(client.run(partial(resident, "VmHWM")).values()) - before
    times = {"fit": median(fits), "predict": median(predictions)}
    return times | {"peak": peak, "moved": moved / (QUERIES * workers)}


def compile_everything() -> None:
    """Fit and ask a model in this process, with partitions large enough for all compiled code."""
    with dask.config.set(scheduler="synchronous"):
        whole = da.from_array(block(0, 40_000), chunks=(20_000, D + 1))
        X, y = whole[:, :D], whole[:, D]
        DaskRegressor(**MODEL).fit(X, y).predict(X[:5_000]).compute()


def bytes_received(dask_worker: Any) -> int:
    """Bytes that this worker was sent by others since it began."""
    return sum(transfer["total"] for transfer in dask_worker.transfer_incoming_log)


def alone(number: int, together: Any) -> float:
    """Seconds of a local fit and predict, the median of several, each begun with all others."""
    sample, asked = block(number, PER_WORKER), block(number, QUERIES, 1.0)
    X, y, Q = sample[:, :D].copy(), sample[:, D].copy(), asked[:, :D].copy()
    model = FALLRegressor(**MODEL, n_jobs=1)
    model.fit(X[:20_000], y[:20_000]).predict(Q[:1_000])
    times = []
    for _ in range(REPETITIONS):
        together.wait()
        times.append(seconds(lambda: model.fit(X, y).predict(Q)))
    return median(times)


def timed_alone(workers: int) -> float:
    """The same of the median of so many processes that send one another nothing."""
    with get_context("spawn").Manager() as manager:
        together = manager.Barrier(workers)
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            return median(pool.map(alone, range(workers), [together] * workers))


def weak_scaling() -> Table:
    header = ("workers", "samples", "fit", "predict", "together", "per doubling", "memory")
    header += ("alone", "per doubling")
    table = Table("Twice the samples on twice the workers", header)
    before, factors = None, []
    lone: list[float] = []
    for workers in WORKERS:
        found = timed_cluster(workers, PER_WORKER)
        total = found["fit"] + found["predict"]
        factor = "" if before is None else f"{total / before:.2f}"
        factors += [] if before is None else [total / before]
        before = total
        times = [duration(found[name]) for name in ("fit", "predict")]
        memory = f"{found['peak'] / (PER_WORKER * (D + 1) * 8):.1f}"
        row = [str(workers), f"{PER_WORKER * workers:,}", *times, duration(total), factor, memory]
        lone.append(timed_alone(workers))
        row += [duration(lone[-1]), f"{lone[-1] / lone[-2]:.2f}" if len(lone) > 1 else ""]
        table.rows.append(row)
        print(*row, flush=True)
    if factors:
        mean = float(np.prod(factors) ** (1 / len(factors)))
        table.note = (
            f"The mean factor per doubling is {mean:.2f} and the largest {max(factors):.2f} "
            f"(target 1.15): {verdict(max(factors), 1.15)}. {QUERIES:,} queries per worker. Memory "
            "is the largest of any worker during all this, divided by the size of its samples."
        )
    return table


def against_local() -> Table:
    workers = WORKERS[-1]
    n = AGAINST * workers
    found = timed_cluster(workers, AGAINST)
    parts = [block(p, n // (PARTITIONS * workers)) for p in range(PARTITIONS * workers)]
    whole = np.concatenate(parts)
    X, y = whole[:, :D].copy(), whole[:, D].copy()
    del parts, whole
    queries = [block(p, QUERIES // PARTITIONS, 1.0) for p in range(PARTITIONS * workers)]
    Q = np.concatenate(queries)[:, :D].copy()
    model = FALLRegressor(**MODEL, n_jobs=workers)
    local = {"fit": seconds(lambda: model.fit(X, y)), "predict": seconds(lambda: model.predict(Q))}
    table = Table(f"{n:,} x {D}", ("", "fit", f"predict {len(Q):,}", "together"))
    for name, times in ((f"{workers} workers", found), (f"local, {workers} threads", local)):
        both = times["fit"], times["predict"]
        table.rows.append([name, *map(duration, both), duration(sum(both))])
    ratio = (found["fit"] + found["predict"]) / (local["fit"] + local["predict"])
    table.note = (
        f"Ratio {ratio:.2f} (target 1.3): {verdict(ratio, 1.3)}. Workers sent one another "
        f"{found['moved'] / 8:,.0f} numbers per query in all, whatever they were for."
    )
    return table


def traffic() -> Table:
    """Numbers that visits and candidates have, counted query by query."""
    header = ("partitions", "data", "partitions visited, median", "numbers, median", "95 %", "most")
    table = Table("Numbers that a query moves", header)
    K, target = MODEL["n_neighbors"], 2 * MODEL["n_neighbors"] * (D + 1 + 3)
    typical = np.nan
    for n_partitions in (16, 100):
        apart = [block(p, 5_000)[:, :D] for p in range(n_partitions)]
        mixed = np.random.default_rng(0).permutation(np.concatenate(apart))
        Q = np.concatenate([block(p, 20, 1.0)[:, :D] for p in range(n_partitions)])
        for name, parts in (
            ("regions of their own", apart),
            ("all mixed", np.array_split(mixed, n_partitions)),
        ):
            visited, numbers = numbers_moved([Part({"Z": Z}) for Z in parts], Q, K)
            if name != "all mixed":
                typical = float(np.median(numbers))
            quantiles = [f"{np.quantile(numbers, q):,.0f}" for q in (0.5, 0.95, 1.0)]
            table.rows.append([str(n_partitions), name, f"{np.median(visited):.0f}", *quantiles])
    table.note = (
        f"d = {D}, m = 1, K = {K}. A visit takes d + 2 numbers there, and each candidate d + m + 3 "
        f"numbers back. Target, where partitions have regions of their own: {target} in the "
        f"median; {verdict(typical, target)}."
    )
    return table


def numbers_moved(parts: list[Part], Q: NDArray, K: int) -> tuple[NDArray, NDArray]:
    """How many partitions each query visits, and how many numbers go there and come back."""
    cells = Cells([boxes(part) for part in parts])
    home = visit_home(cells, Q)
    visited, candidates, bounds = (np.zeros(len(Q)) for _ in range(3))

    def visit(visits: Any) -> None:
        for p, part in enumerate(parts):
            here = visit_of(visits, [p])
            if len(here.queries):
                (found,) = look_up(K, (), None, [0], part, here)
                visited[here.queries] += 1
                candidates[here.queries] += found.counts
                ends = np.cumsum(found.counts) - 1
                if visits is home:
                    bounds[here.queries] = found.distances[ends]

    visit(home)
    visit(visit_others(cells, home, bounds))
    return visited, visited * (D + 2) + candidates * (D + 1 + 3)
