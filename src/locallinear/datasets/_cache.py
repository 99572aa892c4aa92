"""From a source to a Bunch: reads the tidy file in the folder, and makes it on first use."""

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ..runtime.extras import extra
from ..runtime.files import write_whole
from ._convert import tidy_csv
from ._download import DownloadError, download_member, read_member
from ._sources import Source

Folder = str | os.PathLike[str] | None


def data_folder(data_home: Folder = None) -> Path:
    """The folder of the data: the argument, else ``$LOCALLINEAR_DATA``, else ``~/.locallinear``."""
    chosen = data_home or os.environ.get("LOCALLINEAR_DATA") or Path.home() / ".locallinear"
    return Path(chosen).expanduser()


def tidy_file(source: Source, folder: Path, download_if_missing: bool) -> Path:
    """Path of the tidy file; made from an archive in the folder or a download if it is absent."""
    path = folder / f"{source.name}.csv"
    if path.exists():
        return path
    by_hand = folder / source.archive_name
    remedy = (
        f"Download {source.address} by hand, put it into {folder} as {source.archive_name} "
        "and call again."
    )
    try:
        if by_hand.exists():
            original = read_member(by_hand.read_bytes(), source.original, source.sha256)
        elif download_if_missing:
            original = download_member(
                source.address, source.original, source.sha256, f"{source.title} data"
            )
        else:
            raise DownloadError(f"{path} does not exist and download_if_missing is False")
        content = tidy_csv(source, original)
    except (DownloadError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise OSError(f"No {source.title} data: {reason}. {remedy}") from error
    try:
        write_whole(path, content)
    except OSError as error:
        raise OSError(
            f"No {source.title} data: cannot write {path} ({error.strerror or error}). Pass a "
            "data_home, or set LOCALLINEAR_DATA, that can be written to."
        ) from error
    return path


def read_tidy(source: Source, path: Path) -> NDArray[np.float64]:
    """Numbers of the tidy file, (n, columns); its header is checked first."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        header = tuple(next(csv.reader(file), ()))
        if header != source.columns:
            raise ValueError(
                f"{path} should start with the columns {', '.join(source.columns[:3])}, ... "
                f"({len(source.columns)} in all); it starts with {', '.join(header[:3])}, ... "
                f"({len(header)}). Remove it to have it made anew."
            )
        try:
            table = np.loadtxt(file, delimiter=",", comments=None, ndmin=2)
        except ValueError as error:
            raise ValueError(
                f"{path} should hold numbers alone: {error}. Remove it to have it made anew."
            ) from error
    if len(table) == 0:
        raise ValueError(f"{path} has a header and no rows. Remove it to have it made anew.")
    return table


def fetch(
    source: Source,
    target: str,
    data_home: Folder,
    download_if_missing: bool,
    return_X_y: bool,
    as_frame: bool,
) -> Any:
    """Load a source with one of its target columns: what every ``fetch_*`` does."""
    path = tidy_file(source, data_folder(data_home), download_if_missing)
    table = read_tidy(source, path)
    column = dict(zip(source.columns, table.T, strict=True))
    first = 0 if source.groups is None else 1
    data = np.ascontiguousarray(table[:, first : first + len(source.inputs)])
    y = column[target].copy()
    groups = None if source.groups is None else column[source.groups].astype(int)
    frame = None
    if as_frame:
        pd = extra("pandas", "report", "Frames")
        frame = pd.DataFrame(data, columns=list(source.inputs)).assign(**{target: y})
        data, y = frame[list(source.inputs)], frame[target]
        if groups is not None:
            groups = pd.Series(groups, name=source.groups)
    if return_X_y:
        return data, y
    bunch = Bunch(
        data=data,
        target=y,
        frame=frame,
        feature_names=list(source.inputs),
        target_names=[target],
        DESCR=description(source, target),
        filename=str(path),
    )
    if groups is not None:
        bunch.groups = groups
    return bunch


def description(source: Source, target: str) -> str:
    """Text of a Bunch's ``DESCR``: size, address, licence and the work to cite."""
    return (
        f"{source.title}: {source.n_samples} samples, {len(source.inputs)} inputs, "
        f"target {target}.\n\nSource: {source.address}\nLicence: {source.licence}\n"
        f"Please cite: {source.citation}\n"
    )
