"""Results that last: one SQLite file with a row a finished run and a claim a running one.

A run is worth minutes, so the file must survive anything: SQLite's write-ahead log makes each
row whole or absent whenever the process dies, and loses none that was committed. Two processes
share the work through claims: a process writes that it has begun a run, with a heartbeat, and
others leave that run alone until the result is there, the process is dead, or the heartbeat is
older than the lease. A claim that is taken over costs at most a repeated run, never a wrong row:
the first result of a run stays.

The write-ahead log needs a local disk; do not put the file on a network share.
"""

import csv
import io
import json
import os
import platform
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, fields
from math import isfinite
from pathlib import Path
from typing import Any

from .protocol import SPLITS, TUNERS, Run

LEASE_S = 120.0  # a claim whose heartbeat is older has no owner any more
HEARTBEAT_S = 10.0
BUSY_S = 60.0  # how long a writer waits for another one

KEY = tuple(field.name for field in fields(Run))
RESULT = (
    "params",
    "cv_mse",
    "n_scored",
    "mse",
    "tuning_s",
    "fit_s",
    "test_s",
    "n_train",
    "n_test",
    "warnings",
    "versions",
    "code",
    "machine",
    "finished",
)
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS runs (
    split TEXT, dataset TEXT, model TEXT, tuner TEXT, budget REAL, seed INTEGER,
    params TEXT, cv_mse REAL, n_scored INTEGER, mse REAL,
    tuning_s REAL, fit_s REAL, test_s REAL, n_train INTEGER, n_test INTEGER,
    warnings TEXT, versions TEXT, code TEXT, machine TEXT, finished TEXT,
    PRIMARY KEY ({", ".join(KEY)})
);
CREATE TABLE IF NOT EXISTS claims (
    split TEXT, dataset TEXT, model TEXT, tuner TEXT, budget REAL, seed INTEGER,
    owner TEXT, host TEXT, pid INTEGER, heartbeat REAL,
    PRIMARY KEY ({", ".join(KEY)})
);
"""
THIS_RUN = " AND ".join(f"{name} = ?" for name in KEY)
INSERT = (
    f"INSERT OR IGNORE INTO runs ({', '.join((*KEY, *RESULT))}) "
    f"VALUES ({', '.join('?' * len((*KEY, *RESULT)))})"
)
NOTHING = {"warnings": "", "code": ""}  # what an empty cell of an export is; None elsewhere


class Store:
    """The results file, open in one process.

    Parameters
    ----------
    path : path
        Made where it does not exist.
    lease_s, heartbeat_s : float
        When a silent claim is taken over, and how often a live one is renewed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from locallinear.paper.protocol import plan
    >>> from locallinear.paper.store import Store
    >>> (run,) = plan(["fish"], ["ridge"], "exhaustive", 60, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Store(pathlib.Path(folder) / "runs.sqlite") as store:
    ...         with store.claim(run) as mine:
    ...             store.finish(run, {"params": {"alpha": 1.0}, "mse": 0.9})
    ...         [row["mse"] for row in store.rows()]
    [0.9]
    """

    def __init__(self, path, *, lease_s: float = LEASE_S, heartbeat_s: float = HEARTBEAT_S):
        self.path = Path(path)
        self.lease_s = lease_s
        self.heartbeat_s = heartbeat_s
        self.owner = secrets.token_hex(8)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = connect(self.path)
        with self._write() as cursor:
            for statement in filter(str.strip, SCHEMA.split(";")):
                cursor.execute(statement)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was finished is in it."""
        self._connection.close()

    @contextmanager
    def claim(self, run: Run) -> Iterator[bool]:
        """Try to get a run for this process; yields whether it did.

        The claim is renewed by a thread while the block runs and withdrawn after it.
        """
        if not self._try_claim(run):
            yield False
            return
        done = threading.Event()
        beat = threading.Thread(target=self._renew, args=(run, done), daemon=True)
        beat.start()
        try:
            yield True
        finally:
            done.set()
            beat.join()
            with self._write() as cursor:
                cursor.execute(
                    f"DELETE FROM claims WHERE {THIS_RUN} AND owner = ?",
                    (*astuple(run), self.owner),
                )

    def finish(self, run: Run, result: dict[str, Any]) -> None:
        """Write a result; the first one of a run stays."""
        result = {"params": {}, "versions": {}} | result
        row = dict.fromkeys(RESULT) | result | as_text(result)
        with self._write() as cursor:
            cursor.execute(INSERT, (*astuple(run), *(row[name] for name in RESULT)))

    def replace(self, run: Run, result: dict[str, Any]) -> None:
        """Write what has changed of a finished run's result."""
        changed = result | as_text(result)
        columns = ", ".join(f"{name} = ?" for name in changed)
        with self._write() as cursor:
            cursor.execute(
                f"UPDATE runs SET {columns} WHERE {THIS_RUN}", (*changed.values(), *astuple(run))
            )

    def take_in(self, path: Path) -> None:
        """Add the rows of an export that are not here yet; SQLite gives them their types back."""
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
        wrong = None if reader.fieldnames == [*KEY, *RESULT] else 1
        for line, row in enumerate(rows, 2):
            wrong = wrong or (None if is_whole(row) else line)
        if wrong:
            raise ValueError(
                f"{path} should be an export of this command; line {wrong} is not of one. Move it "
                "away or choose another folder."
            )
        with self._write() as cursor:
            for row in rows:
                cursor.execute(INSERT, [row[name] or NOTHING.get(name) for name in (*KEY, *RESULT)])

    def finished(self) -> set[Run]:
        """All runs that have a result."""
        return set(self.params())

    def params(self) -> dict[Run, dict[str, Any]]:
        """The parameters that each finished run has chosen."""
        names = ", ".join(KEY)
        rows = self._connection.execute(f"SELECT {names}, params FROM runs ORDER BY {names}")
        return {Run(*key): json.loads(params) for *key, params in rows}

    def rows(self) -> list[dict[str, Any]]:
        """All results, in an order that does not depend on who finished when."""
        names = (*KEY, *RESULT)
        rows = self._connection.execute(
            f"SELECT {', '.join(names)} FROM runs ORDER BY {', '.join(KEY)}"
        )
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _try_claim(self, run: Run) -> bool:
        with self._write() as cursor:
            key = astuple(run)
            if cursor.execute(f"SELECT 1 FROM runs WHERE {THIS_RUN}", key).fetchone():
                return False
            held = cursor.execute(
                f"SELECT host, pid, heartbeat FROM claims WHERE {THIS_RUN}", key
            ).fetchone()
            if held and self._is_alive(*held):
                return False
            cursor.execute(
                f"INSERT OR REPLACE INTO claims VALUES ({', '.join('?' * 10)})",
                (*key, self.owner, host(), os.getpid(), time.time()),
            )
            return True

    def _is_alive(self, its_host: str, pid: int, heartbeat: float) -> bool:
        if time.time() - heartbeat > self.lease_s:
            return False
        return its_host != host() or process_exists(pid)

    def _renew(self, run: Run, done: threading.Event) -> None:
        connection = connect(self.path)  # SQLite connections stay in their thread
        try:
            while not done.wait(self.heartbeat_s):
                connection.execute(
                    f"UPDATE claims SET heartbeat = ? WHERE {THIS_RUN} AND owner = ?",
                    (time.time(), *astuple(run), self.owner),
                )
        finally:
            connection.close()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Cursor]:
        # IMMEDIATE takes the write lock before the first read, so that what a claim has read
        # cannot change before it is written.
        cursor = self._connection.cursor()
        cursor.execute("BEGIN IMMEDIATE")
        try:
            yield cursor
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        cursor.execute("COMMIT")


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, or say that it is not one of ours."""
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        switch_to_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous=FULL")
    except sqlite3.DatabaseError as error:
        connection.close()
        raise ValueError(
            f"{path} should be a results file of this command; it cannot be read as one "
            f"({error}). Move it away or choose another folder."
        ) from error
    return connection


def switch_to_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Turn the log on. SQLite does not wait for the lock here as it does elsewhere, so we do."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def host() -> str:
    """A name within which a process id means one process: machine and, on Linux, pid namespace."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{platform.node()} {namespace}"


def process_exists(pid: int) -> bool:
    """Whether a process of this host lives; where that cannot be asked harmlessly, True."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def is_whole(row: dict[str, Any]) -> bool:
    """Whether a line of an export has all that tables are made of."""
    try:
        numbers = [float(row[name]) for name in ("budget", "mse", "tuning_s", "fit_s", "test_s")]
        int(row["seed"])
        json.loads(row["params"])
    except (KeyError, TypeError, ValueError):
        return False
    known = row["split"] in SPLITS and row["tuner"] in TUNERS
    return known and None not in row and None not in row.values() and all(map(isfinite, numbers))


def as_text(result: dict[str, Any]) -> dict[str, str]:
    """The dictionaries of a result, as they stand in the file."""
    return {
        name: json.dumps(result[name], sort_keys=True)
        for name in ("params", "versions")
        if name in result
    }


def to_csv(rows: Iterable[dict[str, Any]]) -> str:
    """Results as CSV text, for the repository and for other tools."""
    text = io.StringIO()
    writer = csv.DictWriter(text, (*KEY, *RESULT), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
