"""The results file: SQLite, with one row per finished run and one claim per running one.

A run takes minutes, so no finished one may be lost: SQLite's write-ahead log makes each row whole
or absent whenever the process dies, and loses none that was committed. Two processes share the
work through claims: a process writes that it has begun a run, with a heartbeat, and others leave
that run alone until the result is there, the process is dead, or the heartbeat is older than the
lease. A claim that is taken over costs at most a repeated run, never a wrong row: the first result
of a run stays.

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
from dataclasses import astuple
from math import isfinite
from pathlib import Path
from typing import Any

from .protocol import SPLITS, TUNERS, Run

LEASE_S = 120.0  # a claim whose heartbeat is older is free
HEARTBEAT_S = 10.0
BUSY_S = 60.0  # how long a writer waits for another one

RUN_COLUMNS = "split TEXT, dataset TEXT, model TEXT, tuner TEXT, budget REAL, seed INTEGER"
RESULT_COLUMNS = (
    "params TEXT, cv_mse REAL, n_scored INTEGER, mse REAL, tuning_s REAL, fit_s REAL, test_s REAL, "
    "n_train INTEGER, n_test INTEGER, warnings TEXT, versions TEXT, code TEXT, machine TEXT, "
    "finished TEXT"
)
CLAIM_COLUMNS = "owner TEXT, host TEXT, pid INTEGER, heartbeat REAL"
KEY, RESULT = (
    tuple(column.split()[0] for column in columns.split(", "))
    for columns in (RUN_COLUMNS, RESULT_COLUMNS)
)
SCHEMA = [
    f"CREATE TABLE IF NOT EXISTS {table} ({RUN_COLUMNS}, {columns}, PRIMARY KEY ({', '.join(KEY)}))"
    for table, columns in (("runs", RESULT_COLUMNS), ("claims", CLAIM_COLUMNS))
]
THIS_RUN = " AND ".join(f"{name} = ?" for name in KEY)
INSERT = (
    f"INSERT OR IGNORE INTO runs ({', '.join((*KEY, *RESULT))}) "
    f"VALUES ({', '.join('?' * len((*KEY, *RESULT)))})"
)
EMPTY = {"warnings": "", "code": ""}  # value of an empty cell of an export; None elsewhere


class Store:
    """The results file, open in one process.

    Parameters
    ----------
    path : Path
        Made where it does not exist.
    lease_s, heartbeat_s : float
        Age at which a claim that is not renewed is taken over; time between two renewals.

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

    def __init__(
        self, path: Path, *, lease_s: float = LEASE_S, heartbeat_s: float = HEARTBEAT_S
    ) -> None:
        self.path = path
        self.lease_s = lease_s
        self.heartbeat_s = heartbeat_s
        self.owner = secrets.token_hex(8)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = connect(self.path)
        with self._write() as cursor:
            for statement in SCHEMA:
                cursor.execute(statement)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def claim(self, run: Run) -> Iterator[bool]:
        """Try to claim a run for this process; yield whether that succeeded.

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
        """Overwrite some columns of a finished run's result."""
        changed = result | as_text(result)
        columns = ", ".join(f"{name} = ?" for name in changed)
        with self._write() as cursor:
            cursor.execute(
                f"UPDATE runs SET {columns} WHERE {THIS_RUN}", (*changed.values(), *astuple(run))
            )

    def take_in(self, path: Path) -> None:
        """Add the rows of an export that are missing; SQLite converts them to their types."""
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
        broken = (line for line, row in enumerate(rows, 2) if not is_whole(row))
        wrong = 1 if reader.fieldnames != [*KEY, *RESULT] else next(broken, None)
        if wrong:
            raise ValueError(
                f"{path} should be an export of this command; line {wrong} is not of one. Move it "
                "away or choose another folder."
            )
        with self._write() as cursor:
            for row in rows:
                cursor.execute(INSERT, [row[name] or EMPTY.get(name) for name in (*KEY, *RESULT)])

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

    def _is_alive(self, claim_host: str, pid: int, heartbeat: float) -> bool:
        if time.time() - heartbeat > self.lease_s:
            return False
        return claim_host != host() or process_exists(pid)

    def _renew(self, run: Run, done: threading.Event) -> None:
        connection = connect(self.path)  # a connection of SQLite is for one thread
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
    """Open a results file; refuse any other file."""
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
    """Turn the log on; wait for the lock, which SQLite does everywhere but here."""
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
    """Name of where process ids are unique: the machine and, on Linux, the pid namespace."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{platform.node()} {namespace}"


def process_exists(pid: int) -> bool:
    """Whether a process of this host exists; True where the question could end the process."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        return True
    return True


def is_whole(row: dict[str, Any]) -> bool:
    """Whether a line of an export has all that the tables need."""
    try:
        numbers = [float(row[name]) for name in ("budget", "mse", "tuning_s", "fit_s", "test_s")]
        int(row["seed"])
        json.loads(row["params"])
    except (KeyError, TypeError, ValueError):
        return False
    known = row["split"] in SPLITS and row["tuner"] in TUNERS
    return known and None not in row and None not in row.values() and all(map(isfinite, numbers))


def as_text(result: dict[str, Any]) -> dict[str, str]:
    """The dictionaries of a result as text, for the file."""
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
