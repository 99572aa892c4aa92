"""Splits of the samples for cross-validation, on a part of the samples where these are many."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]  # the samples to fit on, and those to test


def make_splits(
    cv: Any,
    X: Array,
    y: NDArray,
    groups: Any,
    *,
    max_samples: int | None,
    seed: int,
    classifier: bool,
) -> list[Split]:
    """The splits of `cv`, as scikit-learn's `check_cv` makes them.

    If there are more than `max_samples` samples, so many are drawn at random and split. Splits that
    the user gives as rows stay as they are.
    """
    rows = np.arange(len(X))
    given = isinstance(cv, Iterable)
    if max_samples is not None and len(X) > max_samples and not given:
        rows = _draw(y, max_samples, seed, classifier)
    part = None if groups is None else np.asarray(groups)[rows]
    splitter = check_cv(cv, y[rows], classifier=classifier)
    splits = [(rows[train], rows[test]) for train, test in splitter.split(X[rows], y[rows], part)]
    if not splits:
        raise ValueError("cv must give at least one split, but gives none; pass a number of folds")
    return splits


def _draw(y: NDArray, n_drawn: int, seed: int, classifier: bool) -> Rows:
    """Random rows in their order, at least one per class."""
    drawn = np.random.RandomState(seed).permutation(len(y))[:n_drawn]
    if classifier:
        drawn = np.union1d(drawn, np.unique(y, return_index=True)[1])
    return np.sort(drawn)
