"""A journal of calls in SQLite: appended to, one at a time, and read from the beginning.

SQLite makes an append whole or absent, whatever kills the process, and durable when it returns. A
call is an archive (`archive`), so that its bytes have a checksum of their own. Calls are numbered
from 1 on, for as long as the journal exists; those that a model file holds are removed.
"""

import io
import os
import socket
import sqlite3
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..runtime.files import sync_folder
from .archive import NoArchiveError, read_archive, write_archive
from .encoding import decode, encode

VERSION = 1

SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (number INTEGER PRIMARY KEY, content BLOB NOT NULL);
"""


class JournalError(OSError):
    """A journal that cannot be used: it is in use elsewhere, damaged, or of another version."""


class Journal:
    """The journal in a file, which this process alone has open.

    Parameters
    ----------
    path : Path
    fsync : bool
        Whether a call is on the disk when `append` returns. Without it, a call survives the death
        of the process, but not that of the machine.
    """

    def __init__(self, path: Path, *, fsync: bool):
        self.path, self._fsync = path, fsync
        self._holder = path.with_name(path.name + ".holder")
        # Threads take turns: who appends holds a lock of the model.
        self._base = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._open()
        except sqlite3.Error as error:
            self._base.close()
            raise self._explained(error) from error
        except BaseException:
            self._base.close()
            raise

    def _open(self) -> None:
        base = self._base
        base.execute("PRAGMA locking_mode = EXCLUSIVE")
        base.execute("PRAGMA journal_mode = WAL")
        base.execute(f"PRAGMA synchronous = {'FULL' if self._fsync else 'OFF'}")
        base.execute("BEGIN EXCLUSIVE")  # from here on the file is locked until it is closed
        for statement in SCHEMA.split(";"):
            base.execute(statement)
        base.execute("INSERT OR IGNORE INTO about VALUES ('version', ?)", (str(VERSION),))
        base.execute("INSERT OR IGNORE INTO about VALUES ('id', ?)", (uuid.uuid4().hex,))
        base.execute("INSERT OR IGNORE INTO about VALUES ('last', '0')")
        base.execute("COMMIT")
        version = self._about("version")
        if version != str(VERSION):
            raise JournalError(
                f"{self.path} was written by another version of locallinear (journal format "
                f"{version}, and this one reads {VERSION}); update locallinear"
            )
        who = f"process {os.getpid()} on {socket.gethostname()}, since {time.ctime()}"
        self._holder.write_text(who, "utf-8")
        if self._fsync:
            sync_folder(self.path.parent)

    def _explained(self, error: sqlite3.Error) -> JournalError:
        if "locked" not in str(error):
            return JournalError(
                f"{self.path} is no journal of locallinear, or a damaged one ({error}); move it "
                "away to go on with what the model file holds"
            )
        try:
            who = self._holder.read_text("utf-8")
        except OSError:
            who = "another process"
        return JournalError(
            f"{self.path} is held by {who}; one process at a time can write: close it there first"
        )

    def _about(self, name: str) -> str:
        return self._base.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()[0]

    @property
    def id(self) -> str:
        """What tells this journal from all others."""
        return self._about("id")

    @property
    def last(self) -> int:
        """The number of the last call that was appended; 0 if there was none."""
        return int(self._about("last"))

    def append(self, call: dict[str, Any]) -> int:
        """Write a call down, durably; returns its number."""
        arrays: dict[str, Any] = {}
        content = io.BytesIO()
        write_archive(content, encode(call, "call", arrays), arrays)
        number = self.last + 1
        base = self._base
        base.execute("BEGIN")
        try:
            base.execute("INSERT INTO calls VALUES (?, ?)", (number, content.getvalue()))
            base.execute("UPDATE about SET value = ? WHERE name = 'last'", (str(number),))
            base.execute("COMMIT")
        except BaseException:
            if base.in_transaction:
                base.execute("ROLLBACK")
            raise
        return number

    def calls_after(self, number: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """The calls with higher numbers, in order."""
        expected = number + 1
        query = "SELECT number, content FROM calls WHERE number > ? ORDER BY number"
        for found, content in self._base.execute(query, (number,)):
            try:
                page, arrays = read_archive(io.BytesIO(content), len(content))
                call = decode(page, arrays())
            except (NoArchiveError, ValueError, KeyError, TypeError) as error:
                raise JournalError(
                    f"call {found} in {self.path} is damaged ({error}); restore the file from a "
                    "copy, or move it away to go on with what the model file holds"
                ) from error
            if found != expected:
                raise JournalError(
                    f"call {expected} is missing in {self.path}; restore the file from a copy"
                )
            expected += 1
            yield found, call
        if expected <= self.last:
            raise JournalError(
                f"call {expected} is missing in {self.path}: the model file is older than the "
                "journal; restore both from copies of the same time"
            )

    def remove_until(self, number: int) -> None:
        """Remove the calls up to this number, which a model file holds."""
        self._base.execute("DELETE FROM calls WHERE number <= ?", (number,))
        self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let another process have the journal."""
        self._holder.unlink(missing_ok=True)
        self._base.close()
