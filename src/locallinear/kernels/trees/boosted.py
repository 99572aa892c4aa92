"""Growing small boosted trees on binned features.

Axis letters: n samples, d features, m targets.
"""

import numpy as np

from ..compiler import njit
from .growth import node_sums, partition, uniform


@njit(cache=True, nogil=True)
def grow_boosted_tree(
    bins,
    n_bins,
    targets,
    mass,
    rows,
    order,
    seed,
    n_tried,
    max_leaves,
    min_leaf,
    feature,
    cut,
    right,
    means,
    gains,
):
    """One small tree; returns how many nodes it has.

    Of the leaves that it has so far, the one whose best split explains the most is split next.

    Parameters
    ----------
    bins : (d, n) of one byte: the features' values in order, in at most 256 parts
    n_bins : (d,) parts per feature
    targets, mass : (n, m) and (n,)
    rows, order : samples that the tree sees, and (d,) the features in any order; both reordered
    seed : of the chance in the order of features
    n_tried : features per split
    max_leaves, min_leaf : leaves at most, and samples per leaf at least
    feature, cut, right : (2 max_leaves - 1,), written as by `grow_random_tree`
    means : (2 max_leaves - 1, m), written: the mean target in each node
    gains : (d,) added to: how much of the targets' squares the splits of each feature explained
    """
    m = targets.shape[1]
    size = 2 * max_leaves - 1
    # The tree as it grows: children, split, and the best split that each leaf could make.
    child = np.empty((size, 2), np.int64)
    split, at, could, could_at = (
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )
    could_gain, mean = np.empty(size), np.empty((size, m))
    first, end = np.empty(size, np.int64), np.empty(size, np.int64)
    state = np.array([np.uint64(seed)])
    moments, scratch = np.empty((256, m + 2)), np.empty((2, m))
    weighted = np.empty((len(rows), m + 2))
    first[0], end[0], grown = 0, len(rows), 0
    while True:
        n_made = 1 if grown == 0 else 2  # the root, or both children of the node that was split
        for node in range(grown, grown + n_made):
            split[node] = -1
            could[node], could_at[node], could_gain[node] = _best_histogram_split(
                bins,
                n_bins,
                targets,
                mass,
                rows[first[node] : end[node]],
                n_tried,
                min_leaf,
                order,
                state,
                weighted,
                moments,
                scratch,
                mean[node],
            )
        grown += n_made
        node, most = -1, 0.0
        for leaf in range(grown):
            if split[leaf] < 0 and could[leaf] >= 0 and could_gain[leaf] > most:
                node, most = leaf, could_gain[leaf]
        if node < 0 or grown == size:
            break
        split[node], at[node] = could[node], could_at[node]
        gains[split[node]] += most
        middle = partition(bins[split[node]], rows, first[node], end[node], at[node])
        child[node, 0], child[node, 1] = grown, grown + 1
        first[grown], end[grown] = first[node], middle
        first[grown + 1], end[grown + 1] = middle, end[node]
    _write_preorder(child, split, at, mean, grown, feature, cut, right, means)
    return grown


@njit(cache=True, nogil=True)
def _write_preorder(child, split, at, mean, grown, feature, cut, right, means):
    """Write the nodes, each one's left child right behind it; leaves are numbered in this order."""
    waiting, number = np.empty(grown, np.int64), np.empty(grown, np.int64)
    waiting[0], n_waiting, place, n_leaves = 0, 1, 0, 0
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        number[node] = place
        means[place] = mean[node]
        if split[node] < 0:
            feature[place], cut[place], right[place] = -1, 0, n_leaves
            n_leaves += 1
        else:
            feature[place], cut[place] = split[node], at[node]
            waiting[n_waiting], waiting[n_waiting + 1] = child[node, 1], child[node, 0]
            n_waiting += 2
        place += 1
    for node in range(grown):
        if split[node] >= 0:
            right[number[node]] = number[child[node, 1]]


@njit(cache=True, nogil=True)
def take_away(bins, feature, cut, right, steps, is_seen, mass, first, end, targets):
    """Take a tree's steps (nodes, m) away from the targets of samples `first` to `end`.

    Returns by how much this reduces the squared error of those that the tree has not seen.
    """
    gain = 0.0
    for i in range(first, end):
        node = 0
        while feature[node] >= 0:
            node = node + 1 if bins[feature[node], i] <= cut[node] else right[node]
        for t in range(targets.shape[1]):
            step = steps[node, t]
            if not is_seen[i]:
                gain += mass[i] * step * (2.0 * targets[i, t] - step)
            targets[i, t] -= step
    return gain


@njit(cache=True, nogil=True)
def _best_histogram_split(
    bins,
    n_bins,
    targets,
    mass,
    rows,
    n_tried,
    min_leaf,
    order,
    state,
    weighted,
    moments,
    scratch,
    mean,
):
    """The feature and bin whose cut explains the most, and how much; writes the mean."""
    d, m, n = len(bins), len(mean), len(rows)
    total, low = scratch[0], scratch[1]
    whole, squares = node_sums(targets, mass, rows, 0, n, total)
    base = 0.0
    for t in range(m):
        mean[t] = total[t] / whole
        base += total[t] * mean[t]
    split, cut, most = -1, 0, 1e-12 * squares
    if n < 2 * min_leaf or squares - base <= most:
        return -1, 0, 0.0
    # What is added up per bin, in the order of the rows: read once for all features.
    for c in range(n):
        weighted[c, 0], weighted[c, 1] = 1.0, mass[rows[c]]
        for t in range(m):
            weighted[c, 2 + t] = mass[rows[c]] * targets[rows[c], t]
    tried = 0
    for a in range(d):
        b = a + np.int64(uniform(state) * (d - a))
        order[a], order[b] = order[b], order[a]
        f = order[a]
        used = n_bins[f]
        _add_up(bins[f], rows, weighted, moments[:used])
        n_left, left = 0.0, 0.0
        low[:] = 0.0
        varies = False
        for part in range(used - 1):
            if moments[part, 0] == 0.0:
                continue
            n_left += moments[part, 0]
            left += moments[part, 1]
            for t in range(m):
                low[t] += moments[part, 2 + t]
            if n_left == n:
                break
            varies = True
            if n_left < min_leaf:
                continue
            if n - n_left < min_leaf:
                break
            if not 0.0 < left < whole:  # lost to rounding beside the weights of the other side
                continue
            explained = -base
            for t in range(m):
                explained += low[t] ** 2 / left + (total[t] - low[t]) ** 2 / (whole - left)
            if explained > most:
                split, cut, most = f, part, explained
        tried += varies
        if tried == n_tried:
            break
    return split, cut, most if split >= 0 else 0.0


@njit(cache=True, nogil=True)
def _add_up(bins, rows, weighted, moments):
    """Write the sums of the rows' columns (n, c) in each bin, (b, c)."""
    moments[:] = 0.0
    columns = weighted.shape[1]
    for c in range(len(rows)):
        bin = bins[rows[c]]
        for t in range(columns):
            moments[bin, t] += weighted[c, t]
