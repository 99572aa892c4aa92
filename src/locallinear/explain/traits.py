"""What the neighbours of a query have in common, and what that adds to their level, in words.

The level of its neighbours decides most of a prediction, and these words say who they are: "hour 2
(−120)" reads as hour 2 on average, which adds about −120 to the level.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..runtime.chunks import row_chunks
from .interface import Cyclic, Explanation
from .level_shares import level_shares
from .text import number, rough, shorten
from .view import MISSING, NOISE, OTHER, ModelView, by_feature

Array = NDArray[np.float64]

# A column is named if it adds at least this part of what the column adds that adds most.
TELLING = 0.1
# A text that nearly all neighbours have needs no "mostly", and one that few have is "often" there.
NEARLY_ALL, MOST = 0.9, 0.5
# So small a part of the neighbours is not told of.
FEW = 0.005


@dataclass(frozen=True)
class Trait:
    """A column in which neighbours are alike, and what it adds to their level.

    Attributes
    ----------
    name : str
        Of the column.
    value : float, str or None
        The neighbours' mean, the text that most of them have, or of dates where most of them are;
        None where that is missing.
    part : float
        How many of the neighbours have the text, by weight; 1 for numbers and dates.
    adds : float
        What the column adds to the level, in the units of the target.
    missing : float
        How many of the neighbours have no number or date, by weight; `value` is that of the others.
    """

    name: str
    value: float | str | None
    part: float
    adds: float
    missing: float = 0.0

    def __str__(self) -> str:
        word = "" if self.part >= NEARLY_ALL else "mostly " if self.part >= MOST else "often "
        text = f"{word}{_in_words(self.value, self.missing)}"
        return f"{shorten(self.name)} {text} ({rough(self.adds)})"


def common_traits(view: ModelView, why: Explanation, limit: int = 3) -> list[list[list[Trait]]]:
    """What the neighbours of each query have in common, that which adds most to their level first.

    Parameters
    ----------
    view : the model
    why : an explanation of q queries
    limit : how many traits a query has at most

    Returns
    -------
    traits : by query and target, a list
        Empty where the level is that of all samples.
    """
    shares = level_shares(view, why)
    scale = np.abs(why.baseline) + np.abs(why.neighborhood_part)
    return [
        [
            _traits_of(view, near, weights, shares[i, :, t], NOISE * scale[i, t], limit)
            for t in range(shares.shape[2])
        ]
        for i, (near, weights) in enumerate(_neighbors(view, why))
    ]


def _neighbors(view: ModelView, why: Explanation) -> Iterator[tuple[Array, Array]]:
    """The features (K, d) and the weights (K,) of each query's neighbours."""
    encoded, X = by_feature(why), view.samples.inputs
    for near, weights in zip(encoded.neighbors, encoded.neighbor_weights, strict=True):
        yield X[near], weights


def _traits_of(
    view: ModelView, near: Array, weights: Array, shares: Array, noise: float, limit: int
) -> list[Trait]:
    """The traits of one query and target, from its neighbours and the shares (c,) of columns."""
    sizes = np.abs(shares)
    least = max(TELLING * sizes.max(), noise)
    order = np.argsort(-sizes, kind="stable")[:limit]
    return [
        _trait(view, near, weights, int(j), float(shares[j])) for j in order if sizes[j] > least
    ]


def _trait(view: ModelView, near: Array, weights: Array, j: int, adds: float) -> Trait:
    column, features = view.columns[j], near[:, view.features_of(j)]
    if not view.is_one_hot(j):
        value, missing = _value(view, j, features, weights)
        return Trait(column.name, value, 1.0, adds, missing)
    shares = _shares(features, weights)
    best = int(shares.argmax())
    return Trait(column.name, [*column.texts, OTHER][best], float(shares[best]), adds)


def neighbor_texts(view: ModelView, why: Explanation) -> list[list[str]]:
    """What the neighbours of each query have in each column, as text, (q, c).

    Of numbers their weighted mean, and of dates where most are; of text, how many of them have the
    text of the query.
    """
    positions = view.positions(np.asarray(by_feature(why).X, dtype=np.float64))
    out = []
    for (near, weights), position in zip(_neighbors(view, why), positions, strict=True):
        line = []
        for j in range(len(view.columns)):
            features = near[:, view.features_of(j)]
            if view.is_one_hot(j):
                line.append(f"{_shares(features, weights)[int(position[j])]:.0%}")
            else:
                line.append(_in_words(*_value(view, j, features, weights)))
        out.append(line)
    return out


def _shares(features: Array, weights: Array) -> Array:
    """How many of the neighbours have each text (K + 1,), from 0/1 features; last another text."""
    shares = weights @ features
    return np.append(shares, max(0.0, 1.0 - shares.sum()))


def _value(
    view: ModelView, j: int, features: Array, weights: Array
) -> tuple[float | str | None, float]:
    """What neighbours (K, f) have in a column without categories, and how many have no value."""
    column = view.columns[j]
    known = features[:, -1] < 0.5 if column.has_gaps else np.ones(len(features), dtype=bool)
    here, total = weights[known], float(weights[known].sum())
    missing = 1.0 - total if column.has_gaps else 0.0
    if missing > 1.0 - FEW:
        return None, 1.0
    features, here = features[known], here / total
    if isinstance(column, Cyclic):
        return column.in_common(features, here), missing
    (cell,) = view.cells_of(j, (here @ features)[None])
    return cell, missing


def _in_words(value: float | str | None, missing: float) -> str:
    """A value that neighbours have, where some may have none."""
    if value is None:
        return MISSING
    text = number(value) if isinstance(value, float) else shorten(value, 60)
    return text if missing < FEW else f"{missing:.0%} {MISSING}, else {text}"


def neighbor_means(X: Array, why: Explanation) -> Array:
    """Weighted means of each query's neighbours, (q, d).

    Parameters
    ----------
    X : (n, d) the samples
    why : an explanation by feature of the estimator
    """
    q, K = why.neighbors.shape
    means = np.empty((q, X.shape[1]))
    for chunk in row_chunks(q, K * X.shape[1] * 8):
        weights = why.neighbor_weights[chunk]
        means[chunk] = np.einsum("qk,qkd->qd", weights, X[why.neighbors[chunk]])
    return means
