"""Many runs: workers that share a store, one process or several, on one machine or started twice.

Workers know nothing of each other but what the store says, so a second command on the same store
is no different from a second worker of the first.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, MutableMapping
from datetime import UTC, datetime
from multiprocessing import parent_process
from pathlib import Path

from threadpoolctl import threadpool_limits

from .protocol import Run, evaluate, fit_and_test
from .provenance import provenance
from .store import Store

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
        Called after each run, or every second, to show how far things are.
    """
    failed: dict[Run, str] = {}
    if jobs == 1:
        work(store_path, runs, available_cores(), failed, watch)
    else:
        failed = run_in_processes(store_path, runs, jobs, watch)
    return list(failed.items())


def run_in_processes(store_path, runs, jobs, watch) -> dict[Run, str]:
    """The same with several workers; they are stopped when this process is interrupted."""
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


def work_alone(store_path, runs, cores, failed) -> None:
    """The same as `work` in a process of its own, which leaves Ctrl-C to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work(store_path, runs, cores, failed)


def work(
    store_path: Path,
    runs: Iterable[Run],
    cores: int,
    failed: MutableMapping[Run, str],
    watch: Callable[[], object] = lambda: None,
) -> None:
    """Take runs that nobody has until all are finished or have failed, here or elsewhere."""
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
                    except Exception as error:  # one bad run must not cost a night of others
                        failed[run] = f"{type(error).__name__}: {error}"
                watch()
            if idle:
                time.sleep(POLL_S)  # others have the rest; should they die, it is ours


def refit(store: Store, run: Run, params: dict) -> None:
    """Fit and test a finished run once more, with the parameters that it found."""
    store.replace(run, {**fit_and_test(run, params), **stamp()})


def unfinished(store: Store, runs: Iterable[Run], failed: MutableMapping[Run, str]) -> list[Run]:
    """The runs that have no result yet and have not failed, in their order."""
    done = store.finished() | set(failed.keys())
    return [run for run in runs if run not in done]


def is_orphan() -> bool:
    """Whether this is a worker whose command was killed: it then stops after the run in hand."""
    parent = parent_process()
    return parent is not None and not parent.is_alive()


def stamp() -> dict:
    """Where and when a result was made."""
    return {**provenance(), "finished": datetime.now(UTC).isoformat(timespec="seconds")}


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
