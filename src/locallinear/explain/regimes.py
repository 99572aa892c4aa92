"""The regimes: the samples that share an anchor, and what tells each regime from the others."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .text import number, shorten
from .view import MISSING, ModelView

Array = NDArray[np.float64]

# A regime is set apart by a feature whose mean is this many standard deviations from the overall.
LEAST_OFFSET = 0.25
# A simpler model that explains less than this share of the accurate one does not stand for it.
LITTLE = 0.5


@dataclass(frozen=True, eq=False)
class Regimes:
    """The r regimes that have samples, largest first, by the d features of the model.

    Attributes
    ----------
    labels : array (r,)
        Their anchors, as in `labels_`.
    sizes : array (r,)
        How many samples each has.
    models : array (r, d + 1, m)
        Their equations, intercept last.
    offsets : array (r, d)
        How far a regime's mean is from that of all samples, in standard deviations.
    low, high : arrays (r, d)
        The range of the middle four fifths of a regime's samples, in units.
    target_means : array (r, m)
    """

    labels: NDArray[np.intp]
    sizes: NDArray[np.intp]
    models: Array
    offsets: Array
    low: Array
    high: Array
    target_means: Array


def regimes_of(view: ModelView) -> Regimes:
    """The regimes of a fitted model, from its training samples."""
    estimator, (X, Y) = view.estimator, view.samples
    labels, inverse, sizes = np.unique(estimator.labels_, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    members = [np.flatnonzero(inverse == r) for r in order]
    scale = X.std(axis=0)
    means = np.array([X[rows].mean(axis=0) for rows in members])
    ranges = np.array([np.quantile(X[rows], [0.1, 0.9], axis=0) for rows in members])
    return Regimes(
        labels=labels[order],
        sizes=sizes[order],
        models=estimator.regime_model.anchor_models_[labels[order]],
        offsets=(means - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0),
        low=ranges[:, 0],
        high=ranges[:, 1],
        target_means=np.array([Y[rows].mean(axis=0) for rows in members]),
    )


def distinguishing(view: ModelView, regimes: Regimes, r: int, limit: int) -> list[dict[str, Any]]:
    """What sets a regime's samples apart, the clearest first, at most once per column.

    Each entry has the column's ``feature``, the ``offset`` of the regime's mean in standard
    deviations and, for numbers, ``low`` and ``high``, both in words as ``range``, and on which
    ``side`` of the others it is; for text the ``category`` that differs most, its ``share`` in the
    regime and ``overall``.
    """
    found: dict[int, dict[str, Any]] = {}
    offsets = regimes.offsets[r]
    for feature in np.argsort(-np.abs(offsets), kind="stable"):
        j = int(view.column_numbers[feature])
        if abs(offsets[feature]) < LEAST_OFFSET or len(found) == limit:
            break
        if j in found:
            continue
        found[j] = {"feature": view.names[j], "offset": float(offsets[feature])}
        column, choices = view.columns[j], view.choices(j)
        within = int(feature) - view.features_of(j).start
        is_gap = column.kind == "number" and within > 0  # 1 where the number is missing
        if not is_gap and (choices is None or not view.is_one_hot(j)):
            found[j]["feature"] = column.feature_names[within]
            low, high = float(regimes.low[r, feature]), float(regimes.high[r, feature])
            is_day = column.kind == "date" and within == 0
            ends = [number(low), number(high)] if within else view.in_words(j, [low, high])
            sides = ("early", "late") if is_day else ("low", "high")
            found[j] |= {
                "low": low,
                "high": high,
                "range": _between(ends, "" if is_day or within else column.unit),
                "side": sides[int(offsets[feature] > 0)],
            }
            continue
        cells = view.samples[0][:, feature]
        inside = view.estimator.labels_ == regimes.labels[r]
        found[j] |= {
            "category": MISSING if is_gap or choices is None else choices[within],
            "share": float(cells[inside].mean()),
            "overall": float(cells.mean()),
        }
    return list(found.values())


def _between(ends: list[str], unit: str) -> str:
    """A range in words, such as "2 to 3 hours"."""
    low, high = ends
    return f"{low if low == high else f'{low} to {high}'} {unit}".rstrip()


def regime_names(view: ModelView, regimes: Regimes) -> list[str]:
    """Each regime by what sets its samples apart, such as "low age, high cement".

    Regimes that would have the same name have the range of a number as well.
    """
    apart = [distinguishing(view, regimes, r, 2) for r in range(len(regimes.sizes))]
    names = [_name(found) for found in apart]
    taken = Counter(names)
    return [
        f"{name} ({_range(found)})" if taken[name] > 1 and _range(found) else name
        for name, found in zip(names, apart, strict=True)
    ]


def _range(apart: list[dict[str, Any]]) -> str:
    """Where a regime is in the first number that sets it apart; empty without any."""
    for found in apart:
        if "range" in found:
            return f"{shorten(found['feature'])} {found['range']}"
    return ""


def _name(apart: list[dict[str, Any]]) -> str:
    words = []
    for found in apart:
        name = shorten(found["feature"])
        if "category" in found:
            more, text = found["offset"] > 0, shorten(found["category"], 20)
            words.append(f"{name} {'more' if more else 'less'} often {text}")
        else:
            words.append(f"{found['side']} {name}")
    return ", ".join(words) or "spread over all rows"
