"""The regimes: the samples that share an anchor, and what tells each regime from the others."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.quantiles import weighted_quantiles
from .interface import Cyclic
from .text import number, shorten
from .view import MISSING, ModelView, Samples, deviations

Array = NDArray[np.float64]

# A regime is set apart by a feature whose mean is this many standard deviations from the overall,
# and by a category, or by gaps, if so many more or fewer of its samples have it.
LEAST_OFFSET, LEAST_MORE = 0.25, 0.1
# The ends of the middle four fifths.
MIDDLE = np.array([0.1, 0.9])
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
        How many samples each has, by their weights.
    models : array (r, d + 1, m)
        Their equations, intercept last.
    offsets : array (r, d)
        How far a regime's mean is from that of all samples, in standard deviations.
    low, high : arrays (r, d)
        The range of the middle four fifths of a regime's samples, in units.
    lowest, highest : arrays (d,)
        The same of all samples.
    target_means : array (r, m)
    errors : array (r, m)
        The root mean squared error of a regime's equation on its own samples.
    """

    labels: NDArray[np.intp]
    sizes: Array
    models: Array
    offsets: Array
    low: Array
    high: Array
    lowest: Array
    highest: Array
    target_means: Array
    errors: Array


def regimes_of(view: ModelView) -> Regimes:
    """The regimes of a fitted model, from its training samples."""
    X, _, v = view.samples
    of_label = np.bincount(view.estimator.labels_, v).astype(np.float64)
    order = np.argsort(-of_label, kind="stable")
    labels = order[of_label[order] > 0]
    members = [view.of_regime(label) for label in labels]
    models = view.estimator.regime_model.anchor_models_[labels]
    mean, scale = np.average(X, axis=0, weights=v), deviations(X, v)
    means = np.array([np.average(own.inputs, axis=0, weights=own.weights) for own in members])
    lowest, highest = weighted_quantiles(X, v, MIDDLE)
    ranges = np.array([weighted_quantiles(own.inputs, own.weights, MIDDLE) for own in members])
    return Regimes(
        labels=labels,
        sizes=of_label[labels],
        models=models,
        offsets=(means - mean) / np.where(scale > 0, scale, 1.0),
        low=ranges[:, 0],
        high=ranges[:, 1],
        lowest=lowest,
        highest=highest,
        target_means=np.array(
            [np.average(own.targets, axis=0, weights=own.weights) for own in members]
        ),
        errors=np.array([_error(view, *pair) for pair in zip(models, members, strict=True)]),
    )


def _error(view: ModelView, model: Array, samples: Samples) -> Array:
    """The root mean squared error (m,) of an equation (d + 1, m) on samples."""
    prediction = view.space.regressors(samples.inputs) @ model[:-1] + model[-1]
    squares = (samples.targets - prediction) ** 2
    return np.sqrt(np.average(squares, axis=0, weights=samples.weights))


def distinguishing(view: ModelView, regimes: Regimes, r: int, limit: int) -> list[dict[str, Any]]:
    """What sets a regime's samples apart, the clearest first, at most once per column.

    Each entry has the column's ``feature``, the ``offset`` of the regime's mean in standard
    deviations and, for numbers, the ``range`` of most samples in words, and on which ``side`` of
    the others it is: "mostly" where it is among them. For text it has the ``category`` that differs
    most, its ``share`` in the regime and ``overall``.
    """
    found: dict[int, dict[str, Any]] = {}
    offsets = regimes.offsets[r]
    for feature in np.argsort(-np.abs(offsets), kind="stable"):
        if abs(offsets[feature]) < LEAST_OFFSET or len(found) == limit:
            break
        j = int(view.column_numbers[feature])
        apart = None if j in found else _set_apart(view, regimes, r, int(feature))
        if apart is not None:
            found[j] = apart | {"offset": float(offsets[feature])}
    return list(found.values())


def _set_apart(view: ModelView, regimes: Regimes, r: int, feature: int) -> dict[str, Any] | None:
    """How a feature sets a regime apart; None where it does not."""
    j = int(view.column_numbers[feature])
    column, choices = view.columns[j], view.choices(j)
    within = feature - view.features_of(j).start
    own = view.of_regime(regimes.labels[r])
    if isinstance(column, Cyclic):
        X, _, weights = view.samples
        inside = view.estimator.labels_ == regimes.labels[r]
        on_circle = column.on_circle(within, X[:, view.features_of(j)], weights, inside)
        if on_circle is not None:
            cycle, where = on_circle
            if not where:
                return None
            return {"feature": f"{column.name}: {cycle}", "side": "mostly", "range": where}
    is_gap = column.kind == "number" and within > 0  # 1 where the number is missing
    if is_gap or (choices is not None and view.is_one_hot(j)):
        share, overall = (
            float(np.average(some.inputs[:, feature], weights=some.weights))
            for some in (own, view.samples)
        )
        category = MISSING if is_gap or choices is None else choices[within]
        if abs(share - overall) < LEAST_MORE:
            return None
        return {"feature": column.name, "category": category, "share": share, "overall": overall}
    low, high = float(regimes.low[r, feature]), float(regimes.high[r, feature])
    is_day = column.kind == "date" and within == 0
    ends = [number(low), number(high)] if within else view.in_words(j, [low, high])
    sides = ("early", "late") if is_day else ("low", "high")
    side = sides[int(regimes.offsets[r, feature] > 0)]
    if regimes.lowest[feature] < low and high < regimes.highest[feature]:
        side = "mostly"
    return {
        "feature": column.feature_names[within],
        "side": side,
        "range": _between(ends, "" if is_day or within else column.unit),
    }


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
        if "range" in found and found["side"] != "mostly":
            return f"{shorten(found['feature'])} {found['range']}"
    return ""


def _name(apart: list[dict[str, Any]]) -> str:
    words = []
    for found in apart:
        name = shorten(found["feature"])
        if "category" in found:
            more, text = found["offset"] > 0, shorten(found["category"], 20)
            words.append(f"{name} {'more' if more else 'less'} often {text}")
        elif found["side"] == "mostly":
            words.append(f"{name} {found['range']}")
        else:
            words.append(f"{found['side']} {name}")
    return ", ".join(words) or "spread over all rows"
