"""Files that are complete or absent, also when the writer is killed or has competitors."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces `path` when the block ends without an error.

    The file is written in the folder of `path`, so that the system can move it in one step.

    Examples
    --------
    >>> import pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> with whole_file(path) as file:
    ...     _ = file.write(b"complete")
    >>> path.read_text()
    'complete'
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: there is no folder {path.parent}; make it first"
        )
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, 0o666 & ~_umask())
        os.replace(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


def write_whole(path: str | Path, content: bytes) -> None:
    """Write bytes to a file that is complete or absent; make its folders if they are missing."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
