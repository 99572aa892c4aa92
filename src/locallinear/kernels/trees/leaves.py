"""Which leaf a point falls into, and who shares the most leaves with it.

A forest of T trees is an array of nodes in preorder (see `geometry.forest.NODE`): a left child
follows its parent. Points come as bins: the number of cuts of each feature below its value. The
code of a point is the number of its leaf in each tree. Axis letters: q queries, n points, d
features, T trees, K neighbours.

Two structures find the points with the most leaves in common. Lists of the points in each leaf
count exactly, which is fast where leaves are small. Sorted tables look only at points that agree
in some of the trees, which takes about the same time for any number of points: each table orders
the points by the leaves of a few trees, and the candidates of a query stand around its place.
"""

import numpy as np

from ..compiler import njit

# Points that go down a tree together.
TOGETHER = 64
LEAF = -1


@njit(cache=True, nogil=True)
def right_children(splits):
    """Right child of each node in preorder, where each tree begins, and whether all trees end.

    The right child of a leaf is the leaf's number within its tree.
    """
    n = len(splits)
    right = np.empty(n, dtype=np.int32)
    roots = np.empty(n, dtype=np.int64)
    waiting = np.empty(n, dtype=np.int64)
    n_waiting, n_roots, n_leaves, begins = 0, 0, 0, True
    for node in range(n):
        if begins:
            roots[n_roots] = node
            n_roots, n_leaves, begins = n_roots + 1, 0, False
        if splits[node] != LEAF:
            waiting[n_waiting] = node
            n_waiting += 1
            continue
        right[node] = n_leaves
        n_leaves += 1
        if n_waiting == 0:
            begins = True
        else:
            n_waiting -= 1
            right[waiting[n_waiting]] = node + 1
    return right, roots[:n_roots].copy(), begins


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
def bin_numbers(X, starts, cuts):
    """How many cuts of its feature lie below each value of X (n, d), in one byte each.

    Feature f has the increasing cuts[starts[f] : starts[f + 1]], at most 255.
    """
    n, d = X.shape
    out = np.empty((n, d), dtype=np.uint8)
    for f in range(d):
        first, end = starts[f], starts[f + 1]
        for i in range(n):
            low, high = first, end
            while low < high:
                middle = (low + high) // 2
                if cuts[middle] < X[i, f]:
                    low = middle + 1
                else:
                    high = middle
            out[i, f] = low - first
    return out


@njit(cache=True, nogil=True)
def leaf_numbers(bins, roots, nodes, out):
    """Write the code of each point (n, T), for bins (n, d).

    Points go down a tree together, level by level, so that no step waits for the one before it.
    """
    T, n = len(roots), len(bins)
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
                    if node.split < 0:
                        out[i, t] = node.right
                    else:
                        goes_left = bins[i, node.split >> 8] <= (node.split & 255)
                        at[n_next] = at[a] + 1 if goes_left else node.right
                        point[n_next] = i
                        n_next += 1
                on_the_way = n_next


@njit(cache=True, nogil=True)
def leaf_members(codes, n_leaves):
    """Which points are in each leaf: starts (T, n_leaves + 1) and rows (T, n).

    Leaf l of tree t holds rows[t, starts[t, l] : starts[t, l + 1]].
    """
    n, T = codes.shape
    starts = np.zeros((T, n_leaves + 1), dtype=np.int32)
    rows = np.empty((T, n), dtype=np.int32)
    for t in range(T):
        for j in range(n):
            starts[t, codes[j, t] + 1] += 1
        for leaf in range(n_leaves):
            starts[t, leaf + 1] += starts[t, leaf]
        place = starts[t].copy()
        for j in range(n):
            leaf = codes[j, t]
            rows[t, place[leaf]] = j
            place[leaf] += 1
    return starts, rows


@njit(cache=True, nogil=True)
def table_keys(codes, trees):
    """The leaves of some trees, one after the other in one number per point, (n,)."""
    keys = np.empty(len(codes), dtype=np.uint64)
    for j in range(len(codes)):
        keys[j] = _key(codes[j], trees)
    return keys


@njit(cache=True, nogil=True)
def _key(code, trees):
    bits, key = np.uint64(8 * code.itemsize), np.uint64(0)
    for t in trees:
        key = (key << bits) | np.uint64(code[t])
    return key


@njit(cache=True, nogil=True)
def most_shared_in_lists(X, codes, points, starts, members, newest, searchable, n_neighbors):
    """The points that share the most leaves with each query: shared (q, K) and rows (q, K).

    Of points that share equally many leaves, the nearest in X comes first, then the lowest row.
    Where fewer than K points share any, the last rows are -1. Counts are one byte, for up to 255
    trees.

    Parameters
    ----------
    X, codes : (q, d) queries and (q, T) their leaves
    points : (n, d)
    starts, members : lists of the first points, see `leaf_members`
    newest : (n', T) leaves of the last points, which are in no list yet
    searchable : (n,) which points may be found
    """
    n, T = len(points), codes.shape[1]
    first_new = n - len(newest)
    q, K = len(X), n_neighbors
    shared = np.zeros((q, K), dtype=np.int64)
    rows = np.full((q, K), -1, dtype=np.int64)
    count, touched = np.zeros(n, dtype=np.uint8), np.empty(n + 1, dtype=np.int32)
    squares = np.empty(K)
    for i in range(q):
        n_touched = 0
        for t in range(T):
            for j in members[t, starts[t, codes[i, t]] : starts[t, codes[i, t] + 1]]:
                # Without a branch, which would be taken or not at random: twice as fast.
                touched[n_touched] = j
                n_touched += count[j] == 0
                count[j] += np.uint8(1)
        n_touched = _count_newest(codes[i], newest, first_new, count, touched, n_touched)
        _take_best(
            X[i], points, touched[:n_touched], count, searchable, shared[i], squares, rows[i]
        )
        for j in touched[:n_touched]:
            count[j] = 0
    return shared, rows


@njit(cache=True, nogil=True)
def most_shared_in_tables(
    X,
    codes,
    points,
    point_codes,
    trees,
    keys,
    members,
    n_candidates,
    newest,
    searchable,
    n_neighbors,
):
    """As `most_shared_in_lists`, among the candidates of sorted tables and the newest points.

    Parameters
    ----------
    point_codes : (n, T) leaves of the first points
    trees : (L, ·) the trees of each table
    keys, members : (L, ·) sorted keys of those of the first points that may be found, in each
        table, and their rows
    n_candidates : how many points each table gives: those whose keys are nearest to the query's
    """
    L, n_listed = keys.shape
    q, K = len(X), n_neighbors
    shared = np.zeros((q, K), dtype=np.int64)
    rows = np.full((q, K), -1, dtype=np.int64)
    size = L * n_candidates + len(newest)
    count, touched = np.zeros(len(points), dtype=np.uint8), np.empty(size, dtype=np.int32)
    squares = np.empty(K)
    for i in range(q):
        n_touched = 0
        for table in range(L):
            key = _key(codes[i], trees[table])
            above = np.searchsorted(keys[table], key)
            below = above - 1
            for _ in range(min(n_candidates, n_listed)):
                # The side whose next key agrees with the query's in more trees.
                if below < 0 or (
                    above < n_listed and (keys[table, above] ^ key) <= (keys[table, below] ^ key)
                ):
                    j = members[table, above]
                    above += 1
                else:
                    j = members[table, below]
                    below -= 1
                if count[j] == 0 and searchable[j]:
                    in_common = _in_common(codes[i], point_codes[j])
                    if in_common > 0:
                        count[j] = in_common
                        touched[n_touched] = j
                        n_touched += 1
        n_touched = _count_newest(codes[i], newest, len(point_codes), count, touched, n_touched)
        _take_best(
            X[i], points, touched[:n_touched], count, searchable, shared[i], squares, rows[i]
        )
        for j in touched[:n_touched]:
            count[j] = 0
    return shared, rows


@njit(cache=True, nogil=True)
def _count_newest(code, newest, first, count, touched, n_touched):
    """Count shared leaves with the points from row `first` on; returns how many are touched."""
    for a in range(len(newest)):
        in_common = _in_common(code, newest[a])
        if in_common > 0:
            touched[n_touched] = first + a
            n_touched += 1
            count[first + a] = in_common
    return n_touched


@njit(cache=True, nogil=True)
def _in_common(code, other):
    """The number of trees in which two points share a leaf, in one byte."""
    equal = np.uint8(0)
    for t in range(len(code)):  # becomes vector instructions
        equal += np.uint8(code[t] == other[t])
    return equal


@njit(cache=True, nogil=True)
def _take_best(x, points, touched, count, searchable, shared, squares, rows):
    """Write the K points that share the most leaves with a query, best first.

    `touched` are the points that share any. Where these are fewer than K, the last rows stay -1.
    """
    K = len(rows)
    often = np.zeros(256, dtype=np.int64)
    for j in touched:
        often[count[j]] += searchable[j]
    least, above = 255, often[255]
    while least > 1 and above < K:
        least -= 1
        above += often[least]
    filled = 0
    for j in touched:
        if count[j] >= least and searchable[j]:
            filled = _put(x, points, count[j], j, filled, shared, squares, rows)


@njit(cache=True, nogil=True)
def _put(x, points, count, row, filled, counts, squares, rows):
    """Insert a point among the best so far; returns how many there are then."""
    K = len(rows)
    if filled == K and count < counts[K - 1]:
        return filled
    square = 0.0
    for f in range(len(x)):
        square += (x[f] - points[row, f]) ** 2
    place = min(filled, K - 1)
    if filled == K and not _before(count, square, row, counts[place], squares[place], rows[place]):
        return filled
    while place > 0 and _before(
        count, square, row, counts[place - 1], squares[place - 1], rows[place - 1]
    ):
        counts[place], rows[place] = counts[place - 1], rows[place - 1]
        squares[place] = squares[place - 1]
        place -= 1
    counts[place], squares[place], rows[place] = count, square, row
    return min(filled + 1, K)


@njit(cache=True, nogil=True)
def _before(count, square, row, other_count, other_square, other_row):
    if count != other_count:
        return count > other_count
    return square < other_square or (square == other_square and row < other_row)


@njit(cache=True, nogil=True)
def fill_up(rows, lacking, nearest):
    """Write the nearest points that a query has not found yet after those that it has found.

    Parameters
    ----------
    rows : (q, K) points found, then -1; written
    lacking : (q',) queries that found fewer than K points
    nearest : (q', K) the points nearest to these queries, nearest first
    """
    for a in range(len(lacking)):
        found = rows[lacking[a]]
        n_found = 0
        while found[n_found] >= 0:
            n_found += 1
        n_filled = n_found
        for row in nearest[a]:
            if n_filled == len(found):
                break
            if not np.any(found[:n_found] == row):
                found[n_filled] = row
                n_filled += 1
