"""Ensembles: the mean of their members, still one exact linear model a prediction."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from locallinear import FALLClassifier, FALLEnsembleClassifier, FALLEnsembleRegressor, FALLRegressor
from locallinear.ensemble.members import merge_neighbors
from locallinear.explain import AlphaPathDisplay, ContributionDisplay
from locallinear.models.siblings import groups_of
from problems import KINDS, few
from sklearn_checks import check_all

# Equivalences ----------------------------------------------------------------------------------


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned", "forest"])
def test_one_member_with_all_features_and_no_search_is_the_model(make_samples, neighborhood):
    X, y, Q = make_samples
    alone = FALLRegressor(neighborhood=neighborhood, random_state=7)
    ensemble = few(1, max_features=1.0, estimator=alone, random_state=3).fit(X, y)
    alone = clone(alone).fit(X, y)
    assert_allclose(ensemble.predict(Q), alone.predict(Q), rtol=1e-12)
    told, expected = ensemble.explain(Q), alone.explain(Q)
    assert_allclose(told.coef, expected.coef)
    assert_array_equal(np.sort(told.neighbors), np.sort(expected.neighbors))


def test_one_classifier_with_all_features_and_no_search_is_the_model():
    X, y = load_iris(return_X_y=True)
    ensemble = FALLEnsembleClassifier(1, max_features=1.0, search=None, random_state=0).fit(X, y)
    alone = FALLClassifier(random_state=0).fit(X, y)
    assert_array_equal(ensemble.predict_proba(X), alone.predict_proba(X))


def test_predictions_are_the_members_mean(make_samples):
    X, y, Q = make_samples
    model = few().fit(X, y)
    of_members = [member.predict(Q) for member in model.estimators_]
    mean, deviation = model.predict(Q, return_std=True)
    assert_allclose(mean, np.mean(of_members, axis=0))
    assert_allclose(mean, model.predict(Q))
    assert deviation.shape == mean.shape
    assert deviation.min() > 0


def test_n_jobs_does_not_matter(make_samples, searched):
    X, y, Q = make_samples
    parallel = clone(searched).set_params(n_jobs=2).fit(X, y)
    assert_array_equal(parallel.predict(Q), searched.predict(Q))
    assert parallel.cv_score_ == searched.cv_score_


def test_members_of_a_group_have_one_geometry_and_anchors_of_their_own(make_samples):
    X, y, Q = make_samples
    model = few(7, estimator=FALLRegressor(neighborhood="forest"), n_neighborhoods=3).fit(X, y)
    groups = groups_of(model.estimators_)
    assert [len(group) for group in groups] == [3, 2, 2]
    for first, *siblings in groups:
        for member in siblings:
            assert_array_equal(member.explain(Q).neighbors, first.explain(Q).neighbors)
            assert not np.array_equal(member.anchor_points_, first.anchor_points_)
    alone = clone(groups[1][0]).fit(X, y)
    assert_allclose(alone.predict(Q), groups[1][0].predict(Q))


# Explanations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_contributions_add_up_to_the_prediction(make_samples, scaling):
    X, y, Q = make_samples
    Y = np.column_stack([y, y**2])
    model = few(estimator=FALLRegressor(scaling=scaling, neighborhood="learned")).fit(X, Y)
    told = model.explain(Q)
    assert_allclose(told.contributions.sum(axis=1) + told.intercept, model.predict(Q))
    regressors = Q if told.ranks is None else told.ranks
    assert (told.ranks is None) == (scaling != "quantile")
    assert_allclose(told.contributions, told.coef * regressors[:, :, None])
    parts = told.anchor_part + told.correction_part
    assert_allclose(parts, np.concatenate([told.coef, told.intercept[:, None]], axis=1))


@pytest.mark.parametrize("neighborhood", ["learned", "forest"])
def test_coefficients_are_in_the_users_units(make_samples, neighborhood):
    X, y, Q = make_samples
    units = np.array([1000.0, 1.0, 0.01, 1.0, 3.0])
    member = FALLRegressor(neighborhood=neighborhood)
    told = few(estimator=member).fit(X, y).explain(Q)
    scaled = few(estimator=member).fit(X * units, y).explain(Q * units)
    assert_allclose(scaled.coef * units[:, None], told.coef, rtol=1e-6, atol=1e-9)
    assert_allclose(scaled.prediction, told.prediction, rtol=1e-6)


def test_merged_neighbours_have_the_members_weight(make_samples):
    X, y, Q = make_samples
    model = few().fit(X, y)
    told = model.explain(Q)
    total = np.zeros((len(Q), len(X)))
    for member in model.estimators_:
        one = member.explain(Q)
        np.add.at(total, (np.arange(len(Q))[:, None], one.neighbors), one.neighbor_weights / 4)
    merged = np.zeros_like(total)
    np.add.at(merged, (np.arange(len(Q))[:, None], told.neighbors), told.neighbor_weights)
    assert_allclose(merged, total)
    assert (np.diff(told.neighbor_weights, axis=1) <= 0).all()
    assert_allclose(told.neighbor_weights.sum(axis=1), 1)
    assert_array_equal(told.neighbor_labels, model.labels_[told.neighbors])


def test_queries_with_fewer_neighbours_are_filled_up_without_weight():
    rows, weights = np.array([[4, 2], [1, 0]]), np.array([[0.5, 0.5], [1.0, 0.0]])
    rows, weights = merge_neighbors([rows] * 2, [weights] * 2)
    assert_array_equal(rows, [[2, 4], [1, 1]])
    assert_allclose(weights, [[0.5, 0.5], [1, 0]])


def test_pictures_and_reports_take_an_ensemble(make_samples, tmp_path):
    X, y, Q = make_samples
    model = few().fit(X, y)
    told = model.explain(Q)
    drawn = ContributionDisplay.from_explanation(told, row=3)
    assert drawn.prediction == pytest.approx(told.prediction[3])
    told.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{told.prediction[3]:.3f}"[:5] in page
    with pytest.raises(TypeError, match="pass a member"):
        AlphaPathDisplay.from_estimator(model, Q, row=0)


# Classes ---------------------------------------------------------------------------------------


def test_classes_of_any_type_with_probabilities_that_explanations_back():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = FALLEnsembleClassifier(4, search=KINDS, random_state=0).fit(X, names)
    proba = model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert proba.min() >= 0
    assert model.score(X, names) > 0.95
    assert model.cv_score_ > 0.9
    told = model.explain(X[:5])
    assert_allclose(told.contributions.sum(axis=1) + told.intercept, told.prediction)


# scikit-learn's world --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "search"),
    [
        ("FALLEnsembleRegressor", None),
        ("FALLEnsembleClassifier", None),
        ("FALLEnsembleRegressor", {"n_neighbors": [3]}),
    ],
)
def test_scikit_learns_checks_all_pass_and_none_is_skipped(name, search):
    check_all(name, {"n_estimators": 2, "search": search})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_features": 0.0}, "max_features"),
        ({"search": "all"}, "search"),
        ({"estimator": FALLClassifier()}, "estimator"),
        ({"search": {"neighbours": [3]}}, "neighbours"),
        ({"search": {"n_neighbors": [0]}}, r"search\['n_neighbors'\]"),
        ({"estimator": FALLRegressor(scaling="standrd")}, "'scaling'.*'standrd'"),
        ({"estimator": FALLRegressor(anchor_alpha=-1.0)}, "'anchor_alpha'"),
        ({"estimator": FALLRegressor(n_anchors=0), "n_jobs": 2}, "'n_anchors'"),
    ],
)
def test_bad_parameters_are_named(make_samples, options, said):
    X, y, _ = make_samples
    with pytest.raises(ValueError, match=said):
        few(**options).fit(X, y)


def test_queries_of_another_shape_are_refused_in_the_ensembles_name(make_samples):
    X, y, Q = make_samples
    model = few().fit(X, y)
    for ask in (model.predict, model.explain, lambda x: model.partial_fit(x, x[:, 0])):
        with pytest.raises(ValueError, match="FALLEnsembleRegressor is expecting 5 features"):
            ask(Q[:, :2])


@pytest.mark.parametrize("name", ["labels_", "n_samples_fit_", "feature_weights_"])
def test_an_ensemble_that_is_not_fitted_says_so_of_its_attributes(name):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(few(), name)


def test_too_few_samples_for_a_search_are_told_of_the_way_out():
    X, y = np.eye(2), np.arange(2.0)
    with pytest.raises(ValueError, match=r"n_samples=2 samples are too few.*search=None"):
        FALLEnsembleRegressor(2).fit(X, y)
    assert few(2, estimator=FALLRegressor(n_neighbors=1)).fit(X, y).predict(X).shape == (2,)


def test_a_second_fit_leaves_nothing_of_the_first(make_samples, searched):
    X, y, _ = make_samples
    model = clone(searched).fit(X, y).set_params(search=None).fit(X[:50], y[:50])
    assert not hasattr(model, "cv_score_")
