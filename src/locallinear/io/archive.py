"""Archives of one page of JSON and some arrays, with a checksum.

An archive is a zip file without compression: `model.json` and a .npy file for each array that the
page refers to. The archive's comment is the SHA-256 of everything before it, so that a damaged or
changed file is recognised. Reading checks sizes before it allocates, and runs nothing that is in
the file.
"""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .encoding import ArrayInPieces

Arrays = dict[str, NDArray]

DIGEST_SIZE = 64


class NoArchiveError(Exception):
    """What is wrong with a file that should be an archive, to be put behind its name."""


def write_archive(
    file: IO[bytes], page: dict[str, Any], arrays: dict[str, NDArray | ArrayInPieces]
) -> None:
    """Write an archive to a file that can be read and sought."""
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


def read_archive(file: IO[bytes], size: int) -> tuple[dict[str, Any], Callable[[], Arrays]]:
    """The page of an archive of so many bytes, and a function that reads the arrays.

    Raises `NoArchiveError` where the bytes are none, and where they were changed since.
    """
    if not zipfile.is_zipfile(file):
        raise NoArchiveError("is not a model file, or only the beginning of one")
    archive = zipfile.ZipFile(file)
    members = archive.infolist()
    stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
    if not stored or sum(member.file_size for member in members) > size:
        raise NoArchiveError("is not a model file: it holds more than its own size")
    if "model.json" not in archive.namelist():
        raise NoArchiveError("is an archive, but not of a model")
    page = json.loads(archive.read("model.json"))

    def arrays() -> Arrays:
        if archive.comment != _digest(file):
            raise NoArchiveError("was changed after it was saved")
        return {
            member.filename.removesuffix(".npy"): _read_array(archive.read(member))
            for member in members
            if member.filename.endswith(".npy")
        }

    return page, arrays


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
    if 0 in shape and len(shape) > 1:  # other code could allocate by the rest of the shape
        raise ValueError("it holds a table without cells")
    flat = np.frombuffer(data, dtype=dtype, offset=stream.tell())
    return flat.reshape(shape, order="F" if fortran else "C").copy()


def _digest(file: IO[bytes]) -> bytes:
    """SHA-256 of a file up to the archive's comment."""
    remaining = file.seek(0, os.SEEK_END) - DIGEST_SIZE
    file.seek(0)
    digest = hashlib.sha256()
    while remaining > 0 and (block := file.read(min(remaining, 2**20))):
        digest.update(block)
        remaining -= len(block)
    return digest.hexdigest().encode()
