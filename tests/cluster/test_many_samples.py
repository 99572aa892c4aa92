"""What only many samples bring about, with limits that few samples reach."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import locallinear as ll

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
from dask.callbacks import Callback  # noqa: E402
from dask.sizeof import sizeof  # noqa: E402

from locallinear import dask as on_dask  # noqa: E402
from locallinear.dask import cells, order, spaces  # noqa: E402
from locallinear.dask.partition import Part, boxes  # noqa: E402
from locallinear.geometry.distinct import distinct_rows  # noqa: E402

SMALL = {"n_anchors": 12, "n_neighbors": 3, "random_state": 0}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(150, 3)), rng.normal(size=(80, 3)).round()])
    return X, np.sin(2 * X[:, 0]) + X[:, 1], rng.normal(size=(20, 3))


def blocks(values):
    return da.from_array(values, chunks=((80, 0, 90, 1, 59), *values.shape[1:]))


def assert_same(problem, weights=None, **options):
    X, y, Q = problem
    local = ll.FALLRegressor(**SMALL | options).fit(X, y, weights)
    w = None if weights is None else blocks(weights)
    on_cluster = on_dask.FALLRegressor(**SMALL | options).fit(blocks(X), blocks(y), w)
    np.testing.assert_array_equal(on_cluster.labels_.compute(), local.labels_)
    found = on_cluster.predict(da.from_array(Q, chunks=(7, 3))).compute()
    np.testing.assert_allclose(found, local.predict(Q), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("features", [None, [1, 2]])
def test_weights_learned_from_some_samples_are_those_of_the_local_model(
    problem, monkeypatch, weighted, features
):
    for module in ("geometry.metric", "dask.geometry"):
        monkeypatch.setattr(f"locallinear.{module}.MAX_SAMPLES", 50)
    monkeypatch.setattr(order, "BUCKET_BYTES", 1000)
    weights = np.arange(len(problem[0])) % 3.0 if weighted else None
    assert_same(problem, weights, neighborhood="learned", neighborhood_features=features)


@pytest.mark.parametrize("weighted", [False, True])
def test_anchors_that_some_samples_decide_are_those_of_the_local_model(
    problem, monkeypatch, weighted
):
    for module in ("models", "dask"):
        monkeypatch.setattr(f"locallinear.{module}.assignment.MAX_DECIDING", 30)
    weights = np.arange(len(problem[0])) % 3.0 if weighted else None
    assert_same(problem, weights, assignment_neighbors=6)


def test_sums_over_many_blocks_are_those_of_the_local_model(problem, monkeypatch):
    for module in ("geometry", "dask"):
        monkeypatch.setattr(f"locallinear.{module}.spaces.BLOCK", 16)
    X, y, _ = problem
    local = ll.FALLRegressor(**SMALL).fit(X, y).feature_space
    found = on_dask.FALLRegressor(**SMALL).fit(blocks(X), blocks(y)).to_local().feature_space
    np.testing.assert_array_equal(found.shift, local.shift)  # to the last digit
    np.testing.assert_array_equal(found.scale, local.scale)


def test_ranks_of_thinned_values_are_nearly_right(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=5000), rng.exponential(size=5000) ** 3])
    y, options = X[:, 0], SMALL | {"scaling": "quantile"}
    exact = ll.FALLRegressor(**options).fit(X, y).feature_space
    monkeypatch.setattr(spaces, "MAX_VALUES", 200)
    parts = (da.from_array(each, chunks=(300, *each.shape[1:])) for each in (X, y))
    found = on_dask.FALLRegressor(**options).fit(*parts).to_local().feature_space
    assert found.sizes.max() <= 200
    # Ranks go from -1.73 to 1.73: an error of 1 in 100 is 0.035.
    np.testing.assert_allclose(found.transform(X), exact.transform(X), atol=0.035)
    np.testing.assert_array_equal(found.knots[[0, -1]], exact.knots[[0, -1]])


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 999), n_buckets=st.integers(1, 4), coarse=st.booleans())
def test_the_order_of_all_partitions_is_that_of_all_samples(seed, n_buckets, coarse, monkeypatch):
    rng = np.random.default_rng(seed)
    Z = rng.integers(0, 3, (60, 3)).astype(float) if coarse else rng.normal(size=(60, 3))
    edges = [0, *np.sort(rng.integers(0, 61, 4)), 60]
    parts = [dask.delayed(Part({"Z": Z[a:b]})) for a, b in pairwise(edges)]
    monkeypatch.setattr(order, "BUCKET_BYTES", 1)
    monkeypatch.setattr(order, "MAX_BUCKETS", n_buckets)
    found = order.order_of(parts, edges[:-1], None, 10**6)
    wanted, _ = distinct_rows(Z, None)
    assert len(found) == len(wanted)
    numbers, counts = found.samples(np.arange(len(wanted)))
    np.testing.assert_array_equal(numbers, wanted)
    assert counts is None


@pytest.mark.parametrize("weights", [None, np.arange(60) % 3.0])
def test_samples_of_one_place_are_different_where_targets_are_and_count_as_often(weights):
    rng = np.random.default_rng(0)
    Z, Y = rng.integers(0, 3, (60, 2)).astype(float), rng.integers(0, 3, (60, 1)).astype(float)
    columns = {"Z": Z, "targets": Y} | ({} if weights is None else {"weights": weights})
    parts = [
        dask.delayed(Part({name: column[a:b] for name, column in columns.items()}))
        for a, b in [(0, 25), (25, 60)]
    ]
    found = order.order_of(parts, [0, 25], None, 10**6, with_targets=True)
    rows, mass = distinct_rows(np.hstack([Z, Y]), weights)
    numbers, counts = found.samples(np.arange(len(found)))
    np.testing.assert_array_equal(numbers, rows)
    np.testing.assert_array_equal(counts, mass)


def test_a_bucket_gets_its_share_even_where_the_first_feature_has_two_values(monkeypatch):
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.integers(0, 2, 2000), rng.normal(size=2000)]).astype(float)
    parts = [dask.delayed(Part({"Z": Z[i::4]})) for i in range(4)]
    monkeypatch.setattr(order, "BUCKET_BYTES", 1)
    counts = order.order_of(parts, [0, 500, 1000, 1500], None, 10**6).counts
    assert counts.max() < 2 * counts.min()


def test_a_query_visits_only_partitions_that_can_hold_a_neighbour():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    parts = [Part({"Z": centre + rng.normal(size=(100, 2))}) for centre in centres]
    all_cells = cells.Cells([boxes(part) for part in parts])
    home = cells.visit_home(all_cells, centres)
    assert [visit.tolist() for visit in home.queries] == [[0], [1], [2]]
    near = cells.visit_others(all_cells, home, np.array([1.0, 1.0, 1.0]))
    assert [len(visit) for visit in near.queries] == [0, 0, 0]
    far = cells.visit_others(all_cells, home, np.full(3, np.inf))
    assert [len(visit) for visit in far.queries] == [2, 2, 2]


class LargestResult(Callback):
    """The size of the largest result of any task."""

    def __init__(self):
        self.n_bytes = 0

    def _posttask(self, key, result, dsk, state, worker_id):
        self.n_bytes = max(self.n_bytes, sizeof(result))


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_no_task_returns_more_than_a_few_partitions(scaling, monkeypatch):
    monkeypatch.setattr(order, "BUCKET_BYTES", 2**15)
    monkeypatch.setattr(order, "CUT_BYTES", 2**15)
    monkeypatch.setattr(spaces, "MAX_VALUES", 500)
    X = np.random.default_rng(0).normal(size=(24_000, 6))
    n, chunks = 24_000, 1_000
    parts = [da.from_array(each, chunks=(chunks, *each.shape[1:])) for each in (X, X[:, 0])]
    model = on_dask.FALLRegressor(**SMALL | {"scaling": scaling})
    with LargestResult() as largest:
        model.fit(*parts)
        model.predict(parts[0][:300]).compute()
    # A partition with its search is about three times as large as its inputs.
    assert largest.n_bytes < 4 * chunks * X[0].nbytes
    assert largest.n_bytes < n * X[0].nbytes / 5


def test_dask_knows_how_large_partitions_and_answers_are():
    Z = np.zeros((1000, 4))
    assert sizeof(Part({"Z": Z})) > Z.nbytes
    visit = cells.Visits(Z, Z[:, 0], [np.arange(1000)])
    assert sizeof(visit) > Z.nbytes


class Count(Callback):
    """How many tasks are run."""

    def __init__(self):
        self.n = 0

    def _posttask(self, key, result, dsk, state, worker_id):
        self.n += 1


def test_tasks_per_partition_do_not_grow_with_the_partitions(monkeypatch):
    def in_two(parts):
        return [part.tolist() for part in np.array_split(np.arange(len(parts)), 2)]

    for module in ("fall", "order"):
        monkeypatch.setattr(f"locallinear.dask.{module}.bundles_of", in_two)
    monkeypatch.setattr(order, "BUCKET_BYTES", 1000)
    monkeypatch.setattr(order, "MAX_BUCKETS", 4)
    X = np.random.default_rng(0).normal(size=(640, 3))
    per_partition = []
    for partitions in (8, 32):
        whole = da.from_array(X, chunks=(640 // partitions, 3))
        with Count() as count:
            on_dask.FALLRegressor(**SMALL).fit(whole, whole[:, 0]).predict(whole).compute()
        per_partition.append(count.n / partitions)
    assert per_partition[1] <= per_partition[0]
