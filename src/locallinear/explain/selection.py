"""Which rows, features and targets a caller means, and the errors where there are no such."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray


def sampled(n: int, most: int) -> NDArray[np.intp]:
    """The numbers of all n rows, or of `most` at random, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of an array, a list or a frame, as the same kind of object."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "columns") else np.asarray(X)[rows]


def check_row(row: int, n: int) -> int:
    """The number of a row; negative numbers count from the end."""
    if not isinstance(row, Integral) or not -n <= row < n:
        raise ValueError(f"row must be below {n}, the number of rows, but is {row!r}")
    return int(row) % n


def number_of(wanted: int | str, names: Sequence[str], what: str) -> int:
    """The number of a feature or target, given by name or number (negative: from the end)."""
    if isinstance(wanted, str) and wanted in names:
        return list(names).index(wanted)
    if not isinstance(wanted, Integral) or not -len(names) <= wanted < len(names):
        raise ValueError(
            f"{what} must be below {len(names)} or one of {[str(name) for name in names]}, but is "
            f"{wanted!r}"
        )
    return int(wanted) % len(names)
