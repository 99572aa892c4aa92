"""Ensembles: the mean of their members, still one exact linear model a prediction."""

import pickle
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)

import locallinear
from locallinear import (
    FALLClassifier,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
)
from locallinear.ensemble import choosing, members
from locallinear.ensemble.members import (
    best_shares,
    counts_of,
    in_turns,
    merge_neighbors,
    n_folds,
    wide_split,
)
from locallinear.explain import AlphaPathDisplay, ContributionDisplay
from locallinear.models.siblings import groups_of
from locallinear.runtime.budgets import Budget
from problems import few
from sklearn_checks import check_all

GRID = {"neighborhood": ["euclidean", "forest"], "n_neighbors": [3, 8], "scaling": ["standard"]}


@pytest.fixture(scope="module")
def searched(make_samples):
    X, y, _ = make_samples
    return FALLEnsembleRegressor(6, search=GRID, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def make_samples():
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(150, 5)), rng.normal(size=(30, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=150), Q


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


# How members are chosen ------------------------------------------------------------------------


def test_shares_are_the_best_mixture():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(200, 1))
    noise = rng.normal(size=(3, 200, 1)) * [[[1.0]], [[1.0]], [[30.0]]]
    shares = best_shares(y + noise, y, None)
    assert_allclose(shares, [0.5, 0.5, 0], atol=0.1)
    assert_array_equal(best_shares(np.stack([y, y + 1]), y, None).round(3), [1, 0])


def test_counts_follow_shares_and_add_up():
    assert_array_equal(counts_of(np.array([0.5, 0.3, 0.2]), 10), [5, 3, 2])
    assert_array_equal(counts_of(np.array([0.4, 0.35, 0.25]), 2), [1, 1, 0])


def test_kinds_share_one_scaling_and_the_score_is_of_unseen_samples(make_samples, searched):
    X, y, _ = make_samples
    assert len(searched.estimators_) == 6
    assert {member.scaling for member in searched.estimators_} == {"standard"}
    assert set(searched.best_params_) == set(GRID)
    nested = cross_val_score(clone(searched), X, y, cv=3).mean()
    assert searched.cv_score_ == pytest.approx(nested, abs=0.1)
    assert searched.cv_prediction_.shape == y.shape


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), ShuffleSplit(4, test_size=0.2, random_state=0)])
def test_samples_that_no_fold_tests_do_not_count_in_the_score(make_samples, cv):
    X, y, _ = make_samples
    model = FALLEnsembleRegressor(3, search=GRID, cv=cv, random_state=0).fit(X, y + 100)
    tested = np.isfinite(model.cv_prediction_)
    expected = np.zeros(len(X), dtype=bool)
    for _, test in cv.split(X):
        expected[test] = True
    assert_array_equal(tested, expected)
    assert model.cv_score_ > 0.5


def test_groups_stay_together(make_samples):
    X, y, _ = make_samples
    groups = np.arange(len(X)) // 30
    model = FALLEnsembleRegressor(2, search=GRID, cv=GroupKFold(3), random_state=0)
    assert np.isfinite(model.fit(X, y, groups=groups).cv_prediction_).all()


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


# Samples that come and go, and files -----------------------------------------------------------


def test_updates_reach_every_member_and_all_share_one_copy(make_samples):
    X, y, Q = make_samples
    model = few(estimator=FALLRegressor(neighborhood="forest")).fit(X, y)
    expected = model.predict(Q)
    model.partial_fit(Q, np.full(len(Q), 9.0))
    assert model.n_samples_fit_ == len(X) + len(Q)
    held = [member.samples["Z"] for member in model.estimators_]
    assert all(np.shares_memory(held[0], other) for other in held[1:])
    assert (model.predict(Q) > expected + 2).all()
    model.forget(range(len(X), len(X) + len(Q)))
    assert_allclose(model.predict(Q), expected, rtol=1e-12)
    assert_array_equal(few().partial_fit(X, y).predict(Q), few().fit(X, y).predict(Q))


def test_samples_are_forgotten_by_all_members_or_by_none(make_samples):
    X, y, _ = make_samples
    model = few(2).fit(X, y)
    model.estimators_[1].n_neighbors = 20
    with pytest.raises(ValueError, match="n_neighbors=20"):
        model.forget(range(10, 150))
    assert {member.n_samples_fit_ for member in model.estimators_} == {150}


def test_a_file_holds_the_samples_once(make_samples, searched, path):
    _, _, Q = make_samples
    searched.save(path)
    loaded = locallinear.load(path)
    assert_array_equal(loaded.predict(Q), searched.predict(Q))
    assert loaded.cv_score_ == searched.cv_score_
    assert loaded.best_params_ == searched.best_params_
    with zipfile.ZipFile(path) as archive:
        assert [name for name in archive.namelist() if name.endswith("-Z.npy")] == [
            "state-members-0-state-samples-Z.npy"
        ]


def test_members_with_and_without_learned_weights_hold_the_samples_once_each(make_samples, path):
    X, y, Q = make_samples
    grid = {"neighborhood": ["forest", "learned"], "scaling": ["quantile"]}
    step = y + 2 * (X[:, 2] > 0)  # trees are better at the step, distances at the rest
    model = FALLEnsembleRegressor(6, search=grid, random_state=0).fit(X, step)
    kinds = {member.neighborhood for member in model.estimators_}
    assert kinds == {"forest", "learned"}
    model.partial_fit(Q, np.zeros(len(Q))).forget([0])
    model.save(path)
    loaded, copied = locallinear.load(path), pickle.loads(pickle.dumps(model))
    for same in (model, loaded, copied):
        assert len({id(member.feature_space) for member in same.estimators_}) == 2
        for kind in kinds:
            held = [m.samples["Z"] for m in same.estimators_ if m.neighborhood == kind]
            assert all(np.shares_memory(held[0], other) for other in held[1:])
        assert_array_equal(same.predict(Q), model.predict(Q))
    why = model.explain(Q)
    assert_allclose(why.contributions, why.coef * why.ranks[:, :, None], rtol=1e-12)
    assert_allclose(why.contributions[:, :, 0].sum(axis=1) + why.intercept[:, 0], why.prediction)
    assert_allclose(why.prediction, model.predict(Q), rtol=1e-9)


@pytest.mark.parametrize("cv", [GroupKFold(3), KFold(2, shuffle=True, random_state=1), 3])
def test_a_file_keeps_the_splitter_and_what_chance_and_grid_were(make_samples, cv, path):
    X, y, Q = make_samples
    grid = {"n_neighbors": range(3, 5)}
    chance = np.random.RandomState(0)
    model = FALLEnsembleRegressor(2, search=grid, cv=cv, random_state=chance)
    model.fit(X, y, groups=np.arange(len(X)) % 50 if isinstance(cv, GroupKFold) else None)
    model.save(path)
    loaded = locallinear.load(path)
    assert_array_equal(loaded.predict(Q), model.predict(Q))
    assert repr(loaded.cv) == repr(cv)
    assert loaded.search == {"n_neighbors": [3, 4]}
    assert loaded.random_state.randint(1 << 30) == chance.randint(1 << 30)


def test_a_file_keeps_what_the_members_were_made_of(make_samples, path):
    X, y, Q = make_samples
    model = few(2, estimator=FALLRegressor(n_neighbors=3)).fit(X, y, np.ones(len(X)))
    model.save(path)
    loaded = locallinear.load(path)
    assert loaded.estimator.n_neighbors == 3
    assert_array_equal(loaded.predict(Q), model.predict(Q))


def test_members_that_do_not_fit_each_other_are_refused(make_samples):
    X, y, _ = make_samples
    model, other = few(2).fit(X, y), few(2).fit(X[:, :2], y)
    state = model.fitted_state()
    state["members"][1] = other.fitted_state()["members"][0]
    with pytest.raises(ValueError, match="its members do not fit each other"):
        few(2).restore(state)


def test_pickles_hold_the_samples_once(make_samples):
    X, y, _ = make_samples
    X = np.tile(X, (1, 40))
    sizes = {n: len(pickle.dumps(few(n, max_features=1.0).fit(X, y))) for n in (1, 5)}
    assert sizes[5] < 5 * sizes[1] - 3.9 * X.nbytes
    model = pickle.loads(pickle.dumps(few(3).fit(X, y)))
    held = [member.samples["Z"] for member in model.estimators_]
    assert all(np.shares_memory(held[0], other) for other in held[1:])


def test_pickles_hold_the_samples_once_after_updates_too(make_samples):
    X, y, Q = make_samples
    X, Q = np.tile(X, (1, 40)), np.tile(Q, (1, 40))
    models = {n: few(n, max_features=1.0).fit(X, y).partial_fit(Q, y[:30]) for n in (1, 5)}
    sizes = {n: len(pickle.dumps(model)) for n, model in models.items()}
    assert sizes[5] < 5 * sizes[1] - 3.9 * (X.nbytes + Q.nbytes)
    expected = models[5].partial_fit(Q[:3], y[:3]).predict(Q + 0.1)
    assert_array_equal(pickle.loads(pickle.dumps(models[5])).predict(Q + 0.1), expected)


def test_a_second_fit_leaves_nothing_of_the_first(make_samples, searched):
    X, y, _ = make_samples
    model = clone(searched).fit(X, y).set_params(search=None).fit(X[:50], y[:50])
    assert not hasattr(model, "cv_score_")


# Classes ---------------------------------------------------------------------------------------


def test_classes_of_any_type_with_probabilities_that_explanations_back():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = FALLEnsembleClassifier(4, search=GRID, random_state=0).fit(X, names)
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


def test_an_update_that_fails_in_a_later_group_is_taken_back_in_all(make_samples, monkeypatch):
    X, y, Q = make_samples
    model = few(6, n_neighborhoods=3).fit(X, y)
    before = model.predict(Q)
    append, calls = FALLRegressor.appended, []

    def failing(self, *given):
        calls.append(1)
        if len(calls) == 3:
            raise MemoryError
        return append(self, *given)

    monkeypatch.setattr(FALLRegressor, "appended", failing)
    with pytest.raises(MemoryError):
        model.partial_fit(Q, np.zeros(len(Q)))
    assert {member.n_samples_fit_ for member in model.estimators_} == {len(X)}
    assert_array_equal(model.predict(Q), before)


# --- Many samples, and little time --------------------------------------------------------------


def test_of_many_samples_some_choose_the_kinds_and_all_make_the_members(make_samples):
    X, y, _ = make_samples
    model = FALLEnsembleRegressor(3, search=GRID, max_samples=60, random_state=0).fit(X, y)
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
    settings = {"search": GRID, "max_features": 1.0, "random_state": 0}
    FALLEnsembleRegressor(1, max_samples=60, **settings).fit(X, y)
    assert sizes == [100, 100, 150]  # two kinds without the 50 tested samples, and the member


def test_a_kind_that_draws_features_needs_a_share_of_the_folds_too(make_samples, monkeypatch):
    X, y, _ = make_samples
    by_all, asked = choosing.ChoosesKinds._shares_by_all, []

    def noted(self, kinds, *given):
        asked.extend(kinds)
        return by_all(self, kinds, *given)

    monkeypatch.setattr(choosing.ChoosesKinds, "_shares_by_all", noted)
    monkeypatch.setattr(choosing, "best_shares", lambda found, *_: np.eye(len(found))[0])
    FALLEnsembleRegressor(1, search=GRID, max_features=0.5, max_samples=60, random_state=0).fit(
        X, y
    )
    assert len(asked) == 2
    assert {kind.max_features for kind in asked} == {1.0}


def test_splits_that_a_user_asks_for_find_the_shares_as_they_are(make_samples, monkeypatch):
    X, y, _ = make_samples
    sizes = fitted_sizes(monkeypatch)
    settings = {"search": GRID, "max_features": 1.0, "random_state": 0}
    FALLEnsembleRegressor(1, max_samples=60, cv=3, **settings).fit(X, y)
    assert sizes == [150]


def test_shares_found_on_many_samples_do_not_depend_on_n_jobs(make_samples):
    X, y, Q = make_samples
    settings = {"search": GRID, "max_samples": 60, "random_state": 0}
    one, three = (FALLEnsembleRegressor(4, n_jobs=n, **settings).fit(X, y) for n in (1, 3))
    assert one.kinds_ == three.kinds_
    assert_array_equal(one.predict(Q), three.predict(Q))


def test_few_samples_have_more_folds_that_still_test_ten_samples_each():
    numbers = {3: 3, 20: 3, 50: 5, 150: 10, 350: 10, 500: 8, 1000: 4, 10**6: 3}
    assert {n: n_folds(n) for n in numbers} == numbers


def test_a_wide_split_has_all_other_samples_up_to_a_bound(monkeypatch):
    splits = [(np.array([3, 4]), np.array([0, 7])), (np.array([0, 7]), np.array([3, 4]))]
    train, test = wide_split(splits, 10, 0)
    assert_array_equal(train, [1, 2, 3, 4, 5, 6, 8, 9])
    assert_array_equal(test, [0, 7])
    assert_array_equal(wide_split(splits, 12, 0)[1], [0, 3, 4, 7])
    monkeypatch.setattr(members, "MAX_WIDE", 5)
    few_others = wide_split(splits, 10, 0)[0]
    assert len(few_others) == 5
    assert set(few_others) <= set(train)


def test_members_of_a_kind_come_in_turns():
    order = in_turns(np.array([1, 4, 0, 2]))
    assert_array_equal(np.bincount(order, minlength=4), [1, 4, 0, 2])
    assert order[0] == 1
    assert set(order[:4]) == {0, 1, 3}


def test_the_shortest_time_gives_an_ensemble_of_one_member(make_samples):
    X, y, Q = make_samples
    model = FALLEnsembleRegressor(search=GRID, time_budget=1e-3, random_state=0).fit(X, y)
    assert len(model.estimators_) == 1
    assert sum(kind["n_members"] for kind in model.kinds_) == 1
    assert_allclose(model.predict(Q), model.estimators_[0].predict(Q))


def test_much_time_gives_what_no_budget_gives(make_samples, searched):
    X, y, Q = make_samples
    model = FALLEnsembleRegressor(6, search=GRID, time_budget=1e6, random_state=0).fit(X, y)
    assert_allclose(model.predict(Q), searched.predict(Q))


def test_control_c_keeps_the_members_fitted_so_far(make_samples, monkeypatch):
    X, y, Q = make_samples
    fit, calls = FALLRegressor.fit_together, []

    def interrupted(self, *given):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(self, *given)

    monkeypatch.setattr(FALLRegressor, "fit_together", interrupted)
    with pytest.warns(UserWarning, match="interrupted; the ensemble has 2 of 5 members"):
        model = few(5).fit(X, y)
    assert len(model.estimators_) == 2
    assert np.isfinite(model.predict(Q)).all()


def test_control_c_before_the_first_member_ends_the_fit(make_samples, monkeypatch):
    X, y, _ = make_samples

    def interrupted(self, *given):
        raise KeyboardInterrupt

    monkeypatch.setattr(FALLRegressor, "fit_together", interrupted)
    with pytest.raises(KeyboardInterrupt):
        few(5).fit(X, y)


def test_verbose_shows_how_many_members_are_fitted(make_samples, capsys):
    X, y, _ = make_samples
    few(3, verbose=1).fit(X, y)
    assert "3 of 3 members" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "n_members"), [(0.0, 12), (5.0, 12), (10.0, 4), (33.0, 4), (40.0, 2), (200.0, 1)]
)
def test_how_many_members_there_are_follows_from_the_time_of_one_group(seconds, n_members):
    model = FALLEnsembleRegressor(12, n_neighborhoods=4)
    assert model._n_members(Budget(100.0), seconds) == n_members
    assert model._n_members(Budget(None), seconds) == 12
    assert model._n_members(Budget(0.0), seconds) == 1


@pytest.mark.parametrize(
    ("seconds", "judging", "kept"), [(0, 0, 40), (2, 0, 8), (2, 1, 16), (20, 0, 40), (50, 0.5, 75)]
)
def test_members_get_a_part_of_the_budget_but_at_least_one_group(seconds, judging, kept):
    model = FALLEnsembleRegressor(12, n_neighborhoods=4)
    assert model._members_seconds(Budget(100.0, judging), seconds) == kept
