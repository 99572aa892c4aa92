"""Reliability curves and errors of probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import KFold

from locallinear import FALLClassifier, FALLClassifierCV, FALLEnsembleClassifier
from locallinear.explain import report_data
from locallinear.explain.reliability import probability_scores, reliability, unseen_probabilities


@pytest.fixture
def said():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 500)
    y = np.array([rng.choice(3, p=row) for row in p])
    return np.array(["a", "b", "c"])[y], p, np.array(["a", "b", "c"])


def test_the_curve_of_a_class_is_scikit_learns(said):
    y, p, classes = said
    found = reliability(y, p, classes, target=1)
    observed, predicted = calibration_curve(y == "b", p[:, 1], n_bins=10)
    assert_allclose(found.observed, observed)
    assert_allclose(found.predicted, predicted)
    assert found.counts.sum() == 500


def test_errors_are_scikit_learns(said):
    y, p, classes = said
    found = probability_scores(y, p, classes)
    assert found["log loss"] == pytest.approx(log_loss(y, p))
    two = np.c_[1 - p[:, 0], p[:, 0]]
    brier = probability_scores(y == "a", two, np.array([False, True]))["Brier score"]
    assert brier == pytest.approx(2 * brier_score_loss(y == "a", p[:, 0]))


def test_shares_of_classes_are_the_measure_of_a_model_that_knows_nothing(said):
    y, _, classes = said
    shares = np.tile([(y == c).mean() for c in classes], (500, 1))
    found = probability_scores(y, shares, classes)
    assert found["log loss"] == pytest.approx(found["log loss of shares"])
    assert found["Brier score"] == pytest.approx(found["Brier score of shares"])


def test_true_probabilities_lie_in_about_two_of_three_intervals():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(40):
        p = rng.uniform(size=400)
        y = (rng.uniform(size=400) < p).astype(int)
        found = reliability(y, np.c_[1 - p, p], np.array([0, 1]), target=1)
        assert ((found.low <= found.observed) & (found.observed <= found.high)).all()
        inside.extend((found.low <= found.predicted) & (found.predicted <= found.high))
    assert np.mean(inside) == pytest.approx(0.68, abs=0.06)


def test_without_a_target_each_row_counts_once_per_class(said):
    y, p, classes = said
    found = reliability(y, p, classes)
    assert found.counts.sum() == 1500
    assert found.counts @ found.observed == pytest.approx(500)


def test_certain_probabilities_are_in_the_last_bin_and_empty_bins_are_left_out():
    found = reliability(np.array([1, 1]), np.array([[0.0, 1.0]] * 2), np.array([0, 1]), target=1)
    assert_array_equal(found.counts, [2])
    assert_array_equal(found.predicted, [1.0])


def test_unseen_probabilities_of_a_single_model_are_by_its_own_map_of_refitted_scores():
    X, y = make_classification(120, random_state=0)
    model = FALLClassifierCV({"n_neighbors": [5]}, random_state=0).fit(X, y).best_estimator_
    splits = list(KFold(3).split(X))
    p = unseen_probabilities(model, X, y, splits)
    train, test = splits[1]
    refitted = FALLClassifier(**model.get_params()).fit(X[train], y[train])
    assert_allclose(p[test], model.probabilities_of(refitted.predict_scores(X[test])))


def test_probabilities_on_an_ensembles_page_are_those_of_its_folds():
    X, y = make_classification(120, random_state=0)
    model = FALLEnsembleClassifier(2, search={"n_neighbors": [5]}, random_state=0).fit(X, y)
    shown = report_data(model, max_rows=5)["scores"]["probabilities"]
    assert shown["errors"] == probability_scores(y, model.cv_prediction_, model.classes_)
    assert shown["n_rows"] == 120
