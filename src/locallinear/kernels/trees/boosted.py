"""Growing small boosted trees on binned features.

Axis letters: n samples, d features, m targets.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import njit
from .growth import node_sums, partition, uniform

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


class Binned(NamedTuple):
    """What a tree sees of the samples: arguments of `grow_boosted_tree`."""

    bins: NDArray[np.uint8]  # (d, n)
    n_bins: Rows  # (d,)
    targets: Array  # (n, m)
    mass: Array  # (n,)


class Growing(NamedTuple):
    """A tree of at most s nodes as it grows, in the order in which they come."""

    first: Rows  # (s,) where the samples of the node begin
    end: Rows  # (s,) and end
    mean: Array  # (s, m) their mean target
    split: Rows  # (s,) the feature that the node splits; -1 for a leaf
    cut: Rows  # (s,) where it does
    child: Rows  # (s, 2)
    best: Rows  # (s,) the feature of the best split that a leaf could make; -1 for none
    best_cut: Rows  # (s,)
    best_gain: Array  # (s,)


class Scratch(NamedTuple):
    """Memory that the splits of a tree share."""

    weighted: Array  # (n, m + 2) what is added up per bin
    moments: Array  # (256, m + 2)
    total: Array  # (m,)
    low: Array  # (m,)


@njit(cache=True, nogil=True)
def grow_boosted_tree(
    bins, n_bins, targets, mass, rows, order, seed, n_tried, min_leaf, nodes, means, gains
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
    min_leaf : samples per leaf at least
    nodes : (3, s), written: feature, cut and right as by `grow_random_tree`, of at most s nodes
    means : (s, m), written: the mean target in each node
    gains : (d,) added to: how much of the targets' squares the splits of each feature explained
    """
    samples, size, m = Binned(bins, n_bins, targets, mass), len(means), targets.shape[1]
    tree = _empty_tree(size, m)
    total, low = np.empty((2, m))
    scratch = Scratch(np.empty((len(rows), m + 2)), np.empty((256, m + 2)), total, low)
    state = np.array([np.uint64(seed)])
    tree.first[0], tree.end[0], grown = 0, len(rows), 0
    while True:
        n_made = 1 if grown == 0 else 2  # the root, or both children of the node that was split
        for node in range(grown, grown + n_made):
            here = rows[tree.first[node] : tree.end[node]]
            tree.best[node], tree.best_cut[node], tree.best_gain[node] = _best_histogram_split(
                samples, here, n_tried, min_leaf, order, state, scratch, tree.mean[node]
            )
        grown += n_made
        node = _best_leaf(tree, grown)
        if node < 0 or grown == size:
            break
        gains[tree.best[node]] += tree.best_gain[node]
        _split(tree, node, grown, bins, rows)
    _write_preorder(tree, grown, nodes, means)
    return grown


@njit(cache=True, nogil=True)
def _empty_tree(size, m):
    """Memory for a tree of so many nodes, all of them leaves."""
    first, end = np.empty(size, np.int64), np.empty(size, np.int64)
    split, cut = np.full(size, -1), np.empty(size, np.int64)
    best, best_cut = np.empty(size, np.int64), np.empty(size, np.int64)
    child = np.empty((size, 2), np.int64)
    return Growing(
        first, end, np.empty((size, m)), split, cut, child, best, best_cut, np.empty(size)
    )


@njit(cache=True, nogil=True)
def _best_leaf(tree, grown):
    """The leaf whose best split explains the most; -1 where none explains anything."""
    found, most = -1, 0.0
    for node in range(grown):
        if tree.split[node] < 0 and tree.best[node] >= 0 and tree.best_gain[node] > most:
            found, most = node, tree.best_gain[node]
    return found


@njit(cache=True, nogil=True)
def _split(tree, node, grown, bins, rows):
    """Split a leaf as it could best be; its children are the nodes `grown` and the next."""
    tree.split[node], tree.cut[node] = tree.best[node], tree.best_cut[node]
    first, end = tree.first[node], tree.end[node]
    middle = partition(bins[tree.split[node]], rows, first, end, tree.cut[node])
    tree.child[node, 0], tree.child[node, 1] = grown, grown + 1
    tree.first[grown], tree.end[grown] = first, middle
    tree.first[grown + 1], tree.end[grown + 1] = middle, end


@njit(cache=True, nogil=True)
def _write_preorder(tree, grown, nodes, means):
    """Write the nodes, each one's left child right behind it; leaves are numbered in this order."""
    feature, cut, right = nodes
    waiting, number = np.empty(grown, np.int64), np.empty(grown, np.int64)
    waiting[0], n_waiting, place, n_leaves = 0, 1, 0, 0
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        number[node] = place
        means[place] = tree.mean[node]
        if tree.split[node] < 0:
            feature[place], cut[place], right[place] = -1, 0, n_leaves
            n_leaves += 1
        else:
            feature[place], cut[place] = tree.split[node], tree.cut[node]
            waiting[n_waiting], waiting[n_waiting + 1] = tree.child[node, 1], tree.child[node, 0]
            n_waiting += 2
        place += 1
    for node in range(grown):
        if tree.split[node] >= 0:
            right[number[node]] = number[tree.child[node, 1]]


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
def _best_histogram_split(samples, rows, n_tried, min_leaf, order, state, scratch, mean):
    """The feature and bin whose cut explains the most, and how much; writes the mean."""
    d, m, n, total = len(samples.bins), len(mean), len(rows), scratch.total
    whole, squares = node_sums(samples.targets, samples.mass, rows, 0, n, total)
    base = 0.0
    for t in range(m):
        mean[t] = total[t] / whole
        base += total[t] * mean[t]
    split, cut, most = -1, 0, 1e-12 * squares
    if n < 2 * min_leaf or squares - base <= most:
        return -1, 0, 0.0
    _weigh(samples, rows, scratch.weighted)
    tried = 0
    for a in range(d):
        b = a + np.int64(uniform(state) * (d - a))
        order[a], order[b] = order[b], order[a]
        f = order[a]
        moments = scratch.moments[: samples.n_bins[f]]
        _add_up(samples.bins[f], rows, scratch.weighted, moments)
        part, explained, varies = _best_cut(
            moments, n, whole, total, base, min_leaf, most, scratch.low
        )
        if part >= 0:
            split, cut, most = f, part, explained
        tried += varies
        if tried == n_tried:
            break
    return split, cut, most if split >= 0 else 0.0


@njit(cache=True, nogil=True)
def _weigh(samples, rows, weighted):
    """Write what is added up per bin, in the order of the rows: read once for all features."""
    targets, mass = samples.targets, samples.mass
    m = targets.shape[1]
    for c in range(len(rows)):
        weighted[c, 0], weighted[c, 1] = 1.0, mass[rows[c]]
        for t in range(m):
            weighted[c, 2 + t] = mass[rows[c]] * targets[rows[c], t]


@njit(cache=True, nogil=True)
def _best_cut(moments, n, whole, total, base, min_leaf, most, low):
    """The bin behind which a cut explains the most, and how much; -1 where none more than `most`.

    Also returns whether the feature varies. `moments` are from `_add_up`; n samples have the mass
    `whole`, sums `total` (m,) and explain `base` together; `low` (m,) is scratch.
    """
    best, n_left, left, varies, m = -1, 0.0, 0.0, False, len(low)
    low[:] = 0.0
    for part in range(len(moments) - 1):
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
            best, most = part, explained
    return best, most, varies


@njit(cache=True, nogil=True)
def _add_up(bins, rows, weighted, moments):
    """Write the sums of the rows' columns (n, c) in each bin, (b, c)."""
    moments[:] = 0.0
    columns = weighted.shape[1]
    for c in range(len(rows)):
        bin = bins[rows[c]]
        for t in range(columns):
            moments[bin, t] += weighted[c, t]
