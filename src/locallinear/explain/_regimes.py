"""The regimes: samples that follow the same anchor model, and what tells them from the others."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._subject import Subject

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Regimes:
    """The r regimes that have samples, largest first, by the d features of the model.

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
    """

    labels: NDArray[np.intp]
    sizes: NDArray[np.intp]
    models: Array
    offsets: Array
    low: Array
    high: Array
    target_means: Array


def regimes_of(subject: Subject) -> Regimes:
    """The regimes of a fitted model, from the samples that it keeps."""
    model, (X, Y) = subject.fall, subject.samples
    labels, inverse, sizes = np.unique(model.labels_, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    members = [np.flatnonzero(inverse == r) for r in order]
    scale = X.std(axis=0)
    means = np.array([X[rows].mean(axis=0) for rows in members])
    ranges = np.array([np.quantile(X[rows], [0.1, 0.9], axis=0) for rows in members])
    return Regimes(
        labels=labels[order],
        sizes=sizes[order],
        models=model.regime_model.anchor_models_[labels[order]],
        offsets=(means - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0),
        low=ranges[:, 0],
        high=ranges[:, 1],
        target_means=np.array([Y[rows].mean(axis=0) for rows in members]),
    )


def distinguishing(subject: Subject, regimes: Regimes, r: int, limit: int) -> list[dict]:
    """What sets a regime's samples apart, the clearest first, one thing a column.

    Each has the column's ``feature``, the ``offset`` of the regime's mean in standard deviations
    and, of numbers, ``low`` and ``high``; of text the ``category`` that stands out, its ``share``
    in the regime and ``overall``.
    """
    found: dict[int, dict] = {}
    offsets = regimes.offsets[r]
    for j in np.argsort(-np.abs(offsets), kind="stable"):
        place = int(subject.owners[j])
        if abs(offsets[j]) < 0.25 or len(found) == limit:
            break
        if place in found:
            continue
        found[place] = {"feature": subject.names[place], "offset": float(offsets[j])}
        choices = subject.choices(place)
        if choices is None:
            ends = {"low": float(regimes.low[r, j]), "high": float(regimes.high[r, j])}
            found[place] |= ends
            continue
        column = subject.samples[0][:, j]
        inside = subject.fall.labels_ == regimes.labels[r]
        found[place] |= {
            "category": choices[j - subject.part(place).start],
            "share": float(column[inside].mean()),
            "overall": float(column.mean()),
        }
    return list(found.values())
