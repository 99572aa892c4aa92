"""A scan of points on a CUDA GPU that never writes the distances down.

Points are in groups. Products of few bits give, for each query and group, a lower bound of the
squared distances to the group's points (`kernels.triton_scan`). The groups with the smallest
bounds are compared exactly, in double precision. If the K-th nearest point in them is nearer than
the bound of every other group, then no other group can hold a neighbour: the answer is certain.

**The bound.** Let x and p be a query and a point relative to the centre, and x̂, p̂ their roundings
to 11 bits, which a GPU multiplies exactly. Then |xᵀp − x̂ᵀp̂| ≤ (2u + u²) ||x|| ||p|| with u = 2⁻¹¹,
and a sum of D products in single precision is off by at most (D + 16) 2⁻²² ||x|| ||p||, with some
caution, since GPUs do not round such sums as the standard says. As 2 ||x|| ||p|| ≤ ||x||² + ||p||²,

    ||x − p||²  ≥  (1 − γ) ||p||² − 2 x̂ᵀp̂ + (1 − γ) ||x||²,     γ = 2u + u² + (D + 16) 2⁻²².

The *fine* scan splits x into x̂ and the rounding x̂' of x − x̂, and p likewise, and adds the products
of x̂ with p̂' and of x̂' with p̂: three times the features, and 3u² in place of 2u + u². Where
points are much closer together than to their centre, the coarse bound decides nothing, and the fine
one most.
"""

import math
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ..arrays import AnyArray, compatibility
from ..kernels.triton_scan import Tiling, group_distances, group_minima, tiling

# Fewer points are scanned as fast by plain products.
MIN_POINTS = 2**15
# Groups are so large that there are about this many, between these bounds.
GROUPS, SMALLEST_GROUP, LARGEST_GROUP = 2**14, 16, 256
# So many more groups than neighbours are compared exactly.
EXTRA = 6
# Numbers in the table of bounds, and in arrays that are prepared at a time.
TABLE, PREPARED = 2**28, 2**26
# The centre is the median of about so many points.
MEDIAN_OF = 2**12
# The largest coordinate of a point after scaling is below 2**LARGEST, so that the squares of large
# and small ones fit into single precision. What is too small for it is off by less than TINY, and a
# query whose squared norm is above HUGE is left to other ways.
LARGEST, TINY, HUGE = 50, 1e-30, 1e32
# An offset above all others: of groups without a searchable point.
FAR = 1e38
UNIT = 2.0**-11


def fused_scan(points: AnyArray, searchable: AnyArray | None) -> "FusedScan | None":
    """A scan of these points, where it can run and pays."""
    compat = compatibility()
    if points.shape[0] < MIN_POINTS or not _can_run(points):
        return None
    if compat.is_cupy_array(points):
        import torch

        mask = None if searchable is None else torch.from_dlpack(searchable)
        return FusedScan(torch.from_dlpack(points), mask)
    return FusedScan(points, searchable)


def _can_run(points: AnyArray) -> bool:
    """Whether points are on a GPU that multiplies numbers of 11 bits, with torch and Triton."""
    compat = compatibility()
    if not (compat.is_torch_array(points) or compat.is_cupy_array(points)):
        return False
    if find_spec("torch") is None or find_spec("triton") is None:
        return False
    import torch

    on_gpu = compat.is_cupy_array(points) or points.device.type == "cuda"
    return on_gpu and torch.version.cuda is not None and torch.cuda.get_device_capability()[0] >= 8


@dataclass(frozen=True, eq=False)
class Prepared:
    """Points as `group_minima` takes them, with the γ of their bounds."""

    points: Any
    offsets: Any
    gamma: float
    tiles: Tiling


class FusedScan:
    """A scan of points (n, d), a tensor, of which those in a mask (n,), or all, may be found."""

    def __init__(self, points: Any, searchable: Any):
        self.points = points.contiguous()
        self.searchable = searchable
        n = points.shape[0]
        size = 1 << max(0, -(-n // GROUPS) - 1).bit_length()
        self.size = min(max(size, SMALLEST_GROUP), LARGEST_GROUP)
        self.n_groups = -(-n // self.size)
        # A few points far away move a mean, but not a median.
        self.centre = points[:: max(1, n // MEDIAN_OF)].double().median(dim=0).values
        ends = points.amax(dim=0) - self.centre, self.centre - points.amin(dim=0)
        largest = max(float(end.max()) for end in ends)
        # A power of two, so that scaling rounds nothing.
        self.scale = 2.0 ** (LARGEST - math.frexp(largest)[1])
        self._prepared: dict[bool, Prepared] = {}
        # Queries that the coarse scan was asked, and those that it could not decide.
        self._asked, self._undecided = 0, 0

    def nearest(self, X: AnyArray, n_neighbors: int) -> tuple[AnyArray, AnyArray, AnyArray] | None:
        """Squared distances and rows (q, K) of the nearest, and of which queries it is certain.

        None where so many neighbours are asked for that a scan of groups does not pay.
        """
        if n_neighbors + EXTRA > self.n_groups // 8:
            return None
        compat = compatibility()
        if compat.is_cupy_array(X):
            import cupy
            import torch

            found = self._nearest(torch.from_dlpack(X), n_neighbors)
            return tuple(cupy.from_dlpack(table) for table in found)
        return self._nearest(X, n_neighbors)

    def _nearest(self, X: Any, n_neighbors: int) -> tuple[Any, Any, Any]:
        fine = 2 * self._undecided > self._asked
        squares, rows, decided = self._scan(X, n_neighbors, fine)
        if fine:
            return squares, rows, decided
        rest = (~decided).nonzero()[:, 0]
        self._asked += len(X)
        self._undecided += len(rest)
        if len(rest):
            squares[rest], rows[rest], decided[rest] = self._scan(X[rest], n_neighbors, True)
        return squares, rows, decided

    def _scan(self, X: Any, n_neighbors: int, fine: bool) -> tuple[Any, Any, Any]:
        """The same by the coarse or the fine scan, a part of the queries at a time."""
        if fine not in self._prepared:
            self._prepared[fine] = self._prepare(fine)
        step = max(1, TABLE // self.n_groups)
        parts = [
            self._scan_part(X[i : i + step].contiguous(), n_neighbors, self._prepared[fine], fine)
            for i in range(0, len(X), step)
        ]
        if len(parts) == 1:
            return parts[0]
        import torch

        squares, rows, decided = (torch.cat(tables) for tables in zip(*parts, strict=True))
        return squares, rows, decided

    def _scan_part(
        self, X: Any, n_neighbors: int, prepared: Prepared, fine: bool
    ) -> tuple[Any, Any, Any]:
        x = (X.double() - self.centre) * self.scale
        tiles, n_compared = prepared.tiles, n_neighbors + EXTRA
        queries = x.new_zeros((-(-len(x) // tiles.queries) * tiles.queries, tiles.features)).float()
        split = _split(-2.0 * x)
        parts = (split[0], split[0], split[1]) if fine else split[:1]
        for part, at in zip(parts, range(0, len(parts) * x.shape[1], x.shape[1]), strict=True):
            queries[: len(x), at : at + x.shape[1]] = part
        minima = group_minima(queries, prepared.points, prepared.offsets, tiles)[: len(x)]
        bounds, groups = minima.topk(n_compared + 1, dim=1, largest=False)
        # In ascending order, so that of equal distances the first is that of the lowest row.
        groups = groups[:, :-1].sort(dim=1).values
        squares = group_distances(X, self.points, groups, self.size, self.searchable)
        squares, columns = _first(squares, n_neighbors)
        rows = groups.gather(1, columns // self.size) * self.size + columns % self.size
        norms = x.square().sum(dim=1)
        bound = (bounds[:, -1].double() + (1 - prepared.gamma) * norms - TINY) / self.scale**2
        return squares, rows, (squares[:, -1] < bound) & (norms < HUGE)

    def _prepare(self, fine: bool) -> Prepared:
        """Points split, padded and in the order of tiles; many at a time, but not all."""
        n, d = self.points.shape
        tiles = tiling(3 * d if fine else d)
        block = self.size * tiles.points
        n_blocks = -(-n // block)
        error = 3.1 * UNIT**2 if fine else 2.001 * UNIT
        gamma = error + (tiles.features + 16) * 2.0**-22
        shape = n_blocks, self.size, tiles.points
        points = self.points.new_zeros((*shape, tiles.features)).float()
        offsets = points.new_full(shape, FAR)
        step = max(1, PREPARED // (block * d))
        for first in range(0, n_blocks, step):
            part = slice(first, first + step)
            rows = slice(first * block, (first + step) * block)
            x = (self.points[rows].double() - self.centre) * self.scale
            norms = x.square().sum(dim=1) * (1 - gamma)
            if self.searchable is not None:
                norms = norms.where(self.searchable[rows], FAR)
            split = _split(x)
            stacked = (split[0], split[1], split[0]) if fine else split[:1]
            for i, values in enumerate(stacked):
                in_tiles = self._in_tiles(values, tiles.points, 0.0)
                points[part, :, :, i * d : (i + 1) * d] = in_tiles
            # The largest number of single precision that is not above the bound, or nearly.
            rounded = norms.float() * (1 - 2.0**-23)
            offsets[part] = self._in_tiles(rounded[:, None], tiles.points, FAR)[..., 0]
        return Prepared(points, offsets, gamma, tiles)

    def _in_tiles(self, values: Any, tile: int, padding: float) -> Any:
        """Rows (r, ·) as (blocks, size, tile, ·), where each column of a block is a group."""
        block = self.size * tile
        padded = values.new_full((-(-len(values) // block) * block, values.shape[1]), padding)
        padded[: len(values)] = values
        return padded.reshape(-1, tile, self.size, values.shape[1]).transpose(1, 2)


def _first(squares: Any, n_neighbors: int) -> tuple[Any, Any]:
    """The smallest squares of each row in ascending order, and their columns; ties by column."""
    found, columns = squares.topk(n_neighbors + 1, dim=1, largest=False)
    tied = (found[:, -1] == found[:, -2]).nonzero()[:, 0]
    found, columns = found[:, :-1], columns[:, :-1].contiguous()
    if len(tied):
        # More squares equal the last one than there is room for: those of the first columns win.
        columns[tied] = squares[tied].sort(dim=1, stable=True).indices[:, :n_neighbors]
    columns = columns.sort(dim=1).values
    found, order = squares.gather(1, columns).sort(dim=1, stable=True)
    return found, columns.gather(1, order)


def _split(x: Any) -> tuple[Any, Any]:
    """The numbers x, doubles, as a sum of two numbers of 11 significant bits, up to rounding."""
    high = _rounded(x.float())
    return high, _rounded((x - high.double()).float())


def _rounded(x: Any) -> Any:
    """Single precision rounded to 11 significant bits, as tensor cores multiply it."""
    import torch

    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
