"""How much each column of a table moves a model's predictions."""

from typing import Any

import numpy as np

from .encoding import Encoding

# So many training rows, at most, stand for all.
MOST_ROWS = 1000


def importances_of(encoding: Encoding, estimator: Any) -> dict[str, float]:
    """The mean squared change of predictions when cells are exchanged, as parts of one.

    The cells of each column are exchanged between rows at random. Rows are predicted without
    themselves: their own targets would say more than any column. Targets count alike, each
    relative to the variance of its predictions.
    """
    X, _ = estimator.regime_model.training_samples()
    rng = np.random.RandomState(0)
    rows = np.sort(rng.permutation(len(X))[:MOST_ROWS])
    inputs, other = X[rows], X[rng.permutation(rows)]
    before = estimator.predict_checked(inputs, rows)
    variance = before.var(axis=0)
    moved = {}
    for number, column in enumerate(encoding.columns):
        own = encoding.owners == number
        after = estimator.predict_checked(np.where(own, other, inputs), rows)
        changes = ((after - before) ** 2).mean(axis=0)
        relative = np.divide(changes, variance, out=np.zeros_like(changes), where=variance > 0)
        moved[column.name] = float(relative.sum())
    total = sum(moved.values())
    return {name: value / total if total else 0.0 for name, value in moved.items()}
