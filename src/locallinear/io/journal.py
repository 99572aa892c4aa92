"""A journal of calls in SQLite: appended to, one at a time, and read from the beginning.

SQLite makes an append whole or absent, whatever kills the process, and durable when it returns. A
call is an archive (`archive`), so that its bytes have a checksum of their own. Calls are numbered
from 1 on, for as long as the journal exists; those that a model file holds are removed.

SQLite's own locks end when any part of the process closes the file, as a backup does that copies
it. So a lock of our own keeps other processes away, and before each append we look whether the
files are still those that we opened.
"""

import ctypes
import io
import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

from ..runtime.files import sync_folder
from ..runtime.locks import HeldError, HolderFile
from .archive import NoArchiveError, read_archive, write_archive
from .encoding import decode, encode

VERSION = 1

SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE calls (number INTEGER PRIMARY KEY, content BLOB NOT NULL);
"""

# What SQLite says of a file that it cannot get at, whatever the file holds.
OUT_OF_REACH = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}


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
        self._log = path.with_name(path.name + "-wal")
        self._holder = HolderFile(path.with_name(path.name + ".holder"))
        try:
            self._holder.acquire()
        except HeldError as error:
            raise self._held(str(error)) from None
        with ExitStack() as opened:  # closes again what was opened before an error
            opened.callback(self._holder.release)
            try:
                # Threads take turns: who appends holds a lock of the model.
                self._base = sqlite3.connect(
                    path, timeout=0, isolation_level=None, check_same_thread=False
                )
                opened.callback(self._base.close)
                self._open(self._base)
            except sqlite3.Error as error:
                raise self._explained(error) from error
            opened.pop_all()
        _open_journals.add(self)

    def _open(self, base: sqlite3.Connection) -> None:
        base.execute("PRAGMA locking_mode = EXCLUSIVE")
        base.execute("PRAGMA journal_mode = WAL")
        base.execute(f"PRAGMA synchronous = {'FULL' if self._fsync else 'OFF'}")
        base.execute("BEGIN EXCLUSIVE")  # from here on the file is locked until it is closed
        if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in SCHEMA.split(";"):
                base.execute(statement)
            about = [("version", str(VERSION)), ("id", uuid.uuid4().hex), ("last", "0")]
            base.executemany("INSERT INTO about VALUES (?, ?)", about)
        # Also where nothing is new, so that there is a log with an identity of its own.
        base.execute("UPDATE about SET value = value WHERE name = 'version'")
        base.execute("COMMIT")
        version = self._about("version")
        if version != str(VERSION):
            raise JournalError(
                f"{self.path} was written by another version of locallinear (journal format "
                f"{version}, and this one reads {VERSION}); update locallinear"
            )
        highest = base.execute("SELECT max(number) FROM calls").fetchone()[0]
        if highest is not None and highest > self.last:
            raise self._damaged(f"it has call {highest}, but says that call {self.last} is last")
        self._files = self._identities()
        if self._fsync:
            sync_folder(self.path.parent)

    def _identities(self) -> list[tuple[int, int]]:
        """What tells the files under the journal's names from any others."""
        with suppress(FileNotFoundError):
            return [(f.stat().st_dev, f.stat().st_ino) for f in (self.path, self._log)]
        return []

    def _damaged(self, why: object) -> JournalError:
        return JournalError(
            f"{self.path} is no journal of locallinear, or a damaged one ({why}); move it away to "
            "go on with what the model file holds"
        )

    def _held(self, who: str) -> JournalError:
        return JournalError(
            f"{self.path} is held by {who}; one process at a time can write: close it there first"
        )

    def _explained(self, error: sqlite3.Error) -> JournalError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says more of the same
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return self._held("another process")
        if code in OUT_OF_REACH:
            folder = ": it is a folder" if self.path.is_dir() else f" ({error})"
            return JournalError(
                f"{self.path} cannot be written{folder}, and the model stays as it was; look at "
                "the space on the disk, and at who may write there"
            )
        return self._damaged(error)

    def _about(self, name: str) -> str:
        found = self._base.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        if found is None:
            raise self._damaged(f"it does not say its {name}")
        return found[0]

    @property
    def id(self) -> str:
        """What tells this journal from all others."""
        return self._about("id")

    @property
    def last(self) -> int:
        """The number of the last call that was appended; 0 if there was none."""
        found = self._about("last")
        if not (isinstance(found, str) and found.isdecimal()):
            raise self._damaged(f"{found!r} is not the number of its last call")
        return int(found)

    def append(self, call: dict[str, Any]) -> int:
        """Write a call down, durably; returns its number."""
        arrays: dict[str, Any] = {}
        content = io.BytesIO()
        write_archive(content, encode(call, "call", arrays), arrays)
        if self._identities() != self._files:
            raise JournalError(
                f"{self.path} was moved, removed or replaced while it was open, so that nothing "
                "can be written down; put the files back and open them again"
            )
        base = self._base
        try:
            base.execute("BEGIN")
            number = self.last + 1
            base.execute("INSERT INTO calls VALUES (?, ?)", (number, content.getvalue()))
            base.execute("UPDATE about SET value = ? WHERE name = 'last'", (str(number),))
            base.execute("COMMIT")
        except BaseException as error:
            if base.in_transaction:
                base.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self._explained(error) from error
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
        self._base.close()
        self._holder.release()

    def leave_to_parent(self) -> None:
        """In a forked child: take nothing from the parent's journal, now and when the child ends.

        SQLite would remove the log of a connection that closes, with calls that the parent has
        written to it since: so the connection stays open until the child is gone.
        """
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._base))
        self._holder.leave_to_parent()


# The journals that this process has open, or one that it was forked from.
_open_journals: WeakSet[Journal] = WeakSet()


def _leave_all_to_parent() -> None:
    for journal in list(_open_journals):
        journal.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all_to_parent)
