"""A lock on what one process at a time may write to, in a file that says which one does.

The lock belongs to the open file, so that it ends with the process and no sooner: not when another
part of the process opens and closes the file, as with the locks of POSIX, nor when a child that
the process forked ends.
"""

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]


class HeldError(Exception):
    """The lock has another holder, whom the message names."""


class HolderFile:
    """A file whose holder has a lock on it, and whose text says who that is.

    Where the system or the file system has no such locks, the text is all there is.
    """

    def __init__(self, path: Path):
        self._path = path
        self._handle: int | None = None

    def acquire(self) -> None:
        """Hold the lock until `release`; raises `HeldError` where another one holds it."""
        while self._handle is None:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0))
            try:
                self._lock(handle)
                # A holder that ends removes the file: then the lock is on one that nobody finds.
                if os.fstat(handle).st_nlink:
                    self._handle = handle
            finally:
                if self._handle is None:
                    os.close(handle)
        who = f"process {os.getpid()} on {socket.gethostname()}, since {time.ctime()}"
        os.ftruncate(self._handle, 0)
        os.write(self._handle, who.encode())

    def _lock(self, handle: int) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise HeldError(self.who()) from None
            except OSError:
                return  # a file system without locks

    def who(self) -> str:
        """What the file says of the holder."""
        with suppress(OSError):
            return self._path.read_text("utf-8") or "another process"
        return "another process"

    def release(self) -> None:
        """Let another process have the lock."""
        if self._handle is not None:
            self._path.unlink(missing_ok=True)
            self.leave_to_parent()

    def leave_to_parent(self) -> None:
        """In a forked child: leave the lock to the parent alone, whose end shall end it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
