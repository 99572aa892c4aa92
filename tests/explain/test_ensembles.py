"""Reports on ensembles: scored in the ensembles' own folds, whatever these are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit

from locallinear import FALLEnsembleClassifier, FALLEnsembleRegressor, FALLRegressor
from locallinear.explain import report_data, write_report
from problems import few

GRID = {"n_neighbors": [6], "weights": ["uniform"]}


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(151, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=151)


def searched(samples, cv=None):
    return FALLEnsembleRegressor(3, search=GRID, cv=cv, random_state=0).fit(*samples)


@pytest.mark.parametrize(
    ("cv", "n_folds"), [(None, 10), (4, 4), (KFold(2), 2), (list(KFold(3).split(range(151))), 3)]
)
def test_scores_are_those_of_the_ensembles_own_folds(samples, cv, n_folds):
    model = searched(samples, cv)
    scores = report_data(model, max_rows=5)["scores"]
    assert scores["n_folds"] == n_folds
    assert_allclose(np.ravel(scores["predicted"]), model.cv_prediction_, rtol=1e-5)


def test_classes_are_scored_in_the_ensembles_own_folds():
    X, y = load_iris(return_X_y=True)
    model = FALLEnsembleClassifier(3, search=GRID, random_state=0).fit(X, y)
    scores = report_data(model, max_rows=5)["scores"]
    assert scores["n_folds"] == 3
    assert scores["models"][0]["accuracy"]["value"] == pytest.approx(model.cv_score_)


def test_where_not_all_samples_are_tested_once_there_are_folds_to_score_in(samples):
    model = searched(samples, ShuffleSplit(3, random_state=0))
    assert report_data(model, max_rows=5)["scores"]["n_folds"] == 5


def test_where_folds_have_one_sample_there_are_others_to_score_in():
    X, y = load_iris(return_X_y=True)
    model = FALLEnsembleClassifier(2, search=GRID, cv=LeaveOneOut(), random_state=0)
    model.fit(X[40:60], y[40:60])
    assert report_data(model, max_rows=5)["scores"]["n_folds"] == 5


def test_after_an_update_the_old_predictions_are_not_scored(samples):
    X, y = samples
    model = searched(samples)
    before = report_data(model, max_rows=5)["scores"]["models"][0]["R²"]["value"]
    model.partial_fit(X[:30], y[:30]).forget(range(30))  # the same samples in another order
    after = report_data(model, max_rows=5)["scores"]["models"][0]["R²"]["value"]
    assert after > before - 0.1


def test_rows_may_have_few_neighbours_and_many(samples):
    X, y = samples
    model = few(30).fit(X[:150], y[:150])
    data = report_data(model, Xq=np.vstack([X[:1], X[150:]]))
    alone, usual = data["rows"]["neighbors"]
    assert alone == [0]
    assert len(usual) > 1


def test_a_report_tells_of_the_members(samples, tmp_path):
    model = searched(samples)
    data = report_data(model, max_rows=5)
    assert data["model"]["n_members"] == 3
    assert sum(kind["n_members"] for kind in data["model"]["kinds"]) == 3
    assert {kind["parameters"]["n_neighbors"] for kind in data["model"]["kinds"]} == {6}
    write_report(tmp_path / "report.html", data)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The mean of 3 local linear models (FALL) of 151 samples" in page


def test_feature_weights_are_the_means_of_the_members(samples):
    X, y = samples
    model = few(4, max_features=1.0).fit(X, y)
    assert model.explain(X[:1]).feature_weights is None
    assert not hasattr(model, "feature_weights_")
    model = few(4).fit(X, y)
    used = [member.neighborhood_features for member in model.estimators_]
    expected = np.mean([np.isin(range(5), features) / len(features) for features in used], axis=0)
    assert_allclose(model.feature_weights_, expected)
    model.estimators_[0] = FALLRegressor(random_state=0).fit(X, y)  # one that weighs all alike
    uniform = np.isin(range(5), used[0]) / len(used[0])
    assert_allclose(model.feature_weights_, expected + (0.2 - uniform) / 4)
    assert_allclose(model.explain(X[:1]).feature_weights, model.feature_weights_)
