"""Shapley values of any predictions, by paths from background rows to the query.

A path starts at a background row and replaces its values by the query's, one feature after the
other in a random order; each feature gets the change of the prediction at its step. The mean over
all orders and background rows is the Shapley value, where a coalition's worth is the mean
prediction with the other features taken from the background. Each background row has orders of its
own, so that few orders per row are many in all. An order comes with its reverse: where the one
adds a feature early, the other adds it late, and much of the chance cancels.

Whatever the orders, the steps of a path add up to the prediction minus that of its background row.
So the values of a query add up exactly to its prediction minus the background's mean prediction.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..runtime.chunks import row_chunks

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Inputs (p, d), and the number of the query that each stands for, (p,), to predictions (p, m).
Predict = Callable[[Array, Rows], Array]


def shapley_values(
    predict: Predict,
    X: Array,
    background: Array,
    groups: Rows,
    orders: Rows,
) -> Array:
    """Shapley values (q, c, m) of c groups of features, which are replaced together.

    The orders are the same for all queries: a query's values do not depend on the other queries.

    Parameters
    ----------
    predict : the model
    X, background : (q, d), (b, d)
    groups : (d,) the group of each feature, in ascending order
    orders : (b, R, c) in which the groups are replaced, from `draw_orders`
    """
    q, (b, n_permutations, c) = len(X), orders.shape
    at_queries = predict(X, np.arange(q))
    values = np.zeros((q, c, at_queries.shape[1]))
    # One pair of a query and a background row after the other, so that memory is bounded.
    for chunk in row_chunks(q * b, n_permutations * (c + 1) * X.shape[1] * 8):
        query, start = np.divmod(np.arange(chunk.start, chunk.stop), b)
        inputs, new = paths(X[query], background[start], groups, orders[start])
        found = np.empty((*new.shape, values.shape[2]))
        found[:, :, 0] = predict(background[start], query)[:, None]
        found[:, :, -1] = at_queries[query][:, None]
        inner = np.argwhere(new[:, :, 1:-1])
        if len(inner):
            pair, order, step = inner.T
            found[pair, order, step + 1] = predict(inputs[pair, order, step], query[pair])
        # A step that changes no value changes no prediction: it repeats the one before.
        source = np.maximum.accumulate(np.where(new, np.arange(c + 1), 0), axis=2)
        changes = np.diff(np.take_along_axis(found, source[..., None], axis=2), axis=2)
        of_groups = np.empty_like(changes)
        np.put_along_axis(of_groups, orders[start][..., None], changes, axis=2)
        np.add.at(values, query, of_groups.sum(axis=1))
    return values / (b * n_permutations)


def draw_orders(b: int, n_permutations: int, c: int, rng: np.random.RandomState) -> Rows:
    """Random orders of c groups, (b, n_permutations, c): each is followed by its reverse."""
    drawn = rng.random_sample((b, -(-n_permutations // 2), c)).argsort(axis=2)
    both = np.stack([drawn, drawn[:, :, ::-1]], axis=2)
    return both.reshape(b, -1, c)[:, :n_permutations]


def paths(
    X: Array, background: Array, groups: Rows, orders: Rows
) -> tuple[Array, NDArray[np.bool_]]:
    """Inputs on the way from background rows to queries, and which steps change a value.

    Parameters
    ----------
    X, background : (p, d) where paths end and start
    groups : (d,)
    orders : (p, R, c)

    Returns
    -------
    inputs : (p, R, c - 1, d) between both ends
    new : (p, R, c + 1) whether a step changes anything; both ends count as new
    """
    c = orders.shape[2]
    turn = orders.argsort(axis=2)  # the step at which each group is replaced
    replaced = turn[:, :, None, groups] < np.arange(1, c)[:, None]
    inputs = np.where(replaced, X[:, None, None, :], background[:, None, None, :])
    differs = np.logical_or.reduceat(background != X, np.searchsorted(groups, range(c)), axis=1)
    new = np.ones((*orders.shape[:2], c + 1), dtype=bool)
    new[:, :, 1:-1] = np.take_along_axis(differs[:, None], orders, axis=2)[:, :, :-1]
    return inputs, new
