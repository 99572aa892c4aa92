"""Files that are complete or absent, also when the writer is killed or has competitors.

A file is written as a hidden *part* in the folder of its destination, and moved there when it is
complete. A writer locks its part for as long as it lives. So a part that can be locked was left by
a run that was killed, and the next writer in the folder removes it.
"""

import errno
import io
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import IO

try:
    import fcntl
except ImportError:  # Windows has no such locks: there, parts of killed runs stay
    fcntl = None  # type: ignore[assignment]

PART = re.compile(r"\.locallinear-[0-9a-f]{16}\.part")


@contextmanager
def whole_file(path: str | Path | IO[bytes]) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces `path` when the block ends without an error.

    A link is followed, and a file that is replaced keeps its mode and its owner. A device, a pipe
    or an open file cannot be replaced: it receives everything at the end of the block.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> with whole_file(path) as file:
    ...     _ = file.write(b"complete")
    >>> path.read_text()
    'complete'
    """
    if not isinstance(path, str | os.PathLike):
        if not hasattr(path, "write"):
            raise TypeError(
                f"expected the name of a file or a file open for writing, but got {path!r}"
            )
        content = io.BytesIO()
        yield content
        path.write(content.getbuffer())
        path.flush()
        return
    present, path = check_destination(path), Path(path)
    if present is not None and _is_stream(present):
        content = io.BytesIO()
        yield content
        with _named(path), _open_stream(path, present) as stream:
            stream.write(content.getbuffer())
        return
    target = _followed(path)
    _remove_dead_parts(target.parent)
    # What replaces a private file must not be readable by others at any time.
    lock = part = None
    try:
        handle, lock, part = _open_part(target.parent, 0o666 if present is None else 0o600)
        with _named(path), os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            if present is not None:
                _keep_access(file.fileno(), target, present)
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        if part is not None:
            with suppress(FileNotFoundError):
                os.unlink(part)
        raise
    finally:
        if lock is not None:
            os.close(lock)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in what the system says of a write that failed."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def write_whole(path: str | Path, content: bytes) -> None:
    """Write bytes to a file that is complete or absent; make its folders if they are missing."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content)


def sync_folder(folder: str | Path) -> None:
    """Let the names in a folder be on the disk, where the system can do that."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_destination(path: str | Path) -> os.stat_result | None:
    """Raise an OSError in words if `path` cannot be written; return what the system knows of it.

    Read-only files are refused for an administrator too, who could write to them.
    """
    if os.fspath(path) == "":
        raise FileNotFoundError("the name of the file to write is empty; name a file")
    path = Path(path)
    failed = f"{path} cannot be written"
    try:
        present = os.stat(path)
    except FileNotFoundError:
        present = None
    except ValueError as error:
        raise OSError(f"{str(path)!r} cannot be written: no name may hold a null byte") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(
                f"{failed}: it is a link that leads back to itself; remove the link"
            ) from error
        if error.errno != errno.ENOTDIR:
            raise OSError(f"{failed}: {error.strerror}") from error
        present = None
    if present is not None and S_ISDIR(present.st_mode):
        raise IsADirectoryError(f"{failed}: it is a folder; name a file in it")
    if present is not None and not (os.access(path, os.W_OK) and present.st_mode & 0o222):
        raise PermissionError(
            f"{failed}: it is read-only; allow writing to it, or name another file"
        )
    if present is None or not _is_stream(present):
        _check_replaceable(failed, _followed(path).parent, present)
    return present


def _check_replaceable(failed: str, folder: Path, present: os.stat_result | None) -> None:
    """Refuse folders in which no file can be made, and files that would change their owner."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{failed}: there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{failed}: you may not write to the folder {folder}")
    if present is None or os.name != "posix" or os.geteuid() == 0:
        return
    groups = {os.getegid(), *os.getgroups()}
    if present.st_uid != os.geteuid() or present.st_gid not in groups:
        raise PermissionError(
            f"{failed}: it belongs to another user or group, and the new file would not; remove "
            "it first, or name another file"
        )


def _followed(path: Path) -> Path:
    """The file that a link leads to; any other path as it is."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _keep_access(handle: int, target: Path, present: os.stat_result) -> None:
    """Give an open part the owner, the mode and the access lists of the file that it replaces."""
    if os.name != "posix":
        return
    mine = os.fstat(handle)
    if (mine.st_uid, mine.st_gid) != (present.st_uid, present.st_gid):
        os.fchown(handle, present.st_uid, present.st_gid)
    os.fchmod(handle, S_IMODE(present.st_mode))
    if hasattr(os, "listxattr"):
        with suppress(OSError):  # not every file system has attributes, nor lets all be set
            for name in os.listxattr(target):
                os.setxattr(handle, name, os.getxattr(target, name))


# --- Parts ----------------------------------------------------------------------------------------


def _open_part(folder: Path, mode: int) -> tuple[int, int, Path]:
    """Make an empty part: a handle to write to, a handle that holds its lock, and its path."""
    while True:
        part = folder / f".locallinear-{secrets.token_hex(8)}.part"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        handle = os.open(part, flags, mode)
        try:
            if fcntl is not None:
                with suppress(OSError):  # a file system without locks: no part can be locked there
                    fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink:
                # The lock outlives the file that is written: it is held until the part is moved.
                return handle, os.dup(handle), part
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(part)
            os.close(handle)
            raise
        os.close(handle)  # another writer took it for that of a killed run, before it was locked


def _remove_dead_parts(folder: Path) -> None:
    """Remove the parts in a folder whose writers were killed."""
    if fcntl is None:
        return
    parts: list[os.DirEntry[str]] = []
    with suppress(OSError), os.scandir(folder) as entries:  # not every folder can be listed
        parts += [entry for entry in entries if PART.fullmatch(entry.name)]
    for part in parts:
        with suppress(OSError):  # its writer is alive, it belongs to another user, or it is gone
            if part.is_file(follow_symlinks=False):
                handle = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(part)
                finally:
                    os.close(handle)


# --- Devices and pipes ----------------------------------------------------------------------------


def _is_stream(present: os.stat_result) -> bool:
    """Whether a file is a device or a pipe, or what standard output already goes to."""
    return not S_ISREG(present.st_mode) or _standard_stream(present) is not None


def _standard_stream(present: os.stat_result) -> int | None:
    """The handle of standard output or standard error, if a file is one of them."""
    for handle in (1, 2):
        with suppress(OSError):  # it may be closed
            if os.path.samestat(os.fstat(handle), present):
                return handle
    return None


def _open_stream(path: Path, present: os.stat_result) -> IO[bytes]:
    """Open a device or a pipe for writing where it stands."""
    handle = _standard_stream(present)
    if handle is not None:
        return os.fdopen(os.dup(handle), "wb")
    return os.fdopen(os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)), "wb")
