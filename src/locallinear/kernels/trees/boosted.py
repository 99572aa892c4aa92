"""Growing small boosted trees on binned features, all in one call.

Axis letters: n samples, d features, m targets, T trees.
"""

import numpy as np

from ..compiler import njit
from .growth import node_sums, partition, uniform

MAX_BINS = 256


@njit(cache=True, nogil=True)
def grow_boosted_trees(
    bins,
    n_bins,
    targets,
    mass,
    seen,
    seeds,
    n_tried,
    max_leaves,
    min_leaf,
    rate,
    feature,
    cut,
    right,
    gains,
    unseen_gains,
):
    """Small trees, each on the residuals of all before it; returns their first nodes, (T + 1,).

    Of the leaves that a tree has so far, the one whose best split explains the most is split next.

    Parameters
    ----------
    bins : (d, n) of one byte: the features' values in order, in at most 256 parts
    n_bins : (d,) parts per feature
    targets, mass : (n, m), changed to what is left over, and (n,)
    seen, seeds : (T, n') samples that each tree sees, and (T,) the seeds of its chance
    n_tried : features per split
    max_leaves, min_leaf : leaves per tree at most, and samples per leaf at least
    rate : part of a leaf's mean that is taken away
    feature, cut, right : (T (2 max_leaves - 1),), written as by `grow_random_tree`
    gains : (T, d), of the splits of each tree; added to
    unseen_gains : (T,) by how much each tree reduces the squared error of the samples that it does
        not see; added to
    """
    T, m = len(seeds), targets.shape[1]
    d, n = bins.shape
    size = 2 * max_leaves - 1
    roots = np.zeros(T + 1, np.int64)
    # A tree as it grows: children, split, and the best split that each leaf could make.
    child, split, at = (
        np.empty((size, 2), np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )
    could, could_at, could_gain = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    first, end = np.empty(size, np.int64), np.empty(size, np.int64)
    value = np.empty((size, m))
    moments = np.empty((256, m + 2))
    scratch = np.empty((3, m))
    order, waiting = np.arange(d), np.empty(size, np.int64)
    number = np.empty(size, np.int64)
    is_seen = np.zeros(n, np.bool_)
    n_written = 0
    for tree in range(T):
        state = np.array([np.uint64(seeds[tree])])
        rows = seen[tree].copy()
        first[0], end[0], split[0], grown = 0, len(rows), -1, 1
        could[0], could_at[0], could_gain[0] = _best_histogram_split(
            bins,
            n_bins,
            targets,
            mass,
            rows,
            0,
            len(rows),
            n_tried,
            min_leaf,
            order,
            state,
            moments,
            scratch,
            value[0],
        )
        for _ in range(max_leaves - 1):
            node, most = -1, 0.0
            for leaf in range(grown):
                if split[leaf] < 0 and could[leaf] >= 0 and could_gain[leaf] > most:
                    node, most = leaf, could_gain[leaf]
            if node < 0:
                break
            split[node], at[node] = could[node], could_at[node]
            gains[tree, split[node]] += most
            middle = partition(bins[split[node]], rows, first[node], end[node], at[node])
            for side in range(2):
                made = grown + side
                child[node, side], split[made] = made, -1
                first[made] = first[node] if side == 0 else middle
                end[made] = middle if side == 0 else end[node]
                could[made], could_at[made], could_gain[made] = _best_histogram_split(
                    bins,
                    n_bins,
                    targets,
                    mass,
                    rows,
                    first[made],
                    end[made],
                    n_tried,
                    min_leaf,
                    order,
                    state,
                    moments,
                    scratch,
                    value[made],
                )
            grown += 2
        # Each node's left child right behind it; leaves are numbered in that order.
        waiting[0], n_waiting, n_leaves = 0, 1, 0
        place = n_written
        while n_waiting > 0:
            n_waiting -= 1
            node = waiting[n_waiting]
            number[node] = place
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
        roots[tree + 1] = n_written = place
        is_seen[:] = False
        for a in range(len(rows)):
            is_seen[rows[a]] = True
        for i in range(n):
            node = 0
            while split[node] >= 0:
                node = child[node, 0] if bins[split[node], i] <= at[node] else child[node, 1]
            for t in range(m):
                step = rate * value[node, t]
                if not is_seen[i]:
                    unseen_gains[tree] += mass[i] * step * (2.0 * targets[i, t] - step)
                targets[i, t] -= step
    return roots


@njit(cache=True, nogil=True)
def _best_histogram_split(
    bins,
    n_bins,
    targets,
    mass,
    rows,
    first,
    end,
    n_tried,
    min_leaf,
    order,
    state,
    moments,
    scratch,
    mean,
):
    """The feature and bin whose cut explains the most, and how much; writes the mean."""
    d, m = len(bins), len(mean)
    total, low = scratch[0], scratch[1]
    whole, squares = node_sums(targets, mass, rows, first, end, total)
    base = 0.0
    for t in range(m):
        mean[t] = total[t] / whole
        base += total[t] * mean[t]
    split, cut, most = -1, 0, 1e-12 * squares
    if end - first < 2 * min_leaf or squares - base <= most:
        return -1, 0, 0.0
    tried = 0
    for a in range(d):
        b = a + np.int64(uniform(state) * (d - a))
        order[a], order[b] = order[b], order[a]
        f = order[a]
        used = n_bins[f]
        moments[:used] = 0.0
        of_feature = bins[f]
        for c in range(first, end):
            i = rows[c]
            part = moments[of_feature[i]]
            part[0] += 1.0
            part[1] += mass[i]
            for t in range(m):
                part[2 + t] += mass[i] * targets[i, t]
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
            if n_left == end - first:
                break
            varies = True
            if n_left < min_leaf:
                continue
            if end - first - n_left < min_leaf:
                break
            explained = -base
            for t in range(m):
                explained += low[t] ** 2 / left + (total[t] - low[t]) ** 2 / (whole - left)
            if explained > most:
                split, cut, most = f, part, explained
        tried += varies
        if tried == n_tried:
            break
    return split, cut, most if split >= 0 else 0.0
