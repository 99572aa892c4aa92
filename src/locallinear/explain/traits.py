"""What the neighbours of a query have in common that other samples have not, in words.

The level of its neighbours decides most of a prediction, and these words say who they are: "hour 2
(11.5)" reads as hour 2 on average, where all samples have 11.5.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..runtime.chunks import row_chunks
from .interface import Explanation
from .text import number, shorten
from .view import MISSING, NOISE, ModelView, by_feature

Array = NDArray[np.float64]

# A mean counts as outside from so many standard deviations on.
CLEARLY = 0.1


@dataclass(frozen=True)
class Trait:
    """A column in which neighbours are alike and unlike the others.

    Attributes
    ----------
    name : str
        Of the column.
    value : float, str or None
        The neighbours' mean, or the text that they have more often than others; None where that
        text is missing.
    usual : float
        The mean of all samples, or the share of samples with that text.
    distance : float
        How far the mean of all lies outside the neighbours' own spread, in standard deviations of
        all samples.
    """

    name: str
    value: float | str | None
    usual: float
    distance: float

    def __str__(self) -> str:
        name = shorten(self.name)
        if isinstance(self.value, float):
            return f"{name} {number(self.value)} ({number(self.usual)})"
        text = MISSING if self.value is None else shorten(self.value, 20)
        return f"{name} {text} ({self.usual:.0%})"


def common_traits(view: ModelView, why: Explanation, limit: int = 3) -> list[list[Trait]]:
    """What sets the neighbours of each query apart, the most telling trait first.

    A column is named where the mean of all samples lies clearly outside the neighbours' weighted
    mean plus or minus their standard deviation. It is the more telling, the farther outside that
    mean lies, in standard deviations of all samples, and the more its features decide which samples
    are near.

    Parameters
    ----------
    view : the model
    why : an explanation of q queries
    limit : how many traits a query has at most

    Returns
    -------
    traits : list of q lists, empty where neighbours are as all samples are
    """
    X = view.samples[0]
    mean, spread = X.mean(axis=0), X.std(axis=0)
    mean = np.where(np.abs(mean) > NOISE * spread, mean, 0.0)
    means, spreads = neighbor_moments(X, by_feature(why))
    apart = np.abs(means - mean) - spreads
    distances = np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 0)
    weights = by_feature(why).feature_weights
    if weights is None:
        weights = np.ones(len(mean))
    of_rows = []
    for i, here in enumerate(means):
        found = []
        for j, column in enumerate(view.columns):
            features = view.features_of(j)
            best = features.start
            is_text = len(column.texts) == features.stop - features.start > 1
            if is_text:  # the text that they have more often than others do
                more = np.where(here > mean, distances[i], 0.0)[features]
                best += int(more.argmax())
                if not more.max() > CLEARLY:
                    continue
            if distances[i, best] > CLEARLY:
                value = column.texts[best - features.start] if is_text else float(here[best])
                trait = Trait(column.name, value, float(mean[best]), distances[i, best])
                found.append((weights[features].sum() * trait.distance**2, trait))
        found.sort(key=lambda pair: -pair[0])
        of_rows.append([trait for _, trait in found[:limit]])
    return of_rows


def neighbor_texts(view: ModelView, why: Explanation) -> list[list[str]]:
    """What the neighbours of each query have in each column, as text, (q, c).

    Of numbers their weighted mean; of text, how many of them have the text of the query.
    """
    encoded = by_feature(why)
    means, _ = neighbor_moments(view.samples[0], encoded)
    positions = view.positions(np.asarray(encoded.X, dtype=np.float64))
    out = []
    for here, position in zip(means, positions, strict=True):
        line = []
        for j, column in enumerate(view.columns):
            of_column = here[view.features_of(j)]
            if len(column.texts) == len(of_column) > 1:
                shares = np.append(of_column, max(0.0, 1.0 - of_column.sum()))
                line.append(f"{shares[int(position[j])]:.0%}")
            else:
                line.append(number(of_column[0]))
        out.append(line)
    return out


def neighbor_moments(X: Array, why: Explanation) -> tuple[Array, Array]:
    """Weighted means and standard deviations of each query's neighbours, both (q, d).

    Parameters
    ----------
    X : (n, d) the samples
    why : an explanation by feature of the estimator
    """
    q, K = why.neighbors.shape
    means, spreads = np.empty((q, X.shape[1])), np.empty((q, X.shape[1]))
    for chunk in row_chunks(q, 2 * K * X.shape[1] * 8):
        near, weights = X[why.neighbors[chunk]], why.neighbor_weights[chunk]
        means[chunk] = np.einsum("qk,qkd->qd", weights, near)
        offsets = near - means[chunk][:, None]
        spreads[chunk] = np.sqrt(np.einsum("qk,qkd->qd", weights, offsets**2))
    return means, spreads
