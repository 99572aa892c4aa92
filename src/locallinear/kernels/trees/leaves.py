"""Trees as arrays: which leaf a point falls into, and who shares the most leaves with it.

A forest of T trees is an array of nodes (see `geometry.forest.NODE`), in which a left child follows
its parent. Axis letters: q queries, n points, d features, T trees, K neighbours.
"""

import numpy as np

from ..compiler import njit

# Comparing all points is this many times faster per point than going through the members of a leaf.
SCAN_RATIO = 16
# Points that go down a tree together.
TOGETHER = 64


@njit(cache=True, nogil=True)
def preorder(left, right):
    """An order of nodes in which left children follow their parents; leaves have children < 0."""
    out = np.empty(len(left), dtype=np.int64)
    waiting = np.empty(len(left), dtype=np.int64)
    waiting[0], n_waiting, n_out = 0, 1, 0
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        out[n_out] = node
        n_out += 1
        if left[node] >= 0:
            waiting[n_waiting], waiting[n_waiting + 1] = right[node], left[node]
            n_waiting += 2
    return out


@njit(cache=True, nogil=True)
def leaf_numbers(X, roots, nodes):
    """The leaf of each point in each tree, (T, n) in two bytes each, for X (n, d).

    Points go down a tree together, level by level, so that no step waits for the one before it.
    """
    T, n = len(roots), len(X)
    out = np.empty((T, n), dtype=np.uint16)
    at = np.empty(TOGETHER, dtype=np.int64)
    point = np.empty(TOGETHER, dtype=np.int64)
    for t in range(T):
        for start in range(0, n, TOGETHER):
            on_the_way = min(TOGETHER, n - start)
            for a in range(on_the_way):
                at[a], point[a] = roots[t], start + a
            while on_the_way > 0:
                n_next = 0
                for a in range(on_the_way):
                    node, i = nodes[at[a]], point[a]
                    if node.feature < 0:
                        out[t, i] = node.right
                    else:
                        goes_left = X[i, node.feature] <= node.threshold
                        at[n_next] = at[a] + 1 if goes_left else node.right
                        point[n_next] = i
                        n_next += 1
                on_the_way = n_next
    return out


@njit(cache=True, nogil=True)
def leaf_members(leaves, n_leaves):
    """Which points are in each leaf: starts (T, n_leaves + 1) and rows (T, n).

    Leaf l of tree t holds rows[t, starts[t, l] : starts[t, l + 1]].
    """
    T, n = leaves.shape
    starts = np.zeros((T, n_leaves + 1), dtype=np.int32)
    rows = np.empty((T, n), dtype=np.int32)
    for t in range(T):
        for j in range(n):
            starts[t, leaves[t, j] + 1] += 1
        for leaf in range(n_leaves):
            starts[t, leaf + 1] += starts[t, leaf]
        place = starts[t].copy()
        for j in range(n):
            leaf = leaves[t, j]
            rows[t, place[leaf]] = j
            place[leaf] += 1
    return starts, rows


@njit(cache=True, nogil=True)
def most_shared(X, leaves, points, point_leaves, starts, members, searchable, n_neighbors):
    """The points that share the most leaves with each query: shared (q, K) and rows (q, K).

    Of points that share equally many leaves, the nearest in X comes first, then the lowest row.
    Counts are one byte, for up to 255 trees.

    Parameters
    ----------
    X, leaves : (q, d) queries and (T, q) their leaves
    points, point_leaves : (n, d) and (T, n)
    starts, members : of the points, see `leaf_members`
    searchable : (n,) which points may be found
    """
    T, n = point_leaves.shape
    q, K = len(X), n_neighbors
    shared = np.zeros((q, K), dtype=np.int64)
    rows = np.full((q, K), -1, dtype=np.int64)
    count = np.empty(-(-n // 8) * 8, dtype=np.uint8)
    words = count.view(np.uint64)  # eight counts at a time: most of them are zero
    squares = np.empty(K)
    for i in range(q):
        count[:] = 0
        for t in range(T):
            first, end = starts[t, leaves[t, i]], starts[t, leaves[t, i] + 1]
            if (end - first) * SCAN_RATIO > n:
                _count_equal(point_leaves[t], leaves[t, i], count[:n])
            else:
                for j in members[t, first:end]:
                    count[j] += np.uint8(1)
        least = _kth_largest(count, words, searchable, K)
        filled = 0
        for word in range(len(words)):
            if words[word] == 0 and least > 0:
                continue
            for j in range(8 * word, min(8 * word + 8, n)):
                if count[j] < least or not searchable[j]:
                    continue
                square = 0.0
                for f in range(X.shape[1]):
                    square += (X[i, f] - points[j, f]) ** 2
                filled = _put(count[j], square, j, filled, shared[i], squares, rows[i])
    return shared, rows


@njit(cache=True, nogil=True)
def _put(count, square, row, filled, counts, squares, rows):
    """Insert a point among the best so far; returns how many there are then.

    Of equally good points, the first to come stays first.
    """
    place = min(filled, len(rows) - 1)
    if filled == len(rows) and not _before(count, square, counts[place], squares[place]):
        return filled
    while place > 0 and _before(count, square, counts[place - 1], squares[place - 1]):
        counts[place], rows[place] = counts[place - 1], rows[place - 1]
        squares[place] = squares[place - 1]
        place -= 1
    counts[place], squares[place], rows[place] = count, square, row
    return min(filled + 1, len(rows))


@njit(cache=True, nogil=True)
def _count_equal(row, leaf, count):
    for j in range(len(row)):  # becomes vector instructions
        count[j] += np.uint8(row[j] == leaf)


@njit(cache=True, nogil=True)
def _kth_largest(count, words, searchable, K):
    """The K-th largest count of searchable points; each of the `words` holds eight counts."""
    often = np.zeros(256, dtype=np.int64)
    for word in range(len(words)):
        if words[word] != 0:
            for j in range(8 * word, min(8 * word + 8, len(searchable))):
                often[count[j]] += searchable[j]
    value, above = 255, often[255]
    while value > 1 and above < K:
        value -= 1
        above += often[value]
    return value if above >= K else 0


@njit(cache=True, nogil=True)
def _before(count, square, other_count, other_square):
    return count > other_count or (count == other_count and square < other_square)
