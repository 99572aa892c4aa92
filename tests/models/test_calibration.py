"""Probabilities of searches and ensembles: calibrated on samples that their folds had left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold

import locallinear
from locallinear import FALLClassifier, FALLClassifierCV, FALLEnsembleClassifier
from locallinear.io import ModelFileError
from locallinear.models.calibration import calibration_of

SMALL = {"n_neighbors": [3, 8], "n_anchors": [5]}


def noisy(n=600, seed=0, **options):
    return make_classification(n, 6, flip_y=0.2, random_state=seed, **options)


def search(**options):
    return FALLClassifierCV(SMALL, random_state=0, **options)


def ensemble(**options):
    return FALLEnsembleClassifier(3, search=SMALL, random_state=0, **options)


@pytest.fixture(scope="module", params=[search, ensemble], ids=["search", "ensemble"])
def make(request):
    return request.param


def test_the_map_of_a_search_is_that_of_the_best_ones_scores_out_of_fold():
    X, y = noisy(200, n_classes=3, n_informative=4)
    model = search(cv=KFold(4, shuffle=True, random_state=1)).fit(X, y)
    scores = np.empty((200, 3))
    for train, test in KFold(4, shuffle=True, random_state=1).split(X):
        refitted = clone(model.best_estimator_).fit(X[train], y[train])
        scores[test] = refitted.explain(X[test]).prediction
    expected = calibration_of(scores, np.eye(3)[y], None)
    found = model.best_estimator_.calibration_
    assert_allclose([found[k] for k in expected], list(expected.values()), rtol=1e-4, atol=1e-4)


def test_calibrated_probabilities_lose_less_on_new_samples_than_those_of_a_single_model(make):
    X, y = noisy()
    model = make().fit(X[:300], y[:300])
    single = FALLClassifier(**model.best_params_, random_state=0).fit(X[:300], y[:300])
    calibrated, rough = model.predict_proba(X[300:]), single.predict_proba(X[300:])
    assert log_loss(y[300:], calibrated) < log_loss(y[300:], rough)
    # On average they say the share of the class.
    assert_allclose(calibrated.mean(axis=0), [0.5, 0.5], atol=0.07)


def test_the_predicted_class_has_the_highest_score_and_probability(make):
    X, y = noisy(200, n_classes=3, n_informative=4)
    model = make().fit(X, y)
    p = model.predict_proba(X)
    assert ((p > 0) & (p < 1)).all()
    assert_array_equal(model.predict(X), p.argmax(axis=1))
    scores = model.explain(X).prediction
    assert_array_equal(model.predict(X), scores.argmax(axis=1))


def test_a_map_survives_updates_and_ends_with_a_new_fit(make):
    X, y = noisy(200)
    model = make().fit(X[:150], y[:150])
    owner = getattr(model, "best_estimator_", model)
    kept = owner.calibration_
    owner.partial_fit(X[150:], y[150:]).forget([0, 1])
    assert owner.calibration_ == kept
    again = FALLClassifier().set_params(**search().fit(X, y).best_estimator_.get_params())
    assert not hasattr(again.fit(X, y), "calibration_")


def test_a_second_fit_of_the_best_estimator_is_a_single_models():
    X, y = noisy(100)
    best = search().fit(X, y).best_estimator_
    assert not hasattr(best.fit(X, y), "calibration_")


def test_a_file_keeps_the_map(make, tmp_path):
    X, y = noisy(100)
    model = make().fit(X, y)
    model.save(tmp_path / "classes.model")
    loaded = locallinear.load(tmp_path / "classes.model")
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.calibration_ == getattr(model, "best_estimator_", model).calibration_


@pytest.mark.parametrize("wrong", [{"n": 1.0}, {"n": 0.0, "slope": 1.0, "power": 0.0}])
def test_a_file_with_a_map_that_is_none_is_refused(make, tmp_path, wrong):
    X, y = noisy(100)
    model = make().fit(X, y)
    getattr(model, "best_estimator_", model).calibration_ = wrong
    model.save(tmp_path / "classes.model")
    with pytest.raises(ModelFileError, match="calibration"):
        locallinear.load(tmp_path / "classes.model")


def test_a_class_that_a_fold_lacks_is_calibrated_too(make):
    X, y = load_iris(return_X_y=True)
    folds = PredefinedSplit(np.where(y == 2, 0, np.arange(150) % 2))  # fold 1 fits on 0 and 1 alone
    p = make(cv=folds).fit(X, y).predict_proba(X)
    assert p.shape == (150, 3)
    assert ((p > 0) & (p < 1)).all()


def test_weights_count_samples_in_the_map(make):
    X, y = noisy(80)
    weights = np.where(np.arange(80) % 2, 1.0, 3.0)
    splits = list(StratifiedKFold(3).split(X, y))
    rows = np.repeat(np.arange(80), weights.astype(int))
    repeated = [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in splits]
    weighted = make(cv=splits).fit(X, y, weights)
    twice = make(cv=repeated).fit(X[rows], y[rows])
    assert_allclose(weighted.predict_proba(X), twice.predict_proba(X), atol=1e-2)


def test_without_time_the_samples_of_all_splits_calibrate():
    X, y = noisy(300)
    model = search(time_budget=1e-6).fit(X, y)
    assert model.best_estimator_.calibration_["n"] == 300


def test_an_ensemble_without_time_is_calibrated_on_the_scores_of_its_one_member():
    X, y = noisy(300)
    model = ensemble(cv=StratifiedKFold(3), time_budget=1e-6).fit(X, y)
    alone = FALLClassifierCV(
        {name: [value] for name, value in model.best_params_.items()},
        cv=StratifiedKFold(3),
        random_state=0,
    ).fit(X, y)
    assert len(model.estimators_) == 1
    assert model.cv_score_ == pytest.approx(alone.best_score_)
    expected = alone.best_estimator_.calibration_
    assert_allclose(list(model.calibration_.values()), list(expected.values()), rtol=1e-4)


def test_an_ensemble_without_a_search_smooths_as_a_single_model_does():
    X, y = noisy(100)
    model = FALLEnsembleClassifier(2, search=None, random_state=0).fit(X, y)
    assert model.probability_map == {"n": 100.0, "slope": 0.0, "power": 1.0}


def test_a_line_of_all_samples_is_a_kind_where_the_grid_is_ours():
    X, y = noisy(90)
    model = FALLEnsembleClassifier(2, random_state=0).fit(X, y)
    assert any(kind["params"]["n_anchors"] == 1 for kind in model.kinds_)
    assert all(kind["params"]["n_anchors"] == 5 for kind in ensemble().fit(X, y).kinds_)
