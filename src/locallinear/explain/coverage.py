"""How often intervals contain the truth: the data of a coverage plot, overall and by prediction.

A model whose intervals are as wide for cheap houses as for dear ones can cover nine of ten houses
and still be wrong about both. So the rows are also divided into fifths of their prediction.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .interface import Explanation
from .view import ModelView, by_feature, view_of

Array = NDArray[np.float64]

COVERAGES = (0.5, 0.8, 0.9, 0.95)
N_PARTS = 5
# Of fewer held-out rows, the shares in fifths would say nothing.
LEAST_HELD_OUT = 50


class Part(TypedDict):
    """Rows whose prediction lies between two values, and the share that each interval contains."""

    lowest: float
    highest: float
    n_rows: int
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
    n_rows: int
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
        Without them, the training samples without themselves. These made the intervals, so they
        agree overall; how they are spread over the fifths is still of use.
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
        known = estimator.conformal()
        truth, predicted, source = known.targets, known.prediction, "samples without themselves"
        found = known.sample_quantiles(levels)
    else:
        truth = np.asarray(y).reshape(len(inputs), -1)
        predicted = estimator.predict(inputs).reshape(truth.shape)
        found = estimator.predict_quantiles(inputs, levels).reshape(*truth.shape, len(levels))
        source = "held-out rows"
    # An interval holds a log where its ends in units hold the target: shares are the same.
    truth, predicted = view.targets_in_units(truth), view.predictions_in_units(predicted)
    flat = found.swapaxes(1, 2).reshape(-1, truth.shape[1])
    found = view.targets_in_units(flat).reshape(len(truth), len(levels), -1).swapaxes(1, 2)
    return [
        {"target": name, "source": source, "expected": list(coverages)}
        | _by_part(truth[:, t], predicted[:, t], found[:, t])
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


def _by_part(truth: Array, predicted: Array, quantiles: Array) -> Any:
    """Shares over all rows and over fifths of the prediction; quantiles are (n, 2 c)."""
    low, high = np.split(quantiles, 2, axis=1)
    inside = (low <= truth[:, None]) & (truth[:, None] <= high)

    def of(rows: NDArray[np.intp]) -> dict[str, Any]:
        return {
            "n_rows": len(rows),
            "covered": inside[rows].mean(axis=0).tolist(),
            "width": (high - low)[rows].mean(axis=0).tolist(),
        }

    order = np.argsort(predicted, kind="stable")
    parts = [
        {"lowest": float(predicted[rows[0]]), "highest": float(predicted[rows[-1]]), **of(rows)}
        for rows in np.array_split(order, min(N_PARTS, len(order)))
    ]
    return of(order) | {"parts": parts}
