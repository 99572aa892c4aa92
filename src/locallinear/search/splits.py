"""Splits of the samples for cross-validation, on a part of the samples where these are many."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from ..checks.arguments import check_groups, check_indices
from ..checks.values import check_even

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]  # the samples to fit on, and those to test


class Folds(list[Split]):
    """Splits as rows, of which fewer may be used where a time budget is short."""


def may_thin(cv: Any, max_samples: int | None) -> bool:
    """Whether fewer samples than `make_splits` gives may choose parameters."""
    return isinstance(cv, Folds) or not (isinstance(cv, Iterable) or max_samples is None)


def make_splits(
    cv: Any,
    X: Array,
    y: NDArray,
    groups: Any,
    *,
    max_samples: int | None,
    seed: int,
    classifier: bool,
    among: Rows | None = None,
) -> list[Split]:
    """The splits of `cv`, as scikit-learn's `check_cv` makes them.

    If there are more than `max_samples` samples, so many are drawn at random and split; where
    `among` is given, of these rows alone. Splits that the user gives as rows stay as they are.
    """
    rows, given = np.arange(len(X)), isinstance(cv, Iterable)
    if not given:
        rows = rows if among is None else among
        if max_samples is not None and len(rows) > max_samples:
            rows = rows[draw_rows(y[rows], max_samples, seed, classifier)]
    groups = check_groups(groups, len(X))
    part = None if groups is None else groups[rows]
    splitter = check_cv(_pairs(cv) if given else cv, y[rows], classifier=classifier)
    splits = [
        (rows[_checked(train, rows)], rows[_checked(test, rows)])
        for train, test in splitter.split(X[rows], y[rows], part)
    ]
    if not splits:
        raise ValueError("cv must give at least one split, but gives none; pass a number of folds")
    return splits


def _pairs(cv: Iterable[Any]) -> list[tuple[Any, Any]]:
    """The splits that a user gives as rows, each of which must be a pair."""
    if isinstance(cv, np.ndarray) and cv.ndim == 0:
        raise ValueError(
            f"cv must be a number of folds, a splitter or a list of splits, but is {cv!r}; pass "
            "a number such as 3"
        )
    pairs = []
    for pair in cv:
        try:
            train, test = pair
        except (TypeError, ValueError):
            raise ValueError(
                "cv must give pairs of samples to fit on and samples to test, or be a number of "
                f"folds, but gives {pair!r}"
            ) from None
        pairs.append((train, test))
    return pairs


def _checked(part: Any, rows: Rows) -> NDArray:
    """Numbers of samples, or a mask of them, of one part of a split that a user may have made."""
    check_even(part, "cv")
    numbers = np.asarray(part)
    if numbers.dtype == bool and numbers.shape == rows.shape:
        numbers = np.flatnonzero(numbers)
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(
            "cv must give pairs of samples to fit on and samples to test, at least one of each, "
            f"but one part is {part!r}"
        )
    return check_indices(numbers, len(rows))


def draw_rows(y: NDArray, n_drawn: int, seed: int, classifier: bool) -> Rows:
    """Random rows in their order, at least one per class."""
    drawn = np.random.RandomState(seed).permutation(len(y))[:n_drawn]
    if classifier:
        drawn = np.union1d(drawn, np.unique(y, return_index=True)[1])
    return np.sort(drawn)


def thinned(
    splits: list[Split], y: NDArray, n_kept: int, seed: int, classifier: bool
) -> list[Split]:
    """The splits with about so many of their samples, drawn at random."""
    rows = np.unique(np.concatenate([part for split in splits for part in split]))
    if len(rows) <= n_kept:
        return splits
    # Folds may be drawn with the seed itself: its permutation would give rows of one fold.
    kept = rows[draw_rows(y[rows], n_kept, (seed + 1) % 2**32, classifier)]
    parts = [(train[np.isin(train, kept)], test[np.isin(test, kept)]) for train, test in splits]
    return parts if all(len(train) and len(test) for train, test in parts) else splits
