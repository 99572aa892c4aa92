"""The search for neighbours beside scipy's k-d tree and scikit-learn's best choice.

The times are for 1,000 queries with 6 neighbours each in one thread, after the structure is built.
"ratio" is ours divided by the faster of the two others: below 1, ours is faster.
"""

from collections.abc import Iterator
from functools import partial
from statistics import median

from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from benchmarks._run import Table, duration, interleaved, load, normal_points
from locallinear.geometry.neighbors import Neighbors

SIZES = (1_000, 10_000, 100_000)
SHAPES = ((2, 2), (4, 4), (6, 6), (8, 8), (10, 10), (14, 14), (20, 3), (20, 6), (20, 20), (80, 6))
SETS = ("concrete", "parkinsons", "superconductivity")
QUERIES = 1_000
K = 6
HEADER = ("points", "features", "varying in", "ours", "k-d tree", "scikit-learn", "ratio")


def run() -> Iterator[Table]:
    yield synthetic()
    yield real()


def synthetic() -> Table:
    table = Table("Normal points", HEADER)
    ratios = []
    for n in SIZES:
        for d, intrinsic in SHAPES:
            points = normal_points(n, d, intrinsic)
            queries = normal_points(QUERIES, d, intrinsic, seed=1)
            row, ratio = compare(points, queries)
            table.rows.append([f"{n:,}", str(d), str(intrinsic), *row])
            ratios.append(ratio)
    table.note = f"Ratio: the median is {median(ratios):.2f}, the largest {max(ratios):.2f}."
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
    ours = Neighbors(points)
    tree = cKDTree(points)
    other = NearestNeighbors(n_neighbors=K, n_jobs=1).fit(points)
    limits = {"repetitions": 9, "budget": 0.5, "at_least": 1}
    search = partial(ours.query, queries, K, 1)
    own, by_tree, _ = interleaved(search, partial(tree.query, queries, K), **limits)
    _, by_other, _ = interleaved(search, partial(other.kneighbors, queries), **limits)
    own, *others = (t * QUERIES / len(queries) for t in (own, by_tree, by_other))
    ratio = own / min(others)
    return [*map(duration, (own, *others)), f"{ratio:.2f}"], ratio
