"""An order of the cells of a box whose every beginning covers the box evenly."""

from itertools import combinations, product

import numpy as np

# The order of the first cells takes time proportional to their number times the number of all
# cells; this bounds the product.
MAX_SPREAD = 2_000_000


def spread_order(sizes: list[int]) -> list[tuple[int, ...]]:
    """All cells of a box, in an order whose every beginning covers the box evenly.

    The next cell is one whose values, and pairs of values, were visited least. In a large box
    only the beginning is ordered so; the other cells follow in random order.
    """
    cells = np.array(list(product(*(range(size) for size in sizes))))
    cells = np.random.default_rng(0).permutation(cells)
    axes = [axis for axis, size in enumerate(sizes) if size > 1]
    # Each cell's value on an axis, and its pair of values on two, as one number.
    codes = [cells[:, a] for a in axes]
    codes += [cells[:, a] * sizes[b] + cells[:, b] for a, b in combinations(axes, 2)]
    visits = np.zeros(len(cells))
    chosen: list[int] = []
    for _ in range(min(len(cells), MAX_SPREAD // len(cells))):
        next_cell = int(np.argmin(visits))
        chosen.append(next_cell)
        for code in codes:
            # Where an axis has many values, a visit to one of them counts for more.
            visits[code == code[next_cell]] += code.max() + 1
        visits[next_cell] = np.inf
    rest = np.setdiff1d(np.arange(len(cells)), chosen)
    return [tuple(cell) for cell in cells[[*chosen, *rest]].tolist()]
