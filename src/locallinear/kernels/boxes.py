"""Which owners of boxes have one within reach of a point: compiled."""

from .compiler import njit


@njit(cache=True, nogil=True)
def in_reach(points, reach, lowest, highest, owners, starts, whole_lowest, whole_highest, out):
    """Write whether each owner has a box within reach of each point.

    Boxes that are near each other form a group, so that most of them are left out together.

    Parameters
    ----------
    points : (q, d), and reach : (q,) squared distances
    lowest, highest : (C, d) the boxes, one group after the other, and owners : (C,) whose they are
    starts : (G + 1,) where the boxes of each group begin
    whole_lowest, whole_highest : (G, d) a box round all boxes of each group
    out : (P, q) bool to write, all false
    """
    for i in range(len(points)):
        x, limit = points[i], reach[i]
        for g in range(len(whole_lowest)):
            if not _is_near(x, limit, whole_lowest[g], whole_highest[g]):
                continue
            for c in range(starts[g], starts[g + 1]):
                if not out[owners[c], i] and _is_near(x, limit, lowest[c], highest[c]):
                    out[owners[c], i] = True


@njit(cache=True, nogil=True, inline="always")
def _is_near(x, limit, low, high):
    """Whether the squared distance from a point to a box is at most the limit."""
    total = 0.0
    for j in range(len(x)):
        outside = max(low[j] - x[j], x[j] - high[j], 0.0)
        total += outside * outside
        if total > limit:
            return False
    return True
