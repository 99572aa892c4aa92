"""The level of a query's neighbours, divided among the columns.

The level adds most to many predictions, and belongs to all columns together. What a column adds in
all is its Shapley value, by the model's own predictions. What it adds because the row differs from
its neighbours in it is known exactly. The rest of its Shapley value is its share of the level. For
a model that is linear everywhere, that is its slope times the difference of the neighbours' mean
from the mean of all. Axis letters as in `interface`.
"""

import numpy as np
from numpy.typing import NDArray

from .interface import Explanation
from .shapley_paths import draw_orders, shapley_values
from .view import ModelView, Samples, by_feature, deviations

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

# Samples that stand for all: fewer where there are many columns, since the path from one of them to
# a row has one prediction per column. They do not depend on how many rows are explained, so that a
# row has the same shares wherever it is. Shares are off by about 15 % where there are so few.
MOST_SAMPLES, LEAST_SAMPLES, STEPS_PER_ROW = 80, 20, 160
# How many sets of such samples are compared.
N_DRAWS = 200


def level_shares(view: ModelView, why: Explanation) -> Array:
    """What each column adds to the level of the neighbours, (q, c, m).

    The shares of a query add up to its `neighborhood_part`, to rounding.

    Parameters
    ----------
    view : the model
    why : an explanation of q queries by this model
    """
    c = why.difference_parts.shape[1]
    limit = 2 * (STEPS_PER_ROW // (2 * c))  # even: orders come in pairs
    general = samples_in_general(view.samples, min(MOST_SAMPLES, max(LEAST_SAMPLES, limit)))
    orders = pairs_of_orders(len(general), c)

    def predict(inputs: Array, query: Numbers) -> Array:
        return why.model.predict_checked(
            inputs, None if why.samples is None else why.samples[query]
        )

    rows = np.asarray(by_feature(why).X, dtype=np.float64)
    background = view.samples.inputs[general]
    values = shapley_values(predict, rows, background, view.column_numbers, orders)
    shares = values - why.difference_parts
    # These samples are not quite at the mean of all: what is left goes to the columns by the size
    # of their shares, and none to a column that tells nothing.
    sizes = np.abs(shares) + np.finfo(np.float64).tiny
    rest = why.neighborhood_part - shares.sum(axis=1)
    return shares + rest[:, None] * sizes / sizes.sum(axis=1, keepdims=True)


def samples_in_general(samples: Samples, limit: int) -> Numbers:
    """Numbers of at most `limit` samples that stand for all.

    One is drawn from each of as many equal parts of the samples, by their weights, from the lowest
    to the highest target (of classes, one class after the other). Of many such draws, it is that
    whose mean inputs are nearest to those of all samples, in standard deviations.
    """
    X, Y, weights = samples
    counted = np.flatnonzero(weights > 0)
    order, n = counted[np.lexsort(Y[counted].T[::-1])], min(limit, len(counted))
    upto = np.cumsum(weights[order])
    parts = np.arange(n) + np.random.RandomState(0).random_sample((N_DRAWS, n))
    places = np.searchsorted(upto, parts * upto[-1] / n, side="right")
    drawn = order[np.minimum(places, len(order) - 1)]
    scale = deviations(X, weights)
    mean = np.average(X, axis=0, weights=weights)
    apart = (X[drawn].mean(axis=1) - mean) / np.where(scale > 0, scale, 1.0)
    return drawn[(apart**2).sum(axis=1).argmin()]


def pairs_of_orders(b: int, c: int) -> Numbers:
    """One order of c columns per sample, (b, 1, c): the next sample has the reverse."""
    pairs = draw_orders(-(-b // 2), 2, c, np.random.RandomState(0))
    return pairs.reshape(-1, 1, c)[:b]
