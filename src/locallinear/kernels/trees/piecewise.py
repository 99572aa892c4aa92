"""Growing a tree that splits where one linear model no longer holds.

The targets of a node are the residuals of the models above it, and its own model is a ridge
regression of them, so slopes are pulled towards those of the parent. The best split is the one
whose two models have the smallest rest: squared residuals plus the penalty of the slopes. The rest
is computed from moments: sums over samples of the products of every two of the `columns` (n, c),
which are a one, the regressors and the targets. They stand in the order of a lower triangle.
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
    chosen = rows[(places * len(rows)).astype(np.int64)]
    below = np.arange(len(chosen)) % 2
    k = len(chosen)
    tried = np.empty(n_tried, np.int64)
    cuts = np.empty((n_tried, k))
    part = np.empty((n_tried, len(rows)), np.uint8)  # of each sample: how many cuts lie below it
    count, lowest = np.empty((n_tried, k + 1), np.int64), np.empty((n_tried, k + 1))
    n_found = 0
    for f in features:
        if n_found == n_tried:
            break
        # Alternately right above and right below a sample: a rare value may be high or low.
        cuts[n_found] = np.sort(ranks[chosen, f] - below)
        _sort_into_parts(
            ranks, rows, f, cuts[n_found], part[n_found], count[n_found], lowest[n_found]
        )
        if _can_be_cut(count[n_found], min_leaf):  # a feature that cannot does not count
            tried[n_found] = f
            n_found += 1
    between = _moments_of_parts(columns, mass, rows, part[:n_found], k + 1)
    moments = between[0].sum(axis=0) if n_found else _moments(columns, mass, rows)
    c = columns.shape[1]
    now = 0.0
    for a in range(n_regressors, c):
        now += moments[_place(a, a)]
    best, split, at = now, -1, 0.0
    for a in range(n_found):
        rest, cut = _best_cut(
            between[a], count[a], lowest[a], cuts[a], moments, c, n_regressors, min_leaf, ridge
        )
        if rest < best:
            best, split, at = rest, tried[a], cut
    return split, at, now - best


@njit(cache=True, nogil=True)
def _sort_into_parts(ranks, rows, f, cuts, part, count, lowest):
    """How many cuts lie below each sample; the number and lowest rank of the samples per part."""
    count[:], lowest[:] = 0, np.inf
    for j, i in enumerate(rows):
        value = ranks[i, f]
        p = 0
        while p < len(cuts) and value > cuts[p]:
            p += 1
        part[j] = p
        count[p] += 1
        lowest[p] = min(lowest[p], value)


@njit(cache=True, nogil=True)
def _can_be_cut(count, min_leaf):
    """Whether some cut leaves enough samples on both sides."""
    n, n_below = count.sum(), 0
    for p in range(len(count) - 1):
        n_below += count[p]
        if count[p] > 0 and min_leaf <= n_below <= n - min_leaf:
            return True
    return False


@njit(cache=True, nogil=True)
def _best_cut(between, count, lowest, cuts, moments, c, n_regressors, min_leaf, ridge):
    """The smallest rest of models on both sides of a cut, and the rank to cut at.

    `cuts` are sorted, and samples up to a cut are on its lower side; `between` are the moments of
    the samples in each part.
    """
    factor = np.empty((c, n_regressors))
    below, n_below, n = np.zeros(len(moments)), 0, count.sum()
    least, at = np.inf, 0.0
    for p in range(len(cuts)):
        below += between[p]
        n_below += count[p]
        if count[p] > 0 and min_leaf <= n_below <= n - min_leaf:
            rest = _regress(below, c, n_regressors, ridge, factor)
            rest += _regress(moments - below, c, n_regressors, ridge, factor)
            if rest < least:
                least, at = rest, (cuts[p] + lowest[p + 1 :].min()) / 2
    return least, at


@njit(cache=True, nogil=True)
def _place(a, b):
    """Where the product of columns a ≥ b stands among the moments."""
    return a * (a + 1) // 2 + b


@njit(cache=True, nogil=True)
def _moments_of_parts(columns, mass, rows, part, n_parts):
    """The moments of the samples in each part, (n_tried, n_parts, c (c + 1) / 2).

    The products of a sample are made once and added for all features, several at a time.
    """
    c = columns.shape[1]
    products = np.empty(c * (c + 1) // 2)
    out = np.zeros((len(part), n_parts, len(products)))
    for j, i in enumerate(rows):
        _products(columns[i], mass[i], products)
        for a in range(len(part)):
            sums = out[a, part[a, j]]
            for p in range(len(products)):
                sums[p] += products[p]
    return out


@njit(cache=True, nogil=True)
def _moments(columns, mass, rows):
    """The moments of these samples: sums of the products of two columns each."""
    c = columns.shape[1]
    products = np.empty(c * (c + 1) // 2)
    out = np.zeros(len(products))
    for i in rows:
        _products(columns[i], mass[i], products)
        for p in range(len(products)):
            out[p] += products[p]
    return out


@njit(cache=True, nogil=True)
def _products(row, mass, out):
    place = 0
    for a in range(len(row)):
        scaled = mass * row[a]
        for b in range(a + 1):
            out[place] = scaled * row[b]
            place += 1


@njit(cache=True, nogil=True)
def _regress(moments, c, n_regressors, ridge, factor):
    """The rest of a ridge regression with these moments of c columns; the constant has no penalty.

    Writes the model's columns of the Cholesky factor to `factor` (c, n_regressors).
    """
    for b in range(n_regressors):
        pivot = moments[_place(b, b)]
        for t in range(b):
            pivot -= factor[b, t] ** 2
        # Without mass there is no constant to find.
        pivot = np.sqrt(max(pivot + (ridge if b > 0 else 0.0), 1e-300))
        factor[b, b] = pivot
        for a in range(b + 1, c):
            value = moments[_place(a, b)]
            for t in range(b):
                value -= factor[a, t] * factor[b, t]
            factor[a, b] = value / pivot
    rest = 0.0
    for a in range(n_regressors, c):
        value = moments[_place(a, a)]
        for t in range(n_regressors):
            value -= factor[a, t] ** 2
        rest += max(value, 0.0)
    return rest


@njit(cache=True, nogil=True)
def _take_away_model(columns, mass, rows, n_regressors, ridge):
    """Subtract from the targets of these samples what their ridge regression predicts."""
    c = columns.shape[1]
    factor, coef = np.empty((c, n_regressors)), np.empty(n_regressors)
    _regress(_moments(columns, mass, rows), c, n_regressors, ridge, factor)
    for target in range(n_regressors, c):
        for a in range(n_regressors - 1, -1, -1):
            value = factor[target, a]
            for t in range(a + 1, n_regressors):
                value -= factor[t, a] * coef[t]
            coef[a] = value / factor[a, a]
        for i in rows:
            for a in range(n_regressors):
                columns[i, target] -= columns[i, a] * coef[a]
