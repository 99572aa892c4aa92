"""Model files for the tests: saved ones, and forged ones whose checksum is right."""

import hashlib
import io
import tracemalloc
import zipfile

import numpy as np


def members(path):
    """Names and contents of an archive."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def forge(path, contents, compression=zipfile.ZIP_STORED):
    """An archive with these members and a checksum that is right."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.comment = b"0" * 64
        for name, content in contents.items():
            archive.writestr(name, content)
    whole = path.read_bytes()[:-64]
    path.write_bytes(whole + hashlib.sha256(whole).hexdigest().encode())


def npy(array, **options):
    """The bytes of a .npy file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def peak_of(call, *arguments):
    """The most memory that a call held at once, in bytes."""
    tracemalloc.start()
    try:
        call(*arguments)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak
