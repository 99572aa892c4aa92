"""What drives predictions: how far each column takes them from the average, levels included.

Importance is the mean size of Shapley values. Slopes alone would miss a column that decides which
samples are near. Axis letters: q rows, c columns, m targets or classes.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .groups import groups_section
from .interface import Explanation
from .json_values import rounded
from .selection import sampled
from .view import ModelView

Array = NDArray[np.float64]

# Shapley values are made in batches, until all of so many rows have them or the time is over.
MOST_ROWS = 60
BATCH = 10
# Columns cancel where one takes predictions this much farther from the mean than they are.
CANCELS = 1.2
SECONDS = 3.0


def drivers_section(view: ModelView, why: Explanation) -> dict[str, Any]:
    """Importance of each column, and groups of rows with other slopes, with one list per target.

    Where a column takes predictions ``farther`` from the mean than they are, columns cancel: rows
    with the values of different rows, by which it is measured, are then unlike all that occur.
    """
    values = shapley_values(why)
    importance = np.abs(values).mean(axis=0)
    scores = why.contributions.sum(axis=1) + why.intercept
    apart = np.abs(scores - scores.mean(axis=0)).mean(axis=0)
    return {
        "n_rows": len(values),
        "importance": rounded(importance.T),
        "farther": (importance.max(axis=0) > CANCELS * apart).tolist(),
        "groups": [
            groups_section(view, why, importance[:, t], t) for t in range(importance.shape[1])
        ],
    }


def shapley_values(why: Explanation, seconds: float = SECONDS) -> Array:
    """Shapley values (r, c, m) of some of the explained rows, as many as the time allows."""
    rows = np.random.default_rng(0).permutation(sampled(len(why.contributions), MOST_ROWS))
    found, start = [], time.perf_counter()
    for first in range(0, len(rows), BATCH):
        batch = why.take(rows[first : first + BATCH])
        found.append(batch.shapley(n_permutations=1, random_state=0))
        if time.perf_counter() - start > seconds:
            break
    return np.concatenate(found)
