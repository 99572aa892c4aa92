import csv
import io
import os
import sqlite3
import subprocess
import sys
import time
from dataclasses import astuple, replace

import numpy as np
import pytest

from locallinear.datasets._sources import QSAR_FISH_TOXICITY
from locallinear.paper import runner
from locallinear.paper.protocol import load, plan
from locallinear.paper.render import to_terminal
from locallinear.paper.runner import run_all
from locallinear.paper.store import Store, host, to_csv
from locallinear.paper.tables import table1

RUNS = plan(["fish"], ["knn", "ridge"], "fixed", 60, 5)
NOBODY = 2**22 + 1  # above Linux's largest process id

# A worker in a process of its own whose runs last a while and are written to a log.
WORKER = """
import os, sys, time
from pathlib import Path
from locallinear.paper import runner
from locallinear.paper.protocol import plan
RUNS = plan(["fish"], ["knn", "ridge"], "fixed", 60, 5)
folder = Path(sys.argv[1])
real = runner.evaluate
def slow(run, cores):
    with open(folder / "log", "a") as log:
        log.write(f"{os.getpid()} {run.model} {run.seed}\\n")
    time.sleep(0.1)
    return real(run, cores)
runner.evaluate = slow
(folder / f"ready-{os.getpid()}").touch()
while not (folder / "go").exists():
    time.sleep(0.005)
runner.run_all(folder / "runs.sqlite", RUNS, 1, lambda: None)
"""


@pytest.fixture
def data_home(tmp_path, monkeypatch):
    """A folder with a small file in place of the fish set."""
    rng = np.random.default_rng(0)
    columns = QSAR_FISH_TOXICITY.columns
    table = rng.normal(size=(150, len(columns))).round(3)
    text = "\n".join([",".join(columns), *(",".join(map(str, row)) for row in table)])
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "qsar_fish_toxicity.csv").write_text(text + "\n")
    monkeypatch.setenv("LOCALLINEAR_DATA", str(folder))
    load.cache_clear()
    yield folder
    load.cache_clear()


def start_worker(folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen([sys.executable, "-c", WORKER, str(folder)], env=environment)


def wait_for(condition, what):
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f"waited in vain for {what}")


def errors(path):
    with Store(path) as store:
        return [(row["model"], row["seed"], row["params"], row["mse"]) for row in store.rows()]


def drawn(path):
    with Store(path) as store:
        return to_terminal(table1(store.rows(), ["fish"], ["knn", "ridge"]))


@pytest.fixture
def uninterrupted(data_home, tmp_path):
    assert run_all(tmp_path / "reference.sqlite", RUNS, 1, lambda: None) == []
    return tmp_path / "reference.sqlite"


# --- interruption -------------------------------------------------------------------------------


def test_killed_in_the_middle_and_resumed_gives_the_identical_table(uninterrupted, tmp_path):
    path = tmp_path / "runs.sqlite"
    (tmp_path / "go").touch()
    with start_worker(tmp_path) as worker:
        wait_for(lambda: path.exists() and len(errors(path)) >= 3, "three finished runs")
        worker.kill()
    before = errors(path)
    assert 3 <= len(before) < len(RUNS)
    with sqlite3.connect(path) as connection:
        claims = connection.execute("SELECT pid FROM claims").fetchall()
    connection.close()
    assert len(claims) <= 1  # at most the run in flight is lost
    started = []
    assert run_all(path, RUNS, 1, lambda: started.append(1)) == []
    assert len(started) == len(RUNS) - len(before)  # what was finished is not repeated
    assert errors(path) == errors(uninterrupted)
    assert drawn(path) == drawn(uninterrupted)


def test_two_processes_share_the_work_without_repeating_any(uninterrupted, tmp_path):
    workers = [start_worker(tmp_path) for _ in range(2)]
    wait_for(lambda: len(list(tmp_path.glob("ready-*"))) == 2, "both workers")
    (tmp_path / "go").touch()
    for worker in workers:
        assert worker.wait(60) == 0
    log = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert sorted((model, int(seed)) for _, model, seed in log) == sorted(
        (run.model, run.seed) for run in RUNS
    )
    assert {int(pid) for pid, _, _ in log} == {worker.pid for worker in workers}
    assert errors(tmp_path / "runs.sqlite") == errors(uninterrupted)


def test_worker_processes_give_what_one_process_gives_and_report_a_failed_run_once(
    uninterrupted, tmp_path
):
    impossible = [replace(run, model="nothing") for run in RUNS[:3]]
    watched, path = [], tmp_path / "jobs.sqlite"
    failures = run_all(path, [*impossible, *RUNS], 2, lambda: watched.append(1))
    assert sorted(failures) == [(run, "KeyError: 'nothing'") for run in impossible]
    assert errors(path) == errors(uninterrupted)
    assert watched


def test_failed_run_is_reported_and_the_others_are_finished(data_home, tmp_path, monkeypatch):
    real = runner.evaluate

    def failing(run, cores):
        if run.seed == 1:
            raise MemoryError("no room")
        return real(run, cores)

    monkeypatch.setattr(runner, "evaluate", failing)
    failures = run_all(tmp_path / "runs.sqlite", RUNS, 1, lambda: None)
    assert [(run.model, run.seed, reason) for run, reason in failures] == [
        ("knn", 1, "MemoryError: no room"),
        ("ridge", 1, "MemoryError: no room"),
    ]
    assert len(errors(tmp_path / "runs.sqlite")) == len(RUNS) - 2


def die(*arguments):
    """A worker that the system kills."""
    os._exit(9)


def test_workers_that_die_are_reported(data_home, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "work_alone", die)
    failures = run_all(tmp_path / "runs.sqlite", RUNS[:1], 2, lambda: None)
    assert failures == [(RUNS[0], "its process ended with status 9, 9")]


def test_interruption_gives_the_claim_back(data_home, tmp_path, monkeypatch):
    def interrupted(run, cores):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_all(tmp_path / "runs.sqlite", RUNS, 1, lambda: None)
    with Store(tmp_path / "runs.sqlite") as store, store.claim(RUNS[0]) as mine:
        assert mine


# --- claims -------------------------------------------------------------------------------------


def put_claim(store, run, where, pid, age):
    with sqlite3.connect(store.path) as connection:
        connection.execute(
            "INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, 'other', ?, ?, ?)",
            (*astuple(run), where, pid, time.time() - age),
        )
    connection.close()


@pytest.mark.parametrize(
    ("where", "pid", "age", "taken"),
    [
        (host(), os.getpid(), 0, False),  # alive here
        (host(), NOBODY, 0, True),  # dead here
        (host(), os.getpid(), 1000, True),  # the id is in use again, but nobody renews
        ("elsewhere", NOBODY, 0, False),  # another machine: its ids say nothing here
        ("elsewhere", NOBODY, 1000, True),
    ],
    ids=["alive here", "dead here", "id in use again", "elsewhere", "elsewhere long ago"],
)
def test_claim_of_another_is_taken_over_only_when_it_is_dead(tmp_path, where, pid, age, taken):
    with Store(tmp_path / "runs.sqlite") as store:
        put_claim(store, RUNS[0], where, pid, age)
        with store.claim(RUNS[0]) as mine:
            assert mine is taken


def test_claim_is_renewed_while_the_run_lasts(tmp_path):
    path = tmp_path / "runs.sqlite"
    with Store(path, lease_s=1.0, heartbeat_s=0.05) as first, Store(path, lease_s=1.0) as second:
        with first.claim(RUNS[0]) as mine:
            assert mine
            time.sleep(1.3)  # longer than the lease
            with second.claim(RUNS[0]) as too:
                assert not too
        with second.claim(RUNS[0]) as mine:
            assert mine


def test_finished_run_cannot_be_claimed_and_keeps_its_first_result(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        store.finish(RUNS[0], {"mse": 1.0})
        store.finish(RUNS[0], {"mse": 2.0})
        with store.claim(RUNS[0]) as mine:
            assert not mine
        assert [row["mse"] for row in store.rows()] == [1.0]
        assert store.finished() == {RUNS[0]}


# --- rows ---------------------------------------------------------------------------------------


def test_row_carries_parameters_versions_commit_and_machine(uninterrupted):
    with Store(uninterrupted) as store:
        row = store.rows()[0]
        text = to_csv(store.rows())
    assert '"n_neighbors"' in row["params"]
    assert '"scikit-learn"' in row["versions"]
    assert row["machine"]
    assert row["finished"].endswith("+00:00")
    assert min(row["tuning_s"], row["fit_s"], row["test_s"]) > 0
    exported = list(csv.DictReader(io.StringIO(text)))
    assert [float(line["mse"]) for line in exported] == [line[3] for line in errors(uninterrupted)]


def test_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "runs.sqlite").write_bytes(b"something else entirely" * 100)
    with pytest.raises(ValueError, match="should be a results file"):
        Store(tmp_path / "runs.sqlite")
