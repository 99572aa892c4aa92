"""The nearest of many points, in cells: compiled, without Python's lock.

Points that are close together lie in one cell. A cell is a matrix (d, S), so that the squares of
S points are made by one vector instruction after the other; a box bounds each cell. A query starts
in the cell whose box is nearest, and skips each cell whose box is too far away.

All numbers are of one precision. What rounding can hide is in `slack` and `margin`: with s the
K-th smallest square, no point that is among the K nearest has a square above
((√s · margin + slack) · margin)².
"""

import numpy as np

from .compiler import njit

# Queries that go through the cells together, so that a cell is read from memory once for all.
TOGETHER = 32
# Features after which a cell is left if all of its points are too far away already.
STRIP = 16


@njit(cache=True, nogil=True)
def nearest_in_cells(
    X, cells, rows, lowest, highest, searchable, slack, margin, n_neighbors, places, found, complete
):
    """Write the rows that can be among the K nearest of each query into `found`, in any order.

    Parameters
    ----------
    X : (q, d) queries; d is a multiple of four
    cells : (C, d, S) the points of each cell, infinite where it has fewer
    rows : (C, S) int32, their rows
    lowest, highest : (d, C) the boxes
    searchable : mask of the rows that may be found; empty for all
    slack : (q,) and margin : number, see above
    places : (q,) where the queries' rows go in `found`
    found : (·, c) int32 to write, with c at least 2 K; -1 where there are fewer
    complete : (q,) bool to write: False where there are more than c such rows; then these are
        the c whose squares are smallest, of equal ones those with the lowest rows
    """
    C, _, S = cells.shape
    c = found.shape[1]
    far = np.finfo(cells.dtype).max
    squares = np.empty(S, cells.dtype)
    boxes = np.empty((TOGETHER, C), cells.dtype)
    smallest = np.empty((TOGETHER, n_neighbors), cells.dtype)
    bound = np.empty(TOGETHER, cells.dtype)
    near = np.empty((TOGETHER, c + S), np.int32)
    value = np.empty((TOGETHER, c + S), cells.dtype)
    n_near = np.empty(TOGETHER, np.int64)
    for start in range(0, len(X), TOGETHER):
        batch = range(min(TOGETHER, len(X) - start))
        for i in batch:
            _box_squares(X[start + i], lowest, highest, boxes[i])
            smallest[i], bound[i], n_near[i] = far, far, 0
            complete[start + i] = True
        # If queries are close to each other, cells near all of them make all bounds small soon. A
        # single query starts in its own cell, and an order would cost more than it saves.
        order = np.argsort(boxes[: len(batch)].sum(axis=0)) if len(batch) > 1 else np.arange(C)
        for visit in range(-1, C):
            for i in batch:
                cell = np.argmin(boxes[i]) if visit < 0 else order[visit]
                if boxes[i, cell] > bound[i]:
                    continue
                boxes[i, cell] = np.inf  # not a second time
                x = X[start + i]
                if _squares(x, cells[cell], bound[i], squares) == 0:
                    continue
                n, kept = n_near[i], bound[i]
                for j in range(S):
                    if squares[j] <= kept and (len(searchable) == 0 or searchable[rows[cell, j]]):
                        near[i, n], value[i, n] = rows[cell, j], squares[j]
                        n += 1
                        if squares[j] < smallest[i, 0]:
                            _replace_largest(smallest[i], squares[j])
                            root = np.sqrt(smallest[i, 0]) * margin + slack[start + i]
                            kept = min((root * margin) ** 2, far)
                bound[i] = kept
                if n > c:
                    n, all_kept = _compress(near[i], value[i], n, kept, c)
                    complete[start + i] &= all_kept
                n_near[i] = n
        for i in batch:
            n, _ = _compress(near[i], value[i], n_near[i], bound[i], c)
            found[places[start + i], :n] = near[i, :n]
            found[places[start + i], n:] = -1


@njit(cache=True, nogil=True)
def nearest_candidates(X, points, rows, without, distances, nearest):
    """Order candidates by exact distance, and those that are equally far by row; keep the first K.

    Parameters
    ----------
    X, points : (q, d) queries and (n, d) points
    rows : (q, c) candidates, at least K per query; -1 is none
    without : (q,) candidates that are left out; -1 is none
    distances, nearest : (q, K) to write: distances and rows, nearest first
    """
    K = distances.shape[1]
    far = np.empty(rows.shape[1])
    held = np.empty(rows.shape[1], rows.dtype)
    for i in range(len(X)):
        n = 0
        for j in rows[i]:
            if j < 0 or j == without[i]:
                continue
            square = 0.0
            for f in range(X.shape[1]):
                gap = points[j, f] - X[i, f]
                square += gap * gap
            # Distances are compared, not squares: their ties are those that a caller sees.
            far[n], held[n] = np.sqrt(square), j
            n += 1
        by_row = np.argsort(held[:n])
        order = by_row[np.argsort(far[by_row], kind="mergesort")[:K]]
        distances[i], nearest[i] = far[order], held[order]


@njit(cache=True, nogil=True)
def fill_cells(points, rows, centre, features, cells, lowest, highest):
    """Write the points of each cell, less the centre, and their box; returns the largest square.

    Parameters
    ----------
    points : (n, d); rows : (C, S), -1 behind the last row of a cell
    centre : (d,); features : (d,) in which order the features are written
    cells, lowest, highest : as for `nearest_in_cells`; features past d are left as they are
    """
    largest = 0.0
    for cell in range(len(rows)):
        for place, j in enumerate(rows[cell]):
            if j < 0:
                break
            square = 0.0
            for f in range(len(features)):
                offset = points[j, features[f]] - centre[features[f]]
                square += offset * offset
                cells[cell, f, place] = offset
                value = cells[cell, f, place]
                if place == 0 or value < lowest[f, cell]:
                    lowest[f, cell] = value
                if place == 0 or value > highest[f, cell]:
                    highest[f, cell] = value
            largest = max(largest, square)
    return largest


@njit(cache=True, nogil=True, fastmath={"contract"})
def _box_squares(x, lowest, highest, out):
    """Squared distances from a query to the boxes."""
    d, C = lowest.shape
    out[:] = 0
    for f in range(d):
        for cell in range(C):
            gap = max(max(lowest[f, cell] - x[f], x[f] - highest[f, cell]), out.dtype.type(0))
            out[cell] += gap * gap


@njit(cache=True, nogil=True)
def _squares(x, cell, bound, out):
    """Squared distances from a query to the points of a cell; returns how many are within bound.

    They are not complete where none is within it.
    """
    d = len(cell)
    out[:] = 0
    for f in range(0, d, 4):
        _add_squares(x[f : f + 4], cell[f], cell[f + 1], cell[f + 2], cell[f + 3], out)
        if (f + 4) % STRIP == 0 and f + 4 < d and _count_within(out, bound) == 0:
            return 0
    return _count_within(out, bound)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_squares(x, a, b, c, d, out):
    """Add what four features make: so the sums are read and written once for all four."""
    xa, xb, xc, xd = x[0], x[1], x[2], x[3]
    for j in range(len(out)):
        ga, gb, gc, gd = a[j] - xa, b[j] - xb, c[j] - xc, d[j] - xd
        out[j] += ga * ga + gb * gb + gc * gc + gd * gd


@njit(cache=True, nogil=True)
def _count_within(squares, bound):
    count = 0
    for j in range(len(squares)):
        count += squares[j] <= bound
    return count


@njit(cache=True, nogil=True)
def _replace_largest(heap, value):
    """Put a smaller value in the place of the largest, which is the first of a heap."""
    size, at = len(heap), 0
    while True:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if child >= size or heap[child] <= value:
            heap[at] = value
            return
        heap[at] = heap[child]
        at = child


@njit(cache=True, nogil=True)
def _compress(near, value, n, bound, most):
    """Keep what is within bound, and of it the smallest; returns how many, and whether all."""
    kept = 0
    for a in range(n):
        if value[a] <= bound:
            near[kept], value[kept] = near[a], value[a]
            kept += 1
    if kept <= most:
        return kept, True
    # Of equal values, the lower rows: what is kept does not depend on the order of the cells.
    by_row = np.argsort(near[:kept])
    order = by_row[np.argsort(value[by_row], kind="mergesort")[:most]]
    near[:most], value[:most] = near[order], value[order]
    return most, False
