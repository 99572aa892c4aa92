"""Growing a tree that splits where one linear model no longer holds.

The targets of a node are the residuals of the models above it, and its own model is a ridge
regression of them, so slopes are pulled towards those of the parent. The best split is the one
whose two models have the smallest rest: squared residuals plus the penalty of the slopes. The rest
is computed from moments: sums over samples of the products of every two of the `columns` (n, c),
which are a one, the regressors and the targets.
"""

import numpy as np

from ..compiler import njit


@njit(cache=True, nogil=True)
def grow_tree(ranks, columns, mass, n_regressors, n_tried, min_leaf, ridge, orders, places):
    """Children (-1 for a leaf), feature and rank of each node, and the gains of the features.

    Points whose rank in the feature is at most the rank of the node go to the left.

    Parameters
    ----------
    ranks : (n, d) positions of the features' values among their distinct values
    columns, mass : (n, c) and (n,); the first `n_regressors` columns, with the one, make the models
    n_tried : how many features a split tries
    min_leaf : samples that a leaf has at least
    orders, places : (N, d) and (N, k), for each of at most N nodes the order in which features
        are tried, and the samples at whose values they are cut, as shares of the node's samples
    """
    columns, rows = columns.copy(), np.arange(len(columns))
    n_nodes = len(orders)
    left, right = np.full(n_nodes, -1), np.full(n_nodes, -1)
    feature, rank = np.full(n_nodes, -1), np.zeros(n_nodes)
    gains = np.zeros(ranks.shape[1])
    start, end = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    end[0], grown = len(rows), 1
    for node in range(n_nodes):  # level by level: children come after all nodes so far
        if node == grown:
            break
        own = rows[start[node] : end[node]].copy()
        if len(own) < 2 * min_leaf or grown + 2 > n_nodes:
            continue
        _take_away_model(columns, mass, own, n_regressors, ridge)
        split, at, gain = _best_split(
            ranks,
            own,
            columns,
            mass,
            n_regressors,
            n_tried,
            min_leaf,
            ridge,
            orders[node],
            places[node],
        )
        if gain <= 0:
            continue
        feature[node], rank[node] = split, at
        gains[split] += gain
        goes_left = ranks[own, split] <= at
        middle = start[node] + goes_left.sum()
        rows[start[node] : middle] = own[goes_left]
        rows[middle : end[node]] = own[~goes_left]
        left[node], right[node] = grown, grown + 1
        start[grown], end[grown] = start[node], middle
        start[grown + 1], end[grown + 1] = middle, end[node]
        grown += 2
    return left[:grown], right[:grown], feature[:grown], rank[:grown], gains


@njit(cache=True, nogil=True)
def _best_split(
    ranks, rows, columns, mass, n_regressors, n_tried, min_leaf, ridge, features, places
):
    """The feature and rank of the split with the smallest rest, and how much it lowers the rest."""
    moments = _moments(columns, mass, rows)
    now = np.trace(moments[n_regressors:, n_regressors:])
    chosen = rows[(places * len(rows)).astype(np.int64)]
    below = np.arange(len(chosen)) % 2
    best, split, at, tried = now, -1, 0.0, 0
    for f in features:
        if tried == n_tried:
            break
        # Alternately right above and right below a sample: a rare value may be high or low.
        cuts = np.sort(ranks[chosen, f] - below)
        rest, cut = _best_cut(
            ranks[rows, f], cuts, columns, mass, rows, moments, n_regressors, min_leaf, ridge
        )
        tried += rest < np.inf  # a feature that cannot be cut here does not count
        if rest < best:
            best, split, at = rest, f, cut
    return split, at, now - best


@njit(cache=True, nogil=True)
def _best_cut(values, cuts, columns, mass, rows, moments, n_regressors, min_leaf, ridge):
    """The smallest rest of models on both sides of a cut, and the rank to cut at.

    `cuts` are sorted, and samples up to a cut are on its lower side. The rest is infinite if no cut
    leaves enough samples on both sides.
    """
    k, c = len(cuts), len(moments)
    between, count = np.zeros((k + 1, c, c)), np.zeros(k + 1, np.int64)
    lowest = np.full(k + 1, np.inf)  # of the values in each part
    for j, i in enumerate(rows):
        part = 0
        while part < k and values[j] > cuts[part]:
            part += 1
        _add_products(columns[i], mass[i], between[part])
        count[part] += 1
        lowest[part] = min(lowest[part], values[j])
    factor = np.empty((c, n_regressors))
    below, n_below = np.zeros((c, c)), 0
    least, at = np.inf, 0.0
    for part in range(k):
        below += between[part]
        n_below += count[part]
        if count[part] > 0 and min_leaf <= n_below <= len(rows) - min_leaf:
            rest = _regress(below, n_regressors, ridge, factor)
            rest += _regress(moments - below, n_regressors, ridge, factor)
            if rest < least:
                least, at = rest, (cuts[part] + lowest[part + 1 :].min()) / 2
    return least, at


@njit(cache=True, nogil=True)
def _moments(columns, mass, rows):
    """The moments of these samples, (c, c); only the lower triangle is filled."""
    moments = np.zeros((columns.shape[1], columns.shape[1]))
    for i in rows:
        _add_products(columns[i], mass[i], moments)
    return moments


@njit(cache=True, nogil=True)
def _add_products(row, mass, moments):
    for a in range(len(row)):
        scaled = mass * row[a]
        for b in range(a + 1):
            moments[a, b] += scaled * row[b]


@njit(cache=True, nogil=True)
def _regress(moments, n_regressors, ridge, factor):
    """The rest of a ridge regression with these moments; the constant has no penalty.

    Writes the model's columns of the Cholesky factor to `factor` (c, n_regressors).
    """
    c = len(moments)
    for b in range(n_regressors):
        pivot = moments[b, b]
        for t in range(b):
            pivot -= factor[b, t] ** 2
        # Without mass there is no constant to find.
        pivot = np.sqrt(max(pivot + (ridge if b > 0 else 0.0), 1e-300))
        factor[b, b] = pivot
        for a in range(b + 1, c):
            value = moments[a, b]
            for t in range(b):
                value -= factor[a, t] * factor[b, t]
            factor[a, b] = value / pivot
    rest = 0.0
    for a in range(n_regressors, c):
        value = moments[a, a]
        for t in range(n_regressors):
            value -= factor[a, t] ** 2
        rest += max(value, 0.0)
    return rest


@njit(cache=True, nogil=True)
def _take_away_model(columns, mass, rows, n_regressors, ridge):
    """Subtract from the targets of these samples what their ridge regression predicts."""
    c = columns.shape[1]
    factor, coef = np.empty((c, n_regressors)), np.empty(n_regressors)
    _regress(_moments(columns, mass, rows), n_regressors, ridge, factor)
    for target in range(n_regressors, c):
        for a in range(n_regressors - 1, -1, -1):
            value = factor[target, a]
            for t in range(a + 1, n_regressors):
                value -= factor[t, a] * coef[t]
            coef[a] = value / factor[a, a]
        for i in rows:
            for a in range(n_regressors):
                columns[i, target] -= columns[i, a] * coef[a]
