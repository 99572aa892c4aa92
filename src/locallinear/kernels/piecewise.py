"""Growing a tree that splits where one linear model stops to hold.

A node's targets are what its ancestors' models left over, and its own model is a ridge regression
of them: slopes are pulled towards the parent's. The best split is that which lets two models leave
over the least. All of it is computed from moments: of `columns` (n, c), which hold a one, the
regressors and the targets, the products of every two, summed over samples.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def grow_tree(ranks, rows, columns, mass, n_models, n_tried, min_leaf, ridge, orders, places):
    """Children (-1 for a leaf's), feature and rank of each node, and what splits of a feature won.

    Points whose rank in the feature is at most the node's go to the left.

    Parameters
    ----------
    ranks : (n, d) places of the features' values
    rows : (r,) the samples that the tree sees
    columns, mass : (n, c) and (n,); the first `n_models` columns are those of the models
    n_tried : how many features a split tries
    min_leaf : samples that a leaf has at least
    orders, places : (N, d) and (N, k), for each of at most N nodes the order in which the features
        are tried, and the samples above whose values they are cut, as parts of one of all its own
    """
    columns, rows = columns.copy(), rows.copy()
    n_nodes = len(orders)
    left, right = np.full(n_nodes, -1), np.full(n_nodes, -1)
    feature, rank = np.full(n_nodes, -1), np.zeros(n_nodes)
    won = np.zeros(ranks.shape[1])
    start, end = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    end[0], grown = len(rows), 1
    for node in range(n_nodes):  # level by level: children come after all that are there already
        if node == grown:
            break
        own = rows[start[node] : end[node]].copy()
        _take_away_model(columns, mass, own, n_models, ridge)
        if len(own) < 2 * min_leaf or grown + 2 > n_nodes:
            continue
        split, at, gain = _best_split(
            ranks,
            own,
            columns,
            mass,
            n_models,
            n_tried,
            min_leaf,
            ridge,
            orders[node],
            places[node],
        )
        if gain <= 0:
            continue
        feature[node], rank[node] = split, at
        won[split] += gain
        goes_left = ranks[own, split] <= at
        middle = start[node] + goes_left.sum()
        rows[start[node] : middle] = own[goes_left]
        rows[middle : end[node]] = own[~goes_left]
        left[node], right[node] = grown, grown + 1
        start[grown], end[grown] = start[node], middle
        start[grown + 1], end[grown + 1] = middle, end[node]
        grown += 2
    return left[:grown], right[:grown], feature[:grown], rank[:grown], won


@njit(cache=True, nogil=True)
def _best_split(ranks, rows, columns, mass, n_models, n_tried, min_leaf, ridge, features, places):
    """The feature and rank whose split lets models leave over the least, and how much that wins."""
    moments = _moments(columns, mass, rows)
    now = np.trace(moments[n_models:, n_models:])
    chosen = rows[(places * len(rows)).astype(np.int64)]
    best, split, at, tried = now, -1, 0.0, 0
    for f in features:
        if tried == n_tried:
            break
        cuts = np.sort(ranks[chosen, f])
        over, cut = _best_cut(
            ranks[rows, f], cuts, columns, mass, rows, moments, n_models, min_leaf, ridge
        )
        tried += over < np.inf  # one that cannot be cut here does not count
        if over < best:
            best, split, at = over, f, cut
    return split, at, now - best


@njit(cache=True, nogil=True)
def _moments(columns, mass, rows):
    """The moments of these samples, (c, c), of which the lower triangle is filled."""
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
def _leave_over(moments, n_models, ridge, factor):
    """The targets' squares that a ridge regression with these moments leaves over.

    Leaves in `factor` the columns of the Cholesky factor that belong to the model.
    """
    c = len(moments)
    for b in range(n_models):
        for a in range(b, c):
            value = moments[a, b]
            for t in range(b):
                value -= factor[a, t] * factor[b, t]
            if a == b:
                pivot = np.sqrt(max(value + (ridge if b > 0 else 0.0), 1e-300))
                factor[b, b] = pivot
            else:
                factor[a, b] = value / pivot
    over = 0.0
    for a in range(n_models, c):
        value = moments[a, a]
        for t in range(n_models):
            value -= factor[a, t] ** 2
        over += max(value, 0.0)
    return over


@njit(cache=True, nogil=True)
def _take_away_model(columns, mass, rows, n_models, ridge):
    """Take from the targets of these samples what their ridge regression predicts."""
    c = columns.shape[1]
    factor, coef = np.empty((c, n_models)), np.empty(n_models)
    _leave_over(_moments(columns, mass, rows), n_models, ridge, factor)
    for target in range(n_models, c):
        for a in range(n_models - 1, -1, -1):
            value = factor[target, a]
            for t in range(a + 1, n_models):
                value -= factor[t, a] * coef[t]
            coef[a] = value / factor[a, a]
        for i in rows:
            for a in range(n_models):
                columns[i, target] -= columns[i, a] * coef[a]


@njit(cache=True, nogil=True)
def _best_cut(values, cuts, columns, mass, rows, moments, n_models, min_leaf, ridge):
    """The least that models on both sides of a cut leave over, and the rank to cut at.

    A cut is right above one of `cuts`, which are sorted; infinity where none leaves enough samples
    on both sides.
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
    factor = np.empty((c, n_models))
    below, n_below = np.zeros((c, c)), 0
    least, at = np.inf, 0.0
    for part in range(k):
        below += between[part]
        n_below += count[part]
        if count[part] > 0 and min_leaf <= n_below <= len(rows) - min_leaf:
            over = _leave_over(below, n_models, ridge, factor)
            over += _leave_over(moments - below, n_models, ridge, factor)
            if over < least:
                least, at = over, (cuts[part] + lowest[part + 1 :].min()) / 2
    return least, at
