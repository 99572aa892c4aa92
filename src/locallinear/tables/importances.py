"""How much each column of a table moves a model's predictions."""

from typing import Any

import numpy as np

from ..models.samples import counted_rows
from .encoding import Encoding

# So many training rows, at most, stand for all.
MOST_ROWS = 1000


def importances_of(encoding: Encoding, estimator: Any) -> dict[str, float]:
    """The mean squared change of predictions when cells are exchanged, as parts of one.

    The cells of each column are exchanged between rows at random. Rows are predicted without
    themselves: their own targets would say more than any column. Targets count alike, each
    relative to the variance of its predictions.
    """
    model = estimator.regime_model
    (X, _), weights = model.training_samples(), model.training_weights()
    counted = counted_rows(weights, len(X))
    rng = np.random.RandomState(0)
    rows = counted[np.sort(rng.permutation(len(counted))[:MOST_ROWS])]
    inputs, other = X[rows], X[rng.permutation(rows)]
    v = None if weights is None else weights[rows]
    before = estimator.predict_checked(inputs, rows)
    variance = np.average((before - np.average(before, axis=0, weights=v)) ** 2, axis=0, weights=v)
    moved = {}
    for number, column in enumerate(encoding.columns):
        own = encoding.owners == number
        after = estimator.predict_checked(np.where(own, other, inputs), rows)
        changes = np.average((after - before) ** 2, axis=0, weights=v)
        relative = np.divide(changes, variance, out=np.zeros_like(changes), where=variance > 0)
        moved[column.name] = float(relative.sum())
    total = sum(moved.values())
    return {name: value / total if total else 0.0 for name, value in moved.items()}
