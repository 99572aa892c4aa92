"""Nearest points: every structure against a naive search, ties and removed rows included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from locallinear.geometry import neighbors as neighbors_module
from locallinear.geometry.cells import Cells, Few, divide
from locallinear.geometry.neighbors import Neighbors, neighbor_sets, order_few
from locallinear.kernels.nearest import nearest_candidates


@pytest.fixture(scope="module", autouse=True)
def cells():
    """Cells even of few points; one test below is about few points."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors_module, "FEW_NUMBERS", 0)
        yield


def few(points, searchable, start, stop):
    return Few(points, start, stop)


def naive(points, searchable, X, n_neighbors):
    """Distances and rows by sorting all points; of ties the lower row comes first."""
    rows = np.flatnonzero(np.ones(len(points), bool) if searchable is None else searchable)
    distances = np.sqrt(((points[None, rows] - X[:, None]) ** 2).sum(axis=2))
    order = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
    return np.take_along_axis(distances, order, 1), rows[order]


def assert_nearest(neighbors, X, n_neighbors):
    distances, rows = neighbors.query(X, n_neighbors)
    expected, expected_rows = naive(neighbors.points, neighbors.searchable, X, n_neighbors)
    assert_array_equal(rows, expected_rows)
    assert_allclose(distances, expected, rtol=1e-12)


@st.composite
def point_sets(draw, whole=None):
    """Points and queries; whole numbers have many ties, which are exact."""
    n, d = draw(st.integers(1, 300)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    if draw(st.booleans()) if whole is None else whole:
        points = rng.integers(-2, 3, size=(n, d)).astype(float)
        X = rng.integers(-3, 4, size=(20, d)).astype(float)
    else:
        points, X = rng.normal(size=(n, d)), rng.normal(size=(20, d))
        X[:5] = points[rng.integers(0, n, 5)]
    return points, X, rng


def alone(structure, points, searchable):
    """Neighbors with a single structure over all points."""
    neighbors = Neighbors(points, searchable)
    neighbors._parts = [structure(points, searchable, 0, len(points))]
    neighbors.build = lambda: neighbors._parts
    return neighbors


@pytest.mark.parametrize("structure", [Cells, few])
@given(point_sets(), st.integers(1, 30), st.floats(0, 0.9))
def test_each_structure_finds_what_a_naive_search_finds(structure, case, n_neighbors, removed):
    points, X, rng = case
    searchable = rng.uniform(size=len(points)) >= removed
    searchable[0] = True
    n_neighbors = min(n_neighbors, searchable.sum())
    assert_nearest(alone(structure, points, searchable), X, n_neighbors)
    # Rows removed after the structure was built.
    late = alone(structure, points, None)
    late.searchable = searchable
    assert_nearest(late, X, n_neighbors)


@pytest.mark.parametrize("structure", [Cells, few])
@pytest.mark.parametrize("n_neighbors", [255, 256, 257, 600, 1999, 2000])
def test_each_structure_finds_hundreds_of_neighbours(structure, n_neighbors):
    rng = np.random.default_rng(0)
    points, X = rng.normal(size=(2000, 5)), rng.normal(size=(150, 5))
    assert_nearest(alone(structure, points, None), X, n_neighbors)


@pytest.mark.parametrize("structure", [Cells, few])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_each_structure_is_exact_far_from_the_origin(structure, offset):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(10_000, 4)) + offset
    X = np.vstack([rng.normal(size=(300, 4)) + offset, points[:50]])
    assert_nearest(alone(structure, points, None), X, 7)


@pytest.mark.parametrize("structure", [Cells, few])
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_extreme_magnitudes_are_ordered(structure, scale):
    rng = np.random.default_rng(0)
    points, X = scale * rng.normal(size=(500, 3)), scale * rng.normal(size=(20, 3))
    assert_nearest(alone(structure, points, None), X, 5)


@pytest.mark.parametrize("apart", [0.0, 1e4, 1e9, 1e12])
def test_double_precision_is_used_only_where_single_precision_is_too_coarse(apart):
    """Two clouds of points: the farther apart, the fewer digits are left for near points."""
    rng = np.random.default_rng(0)
    points, X = rng.normal(size=(6000, 3)), rng.normal(size=(300, 3))
    points[::2] += apart
    X[::2] += apart
    neighbors = alone(Cells, points, None)
    assert_nearest(neighbors, X, 5)
    assert (neighbors._parts[0]._double is None) == (apart <= 1e4)


@pytest.mark.parametrize("far", [1e9, 1e30, 1e150])
def test_one_huge_value_does_not_make_all_points_candidates(far):
    rng = np.random.default_rng(0)
    points, X = rng.normal(size=(20_000, 5)), rng.normal(size=(100, 5))
    points[7, 3] = far
    assert_nearest(alone(Cells, points, None), X, 5)
    candidates = Cells(points, None, 0, len(points)).candidates(X, 5, None)
    assert candidates.shape[1] <= 256


@pytest.mark.parametrize("n_neighbors", [1, 6, 300])
@pytest.mark.parametrize("kind", ["normal", "lattice", "clusters", "one line", "repeated"])
def test_cells_do_not_change_the_neighbours(kind, n_neighbors):
    """Many cells, with queries inside and far outside of them."""
    rng = np.random.default_rng(0)
    points = {
        "normal": lambda: rng.normal(size=(9000, 3)),
        "lattice": lambda: rng.integers(0, 12, size=(9000, 4)).astype(float),
        "clusters": lambda: rng.normal(size=(9000, 3)) + 30 * rng.integers(0, 3, size=(9000, 1)),
        "one line": lambda: np.outer(rng.uniform(size=9000), [1.0, 2.0, 3.0]),
        "repeated": lambda: rng.normal(size=(90, 3))[rng.integers(0, 90, size=9000)],
    }[kind]()
    far = 100 * rng.normal(size=(30, points.shape[1]))
    X = np.vstack([points[:150] + 0.1 * rng.normal(size=(150, points.shape[1])), far, points[:20]])
    assert_nearest(alone(Cells, points, None), X, n_neighbors)
    searchable = rng.uniform(size=9000) < 0.95
    assert_nearest(alone(Cells, points, searchable), X, n_neighbors)


@given(st.integers(1, 2000), st.integers(1, 4), st.integers(1, 64), st.integers(0, 99))
def test_cells_hold_each_row_once_and_only_the_last_is_not_full(n, d, size, seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 5, size=(n, d)).astype(float)
    rows = np.flatnonzero(rng.uniform(size=n) < 0.9)
    cells = divide(points, rows, size)
    assert cells.shape == (-(-len(rows) // size), size)
    assert_array_equal(np.sort(cells[cells >= 0]), rows)
    assert np.count_nonzero(cells < 0) < size


def test_cells_are_small_boxes():
    points = np.random.default_rng(0).uniform(size=(6400, 2))
    cells = divide(points, np.arange(6400), 64)
    widths = np.array([np.ptp(points[rows], axis=0) for rows in cells])
    assert widths.prod(axis=1).mean() < 3 / len(cells)


@given(
    point_sets(),
    st.lists(st.tuples(st.integers(0, 400), st.floats(0, 0.3)), min_size=1, max_size=6),
)
def test_appended_and_removed_rows_are_found_and_not_found(case, steps):
    points, X, rng = case
    n, d = points.shape
    searchable = np.ones(n, dtype=bool)
    memory = np.empty((20_000, d))
    memory[:n] = points
    neighbors = Neighbors(memory[:n])
    assert_nearest(neighbors, X, 1)
    for added, removed in steps:
        new = rng.integers(-3, 4, size=(added, d))
        if added % 2:
            memory = memory.copy()  # as memory that grows does
        memory[n : n + added] = new
        n += added
        searchable = np.append(searchable, np.ones(added, dtype=bool))
        searchable &= rng.uniform(size=n) >= removed
        searchable[0] = True
        neighbors = neighbors.update(memory[:n], searchable)
        assert_nearest(neighbors, X, min(6, searchable.sum()))
    moved = memory[:n][searchable].copy()
    neighbors = neighbors.update(moved, None)
    assert_nearest(neighbors, X, min(6, len(moved)))


def test_rows_that_are_appended_one_by_one_are_found_across_rebuilds():
    rng = np.random.default_rng(0)
    memory, X = rng.integers(-9, 10, size=(6000, 2)).astype(float), rng.normal(size=(10, 2))
    neighbors = Neighbors(memory[:100])
    kinds = set()
    for n in range(101, 6000):
        neighbors = neighbors.update(memory[:n], None)
        if n % 37 == 0:
            assert_nearest(neighbors, X, 5)
            kinds.add(tuple(type(part).__name__ for part in neighbors._parts))
    assert len(kinds) > 2, kinds


@pytest.mark.parametrize("d", [1, 2, 8, 30])
def test_results_do_not_depend_on_the_structure(d):
    rng = np.random.default_rng(0)
    points, X = rng.normal(size=(5000, d)), rng.normal(size=(40, d))
    chosen = Neighbors(points).query(X, 9)
    for structure in (Cells, few):
        distances, rows = alone(structure, points, None).query(X, 9)
        assert_array_equal(rows, chosen[1])
        assert_array_equal(distances, chosen[0])


def test_neighbour_sets_of_a_graph_are_its_searchable_rows():
    graph = csr_array(np.array([[0, 1, 1, 0], [0, 0, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0]]))
    rows, padding = neighbor_sets(graph, np.array([0, 1, 2, 3]), None)
    sets = [set(r[~p].tolist()) for r, p in zip(rows, padding, strict=True)]
    assert sets == [{1, 2}, {3}, {0, 2}, {3}]
    mask = np.array([True, False, True, False])
    rows, padding = neighbor_sets(graph, np.array([0, 2]), mask)
    sets = [set(r[~p].tolist()) for r, p in zip(rows, padding, strict=True)]
    assert sets == [{2}, {0, 2}]


def test_few_points_are_compared_directly_with_the_same_result(monkeypatch):
    rng = np.random.default_rng(0)
    points = rng.integers(0, 4, size=(300, 3)).astype(float)  # many ties
    queries = rng.normal(size=(5, 3)) + 1
    expected = Neighbors(points).query(queries, 7)
    monkeypatch.setattr(neighbors_module, "FEW_NUMBERS", 2**20)
    monkeypatch.setattr(neighbors_module, "Cells", None)  # not called
    for found, same in zip(Neighbors(points).query(queries, 7), expected, strict=True):
        assert_array_equal(found, same)


def test_cells_are_made_of_few_points_once_there_are_many_queries(monkeypatch):
    monkeypatch.setattr(neighbors_module, "FEW_NUMBERS", 2**12)
    rng = np.random.default_rng(0)
    points, X = rng.normal(size=(400, 3)), rng.normal(size=(2000, 3))
    neighbors = Neighbors(points)
    assert_nearest(neighbors, X[:10], 5)
    assert isinstance(neighbors._parts[0], Few)
    assert_nearest(neighbors, X, 5)
    assert isinstance(neighbors._parts[0], Cells)
    more = np.vstack([points, X[:50]])
    assert_nearest(neighbors.update(more, None), X[:10], 5)


@pytest.mark.parametrize("structure", [Cells, few])
@pytest.mark.parametrize("n_neighbors", [5, 200])
def test_of_thousands_of_ties_the_lowest_rows_are_taken(structure, n_neighbors):
    rng = np.random.default_rng(0)
    points = rng.integers(0, 2, size=(6000, 2)).astype(float)
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [3.0, -1.0]])
    assert_nearest(alone(structure, points, None), X, n_neighbors)
    assert_nearest(alone(structure, points, rng.uniform(size=6000) < 0.9), X, n_neighbors)


@pytest.mark.parametrize("structure", [Cells, few])
@given(point_sets(), st.integers(1, 5))
def test_other_points_are_those_of_a_search_without_the_point_itself(structure, given, n_neighbors):
    points, _, rng = given
    searchable = rng.uniform(size=len(points)) < 0.8
    rows = rng.integers(0, len(points), 30)
    if searchable.sum() <= n_neighbors:
        return
    distances, near = alone(structure, points, searchable).others(rows, n_neighbors)
    for i, row in enumerate(rows):
        rest = searchable & (np.arange(len(points)) != row)
        expected, expected_rows = naive(points, rest, points[[row]], n_neighbors)
        assert_array_equal(near[i], expected_rows[0])
        assert_allclose(distances[i], expected[0], rtol=1e-12)


def test_points_that_were_added_later_have_other_points_as_neighbours():
    rng = np.random.default_rng(0)
    memory = rng.normal(size=(4000, 3))
    neighbors = Neighbors(memory[:3000])
    neighbors.build()
    rows = np.array([3999, 5, 3100, 5])
    distances, near = neighbors.update(memory, None).others(rows, 4)
    expected, expected_rows = naive(memory, None, memory[rows], 5)
    assert_array_equal(near, expected_rows[:, 1:])
    assert_allclose(distances, expected[:, 1:], rtol=1e-12)


def test_rows_that_cannot_be_found_may_be_all_of_a_part():
    rng = np.random.default_rng(0)
    memory, X = rng.normal(size=(4000, 3)), rng.normal(size=(10, 3))
    searchable = np.arange(4000) < 3000
    neighbors = Neighbors(memory[:3000]).update(memory, searchable)
    assert_nearest(neighbors, X, 5)


@pytest.mark.parametrize("seed", range(3))
def test_few_points_are_ordered_as_by_the_compiled_code_to_the_last_digit(seed):
    rng = np.random.default_rng(seed)
    points, X = rng.normal(size=(300, 7)), rng.normal(size=(40, 7))
    points[100:150] = points[:50]  # ties
    rows = np.argsort(rng.uniform(size=(40, 300)), axis=1)[:, :60]
    rows[:, 50:] = -1
    found = [(np.empty((40, 12)), np.empty((40, 12), dtype=np.intp)) for _ in range(2)]
    for order, arrays in zip((order_few, nearest_candidates), found, strict=True):
        order(X, points, rows, rows[:, 3], *arrays)
    np.testing.assert_array_equal(*(distances for distances, _ in found))
    np.testing.assert_array_equal(*(nearest for _, nearest in found))
