"""Models on Dask are the local models, however the samples are partitioned."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import locallinear as ll

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
from locallinear import dask as on_dask  # noqa: E402

SMALL = {"n_anchors": 12, "n_anchor_neighbors": 8, "n_neighbors": 3, "random_state": 0}
N = 60


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def sizes(draw, n):
    """Sizes of partitions that add up to n: any number of them, also empty or of one row."""
    cuts = sorted(draw(st.lists(st.integers(0, n), min_size=0, max_size=5)))
    return tuple(int(size) for size in np.diff([0, *cuts, n]))


@st.composite
def problems(draw):
    """Samples with repetitions, on a lattice or not, and how all is partitioned."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    d, m = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    X = rng.normal(size=(N, d))
    if draw(st.booleans()):
        X = X.round()  # many equal rows, and many rows equally far from others
    Y = np.sin(2 * X[:, :1]) + rng.normal(size=(N, m))
    weights = rng.integers(0, 3, N).astype(float) if draw(st.booleans()) else None
    Q = np.vstack([rng.normal(size=(9, d)), X[:3]])
    return X, Y, weights, Q, [sizes(draw, N), sizes(draw, N), sizes(draw, len(Q))]


def blocks(values, chunks, known=True):
    """A Dask array with these partitions, whose sizes Dask knows or does not know."""
    whole = da.from_array(values, chunks=(chunks, *values.shape[1:]))
    if known:
        return whole
    shape = (np.nan, *values.shape[1:])
    parts = [da.from_delayed(p, shape, dtype=values.dtype) for p in whole.to_delayed().ravel()]
    return da.concatenate(parts)


OPTIONS = st.sampled_from(
    [
        {},
        {"scaling": None},
        {"scaling": "quantile"},
        {"neighborhood": "learned", "metric_iterations": 2},
        {"assignment_neighbors": 4},
        {"anchor_selection": "kmeans", "n_anchors": 5},
        {"anchor_alpha": 0.1, "anchor_l1_ratio": 0.5, "fit_intercept": False},
        {"neighborhood_features": [0], "weights": "uniform"},
    ]
)


def assert_same(on_cluster, local, Q, chunks):
    np.testing.assert_allclose(on_cluster.anchor_points_, local.anchor_points_, rtol=1e-12)
    np.testing.assert_allclose(on_cluster.anchor_models_, local.anchor_models_, atol=1e-9)
    np.testing.assert_array_equal(on_cluster.labels_.compute(), local.labels_)
    predicted = on_cluster.predict(blocks(Q, chunks))
    np.testing.assert_allclose(predicted.compute(), local.predict(Q), rtol=1e-9, atol=1e-9)


@settings(max_examples=25)
@given(problems(), OPTIONS)
def test_fit_and_predict_equal_the_local_model_whatever_the_partitions(problem, options):
    X, Y, weights, Q, (rows, targets, queries) = problem
    local = ll.FALLRegressor(**SMALL | options).fit(X, Y, weights)
    w = None if weights is None else blocks(weights, targets)
    on_cluster = on_dask.FALLRegressor(**SMALL | options)
    on_cluster.fit(blocks(X, rows), blocks(Y, targets), w)
    assert_same(on_cluster, local, Q, queries)


@settings(max_examples=10)
@given(problems(), st.sampled_from([1, 4]))
def test_samples_that_come_and_go_equal_those_of_the_local_model(problem, assignment_neighbors):
    X, Y, weights, Q, (rows, targets, queries) = problem
    options = SMALL | {"assignment_neighbors": assignment_neighbors}
    w = None if weights is None else blocks(weights, targets)
    gone = [0, 7, 8, 33]
    local = ll.FALLRegressor(**options).fit(X, Y).partial_fit(X[::-1], Y, weights).forget(gone)
    on_cluster = on_dask.FALLRegressor(**options).partial_fit(blocks(X, rows), blocks(Y, rows))
    on_cluster.partial_fit(blocks(X[::-1], targets), blocks(Y, targets), w).forget(gone)
    assert on_cluster.n_samples_fit_ == local.n_samples_fit_
    assert_same(on_cluster, local, Q, queries)
    np.testing.assert_allclose(on_cluster.mean_target, local.mean_target, atol=1e-12)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1], rng.normal(size=(20, 3))


@pytest.fixture(scope="module")
def pair(problem):
    """A model on Dask, and the local one."""
    X, y, _ = problem
    options = SMALL | {"scaling": "quantile"}
    arrays = blocks(X, (50, 0, 39, 1)), blocks(y, (50, 0, 39, 1))
    return on_dask.FALLRegressor(**options).fit(*arrays), ll.FALLRegressor(**options).fit(X, y)


def test_explanations_equal_those_of_the_local_model(pair, problem):
    on_cluster, local = pair
    Q = problem[2]
    lazy, wanted = on_cluster.explain(blocks(Q, (7, 13))), local.explain(Q)
    found = lazy.compute()
    for name in ["prediction", "coef", "intercept", "contributions", "slopes", "ranks"]:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-9)
        np.testing.assert_allclose(getattr(lazy, name).compute(), getattr(found, name))
    for name in ["anchor_part", "correction_part", "neighborhood_part", "difference_parts"]:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-9)
    for name in ["neighbors", "neighbor_labels"]:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    np.testing.assert_allclose(lazy.baseline, wanted.baseline)
    assert lazy.coef.shape == wanted.coef.shape
    assert list(found.to_frame().columns) == list(wanted.to_frame().columns)


def test_predict_computes_nothing_before_it_is_asked(pair):
    def fail(block):
        raise AssertionError("a block was computed")

    Q = da.zeros((4, 3), chunks=2).map_blocks(fail, dtype=float)
    assert pair[0].predict(Q).shape == (4,)
    assert pair[0].explain(Q).coef.shape == (4, 3, 1)


def test_one_local_model_comes_from_all_partitions(pair, problem, path):
    on_cluster, local = pair
    on_cluster.save(path)
    for model in (on_cluster.to_local(), ll.load(path)):
        assert type(model) is ll.FALLRegressor
        np.testing.assert_array_equal(model.labels_, local.labels_)
        np.testing.assert_array_equal(model.predict(problem[2]), local.predict(problem[2]))
        np.testing.assert_allclose(
            model.influence(problem[2]).toarray(), local.influence(problem[2]).toarray()
        )


def test_a_gathered_model_knows_samples_without_weight(problem, path):
    X, y, Q = problem
    weights = np.arange(len(X)) % 3.0
    local = ll.FALLRegressor(**SMALL).fit(X, y, weights)
    on_cluster = on_dask.FALLRegressor(**SMALL)
    on_cluster.fit(*(blocks(each, (40, 50)) for each in (X, y, weights))).save(path)
    loaded = ll.load(path)
    np.testing.assert_array_equal(loaded.predict(Q), local.predict(Q))
    np.testing.assert_array_equal(loaded.training_weights(), weights)


def test_frames_of_unknown_sizes_give_the_same_model_with_names(problem):
    X, y, Q = problem
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(price=y)
    local = ll.FALLRegressor(**SMALL).fit(frame[["a", "b", "c"]], frame["price"])
    parts = dd.from_pandas(frame, npartitions=4)
    on_cluster = on_dask.FALLRegressor(**SMALL).fit(parts[["a", "b", "c"]], parts["price"])
    queries = dd.from_pandas(pd.DataFrame(Q, columns=["a", "b", "c"]), npartitions=3)
    wanted = local.predict(pd.DataFrame(Q, columns=["a", "b", "c"]))
    np.testing.assert_allclose(on_cluster.predict(queries).compute(), wanted)
    assert on_cluster.feature_names_in_.tolist() == ["a", "b", "c"]
    assert on_cluster.explain(queries).target_names == ["price"]
    assert on_cluster.score(parts[["a", "b", "c"]], parts["price"]) == pytest.approx(
        local.score(frame[["a", "b", "c"]], y)
    )


def test_arrays_of_unknown_sizes_and_single_precision_give_the_same_model(problem):
    X, y, Q = (each.astype(np.float32) for each in problem)
    local = ll.FALLRegressor(**SMALL).fit(X, y)
    given = (blocks(each, (30, 0, 60), known=False) for each in (X, y))
    on_cluster = on_dask.FALLRegressor(**SMALL).fit(*given)
    found = on_cluster.predict(blocks(Q, (5, 15), known=False)).compute()
    np.testing.assert_allclose(found, local.predict(Q), rtol=1e-9)


@pytest.mark.parametrize("kind", [str, int, bool])
def test_a_classifier_on_dask_equals_the_local_one(problem, kind):
    X, y, Q = problem
    labels = (y > 0) if kind is bool else np.digitize(y, [-0.5, 0.5]).astype(kind)
    local = ll.FALLClassifier(**SMALL).fit(X, labels)
    on_cluster = on_dask.FALLClassifier(**SMALL).fit(
        blocks(X, (40, 1, 49)), blocks(labels, (40, 1, 49))
    )
    queries = blocks(Q, (20, 0))
    np.testing.assert_array_equal(on_cluster.classes_, local.classes_)
    np.testing.assert_array_equal(on_cluster.predict(queries).compute(), local.predict(Q))
    np.testing.assert_allclose(on_cluster.predict_proba(queries).compute(), local.predict_proba(Q))
    np.testing.assert_allclose(
        on_cluster.explain(queries).contributions.compute(), local.explain(Q).contributions
    )
    right = on_cluster.score(blocks(X, (90,)), blocks(labels, (90,)))
    assert right == pytest.approx(local.score(X, labels))
    np.testing.assert_array_equal(on_cluster.to_local().predict(Q), local.predict(Q))


def test_a_classifier_learns_classes_that_come_later(problem):
    X, y, Q = problem
    labels = np.where(y > 0, "up", "down")
    first, rest = np.flatnonzero(y > 0)[:20], np.arange(30, 90)
    local = ll.FALLClassifier(**SMALL)
    local.partial_fit(X[first], labels[first], classes=["down", "up"])
    local.partial_fit(X[rest], labels[rest])
    on_cluster = on_dask.FALLClassifier(**SMALL)
    for rows, classes in ((first, ["down", "up"]), (rest, None)):
        parts = (blocks(each[rows], (len(rows) - 5, 5)) for each in (X, labels))
        on_cluster.partial_fit(*parts, classes=classes)
    np.testing.assert_allclose(
        on_cluster.predict_proba(blocks(Q, (20,))).compute(), local.predict_proba(Q)
    )


def test_a_model_of_given_anchors_equals_the_local_one(problem):
    X, y, Q = problem
    arrays = blocks(X, (50, 40)), blocks(y, (50, 40))
    for options in (
        {"anchor_selection": X[:4] + 0.1},
        {"anchor_models": np.arange(8.0).reshape(2, 4, 1)},
    ):
        local = ll.FALLRegressor(**SMALL | options).fit(X, y)
        on_cluster = on_dask.FALLRegressor(**SMALL | options).fit(*arrays)
        assert_same(on_cluster, local, Q, (20,))


def test_parameters_set_after_the_fit_count(problem):
    X, y, Q = problem
    on_cluster = on_dask.FALLRegressor(**SMALL).fit(blocks(X, (50, 40)), blocks(y, (50, 40)))
    local = ll.FALLRegressor(**SMALL).fit(X, y)
    for model in (on_cluster, local):
        model.set_params(n_neighbors=7, alpha=0.1, weights="uniform")
    np.testing.assert_allclose(on_cluster.predict(blocks(Q, (20,))).compute(), local.predict(Q))
