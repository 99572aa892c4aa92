"""Doing many runs: one worker or several, which share a store.

Workers know of each other only what the store holds, so a second command on the same store works
like a second worker of the first.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, MutableMapping
from datetime import UTC, datetime
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from .protocol import Run, evaluate, fit_and_test
from .provenance import provenance
from .store import Store
from .tuning import Params

POLL_S = 1.0
Failure = tuple[Run, str]


def run_all(
    store_path: Path, runs: list[Run], jobs: int, watch: Callable[[], object]
) -> list[Failure]:
    """Finish all runs and return those that failed, with the reason.

    Parameters
    ----------
    store_path : Path
    runs : list of Run
    jobs : int
        Worker processes; 1 works in this process.
    watch : callable
        Called after each run, or every second, to show the progress.
    """
    failed: dict[Run, str] = {}
    if jobs == 1:
        work(store_path, runs, available_cores(), failed, watch)
    else:
        failed = run_in_processes(store_path, runs, jobs, watch)
    return list(failed.items())


def run_in_processes(
    store_path: Path, runs: list[Run], jobs: int, watch: Callable[[], object]
) -> dict[Run, str]:
    """Finish all runs by several workers; an interrupt of this process stops them."""
    # Spawned and not forked: the threads of numerical libraries do not survive a fork.
    context = multiprocessing.get_context("spawn")
    cores = max(1, available_cores() // jobs)
    with context.Manager() as manager:
        failed = manager.dict()
        workers = [
            context.Process(target=work_alone, args=(store_path, runs, cores, failed), daemon=True)
            for _ in range(jobs)
        ]
        try:
            for worker in workers:
                worker.start()
            while any(worker.is_alive() for worker in workers):
                watch()
                time.sleep(POLL_S)
        finally:
            for worker in workers:
                worker.terminate()
                worker.join()
        watch()
        reasons = dict(failed)
    codes = ", ".join(str(worker.exitcode) for worker in workers if worker.exitcode)
    with Store(store_path) as store:
        lost = unfinished(store, runs, reasons)
    return reasons | dict.fromkeys(lost, f"its process ended with status {codes}")


def work_alone(
    store_path: Path, runs: list[Run], cores: int, failed: MutableMapping[Run, str]
) -> None:
    """Work in a separate process, which leaves Ctrl-C to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work(store_path, runs, cores, failed)


def work(
    store_path: Path,
    runs: Iterable[Run],
    cores: int,
    failed: MutableMapping[Run, str],
    watch: Callable[[], object] = lambda: None,
) -> None:
    """Do runs that no other worker has, until all are finished or have failed."""
    with Store(store_path) as store, threadpool_limits(cores):
        while not is_orphan() and (pending := unfinished(store, runs, failed)):
            idle = True
            for run in pending:
                if is_orphan():
                    return
                if run in failed:
                    continue
                with store.claim(run) as mine:
                    if not mine:
                        continue
                    idle = False
                    try:
                        store.finish(run, {**evaluate(run, cores), **stamp()})
                    except Exception as error:  # one bad run must not end the others
                        failed[run] = f"{type(error).__name__}: {error}"
                watch()
            if idle:
                time.sleep(POLL_S)  # others have the rest; if they die, it is free again


def refit(store: Store, run: Run, params: Params) -> None:
    """Fit and test a finished run once more, with the parameters that it found."""
    store.replace(run, {**fit_and_test(run, params), **stamp()})


def unfinished(store: Store, runs: Iterable[Run], failed: MutableMapping[Run, str]) -> list[Run]:
    """The runs that have no result yet and have not failed, in their order."""
    done = store.finished() | set(failed.keys())
    return [run for run in runs if run not in done]


def is_orphan() -> bool:
    """Whether this is a worker whose command was killed; it stops after its present run."""
    parent = parent_process()
    return parent is not None and not parent.is_alive()


def stamp() -> dict[str, Any]:
    """Columns of a result that say where and when it was made."""
    return {**provenance(), "finished": datetime.now(UTC).isoformat(timespec="seconds")}


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
