"""Samples that come and go: partial_fit, forget and assign against fits that knew better."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from locallinear import FALLClassifier, FALLRegressor

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def data(seed, n=60, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(3 * X[:, 0]) + X[:, -1] + 0.1 * rng.normal(size=n)
    return X, y, rng.normal(size=(20, d)), rng


def equal_models(one, other, Q):
    """The same samples, in the same order, with the same models and predictions."""
    assert_array_equal(one.labels_, other.labels_)
    assert one.n_samples_fit_ == other.n_samples_fit_
    assert_allclose(one.local_models(), other.local_models(), **CLOSE)
    assert_allclose(one.predict(Q), other.predict(Q), **CLOSE)
    told, expected = one.explain(Q), other.explain(Q)
    assert_array_equal(told.neighbors, expected.neighbors)
    assert_array_equal(told.neighbor_labels, expected.neighbor_labels)


def assert_same_anchors(model, labels, expected):
    """Equal labels, or of anchors with equal models: then either may be chosen."""
    A = model.anchor_models_
    assert_allclose(A[labels], A[expected], **CLOSE)


def with_anchors(rng, weights="distance"):
    return FALLRegressor(anchor_models=rng.normal(size=(6, 3, 1)), scaling=None, weights=weights)


@given(seed=st.integers(0, 2**31), cuts=st.lists(st.integers(5, 59), max_size=6, unique=True))
def test_partial_fit_in_any_batches_is_one_fit_with_the_same_anchors(seed, cuts):
    X, y, Q, rng = data(seed)
    model = with_anchors(rng)
    whole = with_anchors(rng).set_params(anchor_models=model.anchor_models).fit(X, y)
    for rows in np.split(np.arange(60), sorted(cuts)):
        model.partial_fit(X[rows], y[rows])
    equal_models(model, whole, Q)


@given(seed=st.integers(0, 2**31), scaling=st.sampled_from(["standard", "quantile"]))
def test_partial_fit_keeps_anchors_space_and_earlier_models(seed, scaling):
    X, y, *_ = data(seed)
    model = FALLRegressor(5, n_anchor_neighbors=10, scaling=scaling, random_state=0)
    model.fit(X[:40], y[:40])
    before = model.anchor_models_.copy(), model.local_models(), model.labels_
    model.partial_fit(X[40:] * 10, y[40:])
    assert_array_equal(model.anchor_models_, before[0])
    assert_array_equal(model.local_models(range(40)), before[1])
    assert_array_equal(model.labels_[:40], before[2])
    at_new = model.set_params(alpha=1e-12, n_neighbors=1).predict(X[40:] * 10)
    assert_allclose(at_new, y[40:], atol=1e-8)


@given(seed=st.integers(0, 2**31), late=st.booleans(), zero=st.booleans())
def test_partial_fit_with_weights_is_one_fit_with_them(seed, late, zero):
    X, y, Q, rng = data(seed)
    weight = rng.integers(0 if zero else 1, 4, size=60).astype(float)
    weight[:10] = 1.0
    if late:
        weight[:40] = 1.0
    model = with_anchors(rng)
    whole = with_anchors(rng).set_params(anchor_models=model.anchor_models).fit(X, y, weight)
    model.partial_fit(X[:40], y[:40], None if late else weight[:40])
    model.partial_fit(X[40:50], y[40:50], weight[40:50])
    model.partial_fit(X[50:], y[50:], weight[50:])
    equal_models(model, whole, Q)


@given(
    seed=st.integers(0, 2**31),
    steps=st.lists(
        st.tuples(st.booleans(), st.integers(1, 30), st.integers(0, 2**31)), min_size=1, max_size=8
    ),
    weighted=st.booleans(),
)
def test_any_sequence_of_additions_and_removals_is_one_fit_on_what_is_left(seed, steps, weighted):
    X, y, Q, rng = data(seed, n=400)
    weight = rng.uniform(0.5, 2, size=400) if weighted else None
    model = with_anchors(rng)
    left = list(range(20))

    def given_to(fit, rows):
        fit(X[rows], y[rows], None if weight is None else weight[rows])

    given_to(model.fit, left)
    start = 20
    for add, count, chance in steps:
        if add:
            rows = list(range(start, start + count))
            start += count
            given_to(model.partial_fit, rows)
            left += rows
        else:
            count = min(count, len(left) - 6)
            gone = np.random.default_rng(chance).choice(len(left), count, replace=False)
            model.forget(gone)
            left = [row for i, row in enumerate(left) if i not in set(gone)]
        fresh = with_anchors(rng).set_params(anchor_models=model.anchor_models)
        given_to(fresh.fit, left)
        equal_models(model, fresh, Q)


@given(seed=st.integers(0, 2**31))
def test_adding_and_forgetting_leaves_no_trace(seed):
    X, y, Q, _ = data(seed)
    model = FALLRegressor(5, n_anchor_neighbors=10, assignment_neighbors=3, random_state=0)
    model.fit(X[:50], y[:50])
    before = model.predict(Q)
    model.partial_fit(X[50:], y[50:]).forget(range(50, 60))
    assert_array_equal(model.predict(Q), before)
    assert model.n_samples_fit_ == 50


def test_forget_takes_numbers_from_the_end_and_repetitions():
    X, y, Q, rng = data(0)
    model = with_anchors(rng)
    fresh = with_anchors(rng).set_params(anchor_models=model.anchor_models).fit(X[1:-1], y[1:-1])
    equal_models(model.fit(X, y).forget([-1, 0, 0, 59]), fresh, Q)
    equal_models(model.forget([]), fresh, Q)


def test_thousands_of_single_additions_are_found_as_neighbours():
    X, y, Q, rng = data(0, n=3000, d=2)
    model = with_anchors(rng).fit(X[:50], y[:50])
    fresh = with_anchors(rng).set_params(anchor_models=model.anchor_models).fit(X, y)
    for row in range(50, 3000):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
        if row % 500 == 0:
            model.predict(Q)
    equal_models(model, fresh, Q)


@pytest.mark.parametrize("assignment_neighbors", [1, 2, 5])
@given(seed=st.integers(0, 2**31), weighted=st.booleans())
def test_assign_gives_training_samples_their_labels(assignment_neighbors, seed, weighted):
    X, y, _, rng = data(seed)
    weight = rng.uniform(0.2, 3, size=60) if weighted else None
    model = FALLRegressor(
        10, anchor_alpha=0.01, assignment_neighbors=assignment_neighbors, random_state=0
    ).fit(X, y, weight)
    assert len(np.unique(model.labels_)) > 1
    assert_same_anchors(model, model.assign(X, y), model.labels_)


@pytest.mark.parametrize("assignment_neighbors", [1, 2, 5, 100])
@given(seed=st.integers(0, 2**31), weighted=st.booleans())
def test_assign_gives_a_new_sample_the_label_that_adding_it_would(
    assignment_neighbors, seed, weighted
):
    X, y, Q, rng = data(seed)
    weight = rng.integers(1, 5, size=60) if weighted else None
    model = FALLRegressor(
        10, anchor_alpha=0.01, assignment_neighbors=assignment_neighbors, random_state=0
    ).fit(X, y, weight)
    Q, targets = Q[:5], rng.normal(size=5)
    together = model.assign(Q, targets)
    for query, target, label in zip(Q, targets, together, strict=True):
        model.partial_fit(query[None], [target])
        assert_same_anchors(model, label, model.labels_[-1])
        model.forget([-1])


def test_a_batch_may_hold_only_samples_without_weight():
    X, y, Q, rng = data(0)
    weight = np.r_[np.ones(50), np.zeros(10)]
    anchors = rng.normal(size=(4, X.shape[1] + 1, 1))
    whole = FALLRegressor(anchor_models=anchors, scaling=None).fit(X, y, weight)
    parts = FALLRegressor(anchor_models=anchors, scaling=None).fit(X[:50], y[:50], weight[:50])
    parts.partial_fit(X[50:], y[50:], weight[50:])
    assert_array_equal(parts.predict(Q), whole.predict(Q))
    assert_array_equal(parts.labels_, whole.labels_)


def test_the_first_partial_fit_fits_even_after_a_failed_one():
    X, y, Q, _ = data(0)
    model = FALLRegressor(anchor_models=np.zeros((2, 1, 1)), random_state=0)
    with pytest.raises(ValueError, match="anchor_models must have shape"):
        model.partial_fit(X, y)
    model.set_params(anchor_models=None).partial_fit(X, y)
    assert_array_equal(model.predict(Q), FALLRegressor(random_state=0).fit(X, y).predict(Q))


def test_a_failed_addition_leaves_the_model_as_it_was():
    X, y, Q, _ = data(0)
    model = FALLRegressor(random_state=0).fit(X, y)
    before = model.predict(Q)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        model.partial_fit(X, y, -np.ones(60))
    with pytest.raises(ValueError, match="targets of the fitted model"):
        model.partial_fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X * np.nan, y)
    assert_array_equal(model.predict(Q), before)
    assert model.n_samples_fit_ == 60


def test_updates_do_not_write_to_the_users_arrays():
    X, y, *_ = data(0)
    weight = np.ones(60)
    copies = X.copy(), y.copy(), weight.copy()
    model = FALLRegressor(scaling=None, random_state=0).fit(X, y, weight)
    model.partial_fit(X, y, weight).forget(range(70))
    for array, copy in zip((X, y, weight), copies, strict=True):
        assert_array_equal(array, copy)


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
@pytest.mark.parametrize("given", ["anchor_selection", "anchor_models"])
def test_what_is_written_into_the_users_arrays_later_does_not_reach_the_model(scaling, given):
    X, y, Q, rng = data(0)
    d = X.shape[1]
    anchors = rng.normal(size=(4, d) if given == "anchor_selection" else (4, d + 1, 1))
    arrays = X, y, np.ones(60), anchors
    model = FALLRegressor(scaling=scaling, **{given: anchors}).fit(*arrays[:3])
    before, points, models = model.predict(Q), model.anchor_points_.copy(), model.local_models()
    for array in arrays:
        array[:] = rng.normal(size=array.shape)
    assert_array_equal(model.predict(Q), before)
    assert_array_equal(model.anchor_points_, points)
    assert_array_equal(model.local_models(), models)


def test_a_classifier_learns_classes_that_were_announced_and_refuses_others():
    X, y, Q, rng = data(0)
    letters = np.where(y > 0, "high", "low")
    anchors = rng.normal(size=(4, 3, 3))
    model = FALLClassifier(anchor_models=anchors, scaling=None)
    model.partial_fit(X[:30], letters[:30], classes=["low", "high", "middle"])
    model.partial_fit(X[30:], np.full(30, "middle"))
    assert_array_equal(model.classes_, ["high", "low", "middle"])
    whole = FALLClassifier(anchor_models=anchors, scaling=None)
    whole.fit(X, np.append(letters[:30], np.full(30, "middle")))
    assert_allclose(model.predict_proba(Q), whole.predict_proba(Q), **CLOSE)
    with pytest.raises(ValueError, match="class 'other', which the model was not fitted with"):
        model.partial_fit(X[:1], ["other"])


@pytest.mark.parametrize("bad", [0, "x", 1.5])
def test_a_partial_fit_that_fails_leaves_the_model_as_it_was(make_problem, bad):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    before = model.predict(Q)
    with pytest.raises(ValueError, match="assignment_neighbors"):
        model.set_params(assignment_neighbors=bad).partial_fit(X[:2], 1000 * y[:2])
    model.set_params(assignment_neighbors=1)
    assert_array_equal(model.predict(Q), before)
    assert len(model.labels_) == model.n_samples_fit_ == len(X)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_partial_fit_that_breaks_off_takes_its_samples_back(make_problem, weighted, monkeypatch):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0, assignment_neighbors=3).fit(X, y).forget([3, 7])
    if weighted:
        model.partial_fit(X[:1], y[:1], [0.0])
    before, labels = model.predict(Q), model.labels_

    def broken(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr("locallinear.models.fitted.assign_new", broken)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[:5], 1000 * y[:5])
    monkeypatch.undo()
    assert_array_equal(model.predict(Q), before)
    assert_array_equal(model.labels_, labels)
    both = [clone(model).fit(X, y).forget([3, 7]), model]
    if weighted:
        both[0].partial_fit(X[:1], y[:1], [0.0])
    for one in both:
        one.partial_fit(Q[:4], np.arange(4.0))
    assert_allclose(*(one.predict(Q) for one in both))
