"""The sets of the league, one gzipped CSV file each."""

import os
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@cache
def load(name: str) -> tuple[NDArray, NDArray, NDArray]:
    """Inputs, target and fold of every row."""
    folder = os.environ.get("LOCALLINEAR_DATA")
    path = Path(folder or ".") / "league" / f"{name}.csv.gz"
    if not folder or not path.exists():
        raise SystemExit(f"There is no {path}. Set LOCALLINEAR_DATA to the folder above `league`.")
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    return values[:, :-2], values[:, -2], values[:, -1].astype(int)
