"""What the neighbours of a query have in common, and what that adds to their level, in words.

The level of its neighbours decides most of a prediction, and these words say who they are: "hour 2
(−120)" reads as hour 2 on average, which adds −120 to the level.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..runtime.chunks import row_chunks
from .interface import Explanation
from .level_shares import level_shares
from .text import number, shorten, signed
from .view import MISSING, NOISE, OTHER, ModelView, by_feature

Array = NDArray[np.float64]

# A column is named if it adds at least this part of what the column adds that adds most.
TELLING = 0.1
# A text that nearly all neighbours have needs no "mostly", and one that few have is "often" there.
NEARLY_ALL, MOST = 0.9, 0.5


@dataclass(frozen=True)
class Trait:
    """A column in which neighbours are alike, and what it adds to their level.

    Attributes
    ----------
    name : str
        Of the column.
    value : float, str or None
        The neighbours' mean, or the text that most of them have; None where that is missing.
    part : float
        How many of the neighbours have the text, by weight; 1 for numbers.
    adds : float
        What the column adds to the level, in the units of the target.
    """

    name: str
    value: float | str | None
    part: float
    adds: float

    def __str__(self) -> str:
        name = shorten(self.name)
        if isinstance(self.value, float):
            return f"{name} {number(self.value)} ({signed(self.adds)})"
        text = MISSING if self.value is None else shorten(self.value, 20)
        word = "" if self.part >= NEARLY_ALL else "mostly " if self.part >= MOST else "often "
        return f"{name} {word}{text} ({signed(self.adds)})"


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
    encoded = by_feature(why)
    means, shares = neighbor_means(view.samples.inputs, encoded), level_shares(view, why)
    scale = np.abs(why.baseline) + np.abs(why.neighborhood_part)
    return [
        [
            _traits_of(view, here, of_row[:, t], NOISE * scale[i, t], limit)
            for t in range(shares.shape[2])
        ]
        for i, (here, of_row) in enumerate(zip(means, shares, strict=True))
    ]


def _traits_of(
    view: ModelView, means: Array, shares: Array, noise: float, limit: int
) -> list[Trait]:
    """The traits of one query and target, from the means (d,) and the shares (c,) of columns."""
    sizes = np.abs(shares)
    least = max(TELLING * sizes.max(), noise)
    order = np.argsort(-sizes, kind="stable")[:limit]
    return [_trait(view, means, int(j), float(shares[j])) for j in order if sizes[j] > least]


def _trait(view: ModelView, means: Array, j: int, adds: float) -> Trait:
    column, here = view.columns[j], means[view.features_of(j)]
    if not view.is_one_hot(j):
        (cell,) = view.cells_of(j, here[None])
        return Trait(column.name, cell, 1.0, adds)
    shares = np.append(here, max(0.0, 1.0 - here.sum()))
    best = int(shares.argmax())
    return Trait(column.name, [*column.texts, OTHER][best], float(shares[best]), adds)


def neighbor_texts(view: ModelView, why: Explanation) -> list[list[str]]:
    """What the neighbours of each query have in each column, as text, (q, c).

    Of numbers their weighted mean; of text, how many of them have the text of the query.
    """
    encoded = by_feature(why)
    means = neighbor_means(view.samples.inputs, encoded)
    positions = view.positions(np.asarray(encoded.X, dtype=np.float64))
    out = []
    for here, position in zip(means, positions, strict=True):
        line = []
        for j in range(len(view.columns)):
            of_column = here[view.features_of(j)]
            if view.is_one_hot(j):
                shares = np.append(of_column, max(0.0, 1.0 - of_column.sum()))
                line.append(f"{shares[int(position[j])]:.0%}")
            else:
                (cell,) = view.cells_of(j, of_column[None])
                text = MISSING if cell is None else str(cell)
                line.append(number(cell) if isinstance(cell, float) else text)
        out.append(line)
    return out


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
