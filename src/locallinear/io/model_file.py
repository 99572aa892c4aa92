"""Models in files: plain arrays and one page of JSON, no pickle.

A file is an archive (`archive`) whose page has the format, its version, the class and the state of
an estimator (`encoding`). It is written beside its final place and moved there when it is complete.
"""

import os
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from ..runtime.files import whole_file
from .archive import NoArchiveError, read_archive, write_archive
from .encoding import ArrayInPieces, OtherVersionError, describe, revive

FORMAT = "locallinear model"
VERSION = 5


class ModelFileError(ValueError):
    """A file that holds no model, or none that this version of the library can read."""


def save(estimator: Any, path: str | Path | IO[bytes]) -> None:
    """Write a fitted estimator to a file.

    Parameters
    ----------
    estimator : a fitted estimator of this library
    path : str or Path, or a binary file that is open for writing
        Where. A file that is there is replaced and keeps its mode and owner, a link is followed,
        and a device or a pipe is written to.
    """
    write_model(estimator, path)


def write_model(estimator: Any, path: str | Path | IO[bytes], **notes: Any) -> None:
    """Write a fitted estimator to a file, with notes on its page that `read_model` returns."""
    arrays: dict[str, NDArray | ArrayInPieces] = {}
    described = describe(estimator, "", arrays)
    page = {"format": FORMAT, "version": VERSION, **described, "notes": notes}
    with whole_file(path) as file:
        write_archive(file, page, arrays)


def load(path: str | Path) -> Any:
    """Read an estimator that `save` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    The fitted estimator.

    Examples
    --------
    >>> import locallinear, tempfile, pathlib
    >>> model = locallinear.FALLRegressor(n_neighbors=1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "line.model"
    >>> model.save(path)
    >>> locallinear.load(path).predict([[1.0]])
    array([1.])
    """
    return read_model(path)[0]


def model_path(path: str | Path) -> Path:
    """The path of a model file that a user named."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"expected the name of a model file, but got {path!r}")
    if os.fspath(path) == "":
        raise FileNotFoundError("the name of the model file is empty; name a file")
    return Path(path)


def read_model(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """The estimator in a file, and the notes on its page."""
    path = model_path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a model file")
    if not path.exists():
        raise FileNotFoundError(f"There is no model file {path}")
    with open(path, "rb") as file:
        try:
            page, arrays = read_archive(file, path.stat().st_size)
            if not isinstance(page, dict) or page.get("format") != FORMAT:
                raise NoArchiveError("is an archive, but not of a model")
            _check_version(page.get("version"), path)
            found = arrays()
            if page["state"] is None:
                raise ValueError("it holds no fitted model")
            return revive(page, found), dict(page.get("notes", {}))
        except ModelFileError:
            raise
        except NoArchiveError as error:
            raise ModelFileError(f"{path} {error}; it must come from save") from error
        except OtherVersionError as error:
            raise ModelFileError(
                f"{path} was written by another version of locallinear: {error}; update "
                "locallinear, or fit and save the model again"
            ) from error
        except Exception as error:  # bytes that save never wrote can fail in any way
            raise ModelFileError(
                f"{path} is no whole model file ({error}); save the model again"
            ) from error


def _check_version(version: Any, path: Path) -> None:
    if version == VERSION:
        return
    newer = isinstance(version, int | float) and version > VERSION
    age, remedy = ("a newer", "update locallinear") if newer else ("an older", "fit and save again")
    raise ModelFileError(
        f"{path} was written by {age} version of locallinear (file format {version}, and this one "
        f"reads {VERSION}); {remedy}"
    )
