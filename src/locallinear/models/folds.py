"""Folds of the samples of a fitted model: which to fit on again, and which to test."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

Rows = NDArray[np.intp]


def folds_of(
    counted: Rows, n_folds: int, groups: NDArray | None = None
) -> Iterator[tuple[Rows, Rows]]:
    """The numbers of samples to fit on and to test, in at most so many folds.

    Parameters
    ----------
    counted : the samples with weight; others are in no fold
    groups : (n,) which of all samples are in one fold, or None for shuffled folds
    """
    if groups is None:
        n_folds = min(n_folds, len(counted))
        splits = KFold(n_folds, shuffle=True, random_state=0).split(counted)
    else:
        own = groups[counted]
        splits = GroupKFold(min(n_folds, len(np.unique(own)))).split(own, groups=own)
    return ((counted[train], counted[test]) for train, test in splits)
