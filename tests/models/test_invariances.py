"""What must not change a result: order, repetition, chunks, threads, precision, units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from archives import peak_of
from locallinear import FALLRegressor
from locallinear.runtime import chunks as _chunks

SCALINGS = [None, "standard", "quantile"]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def smooth(seed, n=80, d=3, q=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, -1] + 0.1 * rng.normal(size=n)
    return X, y, rng.normal(size=(q, d)), rng.uniform(0.2, 2, size=n), rng


def assert_same_anchors(model, labels, expected):
    """Equal labels, or of anchors with equal models: then either may be chosen."""
    A = model.anchor_models_
    assert_allclose(A[labels], A[expected], **CLOSE)


def regressor(**options):
    options = {"n_anchors": 8, "n_anchor_neighbors": 15, "anchor_alpha": 0.1, **options}
    return FALLRegressor(**options, random_state=0)


@pytest.mark.parametrize("selection", ["random", "kmeans"])
@pytest.mark.parametrize("assignment_neighbors", [1, 5])
@given(seed=st.integers(0, 2**31), scaling=st.sampled_from(SCALINGS))
def test_order_of_the_rows_does_not_matter(selection, assignment_neighbors, seed, scaling):
    X, y, Q, weight, rng = smooth(seed)
    options = {"anchor_selection": selection, "assignment_neighbors": assignment_neighbors}
    model = regressor(scaling=scaling, **options).fit(X, y, weight)
    order = rng.permutation(len(X))
    shuffled = regressor(scaling=scaling, **options).fit(X[order], y[order], weight[order])
    assert_allclose(shuffled.anchor_points_, model.anchor_points_, **CLOSE)
    assert_same_anchors(model, shuffled.labels_, model.labels_[order])
    assert_allclose(shuffled.predict(Q), model.predict(Q), **CLOSE)


@given(seed=st.integers(0, 2**31), scaling=st.sampled_from([None, "standard"]))
def test_a_weight_of_two_is_the_sample_twice_and_of_zero_never(seed, scaling):
    X, y, Q, _, rng = smooth(seed)
    weight = rng.permutation(np.resize([0, 1, 2, 3], len(X)))
    options = {"scaling": scaling, "assignment_neighbors": 3, "n_neighbors": 6}
    weighted = regressor(**options).fit(X, y, weight)
    repeated = regressor(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(repeated.anchor_models_, weighted.anchor_models_, **CLOSE)
    assert_same_anchors(weighted, repeated.labels_, np.repeat(weighted.labels_, weight))
    assert_allclose(repeated.predict(Q), weighted.predict(Q), **CLOSE)


@given(seed=st.integers(0, 2**31), small=st.integers(1, 20), large=st.integers(20, 60))
def test_fewer_random_anchors_are_the_first_of_more(seed, small, large):
    X, y, *_ = smooth(seed)
    few, many = (regressor(n_anchors=k).fit(X, y) for k in (small, large))
    assert_array_equal(few.anchor_points_, many.anchor_points_[:small])
    assert_allclose(few.anchor_models_, many.anchor_models_[:small], **CLOSE)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_random_anchors_are_distinct_rows_of_the_data(scaling):
    X, y, *_ = smooth(0, n=40)
    X = np.repeat(X, 3, axis=0)
    model = regressor(n_anchors=1000, scaling=scaling).fit(X, np.repeat(y, 3))
    assert_array_equal(np.unique(model.anchor_points_, axis=0), np.unique(X, axis=0))
    assert len(model.anchor_points_) == 40


@pytest.mark.parametrize("scaling", SCALINGS)
def test_fitted_anchor_points_can_be_given_back(scaling):
    X, y, Q, *_ = smooth(0)
    model = regressor(scaling=scaling).fit(X, y)
    again = regressor(scaling=scaling, anchor_selection=model.anchor_points_).fit(X, y)
    assert_allclose(again.predict(Q), model.predict(Q), **CLOSE)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_fitted_anchor_models_can_be_given_back_in_the_units_of_the_user(scaling):
    X, y, Q, *_ = smooth(0)
    model = regressor(scaling=scaling).fit(X, y)
    again = FALLRegressor(anchor_models=model.anchor_models_, scaling=scaling).fit(X, y)
    assert_allclose(again.predict(Q), model.predict(Q), **CLOSE)
    assert_allclose(again.local_models(), model.local_models(), **CLOSE)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_local_models_of_some_samples_are_those_of_all(scaling):
    X, y, *_ = smooth(0)
    model = regressor(scaling=scaling).fit(X, y)
    assert_array_equal(model.local_models([5, -1, 5]), model.local_models()[[5, 79, 5]])


@given(
    seed=st.integers(0, 2**31),
    shift=st.floats(-1e3, 1e3),
    scale=st.floats(1e-3, 1e3),
    sign=st.sampled_from([-1, 1]),
)
def test_units_of_a_feature_do_not_matter_under_standard_scaling(seed, shift, scale, sign):
    X, y, Q, weight, _ = smooth(seed)

    def changed(x):
        return np.column_stack([x[:, 0] * sign * scale + shift, x[:, 1:]])

    # A negative scale reverses the lexicographic order of the rows: so anchors are given.
    before = regressor(anchor_selection=X[:8]).fit(X, y, weight)
    after = regressor(anchor_selection=changed(X[:8])).fit(changed(X), y, weight)
    assert_allclose(after.predict(changed(Q)), before.predict(Q), rtol=1e-7, atol=1e-7)
    coef = after.explain(changed(Q)).coef * np.array([sign * scale, 1, 1])[:, None]
    assert_allclose(coef, before.explain(Q).coef, rtol=1e-6, atol=1e-6)


@given(seed=st.integers(0, 2**31), curve=st.sampled_from([np.exp, np.arctan, np.cbrt]))
def test_monotone_maps_of_a_feature_do_not_matter_under_quantile_scaling(seed, curve):
    X, y, _, weight, rng = smooth(seed)
    Q = np.column_stack([rng.permutation(column)[:20] for column in X.T])

    def changed(x):
        return np.column_stack([curve(x[:, 0]), x[:, 1:]])

    before = regressor(scaling="quantile").fit(X, y, weight)
    after = regressor(scaling="quantile").fit(changed(X), y, weight)
    assert_array_equal(after.labels_, before.labels_)
    assert_allclose(after.predict(changed(Q)), before.predict(Q), **CLOSE)
    assert_allclose(after.explain(changed(Q)).coef, before.explain(Q).coef, **CLOSE)


@given(seed=st.integers(0, 2**31), factor=st.floats(1e-3, 1e3))
def test_predictions_scale_with_the_targets(seed, factor):
    X, y, Q, *_ = smooth(seed)
    before, after = regressor().fit(X, y), regressor().fit(X, factor * y)
    assert_allclose(after.predict(Q), factor * before.predict(Q), rtol=1e-8, atol=1e-9 * factor)


@pytest.mark.parametrize("assignment_neighbors", [1, 4])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_chunking_does_not_matter(monkeypatch, assignment_neighbors, l1_ratio):
    X, y, Q, weight, _ = smooth(0)
    options = {"assignment_neighbors": assignment_neighbors, "anchor_l1_ratio": l1_ratio}
    whole = regressor(**options).fit(X, y, weight)
    with config_context(working_memory=1e-5):
        assert [s.stop - s.start for s in _chunks.row_chunks(3, 1000)] == [1, 1, 1]
        cut = regressor(**options).fit(X, y, weight)
        predicted, assigned = cut.predict(Q), cut.assign(X, y)
        told = cut.explain(Q)
    assert_array_equal(cut.labels_, whole.labels_)
    assert_allclose(cut.anchor_models_, whole.anchor_models_, rtol=1e-12, atol=1e-12)
    assert_allclose(predicted, whole.predict(Q), rtol=1e-12, atol=1e-12)
    assert_allclose(told.coef, whole.explain(Q).coef, rtol=1e-12, atol=1e-12)
    assert_array_equal(assigned, whole.assign(X, y))


def test_explaining_and_predicting_take_memory_in_proportion_to_what_they_return():
    X, y, Q, *_ = smooth(0, n=1500, d=20, q=1500)
    model = regressor(n_neighbors=100).fit(X, y)
    model.predict(Q[:1])
    returned = 5 * Q.nbytes  # coefficients, contributions, and the parts of the model
    neighbours = 100 * len(Q) * 8  # distances, rows, weights, labels
    assert peak_of(model.explain, Q) < 3 * returned + 8 * neighbours + 8 * 2**20
    assert peak_of(model.predict, Q) < 2 * Q.nbytes + 8 * neighbours + 8 * 2**20


@pytest.mark.parametrize("assignment_neighbors", [1, 5])
def test_fitting_never_holds_the_errors_of_all_samples_and_anchors(assignment_neighbors):
    X, y, *_ = smooth(0, n=20_000, d=4)
    model = regressor(n_anchors=400, assignment_neighbors=assignment_neighbors)
    assert peak_of(model.fit, X, y) < 10 * X.nbytes + 12 * 2**20 < 8 * len(X) * 400


@pytest.mark.parametrize("d", [2, 30])
def test_number_of_threads_does_not_matter(d):
    X, y, Q, *_ = smooth(0, n=2000, d=d, q=300)
    alone, together, all_cores = (regressor(n_jobs=n).fit(X, y) for n in (1, 2, -1))
    for other in (together, all_cores):
        assert_array_equal(other.labels_, alone.labels_)
        assert_allclose(other.predict(Q), alone.predict(Q), rtol=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_single_precision_input_is_used_exactly(scaling):
    X, y, Q, *_ = smooth(0)
    X, Q = X.astype(np.float32), Q.astype(np.float32)
    narrow = regressor(scaling=scaling).fit(X, y)
    wide = regressor(scaling=scaling).fit(X.astype(float), y)
    assert_array_equal(narrow.predict(Q), wide.predict(Q.astype(float)))


@pytest.mark.parametrize("scaling", SCALINGS)
def test_rounding_the_data_to_single_precision_changes_results_within_it(scaling):
    X, y, Q, weight, _ = smooth(0)
    exact = regressor(scaling=scaling, alpha=100.0).fit(X, y, weight)
    rounded = regressor(scaling=scaling, alpha=100.0).fit(X.astype("f4"), y.astype("f4"), weight)
    assert_allclose(rounded.predict(Q.astype("f4")), exact.predict(Q), rtol=1e-4, atol=1e-4)


def test_memory_layout_and_containers_do_not_matter():
    X, y, Q, *_ = smooth(0)
    plain = regressor().fit(X, y).predict(Q)
    frozen = X.copy()
    frozen.flags.writeable = False
    for same in [np.asfortranarray(X), X.tolist(), frozen, np.repeat(X, 2, axis=1)[:, ::2]]:
        assert_allclose(regressor().fit(same, y).predict(Q.tolist()), plain, rtol=1e-12)


def test_several_targets_with_shared_labels_are_predicted_column_by_column():
    # With one anchor all targets share it, and columns cannot influence each other.
    X, y, Q, *_ = smooth(0)
    both = regressor(n_anchors=1).fit(X, np.column_stack([y, -3 * y])).predict(Q)
    one = regressor(n_anchors=1).fit(X, y).predict(Q)
    assert_allclose(both, np.column_stack([one, -3 * one]), rtol=1e-9)
