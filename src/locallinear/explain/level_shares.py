"""The level of a query's neighbours, divided among the columns in which they are alike.

The level adds most to many predictions, and belongs to all columns together. Here a set of columns
is worth the mean target of the samples that are like the neighbours in these columns: of no column
that is the mean of all samples, of all columns the level itself. The shares are the Shapley values
of this game, so an hour that matters only on working days has its part. They cost no prediction.
Axis letters as in `interface`; s samples that stand for all, P orders of the columns.
"""

import numpy as np
from numpy.typing import NDArray

from .interface import Explanation
from .selection import sampled
from .view import ModelView, by_feature

Array = NDArray[np.float64]

MOST_SAMPLES = 2000
# Orders in which columns come in, each beside its reverse.
N_PAIRS = 4
# A sample is like the neighbours in a number that is within two of their standard deviations, and
# at least within this part of that of all samples.
WIDTH, LEAST_WIDTH = 2.0, 0.1


def level_shares(view: ModelView, why: Explanation, means: Array, spreads: Array) -> Array:
    """What each column adds to the level of the neighbours, (q, c, m).

    The shares of a query add up to its `neighborhood_part`, to rounding.

    Parameters
    ----------
    view : the model
    why : an explanation of q queries
    means, spreads : (q, d)
        Of each query's neighbours, by feature of the estimator.
    """
    X, Y = view.samples
    some = sampled(len(X), MOST_SAMPLES)
    X, Y, least = X[some], Y[some], LEAST_WIDTH * X.std(axis=0)
    orders = _orders(len(view.columns))
    out = np.empty((len(means), len(view.columns), Y.shape[1]))
    level = by_feature(why).neighborhood_part + why.baseline
    for i, (mean, spread) in enumerate(zip(means, spreads, strict=True)):
        alike = _alike(view, X, mean, np.maximum(WIDTH * spread, least))
        out[i] = _shares(alike, Y, why.baseline, level[i], orders)
    return out


def _orders(c: int) -> NDArray[np.intp]:
    """Orders of c columns, (P, c): the same for every query."""
    rng = np.random.default_rng(0)
    half = [rng.permutation(c) for _ in range(N_PAIRS)]
    return np.array([order for one in half for order in (one, one[::-1])])


def _alike(view: ModelView, X: Array, mean: Array, width: Array) -> Array:
    """How far samples (s, d) are like the neighbours in each column, (c, s), from 0 to 1."""
    out = np.empty((len(view.columns), len(X)))
    for j in range(len(view.columns)):
        features = view.features_of(j)
        if not view.is_one_hot(j):
            first = features.start
            room = width[first] + 1e-9 * abs(mean[first])
            out[j] = np.abs(X[:, first] - mean[first]) <= room
            continue
        shares = np.append(mean[features], max(0.0, 1.0 - mean[features].sum()))
        here = X[:, features]
        held = np.column_stack([here, 1.0 - here.sum(axis=1)])  # the last: another text
        out[j] = held @ (shares / shares.max())
    return out


def _shares(alike: Array, Y: Array, base: Array, level: Array, orders: NDArray[np.intp]) -> Array:
    """Shapley values (c, m) of columns, in P orders (P, c), from likeness (c, s) and targets."""
    c, m = len(alike), Y.shape[1]
    found = np.zeros((c, m))
    for order in orders:
        inside = np.cumprod(np.vstack([np.ones(len(Y)), alike[order]]), axis=0)
        # One sample at the level stands in where no sample is like the neighbours.
        worth = (inside @ Y + level) / (inside.sum(axis=1, keepdims=True) + 1.0)
        found[order] += np.diff(worth, axis=0)
    found /= len(orders)
    # Samples that are like the neighbours in all columns are not quite at the level: what is left
    # goes to the columns by the size of their shares, and none to a column that tells nothing.
    sizes = np.abs(found) + np.finfo(np.float64).tiny
    return found + (level - base - found.sum(axis=0)) * sizes / sizes.sum(axis=0)
