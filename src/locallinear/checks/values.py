"""Refusals of values that numpy would accept without a word: masked entries, dates, gaps in labels.

The value behind a mask is no value, and a date becomes nanoseconds since 1970.
"""

from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

TIMES = (date, timedelta, np.datetime64, np.timedelta64)


def check_not_masked(values: Any, name: str) -> None:
    """Refuse a masked array with an entry behind its mask."""
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        place = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        entry = place[0] if len(place) == 1 else tuple(place)
        raise ValueError(
            f"{name} must have a value in every place, but entry {entry} is masked; fill it with "
            "`filled`, or leave the sample out"
        )


def check_numbers(values: Any, name: str) -> None:
    """Refuse masked entries and dates where numbers are expected."""
    check_not_masked(values, name)
    if getattr(getattr(values, "dtype", None), "kind", None) in ("m", "M"):
        example = np.asarray(values).ravel()[:1]
        raise ValueError(
            f"{name} must hold numbers, but holds times{_such_as(example)}; turn them into "
            "numbers, for example days since the first date"
        )


def check_no_gaps(values: Any, name: str, what: str) -> None:
    """Refuse labels of samples of which one is missing; `what` is what each sample must have."""
    check_not_masked(values, name)
    # Text would swallow a NaN: np.asarray(["a", nan]) holds the text "nan".
    labels = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if labels.ndim != 1 or labels.dtype.kind not in "OfMm":
        return
    for i, label in enumerate(labels) if labels.dtype.kind == "O" else _not_equal(labels):
        if is_missing(label):
            raise ValueError(
                f"{name} must have {what} for every sample, but sample {i} has none ({label!r}); "
                "leave such samples out"
            )


def is_missing(cell: Any) -> bool:
    """Whether a cell stands for no value: None, NaN, NaT, or the NA of pandas."""
    if cell is None or type(cell).__name__ == "NAType":
        return True
    differs = cell != cell  # as NaN and NaT do; an array answers with an array
    return isinstance(differs, bool | np.bool_) and bool(differs)


def _not_equal(labels: NDArray) -> list[tuple[int, Any]]:
    """The first label that is not equal to itself, with its number."""
    unequal = np.flatnonzero(labels != labels)[:1]
    return [(int(i), labels[i].item() if labels.dtype.kind == "f" else labels[i]) for i in unequal]


def _such_as(example: NDArray) -> str:
    return f", such as {example[0]}" if len(example) else ""
