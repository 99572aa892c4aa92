"""Compiled for a GPU: the two steps of a neighbour search that torch alone would write down.

A search compares q queries with n points. The table of q x n distances is many times larger than
the data, and writing it is what plain torch spends its time on. `group_minima` keeps only the
smallest value within each group of points. `group_distances` then computes exact distances within
few groups per query.

Triton comes with torch for CUDA. It is imported, and the kernels are compiled, at the first call.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Tiling:
    """How `group_minima` goes over points with D features.

    Attributes
    ----------
    features : int
        D, of which those beyond the number of the data's features are zero.
    queries, points : int
        Queries and points per tile. A block of points is `size` tiles, of which the minimum is
        taken: it has `points` groups with `size` points each.
    step : int
        Features per step of a product.
    warps, stages : int
        Threads per tile, in units of 32, and tiles that are on their way at a time.
    """

    features: int
    queries: int
    points: int
    step: int
    warps: int
    stages: int


def tiling(d: int) -> Tiling:
    """The tiling for data with d features; the constants are measured on one H200."""
    whole = max(16, 1 << (d - 1).bit_length())
    if whole <= 128:
        return Tiling(whole, 128, 64, whole, 8 if whole == 64 else 4, 3)
    return Tiling(-(-d // 32) * 32, 128, 128, 32, 8, 4)


def group_minima(queries: Any, points: Any, offsets: Any, tiles: Tiling) -> Any:
    """min_t (queries · points[b, t, j] + offsets[b, t, j]) for each query, block b and column j.

    Parameters
    ----------
    queries : float32 tensor (q, D), whose numbers have at most 11 significant bits
        q is a multiple of `tiles.queries`.
    points : float32 tensor (B, size, tiles.points, D), of the same precision
    offsets : float32 tensor (B, size, tiles.points)

    Returns
    -------
    float32 tensor (q, B * tiles.points)
    """
    blocks, size, tile, D = points.shape
    out = queries.new_empty((queries.shape[0], blocks * tile))
    _kernels()[0][(queries.shape[0] // tiles.queries, blocks)](
        queries,
        points,
        offsets,
        out,
        blocks * tile,
        D=D,
        STEP=tiles.step,
        SIZE=size,
        TILE=tile,
        QUERIES=tiles.queries,
        num_warps=tiles.warps,
        num_stages=tiles.stages,
    )
    return out


def group_distances(queries: Any, points: Any, groups: Any, size: int, searchable: Any) -> Any:
    """Squared distances from each query to all points of some groups, in double precision.

    Parameters
    ----------
    queries, points : tensors (q, d) and (n, d), contiguous
    groups : int64 tensor (q, T), contiguous; group g has the points from g * size on
    size : points per group, a power of two
    searchable : bool tensor (n,) or None for all

    Returns
    -------
    float64 tensor (q, T * size); infinite where there is no point, or none that may be found
    """
    (q, d), T = queries.shape, groups.shape[1]
    out = queries.new_empty((q, T * size), dtype=groups.new_zeros(0).double().dtype)
    step = min(64, max(16, 1 << (d - 1).bit_length()))
    mask = points if searchable is None else searchable
    _kernels()[1][(q, T)](
        queries,
        points,
        groups,
        mask,
        out,
        points.shape[0],
        T,
        FEATURES=d,
        SIZE=size,
        STEP=step,
        MASKED=searchable is not None,
        num_warps=4 if size * step >= 4096 else 2,
    )
    return out


@cache
def _kernels() -> tuple[Any, Any]:
    """The compiled functions behind `group_minima` and `group_distances`."""
    import triton
    import triton.language as tl

    @triton.jit
    def minima(
        queries,
        points,
        offsets,
        out,
        out_stride,
        D: tl.constexpr,
        STEP: tl.constexpr,
        SIZE: tl.constexpr,
        TILE: tl.constexpr,
        QUERIES: tl.constexpr,
    ):
        # The queries are the fast axis of the grid: all of them meet one block of points while
        # it is in the cache.
        rows = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
        block = tl.program_id(1).to(tl.int64)
        columns, features = tl.arange(0, TILE), tl.arange(0, STEP)
        in_queries = rows[:, None] * D + features[None, :]
        in_tile = columns[None, :] * D + features[:, None]
        tiles, tile_offsets = points + block * SIZE * TILE * D, offsets + block * SIZE * TILE
        best = tl.full((QUERIES, TILE), float("inf"), tl.float32)
        if D == STEP:
            q = tl.load(queries + in_queries)
            for t in range(SIZE):
                p = tl.load(tiles + t * TILE * D + in_tile)
                products = tl.dot(q, p, input_precision="tf32")
                best = tl.minimum(best, products + tl.load(tile_offsets + t * TILE + columns)[None])
        else:
            for t in range(SIZE):
                products = tl.zeros((QUERIES, TILE), tl.float32)
                for first in range(0, D, STEP):
                    q = tl.load(queries + first + in_queries)
                    p = tl.load(tiles + t * TILE * D + first + in_tile)
                    products = tl.dot(q, p, products, input_precision="tf32")
                best = tl.minimum(best, products + tl.load(tile_offsets + t * TILE + columns)[None])
        out_at = out + rows.to(tl.int64)[:, None] * out_stride + block * TILE + columns[None, :]
        tl.store(out_at, best)

    @triton.jit
    def distances(
        queries,
        points,
        groups,
        mask,
        out,
        n,
        n_groups,
        FEATURES: tl.constexpr,
        SIZE: tl.constexpr,
        STEP: tl.constexpr,
        MASKED: tl.constexpr,
    ):
        query, slot = tl.program_id(0).to(tl.int64), tl.program_id(1)
        group = tl.load(groups + query * n_groups + slot)
        members = tl.arange(0, SIZE)
        rows = group * SIZE + members
        found = rows < n
        if MASKED:
            found = found & tl.load(mask + rows, mask=found, other=0).to(tl.int1)
        total = tl.zeros((SIZE,), tl.float64)
        for first in range(0, FEATURES, STEP):
            features = first + tl.arange(0, STEP)
            inside = features < FEATURES
            q = tl.load(queries + query * FEATURES + features, mask=inside, other=0.0)
            at = points + rows[:, None] * FEATURES + features[None, :]
            p = tl.load(at, mask=found[:, None] & inside[None, :], other=0.0)
            offset = q.to(tl.float64)[None, :] - p.to(tl.float64)
            total += tl.sum(offset * offset, axis=1)
        out_at = out + (query * n_groups + slot) * SIZE + members
        tl.store(out_at, tl.where(found, total, float("inf")))

    return minima, distances
