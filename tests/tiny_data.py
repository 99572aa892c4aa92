"""A data set of three rows: its source, its original file and its tidy file."""

import io
import zipfile

from locallinear.datasets import _sources

TINY = _sources.Source(
    name="tiny",
    title="Tiny",
    archive="1/tiny+data.zip",
    original="tiny.data",
    sha256=None,
    layout="named",
    n_samples=3,
    inputs=("a", "b"),
    targets=("y",),
    licence="none",
    citation="nobody",
)


ORIGINAL = b"y,a,b\n1.50,2,3e-005\n4,5,6\n7,8,9\n"


TIDY = b"a,b,y\n2,3e-005,1.50\n5,6,4\n8,9,7\n"


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()
