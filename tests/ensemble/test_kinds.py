"""The kinds of an ensemble's members: how they are chosen, and in which shares and order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)

from locallinear import FALLEnsembleClassifier, FALLEnsembleRegressor, FALLRegressor
from locallinear.ensemble import choosing, members
from locallinear.ensemble.members import best_shares, counts_of, in_turns, n_folds, wide_split
from locallinear.grids import DEFAULT
from problems import KINDS, few


def test_shares_are_the_best_mixture():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(200, 1))
    noise = rng.normal(size=(3, 200, 1)) * [[[1.0]], [[1.0]], [[30.0]]]
    shares = best_shares(y + noise, y, None)
    assert_allclose(shares, [0.5, 0.5, 0], atol=0.1)
    assert_array_equal(best_shares(np.stack([y, y + 1]), y, None).round(3), [1, 0])


def test_shares_of_few_classified_samples_are_more_equal():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (4000, 1)).astype(float)
    found = Y + rng.normal(size=(2, 4000, 1)) * [[[0.3]], [[0.6]]]
    for n in (40, 4000):
        plain, drawn = (best_shares(found[:, :n], Y[:n], None, classes=c) for c in (False, True))
        assert plain[0] > drawn[0] > 0.5
        assert plain[0] - drawn[0] < 1 / np.sqrt(n)
    twice = best_shares(np.tile(found[:, :40], (1, 2, 1)), np.tile(Y[:40], (2, 1)), None)
    assert_allclose(twice, best_shares(found[:, :40], Y[:40], np.full(40, 2.0)), rtol=1e-9)


def test_ensembles_of_classifiers_search_the_grid_for_classes():
    X, y = load_iris(return_X_y=True)
    default, named, other = (
        FALLEnsembleClassifier(2, search=search, random_state=0).fit(X[::2], y[::2])
        for search in ("default", "classes", DEFAULT)
    )
    assert_array_equal(default.cv_prediction_, named.cv_prediction_)
    assert (default.cv_prediction_ != other.cv_prediction_).any()


def test_counts_follow_shares_and_add_up():
    assert_array_equal(counts_of(np.array([0.5, 0.3, 0.2]), 10), [5, 3, 2])
    assert_array_equal(counts_of(np.array([0.4, 0.35, 0.25]), 2), [1, 1, 0])


def test_kinds_share_one_scaling_and_the_score_is_of_unseen_samples(make_samples, searched):
    X, y, _ = make_samples
    assert len(searched.estimators_) == 6
    assert {member.scaling for member in searched.estimators_} == {"standard"}
    assert set(searched.best_params_) == set(KINDS)
    nested = cross_val_score(clone(searched), X, y, cv=3).mean()
    assert searched.cv_score_ == pytest.approx(nested, abs=0.1)
    assert searched.cv_prediction_.shape == y.shape


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), ShuffleSplit(4, test_size=0.2, random_state=0)])
def test_samples_that_no_fold_tests_do_not_count_in_the_score(make_samples, cv):
    X, y, _ = make_samples
    model = FALLEnsembleRegressor(3, search=KINDS, cv=cv, random_state=0).fit(X, y + 100)
    tested = np.isfinite(model.cv_prediction_)
    expected = np.zeros(len(X), dtype=bool)
    for _, test in cv.split(X):
        expected[test] = True
    assert_array_equal(tested, expected)
    assert model.cv_score_ > 0.5


def test_groups_stay_together(make_samples):
    X, y, _ = make_samples
    groups = np.arange(len(X)) // 30
    model = FALLEnsembleRegressor(2, search=KINDS, cv=GroupKFold(3), random_state=0)
    folds = model.fit(X, y, groups=groups).out_of_fold()[1]
    assert len(set(folds)) == 3
    assert all(len(set(folds[groups == group])) == 1 for group in groups)


def test_a_search_starts_from_the_given_estimator(make_samples):
    X, y, _ = make_samples
    given = FALLRegressor(scaling=None, weights="uniform", alpha=100.0, n_anchors=2, random_state=0)
    grid = {"n_neighbors": [1, 5, 10, 20]}
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = FALLEnsembleRegressor(2, search=grid, estimator=given, cv=splits, random_state=0)
    expected = GridSearchCV(given, grid, cv=splits).fit(X, y)
    assert model.fit(X, y).best_params_ == expected.best_params_
    assert {member.alpha for member in model.estimators_} == {100.0}
    assert sum(kind["n_members"] for kind in model.kinds_) == 2


def test_features_are_drawn_among_the_given_ones(make_samples):
    X, y, _ = make_samples
    given = FALLRegressor(neighborhood_features=[0, 1, 4])
    model = few(10, estimator=given).fit(X, y)
    drawn = np.concatenate([member.neighborhood_features for member in model.estimators_])
    assert set(drawn) == {0, 1, 4}


def test_searched_features_are_those_that_members_use(make_samples):
    X, y, _ = make_samples
    grid = {"neighborhood_features": [[0, 1], [2, 3]], "n_neighbors": [5]}
    model = FALLEnsembleRegressor(6, max_features=0.5, search=grid, random_state=1).fit(X, y)
    for member in model.estimators_:
        allowed = set(model.best_params_["neighborhood_features"])
        assert set(np.atleast_1d(member.neighborhood_features)) <= allowed


def test_kinds_with_the_most_members_come_first(make_samples):
    X, y, _ = make_samples
    model = FALLEnsembleRegressor(6, random_state=0).fit(X, y)
    counts = [kind["n_members"] for kind in model.kinds_]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 6


def test_features_that_decide_are_drawn_more_often():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 10))
    y = np.sin(4 * X[:, 0]) + 0.05 * rng.normal(size=300)
    drawn = [
        member.neighborhood_features
        for member in few(40, max_features=0.3, n_neighborhoods=40).fit(X, y).estimators_
    ]
    often = np.bincount(np.concatenate(drawn), minlength=10)
    assert all(len(features) == 3 for features in drawn)
    assert often[0] > 1.5 * np.delete(often, 0).max()


# Many samples ----------------------------------------------------------------------------------


def test_of_many_samples_some_choose_the_kinds_and_all_make_the_members(make_samples):
    X, y, _ = make_samples
    model = FALLEnsembleRegressor(3, search=KINDS, max_samples=60, random_state=0).fit(X, y)
    assert np.isfinite(model.cv_prediction_).sum() == 60
    assert {member.n_samples_fit_ for member in model.estimators_} == {len(X)}
    assert model.out_of_fold() is None


def fitted_sizes(monkeypatch):
    """A list that gets the number of samples of every fit of members to come."""
    fit, sizes = FALLRegressor.fit_together, []

    def counted(self, others, X, *given):
        sizes.append(len(X))
        return fit(self, others, X, *given)

    monkeypatch.setattr(FALLRegressor, "fit_together", counted)
    return sizes


def test_of_many_samples_all_but_the_tested_ones_find_the_shares(make_samples, monkeypatch):
    X, y, _ = make_samples
    sizes = fitted_sizes(monkeypatch)
    settings = {"search": KINDS, "max_features": 1.0, "random_state": 0}
    FALLEnsembleRegressor(1, max_samples=60, **settings).fit(X, y)
    assert sizes == [100, 100, 150]  # two kinds without the 50 tested samples, and the member


def test_a_kind_that_draws_features_needs_a_share_of_the_folds_too(make_samples, monkeypatch):
    X, y, _ = make_samples
    predict, asked = choosing.ChoosesKinds._predict_split, []

    def noted(self, kind, split, *given):
        if len(np.concatenate(split)) > 60:  # of all samples
            asked.append(kind)
        return predict(self, kind, split, *given)

    monkeypatch.setattr(choosing.ChoosesKinds, "_predict_split", noted)
    monkeypatch.setattr(choosing, "best_shares", lambda found, *_, **__: np.eye(len(found))[0])
    settings = {"search": KINDS, "max_features": 0.5, "max_samples": 60}
    FALLEnsembleRegressor(1, **settings, random_state=0).fit(X, y)
    assert [kind.max_features for kind in asked] == [1.0, 1.0]


def test_splits_that_a_user_asks_for_find_the_shares_as_they_are(make_samples, monkeypatch):
    X, y, _ = make_samples
    sizes = fitted_sizes(monkeypatch)
    settings = {"search": KINDS, "max_features": 1.0, "random_state": 0}
    FALLEnsembleRegressor(1, max_samples=60, cv=3, **settings).fit(X, y)
    assert sizes == [150]


def test_shares_found_on_many_samples_do_not_depend_on_n_jobs(make_samples):
    X, y, Q = make_samples
    settings = {"search": KINDS, "max_samples": 60, "random_state": 0}
    one, three = (FALLEnsembleRegressor(4, n_jobs=n, **settings).fit(X, y) for n in (1, 3))
    assert one.kinds_ == three.kinds_
    assert_array_equal(one.predict(Q), three.predict(Q))


def test_few_samples_have_more_folds_that_still_test_ten_samples_each():
    numbers = {3: 3, 20: 3, 50: 5, 150: 10, 350: 10, 500: 8, 1000: 4, 10**6: 3}
    assert {n: n_folds(n) for n in numbers} == numbers


def test_a_wide_split_has_all_other_samples_up_to_a_bound(monkeypatch):
    splits = [(np.array([3, 4]), np.array([0, 7])), (np.array([0, 7]), np.array([3, 4]))]
    train, test = wide_split(splits, np.arange(10), 0)
    assert_array_equal(train, [1, 2, 3, 4, 5, 6, 8, 9])
    assert_array_equal(test, [0, 7])
    assert_array_equal(wide_split(splits, np.arange(12), 0)[1], [0, 3, 4, 7])
    monkeypatch.setattr(members, "MAX_WIDE", 5)
    few_others = wide_split(splits, np.arange(10), 0)[0]
    assert len(few_others) == 5
    assert set(few_others) <= set(train)


def test_members_of_a_kind_come_in_turns():
    order = in_turns(np.array([1, 4, 0, 2]))
    assert_array_equal(np.bincount(order, minlength=4), [1, 4, 0, 2])
    assert order[0] == 1
    assert set(order[:4]) == {0, 1, 3}
