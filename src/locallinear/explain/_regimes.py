"""The regimes: samples that follow the same anchor model, and what tells them from the others."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._fall import FALL
from ._model import spread, stored_samples

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Regimes:
    """The r regimes that have samples, largest first.

    Attributes
    ----------
    labels : array (r,)
        Their anchors, as in `labels_`.
    sizes : array (r,)
        How many samples follow each.
    models : array (r, d + 1, m)
        Their equations, intercept last.
    offsets : array (r, d)
        How far a regime's mean is from that of all samples, in standard deviations.
    low, high : arrays (r, d)
        Where the middle four fifths of a regime's samples lie, in units.
    target_means : array (r, m)
    spread : array (d,)
        Standard deviations of what the coefficients multiply.
    """

    labels: NDArray[np.intp]
    sizes: NDArray[np.intp]
    models: Array
    offsets: Array
    low: Array
    high: Array
    target_means: Array
    spread: Array


def regimes_of(model: FALL) -> Regimes:
    """The regimes of a fitted model, from the samples that it keeps."""
    X, Y = stored_samples(model)
    labels, inverse, sizes = np.unique(model.labels_, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    members = [np.flatnonzero(inverse == r) for r in order]
    scale = X.std(axis=0)
    means = np.array([X[rows].mean(axis=0) for rows in members])
    ranges = np.array([np.quantile(X[rows], [0.1, 0.9], axis=0) for rows in members])
    return Regimes(
        labels=labels[order],
        sizes=sizes[order],
        models=model.anchor_models_[labels[order]],
        offsets=(means - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0),
        low=ranges[:, 0],
        high=ranges[:, 1],
        target_means=np.array([Y[rows].mean(axis=0) for rows in members]),
        spread=spread(model),
    )
