"""Which rows are samples of the model: those have to be explained without themselves.

`explain` finds a training sample itself, at distance zero, and so repeats the sample's own target.
A report on training rows would then say nothing about the model. Axis letters: q rows, n samples,
d features, m targets.
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from .view import ModelView

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

# Values are equal within this part of a column's spread: samples come back from the feature space
# with some rounding.
CLOSE = 1e-7


def own_samples(view: ModelView, inputs: Array, targets: NDArray) -> Numbers | None:
    """The numbers of the samples that rows are, (q,), or None where a row is none.

    A row is a sample if it has the values and the target of one, and each sample is at most one
    row. A row without a target is never a sample: whoever asks for its prediction wants that of
    `predict`.

    Parameters
    ----------
    view : the model
    inputs : (q, d) rows of the estimator's features
    targets : (q,), (q, m), or classes (q,)
    """
    X, Y = view.samples
    given = _numeric_targets(view, targets)
    if given is None or len(inputs) > len(X):
        return None
    same = _same_values(np.column_stack([X, Y]), np.column_stack([inputs, given]))
    if min(map(len, same), default=0) == 0:
        return None
    # Rows that are equal to one another take one of the equal samples each.
    taken: defaultdict[int, int] = defaultdict(int)
    numbers = np.empty(len(same), dtype=np.intp)
    for i, candidates in enumerate(same):
        turn = taken[candidates[0]]
        if turn == len(candidates):
            return None
        numbers[i] = candidates[turn]
        taken[candidates[0]] += 1
    return numbers


def count_equal(view: ModelView, inputs: Array) -> int:
    """How many rows have exactly the values of a sample, whatever their targets."""
    return sum(map(bool, _same_values(view.samples[0], inputs)))


def _numeric_targets(view: ModelView, targets: NDArray) -> Array | None:
    """Targets as the samples have them, (q, m); None where they are of another kind."""
    if view.classes is not None:
        return (np.asarray(targets).reshape(-1, 1) == view.classes).astype(np.float64)
    try:
        numeric = np.asarray(targets, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    numeric = numeric.reshape(len(numeric), -1)
    return numeric if numeric.shape[1] == view.samples[1].shape[1] else None


def _same_values(samples: Array, rows: Array) -> list[list[int]]:
    """For each row (q, p) the samples (n, p) with the same values, in order."""
    sample_codes = np.empty(samples.shape, dtype=np.int32)
    row_codes = np.empty(rows.shape, dtype=np.int32)
    for j, (column, wanted) in enumerate(zip(samples.T, rows.T, strict=True)):
        values, sample_codes[:, j] = np.unique(column, return_inverse=True)
        after = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
        before = np.maximum(after - 1, 0)
        nearer = np.abs(values[before] - wanted) <= np.abs(values[after] - wanted)
        nearest = np.where(nearer, before, after)
        room = CLOSE * (np.ptp(column) or abs(float(column[0])))
        row_codes[:, j] = np.where(np.abs(values[nearest] - wanted) <= room, nearest, -1)
    found = defaultdict(list)
    for number, code in enumerate(sample_codes):
        found[code.tobytes()].append(number)
    return [found.get(code.tobytes(), []) for code in row_codes]
