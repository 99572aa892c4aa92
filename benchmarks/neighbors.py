"""When a tree is faster than a scan: a check of `locallinear.geometry.neighbors.tree_pays`.

The times are for 1,000 queries with 6 neighbours each, after the structure is built. "loss" is
the time of the structure that `tree_pays` chooses, divided by the time of the faster one.
"""

from collections.abc import Iterator
from statistics import median

from numpy.typing import NDArray

from benchmarks._run import Table, duration, interleaved, load, normal_points
from locallinear.geometry.kd_tree import KDTree
from locallinear.geometry.neighbors import intrinsic_dimension, tree_pays
from locallinear.geometry.scan import Scan

SIZES = (1_000, 10_000, 100_000)
SHAPES = ((2, 2), (4, 4), (6, 6), (8, 8), (10, 10), (14, 14), (20, 3), (20, 6), (20, 20), (80, 6))
SETS = ("concrete", "parkinsons", "superconductivity")
QUERIES = 1_000
K = 6


def run() -> Iterator[Table]:
    yield synthetic()
    yield real()


HEADER = ("points", "features", "varying in", "estimated", "tree", "scan", "chosen", "loss")


def synthetic() -> Table:
    table = Table("Normal points", HEADER)
    losses = []
    for n in SIZES:
        for d, intrinsic in SHAPES:
            points = normal_points(n, d, intrinsic)
            queries = normal_points(QUERIES, d, intrinsic, seed=1)
            row, loss = compare(points, queries)
            table.rows.append([f"{n:,}", str(d), str(intrinsic), *row])
            losses.append(loss)
    table.note = f"Loss: the median is {median(losses):.2f}, the largest {max(losses):.2f}."
    return table


def real() -> Table:
    table = Table("Real sets, standardised", ("set", *HEADER[:2], *HEADER[3:]))
    for name in SETS:
        loaded = load(name)
        if loaded is None:
            table.note += f"{name} is not in LOCALLINEAR_DATA. "
            continue
        X = loaded[0]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        points, queries = X[len(X) // 10 :], X[: min(QUERIES, len(X) // 10)]
        row, _ = compare(points, queries)
        table.rows.append([name, f"{len(points):,}", str(X.shape[1]), *row])
    return table


def compare(points: NDArray, queries: NDArray) -> tuple[list[str], float]:
    n = len(points)
    tree = KDTree(points, None, 0, n)
    scan = Scan(points, None, 0, n)
    a, b, _ = interleaved(
        lambda: tree.candidates(queries, K, None, None),
        lambda: scan.candidates(queries, K, None, None),
        repetitions=9,
        budget=1.0,
        at_least=1,
        warm=False,
    )
    a, b = (t * QUERIES / len(queries) for t in (a, b))
    chosen = tree_pays(points)
    loss = (a if chosen else b) / min(a, b)
    cells = [f"{intrinsic_dimension(points):.1f}", duration(a), duration(b)]
    return [*cells, "tree" if chosen else "scan", f"{loss:.2f}"], loss
