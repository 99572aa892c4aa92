"""Models in files: plain arrays and one page of JSON, no pickle.

A file is a zip archive without compression: `model.json` (format, version, class, state) and a
.npy file for each array that the state refers to. The archive's comment is the SHA-256 of
everything before it, so that a damaged or changed file is recognised. A file is written beside
its final place and moved there when it is complete. Reading checks sizes before
it allocates, and runs nothing that is in the file.
"""

import hashlib
import inspect
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection

from .checks.parameters import check_stored_parameters
from .runtime.files import whole_file

FORMAT = "locallinear model"
VERSION = 4
DIGEST_SIZE = 64

# Splitters that a file can name, for what they are given is what they keep.
SPLITTERS = {"KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold", "TimeSeriesSplit"}
SPLITTERS |= {"ShuffleSplit", "StratifiedShuffleSplit", "GroupShuffleSplit", "PredefinedSplit"}
SPLITTERS |= {"LeaveOneOut", "LeaveOneGroupOut"}


# The classes that a file can hold, by name: each registers itself.
REGISTRY: dict[str, type] = {}


# The types of whole numbers that a file holds in fewer bytes where they fit.
WIDE = ("int32", "int64")


def register(estimator_class: type) -> type:
    """Let files hold estimators of a class, which has `fitted_state` and `restore`."""
    REGISTRY[estimator_class.__name__] = estimator_class
    return estimator_class


@dataclass(frozen=True, eq=False)
class ArrayInPieces:
    """An array that is not in memory as a whole; a file gets it piece by piece.

    Attributes
    ----------
    shape, dtype : of the whole
    pieces : returns the pieces along the first axis, in order
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    pieces: Callable[[], Iterator[NDArray]]

    def whole(self) -> NDArray:
        """The array in memory."""
        out = np.empty(self.shape, self.dtype)
        start = 0
        for piece in self.pieces():
            out[start : start + len(piece)] = piece
            start += len(piece)
        return out


class ModelFileError(ValueError):
    """A file that holds no model, or none that this version of the library can read."""


class _OtherVersionError(Exception):
    """Something in a whole file that only another version of the library knows."""


def save(estimator: Any, path: str | Path | IO[bytes]) -> None:
    """Write a fitted estimator to a file.

    Parameters
    ----------
    estimator : a fitted estimator of this library
    path : str or Path, or a binary file that is open for writing
        Where. A file that is there is replaced and keeps its mode and owner, a link is followed,
        and a device or a pipe is written to.
    """
    arrays: dict[str, NDArray | ArrayInPieces] = {}
    page = {"format": FORMAT, "version": VERSION, **_describe(estimator, "", arrays)}
    with whole_file(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = b"0" * DIGEST_SIZE
            archive.writestr("model.json", json.dumps(page))
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    _write_array(member, array)
        digest = _digest(file)
        file.seek(-DIGEST_SIZE, os.SEEK_END)
        file.write(digest)


def _write_array(file: IO[bytes], array: NDArray | ArrayInPieces) -> None:
    """Write an array as a .npy file."""
    if isinstance(array, np.ndarray):
        np.lib.format.write_array(file, array, allow_pickle=False)
        return
    described = np.lib.format.dtype_to_descr(array.dtype)
    header = {"descr": described, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    for piece in array.pieces():
        file.write(np.ascontiguousarray(piece, dtype=array.dtype).data)


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
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a model file")
    if not path.exists():
        raise FileNotFoundError(f"There is no model file {path}")
    with open(path, "rb") as file:
        try:
            page, arrays = _read(file, path)
            if page["state"] is None:
                raise ValueError("it holds no fitted model")
            estimator = _revive(page, arrays)
        except ModelFileError:
            raise
        except _OtherVersionError as error:
            raise ModelFileError(
                f"{path} was written by another version of locallinear: {error}; update "
                "locallinear, or fit and save the model again"
            ) from error
        except Exception as error:  # bytes that save never wrote can fail in any way
            raise ModelFileError(
                f"{path} is no whole model file ({error}); save the model again"
            ) from error
    return estimator


def _read(file: IO[bytes], path: Path) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The page and the arrays of a file whose checksum, sizes and version are right."""
    size = os.fstat(file.fileno()).st_size
    if not zipfile.is_zipfile(file):
        raise ModelFileError(
            f"{path} is not a model file, or only the beginning of one; it must come from save"
        )
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        if not stored or sum(member.file_size for member in members) > size:
            raise ModelFileError(f"{path} is not a model file: it holds more than its own size")
        if "model.json" not in archive.namelist():
            raise ModelFileError(f"{path} is an archive, but not of a model")
        page = json.loads(archive.read("model.json"))
        if not isinstance(page, dict) or page.get("format") != FORMAT:
            raise ModelFileError(f"{path} is an archive, but not of a model")
        _check_version(page.get("version"), path)
        if archive.comment != _digest(file):
            raise ModelFileError(f"{path} was changed after it was saved; save the model again")
        arrays = {
            member.filename.removesuffix(".npy"): _read_array(archive.read(member))
            for member in members
            if member.filename.endswith(".npy")
        }
    return page, arrays


def _check_version(version: Any, path: Path) -> None:
    if version == VERSION:
        return
    newer = isinstance(version, int | float) and version > VERSION
    age, remedy = ("a newer", "update locallinear") if newer else ("an older", "fit and save again")
    raise ModelFileError(
        f"{path} was written by {age} version of locallinear (file format {version}, and this one "
        f"reads {VERSION}); {remedy}"
    )


def _read_array(data: bytes) -> NDArray:
    """An array from the bytes of a .npy file, which must be exactly as long as it says."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, fortran, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError("it holds an array of objects")
    flat = np.frombuffer(data, dtype=dtype, offset=stream.tell())
    return flat.reshape(shape, order="F" if fortran else "C").copy()


def _describe(
    estimator: Any,
    name: str,
    arrays: dict[str, NDArray | ArrayInPieces],
    *,
    fitted: bool = True,
) -> dict[str, Any]:
    """What a page says of an estimator; `name` tells its arrays from those of others."""
    return {
        "class": type(estimator).__name__,
        "parameters": _encode(estimator.get_params(deep=False), f"{name}parameter", arrays),
        "state": _encode(estimator.fitted_state() if fitted else None, f"{name}state", arrays),
    }


def _revive(page: dict[str, Any], arrays: dict[str, NDArray]) -> Any:
    """The estimator that `_describe` described."""
    if page["class"] not in REGISTRY:
        raise _OtherVersionError(f"it holds a {page['class']!r}, which this one does not know")
    kind, parameters = REGISTRY[page["class"]], _decode(page["parameters"], arrays)
    unknown = sorted(set(parameters) - set(kind().get_params(deep=False)))
    if unknown:
        raise _OtherVersionError(f"its {page['class']} has the parameter {unknown[0]!r}")
    estimator = kind(**parameters)
    check_stored_parameters(estimator)
    if page["state"] is not None:
        estimator.restore(_decode(page["state"], arrays))
    return estimator


def _encode(value: Any, name: str, arrays: dict[str, NDArray | ArrayInPieces]) -> Any:
    """JSON for a value; its arrays go into `arrays` under names that the JSON refers to."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {"dict": {str(k): _encode(v, f"{name}-{k}", arrays) for k, v in value.items()}}
    if isinstance(value, list | tuple | range):
        return {"list": [_encode(v, f"{name}-{i}", arrays) for i, v in enumerate(value)]}
    if type(value).__name__ in REGISTRY:
        fitted = value.__sklearn_is_fitted__() if hasattr(value, "__sklearn_is_fitted__") else True
        return {"estimator": _describe(value, f"{name}-", arrays, fitted=fitted)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return {"objects": [_encode(v, name, arrays) for v in value.tolist()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUSMm":
        arrays[name] = _narrowed(value)
        if arrays[name] is not value:
            return {"widened": [name, value.dtype.name]}
        return {"array": name}
    if isinstance(value, ArrayInPieces):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.random.RandomState):
        state = value.get_state(legacy=False)
        if state["bit_generator"] == "MT19937":
            return {"chance": _encode(state, name, arrays)}
    if type(value).__name__ in SPLITTERS and type(value).__module__.startswith("sklearn."):
        names = inspect.signature(type(value)).parameters
        given = {n: _encode(getattr(value, n), f"{name}-{n}", arrays) for n in names}
        return {"splitter": [type(value).__name__, given]}
    raise ValueError(
        f"a model file holds numbers, words and arrays, but {name} is a {type(value).__name__}; "
        "set it to one of those before saving, or keep the model with joblib or skops"
    )


def _narrowed(array: NDArray) -> NDArray:
    """Whole numbers in the fewest bytes that hold them; most of a model's are small."""
    if array.dtype.name not in WIDE or not array.size:
        return array
    limits = array.min(), array.max()
    for narrow in (np.int8, np.uint8, np.int16, np.uint16, np.int32):
        bounds = np.iinfo(narrow)
        if bounds.bits < 8 * array.itemsize and bounds.min <= limits[0] and limits[1] <= bounds.max:
            return array.astype(narrow)
    return array


def _decode(value: Any, arrays: dict[str, NDArray]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {name: _decode(v, arrays) for name, v in content.items()}
    if kind == "list":
        return [_decode(v, arrays) for v in content]
    if kind == "objects":
        return np.array([_decode(v, arrays) for v in content], dtype=object)
    if kind == "widened":
        name, wide = content
        if wide not in WIDE:
            raise ValueError(f"its array {name} is of the type {wide!r}")
        return arrays[name].astype(wide)
    if kind == "estimator":
        return _revive(content, arrays)
    if kind == "chance":
        return _generator(_decode(content, arrays))
    if kind == "splitter":
        name, given = content
        if name not in SPLITTERS:
            raise _OtherVersionError(f"it has the splitter {name!r}, which this one does not know")
        return getattr(model_selection, name)(**{n: _decode(v, arrays) for n, v in given.items()})
    return arrays[content]


def _generator(state: dict[str, Any]) -> np.random.RandomState:
    if not 0 <= state["state"]["pos"] <= len(state["state"]["key"]):  # numpy would read beyond
        raise ValueError("its random numbers have no place to go on from")
    generator = np.random.RandomState()
    generator.set_state(state)
    return generator


def _digest(file: IO[bytes]) -> bytes:
    """SHA-256 of a file up to the archive's comment."""
    remaining = file.seek(0, os.SEEK_END) - DIGEST_SIZE
    file.seek(0)
    digest = hashlib.sha256()
    while remaining > 0 and (block := file.read(min(remaining, 2**20))):
        digest.update(block)
        remaining -= len(block)
    return digest.hexdigest().encode()
