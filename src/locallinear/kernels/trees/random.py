"""Growing an extremely randomised tree on ranks.

Axis letters: n samples, d features, m targets.
"""

import numpy as np

from ..compiler import njit
from .growth import node_sums, partition, uniform


@njit(cache=True, nogil=True)
def grow_random_tree(ranks, targets, mass, rows, n_tried, seed, feature, rank, right, gains):
    """An extremely randomised tree, grown until its leaves are pure; returns how many nodes it has.

    Each split is the best of `n_tried` features, each cut at a random place between its lowest and
    highest rank in the node.

    Parameters
    ----------
    ranks : (d, n) places of the features' values among their distinct ones, or bins of them
    targets, mass : (n, m) and (n,)
    rows : samples that the tree sees; reordered
    n_tried : features per split
    seed : of the chance in the order of features and in the cuts
    feature, rank, right : (2 len(rows) - 1,), written: a leaf has the feature -1, and its number
        within the tree as `right`
    gains : (d,) added to: how much of the targets' squares the splits of each feature explained
    """
    d, m = len(ranks), targets.shape[1]
    state = np.array([np.uint64(seed)])
    order = np.arange(d)
    total, low = np.empty(m), np.empty(m)
    waiting = np.empty((len(rows) + 1, 3), np.int64)  # first, end, and whose right child it is
    waiting[0] = 0, len(rows), -1
    n_waiting, n_nodes, n_leaves = 1, 0, 0
    while n_waiting > 0:
        n_waiting -= 1
        first, end, parent = waiting[n_waiting]
        node = n_nodes
        n_nodes += 1
        if parent >= 0:
            right[parent] = node
        whole, squares = node_sums(targets, mass, rows, first, end, total)
        rest = squares
        for t in range(m):
            rest -= total[t] ** 2 / whole
        split, cut, most = -1, 0, 0.0
        if end - first > 1 and rest > 1e-12 * squares:
            base = squares - rest
            tried = 0
            for a in range(d):
                b = a + np.int64(uniform(state) * (d - a))
                order[a], order[b] = order[b], order[a]
                f = order[a]
                lowest, highest = _range(ranks[f], rows, first, end)
                if lowest == highest:
                    continue
                tried += 1
                at = lowest + np.int64(uniform(state) * (highest - lowest))
                explained = _explained(
                    ranks[f], targets, mass, rows, first, end, at, whole, total, low
                )
                if explained - base > most:
                    split, cut, most = f, at, explained - base
                if tried == n_tried:
                    break
        if split < 0:
            feature[node], rank[node], right[node] = -1, 0, n_leaves
            n_leaves += 1
            continue
        gains[split] += most
        feature[node], rank[node] = split, cut
        middle = partition(ranks[split], rows, first, end, cut)
        waiting[n_waiting] = middle, end, node
        waiting[n_waiting + 1] = first, middle, -1
        n_waiting += 2
    return n_nodes


@njit(cache=True, nogil=True)
def _range(ranks, rows, first, end):
    lowest = highest = ranks[rows[first]]
    for a in range(first + 1, end):
        r = ranks[rows[a]]
        lowest, highest = min(lowest, r), max(highest, r)
    return lowest, highest


@njit(cache=True, nogil=True)
def _explained(ranks, targets, mass, rows, first, end, at, whole, total, low):
    """Squares of the targets that the means on both sides of a cut explain.

    None where the weights of one side are lost to rounding beside those of the other.
    """
    left = 0.0
    low[:] = 0.0
    for a in range(first, end):
        i = rows[a]
        if ranks[i] <= at:
            left += mass[i]
            for t in range(len(low)):
                low[t] += mass[i] * targets[i, t]
    if not 0.0 < left < whole:
        return 0.0
    out = 0.0
    for t in range(len(low)):
        out += low[t] ** 2 / left + (total[t] - low[t]) ** 2 / (whole - left)
    return out
