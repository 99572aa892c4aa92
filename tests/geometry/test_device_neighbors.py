"""Neighbours among points on a device: the same as on the processor, to the last row."""

import array_api_strict
import numpy as np
import pytest

from locallinear.arrays import to_numpy
from locallinear.geometry import fused_scan
from locallinear.geometry.device_neighbors import DeviceNeighbors
from locallinear.geometry.neighbors import Neighbors
from locallinear.kernels.triton_scan import tiling

RNG = np.random.default_rng(0)
OUTLIER = RNG.normal(size=(300, 4))
OUTLIER[7] *= 1e9
CENTRES = np.repeat(1e3 * RNG.normal(size=(6, 3)), 50, axis=0)
# Points that are easy, far from the origin, in dense clusters, tied, equal, or with an outlier.
CASES = {
    "normal": (RNG.normal(size=(300, 5)), RNG.normal(size=(20, 5))),
    "many features": (RNG.normal(size=(300, 70)), RNG.normal(size=(20, 70))),
    "one feature": (RNG.normal(size=(300, 1)), RNG.normal(size=(20, 1))),
    "offset": (RNG.normal(size=(300, 3)) + 1e8, RNG.normal(size=(20, 3)) + 1e8),
    "clusters": (CENTRES + 1e-6 * RNG.normal(size=(300, 3)), CENTRES[::15] + 1e-6),
    "lattice": (RNG.integers(0, 3, (300, 3)) * 1.0, RNG.integers(0, 3, (20, 3)) * 1.0),
    "equal": (np.repeat([[1.0, 1.0], [2.0, 2.0]], 150, axis=0), np.ones((20, 2))),
    "tiny": (1e-120 * RNG.normal(size=(300, 3)), 1e-120 * RNG.normal(size=(20, 3))),
    "outlier": (OUTLIER, np.vstack([OUTLIER[8:18], RNG.normal(size=(10, 4))])),
    "query far away": (RNG.normal(size=(300, 2)), 1e6 * RNG.normal(size=(20, 2))),
}
MASK = np.arange(300) % 3 > 0


@pytest.fixture(params=["array-api-strict", "torch"])
def asarray(request):
    """Makes arrays of a kind that is not NumPy's."""
    if request.param == "torch":
        return pytest.importorskip("torch", reason="torch is not installed").as_tensor
    return array_api_strict.asarray


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "some"])
@pytest.mark.parametrize("case", CASES)
def test_neighbors_on_a_device_are_those_on_the_processor(case, mask, asarray):
    points, queries = CASES[case]
    expected = Neighbors(points, mask).query(queries, 5)
    here = DeviceNeighbors(asarray(points), None if mask is None else asarray(mask))
    distances, rows = here.query(asarray(queries), 5)
    np.testing.assert_array_equal(to_numpy(rows), expected[1])
    np.testing.assert_allclose(to_numpy(distances), expected[0], rtol=1e-12)


def test_single_precision_inputs_are_compared_in_double_precision(asarray):
    # Near ties: distances that single precision cannot tell apart.
    points = (np.arange(40.0)[:, None] % 8 + 1e-7 * np.arange(40.0)[:, None]).astype(np.float32)
    queries = np.linspace(0, 8, 9, dtype=np.float32)[:, None]
    expected = Neighbors(points.astype(float)).query(queries.astype(float), 6)
    distances, rows = DeviceNeighbors(asarray(points)).query(asarray(queries), 6)
    np.testing.assert_array_equal(to_numpy(rows), expected[1])
    assert to_numpy(distances).dtype == np.float32


def test_a_query_in_blocks_is_the_same_query(asarray, monkeypatch):
    points, queries = CASES["lattice"]
    whole = DeviceNeighbors(asarray(points)).query(asarray(queries), 4)
    monkeypatch.setattr("locallinear.geometry.device_neighbors.TABLE_BYTES", 20_000)
    blocks = DeviceNeighbors(asarray(points)).query(asarray(queries), 4)
    for one, other in zip(whole, blocks, strict=True):
        np.testing.assert_array_equal(to_numpy(one), to_numpy(other))


@pytest.fixture
def scan(monkeypatch):
    """Makes a fused scan of points in few groups, with kernels in plain torch."""
    torch = pytest.importorskip("torch", reason="torch is not installed")

    def group_minima(queries, points, offsets, _):
        values = torch.einsum("qd,btjd->qbtj", queries, points) + offsets
        return values.amin(dim=2).reshape(len(queries), -1)

    def group_distances(queries, points, groups, size, searchable):
        rows = (groups[:, :, None] * size + torch.arange(size)).flatten(1)
        known = rows.clamp(max=len(points) - 1)
        squares = (points[known].double() - queries.double()[:, None]).square().sum(dim=2)
        found = rows < len(points)
        if searchable is not None:
            found &= searchable[known]
        return squares.where(found, torch.inf)

    monkeypatch.setattr(fused_scan, "group_minima", group_minima)
    monkeypatch.setattr(fused_scan, "group_distances", group_distances)
    monkeypatch.setattr(fused_scan, "SMALLEST_GROUP", 2)

    def make(points, mask):
        mask = None if mask is None else torch.as_tensor(mask)
        return fused_scan.FusedScan(torch.as_tensor(points), mask)

    return make


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "some"])
@pytest.mark.parametrize("case", CASES)
def test_a_fused_scan_is_right_wherever_it_is_certain(case, mask, scan):
    torch = pytest.importorskip("torch")
    points, queries = CASES[case]
    expected = Neighbors(points, mask).query(queries, 5)[1]
    _, rows, certain = scan(points, mask).nearest(torch.as_tensor(queries), 5)
    np.testing.assert_array_equal(rows.numpy()[certain], expected[certain])
    if case in ("normal", "many features", "offset", "outlier", "tiny"):
        assert certain.all()


def test_a_fine_scan_decides_where_a_coarse_one_cannot(scan):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    # Squared distances of 1e-3 among points of size 1: products of 11 bits are off by as much.
    points = np.repeat(rng.normal(size=(3, 4)), 100, axis=0) + 0.02 * rng.normal(size=(300, 4))
    made = scan(points, None)
    coarse = made._scan(torch.as_tensor(points), 3, False)[2]
    fine = made._scan(torch.as_tensor(points), 3, True)[2]
    assert coarse.double().mean() < 0.5 < 0.99 < fine.double().mean()


def test_neighbors_use_the_fused_scan_and_finish_what_it_leaves(scan, monkeypatch):
    torch = pytest.importorskip("torch")
    points, queries = CASES["lattice"]
    monkeypatch.setattr(
        "locallinear.geometry.device_neighbors.fused_scan", lambda p, mask: scan(p, mask)
    )
    expected = Neighbors(points).query(queries, 5)[1]
    rows = DeviceNeighbors(torch.as_tensor(points)).query(torch.as_tensor(queries), 5)[1]
    np.testing.assert_array_equal(rows.numpy(), expected)


@pytest.mark.parametrize("d", [1, 16, 17, 64, 128, 129, 300, 768])
def test_a_tiling_holds_all_features_in_whole_steps(d):
    tiles = tiling(d)
    assert tiles.features >= d
    assert tiles.features % tiles.step == 0


def test_a_fused_scan_leaves_queries_whose_squares_are_too_large(scan):
    torch = pytest.importorskip("torch")
    points = CASES["normal"][0]
    certain = scan(points, None).nearest(torch.full((3, 5), 1e30, dtype=torch.float64), 5)[2]
    assert not certain.any()
