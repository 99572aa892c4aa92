"""FALLClassifier: FALL on one-hot targets, and probabilities from its scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError

from locallinear import FALLClassifier, FALLRegressor
from reference import ReferenceFALL

COMMON = {"n_anchor_neighbors": 12, "anchor_alpha": 0.05, "n_neighbors": 4}


def blobs(seed, n=60, classes=3, d=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(classes, d))[y]
    return X, y, 3 * rng.normal(size=(15, d)), rng


def nearest_in_simplex(scores):
    """The projection by bisection on the threshold."""
    low, high = scores.min() - 1, scores.max()
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(scores - middle, 0).sum() > 1:
            low = middle
        else:
            high = middle
    return np.maximum(scores - low, 0)


@given(seed=st.integers(0, 2**31), scaling=st.sampled_from([None, "standard"]))
def test_scores_and_probabilities_equal_the_reference_on_one_hot_targets(seed, scaling):
    X, y, Q, _ = blobs(seed)
    model = FALLClassifier(6, scaling=scaling, random_state=0, **COMMON).fit(X, y)
    oracle = ReferenceFALL(anchor_points=model.anchor_points_, scaling=scaling, **COMMON)
    oracle.fit(X, np.eye(3)[y]).make_models(model.labels_)
    scores = np.array([oracle.predict_one(x)[0] for x in Q])
    assert_allclose(model.explain(Q).prediction, scores, rtol=1e-9, atol=1e-9)
    # One more sample of each class.
    expected = (60 * np.array([nearest_in_simplex(s) for s in scores]) + 1) / 63
    assert_allclose(model.predict_proba(Q), expected, atol=1e-9)


@given(seed=st.integers(0, 2**31))
def test_scores_are_the_regressors_predictions_of_one_hot_targets(seed):
    X, y, Q, _ = blobs(seed)
    classifier = FALLClassifier(6, random_state=0, **COMMON).fit(X, y)
    regressor = FALLRegressor(6, random_state=0, **COMMON).fit(X, np.eye(3)[y])
    assert_array_equal(classifier.labels_, regressor.labels_)
    assert_allclose(classifier.explain(Q).prediction, regressor.predict(Q), atol=1e-12)


@given(
    seed=st.integers(0, 2**31),
    classes=st.integers(1, 5),
    far=st.sampled_from([1.0, 1e3, 1e9, 1e20, 1e100]),
)
def test_probabilities_are_inside_the_simplex_however_far_the_query(seed, classes, far):
    X, y, Q, _ = blobs(seed, classes=classes)
    model = FALLClassifier(6, random_state=0, **COMMON).fit(X, y)
    probabilities = model.predict_proba(far * Q)
    assert probabilities.shape == (15, classes)
    assert (probabilities > 0).all()
    assert classes == 1 or (probabilities < 1).all()
    assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)


@given(seed=st.integers(0, 2**31))
def test_the_predicted_class_has_the_largest_score_and_probability(seed):
    X, y, Q, _ = blobs(seed)
    model = FALLClassifier(6, random_state=0, **COMMON).fit(X, y)
    predicted = model.predict(Q)
    assert_array_equal(predicted, model.predict_proba(Q).argmax(axis=1))
    scores = model.explain(Q).prediction
    assert_allclose(scores[np.arange(len(Q)), predicted], scores.max(axis=1), atol=1e-9)


def test_scores_of_classes_are_of_several_targets():
    X, y, _, _ = blobs(0)
    model = FALLClassifier(6, random_state=0)
    with pytest.raises(NotFittedError):
        _ = model.one_target
    assert not model.fit(X, y).one_target
    assert not model.fit(X, y * 0).one_target


def test_explanation_has_a_column_a_class():
    X, y, Q, _ = blobs(0)
    model = FALLClassifier(6, random_state=0, **COMMON).fit(X, np.array(["a", "b", "c"])[y])
    told = model.explain(Q)
    assert told.coef.shape == (15, 2, 3)
    assert told.intercept.shape == (15, 3)
    assert told.target_names == ["a", "b", "c"]
    assert_allclose(told.contributions.sum(axis=1) + told.intercept, told.prediction, atol=1e-9)
    # One-hot columns sum to one, and so do linear scores of models with an intercept.
    assert_allclose(told.prediction.sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_two_moons_are_separated(scaling):
    X, y = make_moons(400, noise=0.1, random_state=0)
    unseen, truth = make_moons(400, noise=0.1, random_state=1)
    model = FALLClassifier(scaling=scaling, random_state=0).fit(X, y)
    assert model.score(unseen, truth) >= 0.99


def test_the_boundary_of_two_moons_without_noise_has_no_error():
    X, y = make_moons(300, noise=0.0, random_state=0)
    unseen, truth = make_moons(1000, noise=0.0, random_state=1)
    assert FALLClassifier(random_state=0).fit(X, y).score(unseen, truth) == 1.0


LABELS = {
    "words": np.array(["red", "green", "blue"]),
    "objects": np.array(["red", "green", "blue"], dtype=object),
    "negative numbers": np.array([-5, 0, 100]),
    "whole floats": np.array([1.0, 2.0, 4.0]),
    "unsigned": np.array([200, 3, 7], dtype=np.uint8),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type_come_back_as_they_were(kind):
    X, y, Q, _ = blobs(0)
    labels = LABELS[kind]
    model = FALLClassifier(6, random_state=0, **COMMON).fit(X, labels[y])
    assert_array_equal(model.classes_, np.unique(labels))
    predicted = model.predict(Q)
    assert predicted.dtype == labels.dtype
    plain = FALLClassifier(6, random_state=0, **COMMON).fit(X, y)
    assert_array_equal(np.sort(labels)[model.predict_proba(X).argmax(axis=1)], model.predict(X))
    assert_array_equal(predicted, labels[plain.predict(Q)])


def test_truth_values_are_labels():
    X, y, Q, _ = blobs(0, classes=2)
    model = FALLClassifier(6, random_state=0, **COMMON).fit(X, y == 1)
    plain = FALLClassifier(6, random_state=0, **COMMON).fit(X, y)
    assert model.predict(Q).dtype == bool
    assert_array_equal(model.predict(Q), plain.predict(Q) == 1)


def test_a_single_class_is_always_predicted():
    X, *_ = blobs(0)
    model = FALLClassifier(random_state=0).fit(X, np.full(60, "only"))
    assert_array_equal(model.predict(X[:3]), ["only"] * 3)
    assert_array_equal(model.predict_proba(X[:3]), np.ones((3, 1)))


def test_assign_gives_training_samples_their_labels():
    X, y = load_iris(return_X_y=True)
    model = FALLClassifier(10, random_state=0).fit(X, y)
    A = model.anchor_models_
    assert_allclose(A[model.assign(X, y)], A[model.labels_], atol=1e-9)


def test_iris_is_learned():
    from sklearn.model_selection import cross_val_score

    X, y = load_iris(return_X_y=True)
    assert cross_val_score(FALLClassifier(random_state=0), X, y, cv=5).mean() > 0.93


def test_numbers_that_are_no_classes_are_refused():
    X, *_ = blobs(0)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        FALLClassifier().fit(X, X[:, 0])
