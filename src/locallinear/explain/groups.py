"""For whom an effect is different: groups of rows with other slopes, by conditions on columns.

Axis letters: q rows, c columns.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .interface import Explanation
from .text import per, shorten
from .view import ModelView, by_feature

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# The features whose slopes are compared between groups: the most important ones, and none whose
# importance is below this part of the largest.
MOST_FEATURES = 5
LEAST_IMPORTANCE = 0.1
MOST_GROUPS = 3
# A group has so many rows at least, and so large a part of all.
LEAST_ROWS, LEAST_SHARE = 10, 0.1
# A split has to explain this part of the variance of the slopes, and all splits that much.
LEAST_GAIN, LEAST_EXPLAINED = 0.1, 0.3
# Over a standard deviation of the feature, slopes are this part of its importance apart.
LEAST_CHANGE = 0.1
# Rows are split by the most important columns only.
MOST_COLUMNS = 20
# Of a longer list of texts, the others are named, or only these first ones.
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Condition:
    """What the rows of a group have in a column.

    Attributes
    ----------
    text : str
        In words, with the column's name.
    rows : array (q,)
        Which rows meet it.
    """

    text: str
    rows: Mask


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that meet some conditions."""

    conditions: tuple[Condition, ...]
    rows: Mask

    @property
    def name(self) -> str:
        """The conditions in words."""
        return " and ".join(condition.text for condition in self.conditions) or "all rows"


def groups_section(
    view: ModelView, why: Explanation, importance: Array, target: int
) -> list[dict[str, Any]]:
    """The important features whose slopes differ between groups of rows, most different first.

    How much they differ is the change of the prediction per standard deviation of the feature. Each
    entry has the ``feature``, what its slopes are ``per``, the share of the variance of its
    slopes that the groups ``explained``, and the ``groups``: ``name``, ``n_rows`` and the median
    ``slope``.
    """
    inputs = np.asarray(by_feature(why).X, dtype=np.float64)
    # What rounding leaves of slopes that are zero differs between rows as well.
    slopes = np.where(view.counting(why), why.slopes, 0.0)[:, :, target]
    order = np.argsort(-importance, kind="stable").tolist()
    found: list[tuple[float, dict[str, Any]]] = []
    for j in order[:MOST_FEATURES]:
        if importance[j] <= LEAST_IMPORTANCE * importance.max() or not view.has_slope(j):
            continue
        # How an effect changes with the feature itself is a curve and no group.
        others = [k for k in order[:MOST_COLUMNS] if k != j]
        groups, explained = split_rows(view, inputs, slopes[:, j], others)
        entry = _entry(groups, slopes[:, j])
        spread = inputs[:, view.features_of(j).start].std()
        apart = float(np.ptp([group["slope"] for group in entry]) * spread)
        if explained >= LEAST_EXPLAINED and apart >= LEAST_CHANGE * importance[j]:
            about = {"feature": view.names[j], "per": per(view.columns[j].unit)}
            found.append((apart, about | {"explained": explained, "groups": entry}))
    return [entry for _, entry in sorted(found, key=lambda pair: -pair[0])]


def _entry(groups: list[Group], slopes: Array) -> list[dict[str, Any]]:
    """The groups as data, the largest first."""
    return [
        {
            "name": group.name,
            "n_rows": int(group.rows.sum()),
            "slope": float(np.median(slopes[group.rows])),
        }
        for group in sorted(groups, key=lambda group: -int(group.rows.sum()))
    ]


def split_rows(
    view: ModelView, inputs: Array, values: Array, columns: list[int]
) -> tuple[list[Group], float]:
    """Groups of rows with unlike values (q,), and the share of the variance that they explain.

    One split by one of the columns after the other, each where it explains most.
    """
    low, high = np.quantile(values, [0.02, 0.98])
    values = np.clip(values, low, high)  # a single steep row is no group
    total = ((values - values.mean()) ** 2).sum()
    groups = [Group((), np.ones(len(values), dtype=bool))]
    if total <= 0:
        return groups, 0.0
    least = max(LEAST_ROWS, int(np.ceil(LEAST_SHARE * len(values))))
    explained = 0.0
    while len(groups) < MOST_GROUPS:
        splits = [_best_split(view, inputs, values, group, columns, least) for group in groups]
        best = int(np.argmax([gain for gain, _ in splits]))
        gain, pair = splits[best]
        if pair is None or gain < LEAST_GAIN * total:
            break
        explained += gain / total
        parts = [_narrowed(groups[best], condition) for condition in pair]
        groups = [*groups[:best], *parts, *groups[best + 1 :]]
    return groups, float(explained)


def _narrowed(group: Group, condition: Condition) -> Group:
    """The rows of a group that meet a further condition; an earlier one that it implies goes."""
    needed = [one for one in group.conditions if np.any(condition.rows & ~one.rows)]
    return Group((*needed, condition), group.rows & condition.rows)


def _best_split(
    view: ModelView, inputs: Array, values: Array, group: Group, columns: list[int], least: int
) -> tuple[float, tuple[Condition, Condition] | None]:
    """The split of a group that explains most, and how much of the squares it explains."""
    best: tuple[float, tuple[Condition, Condition] | None] = (0.0, None)
    positions = view.positions(inputs)
    here = values[group.rows]
    for j in columns:
        choices = view.choices(j)
        cells = inputs[:, view.features_of(j).start] if choices is None else positions[:, j]
        order, key = np.unique(cells[group.rows], return_inverse=True)
        if choices is not None:  # by the mean value: the best split is between two of them
            by_mean = np.argsort(np.bincount(key, here) / np.bincount(key), kind="stable")
            order, key = order[by_mean], np.argsort(by_mean)[key]
        gain, cut = best_cut(here, key, least)
        if gain > best[0]:
            low, high = np.isin(cells, order[:cut]), np.isin(cells, order[cut:])
            if choices is None:  # whatever rows outside the group have between the two
                low, high = cells <= order[cut - 1], cells > order[cut - 1]
            texts = _sides(view, j, order, cut)
            best = gain, (Condition(texts[0], low), Condition(texts[1], high))
    return best


def best_cut(values: Array, key: NDArray[np.intp], least: int) -> tuple[float, int]:
    """The number at which to cut rows in two by their keys, and how much of the squares that saves.

    Both sides have `least` rows or more; (0, 0) where that is not possible.
    """
    counts = np.bincount(key).cumsum()[:-1]
    sums = np.bincount(key, values).cumsum()[:-1]
    fits = (counts >= least) & (len(key) - counts >= least)
    if not fits.any():
        return 0.0, 0
    rest = np.maximum(len(key) - counts, 1)
    apart = sums / counts - (values.sum() - sums) / rest
    gains = np.where(fits, counts * rest / len(key) * apart**2, 0.0)
    return float(gains.max()), int(gains.argmax()) + 1


def _sides(view: ModelView, j: int, order: NDArray, cut: int) -> tuple[str, str]:
    """Both sides of a split, in words."""
    name, choices = shorten(view.names[j]), view.choices(j)
    if choices is None:
        (at,) = view.in_words(j, [float(order[cut - 1] + order[cut]) / 2])
        if view.columns[j].kind == "date":
            return f"{name} before {at}", f"{name} after {at}"
        at = f"{at} {view.columns[j].unit}".rstrip()
        return f"{name} below {at}", f"{name} above {at}"
    low, high = ([choices[int(k)] for k in side] for side in (order[:cut], order[cut:]))
    if len(low) > MOST_NAMED >= len(high):
        return f"{name} not {_listed(high)}", f"{name} {_listed(high)}"
    if len(high) > MOST_NAMED >= len(low):
        return f"{name} {_listed(low)}", f"{name} not {_listed(low)}"
    return f"{name} {_listed(low)}", f"{name} {_listed(high)}"


def _listed(texts: list[str]) -> str:
    """Some texts, at most three of them by name."""
    named = [shorten(text, 20) for text in texts[:MOST_NAMED]]
    if len(texts) > MOST_NAMED:
        return f"{', '.join(named)} or {len(texts) - MOST_NAMED} more"
    return " or ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
