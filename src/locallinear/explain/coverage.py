"""How often intervals contain the truth: the data of a coverage plot, overall and by prediction.

A model whose intervals are as wide for cheap houses as for dear ones can cover nine of ten houses
and still be wrong about both. So the rows are also divided into fifths of their prediction.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels.quantiles import as_counts
from .interface import Explanation
from .json_values import whole
from .view import ModelView, by_feature, view_of

Array = NDArray[np.float64]

COVERAGES = (0.5, 0.8, 0.9, 0.95)
N_PARTS = 5
# Parts of a width, and of a fifth of the rows, that are rounding.
ROUNDING = 1e-9
# Of fewer held-out rows, the shares in fifths would say nothing.
LEAST_HELD_OUT = 50


class Part(TypedDict):
    """Rows whose prediction lies between two values, and the share that each interval contains.

    Rows count by their weights.
    """

    lowest: float
    highest: float
    n_rows: float
    covered: list[float]
    width: list[float]


class Coverage(TypedDict):
    """Shares of targets within intervals.

    ``expected`` are the coverages asked for; ``covered`` and ``width``, the mean, belong to them;
    ``parts`` are fifths of the prediction; ``source`` is "held-out rows" or "samples without
    themselves".
    """

    target: str
    source: str
    n_rows: float
    expected: list[float]
    covered: list[float]
    width: list[float]
    parts: list[Part]


def interval_coverage(
    model: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    coverages: Sequence[float] = COVERAGES,
) -> list[Coverage]:
    """Shares of targets within the intervals of a fitted regressor, per target.

    Parameters
    ----------
    model : fitted regressor of this library
    X, y : rows that the model has not seen, and their targets in units
        Without them, the training samples without themselves, by their weights, with errors as
        large as those of new rows. These made the intervals, so they agree overall; how they are
        spread over the fifths is still of use.
    coverages : sequence of float

    Returns
    -------
    list of Coverage
    """
    view = view_of(model)
    truth = None if y is None else np.asarray(view.on_model_scale(y), dtype=np.float64)
    return _coverage(view, None if X is None else view.encode(X), truth, coverages)


def _coverage(
    view: ModelView, inputs: Any, y: Array | None, coverages: Sequence[float] = COVERAGES
) -> list[Coverage]:
    """As `interval_coverage`, for the features and targets that the estimator takes."""
    levels = np.array([(1 - c) / 2 for c in coverages] + [(1 + c) / 2 for c in coverages])
    estimator: Any = view.estimator
    if inputs is None:
        known, some = estimator.conformal(), view.counted
        truth, predicted = known.targets_if_new[some], known.prediction[some]
        weights = known.weights[some]
        found, source = known.sample_quantiles(levels, some), "samples without themselves"
    else:
        truth = np.asarray(y).reshape(len(inputs), -1)
        predicted = estimator.predict(inputs).reshape(truth.shape)
        found = estimator.predict_quantiles(inputs, levels).reshape(*truth.shape, len(levels))
        weights, source = np.ones(len(truth)), "held-out rows"
    # An interval holds a log where its ends in units hold the target: shares are the same.
    truth, predicted = view.targets_in_units(truth), view.predictions_in_units(predicted)
    flat = found.swapaxes(1, 2).reshape(-1, truth.shape[1])
    found = view.targets_in_units(flat).reshape(len(truth), len(levels), -1).swapaxes(1, 2)
    return [
        {"target": name, "source": source, "expected": list(coverages)}
        | _by_part(truth[:, t], predicted[:, t], found[:, t], weights)
        for t, name in enumerate(view.target_names)
    ]


def coverage_section(
    view: ModelView, why: Explanation, targets: list[Any]
) -> list[Coverage] | dict[str, str] | None:
    """Shares of targets within intervals: of explained rows that are new, if these are enough.

    Otherwise of the samples without themselves. Where there are too few of these, ``missing`` has
    the reason. None for classes.
    """
    if view.is_classifier:
        return None
    try:
        if len(targets) < LEAST_HELD_OUT:
            return _coverage(view, None, None)
    except ValueError as error:
        return {"missing": str(error)}
    # The cells of a table's rows are as a reader sees them, and may be written otherwise.
    inputs = view.named_inputs(np.asarray(by_feature(why).X, dtype=np.float64))
    return _coverage(view, inputs, np.array(targets, dtype=np.float64))


def _by_part(truth: Array, predicted: Array, quantiles: Array, weights: Array) -> Any:
    """Shares over all rows and over fifths of the prediction; quantiles are (n, 2 c)."""
    low, high = np.split(quantiles, 2, axis=1)
    slack = ROUNDING * (high - low)  # one target may be the end of the interval, up to rounding
    inside = (low - slack <= truth[:, None]) & (truth[:, None] <= high + slack)

    def of(v: Array) -> dict[str, Any]:
        return {
            "n_rows": whole(v.sum()),
            "covered": np.average(inside, axis=0, weights=v).tolist(),
            "width": np.average(high - low, axis=0, weights=v).tolist(),
        }

    parts = []
    for v in parts_in_order(predicted, weights, min(N_PARTS, len(predicted))):
        there = predicted[v > 0]
        parts.append({"lowest": float(there.min()), "highest": float(there.max()), **of(v)})
    return of(weights) | {"parts": parts}


def parts_in_order(values: Array, weights: Array, n_parts: int) -> Array:
    """The weights (p, n) of rows in equal parts of all, from the lowest to the highest value.

    A row of weight 2 is two rows, which may be in different parts. As with `numpy.array_split`, the
    first parts have one row more where the number of rows cannot be divided.
    """
    order, counts = np.argsort(values, kind="stable"), as_counts(weights)
    upto = np.cumsum(counts[order])
    size, rest = divmod(upto[-1], n_parts)
    ends = np.arange(n_parts + 1) * size + np.minimum(np.arange(n_parts + 1), rest)
    there = np.minimum(upto, ends[1:, None]) - np.maximum(upto - counts[order], ends[:-1, None])
    out = np.empty((n_parts, len(values)))
    out[:, order] = np.where(there > ROUNDING * size, there, 0.0)
    return out * weights.sum() / counts.sum()
