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
# Where more than this share of the samples have twins, a new row may be equal to one by chance.
TWINS = 0.01


def own_samples(view: ModelView, inputs: Array, targets: NDArray) -> Numbers:
    """The numbers of the samples with weight that rows are, (q,); -1 for a row that is none.

    A row is a sample if it has the values and the target of one. Where samples are often equal to
    each other, as in tables of few categories, new rows would be too: there, rows are samples only
    if all of them are equal to some. A row without a target is never a sample: whoever asks for its
    prediction wants that of `predict`.

    Parameters
    ----------
    view : the model
    inputs : (q, d) rows of the estimator's features
    targets : (q,), (q, m), or classes (q,)
        NaN or None for a row without a target.
    """
    counted, numbers = view.counted, np.full(len(inputs), -1, dtype=np.intp)
    given = _numeric_targets(view, targets)
    if given is None:
        return numbers
    samples = np.column_stack([view.samples.inputs, view.samples.targets])[counted]
    same = _same_values(samples, np.column_stack([inputs, given]))
    if not all(same) and any(same) and _share_of_twins(samples) > TWINS:
        return numbers
    # Rows that are equal to one another take the equal samples in turn.
    taken: defaultdict[int, int] = defaultdict(int)
    for i, candidates in enumerate(same):
        if candidates:
            numbers[i] = counted[candidates[taken[candidates[0]] % len(candidates)]]
            taken[candidates[0]] += 1
    return numbers


def _share_of_twins(samples: Array) -> float:
    """The share of samples (n, p) that have the values of another one."""
    return float(np.mean([len(equal) > 1 for equal in _same_values(samples, samples)]))


def count_equal(view: ModelView, inputs: Array) -> int:
    """How many rows have exactly the values of a sample with weight, whatever their targets."""
    return sum(map(bool, _same_values(view.samples.inputs[view.counted], inputs)))


def _numeric_targets(view: ModelView, targets: NDArray) -> Array | None:
    """Targets as the samples have them, (q, m); None where they are of another kind."""
    if view.classes is not None:
        return (np.asarray(targets).reshape(-1, 1) == view.classes).astype(np.float64)
    try:
        numeric = np.asarray(targets, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    numeric = numeric.reshape(len(numeric), -1)
    return numeric if numeric.shape[1] == view.samples.targets.shape[1] else None


def _same_values(samples: Array, rows: Array) -> list[list[int]]:
    """For each row (q, p) the samples (n, p) with the same values, in order."""
    sample_codes = np.empty(samples.shape, dtype=np.int32)
    row_codes = np.empty(rows.shape, dtype=np.int32)
    for j, (column, wanted) in enumerate(zip(samples.T, rows.T, strict=True)):
        room = CLOSE * (np.ptp(column) or abs(float(column[0])))
        values, place = np.unique(column, return_inverse=True)
        # Equal values may come back with different rounding: those that are close have one code.
        code = np.cumsum(np.diff(values, prepend=values[0]) > room)
        sample_codes[:, j] = code[place]
        after = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
        before = np.maximum(after - 1, 0)
        nearer = np.abs(values[before] - wanted) <= np.abs(values[after] - wanted)
        nearest = np.where(nearer, before, after)
        row_codes[:, j] = np.where(np.abs(values[nearest] - wanted) <= room, code[nearest], -1)
    found = defaultdict(list)
    for number, code in enumerate(sample_codes):
        found[code.tobytes()].append(number)
    return [found.get(code.tobytes(), []) for code in row_codes]
