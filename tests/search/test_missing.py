"""Configurations without a score, each with its reason, and grids that are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import check_scoring, make_scorer, max_error, mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut

from locallinear import FALLClassifierCV, FALLRegressor, FALLRegressorCV
from searches import GRID, SMALL, quiet_loop

# Missing scores


def test_more_neighbours_than_a_split_has_are_missing_with_a_reason(samples):
    grid = {"n_neighbors": [5, 60, 61, 1000], "weights": ["uniform", "distance"]}
    model = FALLRegressorCV(grid, random_state=0).fit(*samples)
    n_neighbors, reason = (model.cv_results_[c] for c in ("param_n_neighbors", "reason"))
    missing = np.isnan(model.cv_results_["mean_test_score"])
    assert_array_equal(missing, n_neighbors > 60)
    assert model.n_configurations_ == 4
    assert set(reason[n_neighbors == 61]) == {
        "n_neighbors=61 is more than the 60 training samples of a split"
    }
    assert (reason[~missing] == "").all()


def test_samples_without_weight_are_none(samples):
    weight = np.repeat([1.0, 0.0], [60, 30])
    model = FALLRegressorCV({"n_neighbors": [5, 40]}, cv=[(np.arange(90), np.arange(60))])
    model.fit(*samples, sample_weight=weight)
    assert model.n_configurations_ == 2
    model.set_params(grid={"n_neighbors": [5, 61]}).fit(*samples, sample_weight=weight)
    assert "n_neighbors=61 is more than the 60 training" in model.cv_results_["reason"][1]


def test_a_part_without_any_weight_is_refused(samples):
    weight = np.repeat([0.0, 1.0], [30, 60])
    with pytest.raises(ValueError, match="sample_weight is zero for all samples of a part"):
        FALLRegressorCV(GRID).fit(*samples, sample_weight=weight)


def test_a_grid_without_a_possible_configuration_is_refused_with_the_reason(samples):
    with pytest.raises(ValueError, match=r"no configuration.*n_neighbors=70 is more than the 60"):
        FALLRegressorCV({"n_neighbors": [70, 80]}, random_state=0).fit(*samples)


def test_a_scorer_that_fails_leaves_scores_missing_as_in_grid_search(samples):
    X, y = samples

    def fails_on_few_neighbours(model, X, y):
        if model.predict(X).std() > 0.9 * y.std():
            raise ArithmeticError("too high")
        return r2_score(y, model.predict(X))

    grid = {"n_neighbors": [1, 5, 40], "alpha": [1e-3, 1e3]}
    search = FALLRegressorCV(grid, scoring=fails_on_few_neighbours, random_state=0).fit(X, y)
    loop = GridSearchCV(FALLRegressor(random_state=0), grid, cv=3, scoring=fails_on_few_neighbours)
    quiet_loop(loop, X, y)
    theirs = loop.cv_results_["mean_test_score"]
    missing = np.isnan(theirs)
    assert 0 < np.count_nonzero(missing) < len(missing)
    assert_allclose(search.cv_results_["mean_test_score"], theirs, rtol=1e-9)
    assert set(search.cv_results_["reason"][missing]) == {
        "scoring failed with ArithmeticError: too high"
    }
    assert search.best_params_ == loop.best_params_


def test_each_missing_configuration_has_its_own_reason(samples):
    def spread(model, X, y):
        raise ArithmeticError(f"a spread of {model.predict(X).std():.4f}")

    def fails_or_not(model, X, y):
        return (
            r2_score(y, model.predict(X)) if model.predict(X).std() < 0.7 else spread(model, X, y)
        )

    def infinite(distances):
        return np.full(distances.shape, np.inf)

    grid = {"n_neighbors": [1, 3, 40, 500], "weights": ["uniform", infinite]}
    search = FALLRegressorCV(grid, scoring=fails_or_not, random_state=0).fit(*samples)
    reasons = search.cv_results_["reason"].reshape(4, 2)
    assert reasons[0, 0].startswith("scoring failed with ArithmeticError: a spread of")
    assert reasons[1, 0].startswith("scoring failed with ArithmeticError: a spread of")
    assert reasons[0, 0] != reasons[1, 0]
    assert reasons[2, 0] == ""
    assert all("weights failed with ValueError" in reason for reason in reasons[:3, 1])
    assert all("more than the 60 training samples" in reason for reason in reasons[3])


def test_a_scorer_that_always_fails_is_named(samples):
    def broken(model, X, y):
        raise TypeError("nothing to see")

    with pytest.raises(ValueError, match=r"scoring failed with TypeError: nothing to see"):
        FALLRegressorCV({}, scoring=broken).fit(*samples)


def test_a_weight_function_that_fails_leaves_scores_missing_as_in_grid_search(samples):
    def infinite(distances):
        return np.full(distances.shape, np.inf)

    grid = {"weights": [infinite, "uniform"], "n_neighbors": [2, 5]}
    search = FALLRegressorCV(grid, random_state=0).fit(*samples)
    loop = GridSearchCV(FALLRegressor(random_state=0), grid, cv=3)
    quiet_loop(loop, *samples)
    theirs = loop.cv_results_["mean_test_score"]
    assert np.count_nonzero(np.isnan(theirs)) == 2
    assert_allclose(search.cv_results_["mean_test_score"], theirs, rtol=1e-9)
    (reason,) = set(search.cv_results_["reason"][np.isnan(theirs)])
    assert reason.startswith("weights failed with ValueError: weights must return finite numbers")


def test_a_weight_function_may_write_into_the_distances(samples):
    def overwrites(distances):
        distances += 1.0
        return 1.0 / distances

    grid = {"weights": [overwrites, "distance"], "n_neighbors": [2, 3, 5]}
    search = FALLRegressorCV(grid, random_state=0).fit(*samples)
    loop = GridSearchCV(FALLRegressor(random_state=0), grid, cv=3).fit(*samples)
    theirs = loop.cv_results_["mean_test_score"]
    assert_allclose(search.cv_results_["mean_test_score"], theirs, rtol=1e-9)


def test_an_infinite_score_is_missing_and_never_the_best(samples):
    X, y = samples

    def infinite_for_few_neighbours(model, X, y):
        return np.inf if model.predict(X).std() > 0.9 * y.std() else r2_score(y, model.predict(X))

    grid = {"n_neighbors": [1, 40], "alpha": [1e-3]}
    search = FALLRegressorCV(grid, scoring=infinite_for_few_neighbours, random_state=0).fit(X, y)
    assert search.n_configurations_ == 1
    assert search.best_params_["n_neighbors"] == 40
    assert search.cv_results_["reason"].tolist() == ["the score is not a finite number", ""]


def test_r2_of_single_samples_is_refused_with_the_reason(samples):
    X, y = samples
    with pytest.raises(ValueError, match=r"R² needs at least two test samples .*; give more"):
        FALLRegressorCV({}, cv=LeaveOneOut()).fit(X[:20], y[:20])
    model = FALLRegressorCV({}, cv=LeaveOneOut(), scoring="neg_mean_squared_error")
    assert model.fit(X[:20], y[:20]).n_splits_ == 20


def test_weights_that_fail_for_one_number_of_neighbours_leave_the_others_their_scores(samples):
    def not_of_four(distances):
        if distances.shape[1] == 4:
            raise RuntimeError("four")
        return 1 / (1 + distances)

    grid = {"weights": [not_of_four], "n_neighbors": [3, 4, 1]}
    search = FALLRegressorCV(grid, random_state=0).fit(*samples)
    loop = quiet_loop(GridSearchCV(FALLRegressor(random_state=0), grid, cv=3), *samples)
    scores = loop.cv_results_["mean_test_score"]
    assert np.isnan(scores).tolist() == [False, True, False]
    assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-9)
    assert list(search.cv_results_["reason"]) == ["", "weights failed with RuntimeError: four", ""]


# Scorers without weights


def median_error(model, X, y):
    return -np.median(np.abs(model.predict(X) - y))


def weighted_error(model, X, y, sample_weight=None):
    return -np.average(np.abs(model.predict(X) - y), weights=sample_weight)


@pytest.mark.parametrize("scoring", [median_error, "neg_max_error", make_scorer(max_error)])
def test_a_scorer_that_takes_no_weights_scores_without_them_and_warns(samples, scoring):
    weight = np.random.default_rng(0).integers(1, 3, size=90)
    grid = {"n_neighbors": [3, 9]}
    with pytest.warns(UserWarning, match="takes no sample_weight: the fits are weighted"):
        search = FALLRegressorCV(grid, scoring=scoring, random_state=0).fit(*samples, weight)
    X, y = samples
    scorer = check_scoring(FALLRegressor(), scoring)
    expected = []
    for train, test in KFold(3).split(X):
        model = FALLRegressor(n_neighbors=9, random_state=0).fit(X[train], y[train], weight[train])
        expected.append(scorer(model, X[test], y[test]))
    assert_allclose(search.cv_results_["mean_test_score"][1], np.mean(expected), rtol=1e-9)


@pytest.mark.parametrize("scoring", [weighted_error, make_scorer(mean_absolute_error)])
def test_a_scorer_that_takes_weights_gets_them(samples, scoring):
    weight = np.random.default_rng(0).uniform(size=90)
    fast = FALLRegressorCV(SMALL, scoring="neg_mean_absolute_error", random_state=0)
    slow = FALLRegressorCV(SMALL, scoring=scoring, random_state=0)
    ours, theirs = (search.fit(*samples, weight).cv_results_ for search in (fast, slow))
    assert_allclose(np.abs(ours["mean_test_score"]), np.abs(theirs["mean_test_score"]), rtol=1e-9)


# Bad grids


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"n_neighbours": [1]}, r"\['n_neighbours'\].*only these.*'n_neighbors'"),
        ({"random_state": [0, 1]}, r"\['random_state'\]"),
        ({"n_jobs": [1]}, r"\['n_jobs'\]"),
        ({"alpha": []}, r"grid\['alpha'\] is empty"),
        ({"weights": "uniform"}, r"grid\['weights'\] must be a list.*'uniform'"),
        ({"alpha": 1.0}, r"grid\['alpha'\] must be a list.*1\.0"),
        ({"alpha": [1.0, -1.0]}, r"grid\['alpha'\].*-1\.0"),
        ({"alpha": [0]}, r"grid\['alpha'\]"),
        ({"n_neighbors": [5, 2.5]}, r"grid\['n_neighbors'\].*2\.5"),
        ({"n_anchors": [0]}, r"grid\['n_anchors'\]"),
        ({"scaling": ["minmax"]}, r"grid\['scaling'\].*minmax"),
        ({"anchor_l1_ratio": [1.5]}, r"grid\['anchor_l1_ratio'\].*1\.5"),
        ({"anchor_alpha": [np.nan]}, r"grid\['anchor_alpha'\].*nan"),
        ({"anchor_alpha": [1.0, np.inf]}, r"grid\['anchor_alpha'\].*inf"),
        ({"anchor_selection": np.zeros((4, 3))}, r"grid\['anchor_selection'\].*put it in a list"),
        ({"anchor_models": np.zeros((4, 4, 1))}, r"grid\['anchor_models'\].*put it in a list"),
        ({"anchor_models": [np.zeros((4, 3, 1))]}, "anchor_models must have shape"),
        ({1: [2]}, r"\[1\]"),
        ({"alpha": {1.0: 2}}, r"grid\['alpha'\] must be a list"),
        ("everything", "grid"),
        ([{"alpha": [1]}], "grid"),
        (None, "grid"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [FALLRegressorCV, FALLClassifierCV])
def test_a_bad_grid_is_refused_by_name(samples, kind, grid, words):
    X, y = samples
    with pytest.raises(ValueError, match=words):
        kind(grid).fit(X, y > 0)


@pytest.mark.parametrize(
    "options",
    [{"time_budget": 0}, {"time_budget": -1}, {"scoring": "best"}, {"cv": 1}, {"n_jobs": 0}],
    ids=str,
)
def test_bad_options_are_refused(samples, options):
    with pytest.raises(ValueError, match=r"time_budget|scoring|cv|n_jobs|number of folds|n_splits"):
        FALLRegressorCV(GRID, **options).fit(*samples)


def test_too_few_samples_for_all_configurations_are_answered_with_what_to_do():
    X = np.arange(4.0)[:, None]
    words = r"n_neighbors=3 is more than the 2 .*; give more samples, or smaller values of n_neigh"
    with pytest.raises(ValueError, match=words):
        FALLRegressorCV({"n_neighbors": [3]}).fit(X, X[:, 0])
