"""Intervals, quantiles, sets of classes and novelty."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

import locallinear
from locallinear import (
    FALLClassifier,
    FALLClassifierCV,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
)
from locallinear.kernels.local.combine import margins
from locallinear.kernels.local.spread import conformal_quantiles, fit_exponents, mean_growth
from locallinear.models import intervals
from locallinear.models.cv_plus import _ends
from locallinear.models.surroundings import predict_samples
from searches import GRID


def noisy(n=600, seed=0, d=3):
    """A smooth function whose noise grows with the second feature, and new draws of it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + (0.1 + 0.4 * (X[:, 1] > 0)) * rng.normal(size=n)
    return X, y


def inside(interval, y):
    return (interval[..., 0] <= y) & (y <= interval[..., 1])


# --- Oracle --------------------------------------------------------------------------------------


def test_conformal_quantiles_are_the_order_statistics_that_the_theory_asks_for():
    scores = np.random.default_rng(0).permutation(99) + 1.0
    levels = np.array([0.05, 0.055, 0.5, 0.945, 0.95, 0.999, 0.001])
    found = conformal_quantiles(scores, np.ones(99), levels)
    assert_array_equal(found, [5, 5, 50, 95, 95, 99, 1])


@given(st.integers(0, 10_000))
def test_weights_of_scores_count_them(seed):
    rng = np.random.default_rng(seed)
    scores, counts = rng.normal(size=30), rng.integers(1, 4, 30)
    levels = rng.uniform(0.01, 0.99, 9)
    found = conformal_quantiles(scores, counts.astype(float), levels)
    repeated = np.repeat(scores, counts)
    assert_array_equal(found, conformal_quantiles(repeated, np.ones(len(repeated)), levels))


def test_exponents_find_the_scale_that_made_the_errors():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20_000, 3))
    errors = np.exp(features @ [0.8, 0.0, 0.4] - 3) * rng.exponential(size=20_000)
    found = fit_exponents(errors, features, np.ones(20_000))
    assert_allclose(found, [0.8, 0.0, 0.4], atol=0.03)


def test_samples_leave_their_anchors_as_a_fit_without_them_would(make_problem):
    X, y, _ = make_problem(n=40)
    # All samples are in the one anchor, whose penalty is zero, so that its size does not matter.
    options = {"n_anchor_neighbors": 40, "anchor_alpha": 0.0, "scaling": None, "random_state": 0}
    (found,), _ = predict_samples([FALLRegressor(1, **options).fit(X, y)], 0)
    for i in (0, 17):
        rest = np.delete(np.arange(40), i)
        expected = FALLRegressor(1, **options).fit(X[rest], y[rest]).predict(X[[i]])[0]
        assert_allclose(found[i, 0], expected, rtol=1e-9)


def test_weighted_samples_leave_their_anchors_whole(make_problem):
    X, y, _ = make_problem(n=40)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 3.0], 40)
    options = {"n_anchor_neighbors": 200, "anchor_alpha": 0.0, "scaling": None, "random_state": 0}
    (found,), _ = predict_samples([FALLRegressor(1, **options).fit(X, y, weights)], 0)
    rest = np.arange(1, 40)
    again = FALLRegressor(1, **options).fit(X[rest], y[rest], weights[rest])
    assert_allclose(found[0, 0], again.predict(X[[0]])[0], rtol=1e-9)


def test_the_ends_of_cv_plus_are_the_order_statistics_that_its_guarantee_asks_for():
    values = np.random.default_rng(0).permutation(99)[None] + 1.0
    for half, ends in [(0.05, (5, 95)), (0.059, (5, 95)), (0.005, (-np.inf, np.inf))]:
        found = _ends(values, np.ones(99), np.array([half, 1 - half]))
        assert_array_equal(found[0], ends)


def test_margins_say_how_far_a_class_is_behind_the_best_other():
    found = margins(np.array([[0.2, 0.7, 0.1], [0.5, 0.5, 0.0]]))
    assert_allclose(found, [[0.5, -0.5, 0.6], [0.0, 0.0, 0.5]])


# --- Coverage ------------------------------------------------------------------------------------

MODELS = {
    "single": FALLRegressor(n_neighbors=10, random_state=0),
    "learned": FALLRegressor(neighborhood="learned", random_state=0),
    "boosted": FALLRegressor(neighborhood="boosted", random_state=0),
    "lasso": FALLRegressor(20, anchor_l1_ratio=0.5, anchor_alpha=0.1, random_state=0),
    "search": FALLRegressorCV(GRID, random_state=0),
    "ensemble": FALLEnsembleRegressor(4, search=None, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_intervals_cover_what_they_say_within_chance(name):
    X, y = noisy(600)
    X_new, y_new = noisy(3000, seed=1)
    model = clone(MODELS[name]).fit(X, y)
    for coverage in (0.5, 0.9):
        # Three deviations, of the test and of the samples that calibrate.
        chance = 3 * np.sqrt(coverage * (1 - coverage) * (1 / 3000 + 1 / 600))
        found = inside(model.predict_interval(X_new, coverage), y_new).mean()
        assert abs(found - coverage) < chance + 0.01


def test_intervals_are_wide_where_the_noise_is():
    X, y = noisy(600)
    X_new, y_new = noisy(3000, seed=1)
    interval = FALLRegressor(n_neighbors=10, random_state=0).fit(X, y).predict_interval(X_new)
    width, loud = np.diff(interval)[:, 0], X_new[:, 1] > 0
    assert width[loud].mean() > 2 * width[~loud].mean()
    for part in (loud, ~loud):
        assert abs(inside(interval[part], y_new[part]).mean() - 0.9) < 0.05


def test_cv_plus_covers_at_least_what_it_guarantees():
    X, y = noisy(200)
    X_new, y_new = noisy(2000, seed=1)
    interval = (
        FALLRegressor(20, n_neighbors=10, random_state=0)
        .fit(X, y)
        .predict_interval(X_new, 0.9, method="cv+")
    )
    assert 0.85 < inside(interval, y_new).mean() < 0.97


def test_groups_widen_intervals_where_samples_of_a_group_share_their_error():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(160), 6)
    X = np.repeat(rng.normal(size=(160, 2)), 6, axis=0) + 0.01 * rng.normal(size=(960, 2))
    y = X[:, 0] + np.repeat(rng.normal(size=160), 6) + 0.05 * rng.normal(size=960)
    X_new = rng.normal(size=(2000, 2))
    y_new = X_new[:, 0] + rng.normal(size=2000)
    model = FALLRegressor(10, n_neighbors=20, random_state=0).fit(X, y)
    for method in ("local", "cv+"):
        apart = model.predict_interval(X_new, method=method, groups=groups)
        assert 0.84 < inside(apart, y_new).mean() < 0.97
    assert inside(model.predict_interval(X_new), y_new).mean() < 0.7


def test_the_deviation_of_an_ensemble_is_that_of_its_errors():
    X, y = noisy(600)
    X_new, y_new = noisy(3000, seed=1)
    model = FALLEnsembleRegressor(4, search=None, random_state=0).fit(X, y)
    mean, deviation = model.predict(X_new, return_std=True)
    assert_allclose(mean, model.predict(X_new), rtol=1e-10)
    assert 0.9 < ((y_new - mean) / deviation).std() < 1.1


# --- Limits --------------------------------------------------------------------------------------


def test_errors_that_are_all_larger_by_a_factor_grow_by_about_it_and_none_shrink():
    errors = np.abs(np.random.default_rng(0).normal(size=400))
    assert 1.25 < mean_growth(errors, 1.3 * errors) <= 1.3
    assert mean_growth(errors, 0.7 * errors) == 1.0
    assert mean_growth(np.zeros(5), np.ones(5)) == 1.0


def test_one_huge_error_hardly_counts_in_how_much_errors_grow():
    errors = np.abs(np.random.default_rng(0).normal(size=400))
    larger = 1.3 * errors
    larger[7] *= 1e4
    assert mean_growth(errors, larger) < 1.05 * mean_growth(errors, 1.3 * errors)


def test_samples_that_refits_of_the_whole_model_tested_have_the_errors_of_the_refits(make_problem):
    X, y, _ = make_problem(n=150)
    known = FALLRegressor(8, neighborhood="forest", random_state=0).fit(X, y).conformal()
    tested, held, _ = known.held_out
    assert len(tested) == 150
    scale = known.scale_of(known.views)
    assert_allclose(known.scores[tested], (y[tested, None] - held) / scale[tested])


def test_a_constant_target_has_intervals_without_width(make_problem):
    X, _, Q = make_problem(n=60)
    for model in (FALLRegressor(5), FALLEnsembleRegressor(2, search=None)):
        model.set_params(random_state=0).fit(X, np.full(60, 7.0))
        assert_allclose(model.predict_interval(Q), 7.0)


def test_a_few_exact_samples_make_no_interval_wider_than_errors_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] < 1, 0.0, X[:, 1] + 0.1 * rng.normal(size=400))  # constant for most
    model = FALLRegressor(20, n_neighbors=8, random_state=0).fit(X, y)
    widths = np.diff(model.predict_interval(X, 0.9))
    assert widths.max() < 10 * np.abs(y - model.loo_prediction_).max()


def test_intervals_grow_with_the_distance_from_the_samples(make_problem):
    X, y, Q = make_problem()
    for neighborhood in ("euclidean", "forest"):
        model = FALLRegressor(neighborhood=neighborhood, random_state=0).fit(X, y)
        widths = [np.diff(model.predict_interval(Q + far)).min() for far in (0, 30, 300)]
        assert widths[0] * 3 < widths[1] < widths[2]
        assert_allclose(model.novelty(Q + 300), 1.0)


def test_novelty_of_new_rows_is_spread_evenly():
    X, y = noisy(800)
    for model in (FALLRegressor(), FALLEnsembleRegressor(4, search=None)):
        found = model.set_params(random_state=0).fit(X, y).novelty(noisy(4000, seed=1)[0])
        assert found.min() >= 0
        assert found.max() <= 1
        for level in (0.5, 0.9):
            assert abs((found > level).mean() - (1 - level)) < 0.05


def test_a_single_neighbour_repeated_rows_and_zero_weights_are_no_trouble(make_problem):
    X, y, Q = make_problem(n=60)
    repeated = np.tile(np.arange(60), 3)
    weights = np.where(np.arange(180) % 5, 1.0, 0.0)
    model = FALLRegressor(5, n_neighbors=1, random_state=0).fit(X[repeated], y[repeated], weights)
    assert np.isfinite(model.predict_interval(Q)).all()
    assert np.isfinite(model.novelty(X)).all()
    one_place = FALLRegressor(n_neighbors=2).fit(np.zeros((19, 2)), np.arange(19.0))
    assert np.isfinite(one_place.predict_interval([[0.0, 0.0]])).all()
    assert_array_equal(one_place.novelty([[0.0, 0.0], [1.0, 0.0]]), [0.0, 1.0])


# --- Invariances ---------------------------------------------------------------------------------


@pytest.mark.parametrize("neighborhood", ["euclidean", "forest"])
def test_intervals_follow_the_units_of_the_target(make_problem, neighborhood):
    X, y, Q = make_problem()
    one = FALLRegressor(9, neighborhood=neighborhood, random_state=0).fit(X, y)
    other = FALLRegressor(9, neighborhood=neighborhood, random_state=0).fit(X, 1000 * y + 5)
    expected = 1000 * one.predict_interval(Q) + 5
    assert_allclose(other.predict_interval(Q), expected, rtol=1e-4)


def test_intervals_of_tied_samples_do_not_depend_on_their_order(make_problem):
    X, y, Q = make_problem(n=60)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    given = np.random.default_rng(0).normal(size=(4, 4, 1))
    order = np.random.default_rng(1).permutation(180)
    one, other = (
        FALLRegressor(anchor_models=given, n_neighbors=7).fit(X[rows], y[rows])
        for rows in (np.arange(180), order)
    )
    assert_allclose(one.predict_interval(Q), other.predict_interval(Q), rtol=1e-9)
    assert_allclose(one.novelty(Q), other.novelty(Q))


def test_intervals_grow_with_coverage_and_are_the_quantiles(make_problem):
    X, y, Q = make_problem(m=2)
    for model in (FALLRegressor(9), FALLEnsembleRegressor(2, search=None)):
        model.set_params(random_state=0).fit(X, y)
        levels = np.linspace(0.01, 0.99, 50)
        found = model.predict_quantiles(Q, levels)
        assert found.shape == (30, 2, 50)
        assert (np.diff(found, axis=2) >= 0).all()
        small, large = (model.predict_interval(Q, c) for c in (0.5, 0.95))
        assert (large[..., 0] <= small[..., 0]).all()
        assert (small[..., 1] <= large[..., 1]).all()
        assert_array_equal(model.predict_interval(Q, 0.8), model.predict_quantiles(Q, [0.1, 0.9]))


def test_several_targets_have_the_intervals_of_their_own_errors(make_problem):
    X, Y, Q = make_problem(m=2)
    Y[:, 1] *= 100
    found = FALLRegressor(9, random_state=0).fit(X, Y).predict_interval(Q)
    assert found.shape == (30, 2, 2)
    assert np.diff(found[:, 1]).mean() > 20 * np.diff(found[:, 0]).mean()


# --- Equivalences --------------------------------------------------------------------------------


def test_intervals_do_not_depend_on_chunks_and_threads(make_problem):
    X, y, Q = make_problem(n=300, q=100)
    for model in (FALLRegressor(9), FALLEnsembleRegressor(3, search=None)):
        model.set_params(random_state=0).fit(X, y)
        whole, novelty = model.predict_interval(Q), model.novelty(Q)
        with config_context(working_memory=0.001):
            other = clone(model).set_params(n_jobs=2).fit(X, y)
            assert_allclose(other.predict_interval(Q), whole, rtol=1e-9)
            assert_allclose(other.novelty(Q), novelty)
        assert_allclose(np.vstack([model.predict_interval(q[None]) for q in Q]), whole, rtol=1e-9)


def test_a_search_has_the_intervals_of_its_best_model(fitted_search, samples):
    X, _ = samples
    best = fitted_search.best_estimator_
    assert_array_equal(fitted_search.predict_interval(X[:9]), best.predict_interval(X[:9]))
    assert_array_equal(fitted_search.novelty(X[:9]), best.novelty(X[:9]))


def test_files_and_pickles_keep_what_intervals_need(make_problem, path):
    X, y, Q = make_problem()
    for model in (
        FALLRegressor(9, neighborhood="boosted"),
        FALLEnsembleRegressor(2, search=None, random_state=0),
    ):
        model.fit(X, y, np.linspace(0, 2, len(X)))
        expected = model.predict_interval(Q)
        model.save(path)
        again = locallinear.load(path)
        assert_allclose(again.predict_interval(Q), expected, rtol=1e-9)
        assert_allclose(again.novelty(Q), model.novelty(Q))
        assert "_known" not in model.__getstate__()


@pytest.mark.parametrize(("method", "name"), [("local", "Conformal"), ("cv+", "CVPlus")])
def test_calls_with_and_without_groups_in_turn_compute_each_once(method, name, monkeypatch):
    X, y = noisy(60)
    made, kind = [], getattr(intervals, name)
    monkeypatch.setattr(intervals, name, lambda *given: made.append(given) or kind(*given))
    model, groups = FALLRegressor(9, random_state=0).fit(X, y), np.arange(60) // 6
    found = [
        [model.predict_interval(X[:3], 0.8, method=method, groups=each) for each in (None, groups)]
        for _ in range(3)
    ]
    assert_array_equal(found[0], found[2])
    assert len(made) == 2


def test_intervals_follow_what_was_added_removed_and_set(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(9, random_state=0).fit(X, y)
    seen = [model.predict_interval(Q)]
    for change in (
        lambda: model.partial_fit(Q, 3 * np.sin(9 * Q[:, 0])),
        lambda: model.forget(np.arange(120, 150)),
        lambda: model.set_params(n_neighbors=20),
    ):
        change()
        seen.append(model.predict_interval(Q))
    assert_array_equal(seen[2], seen[0])
    assert np.abs(seen[1] - seen[0]).max() > 0.1
    assert np.abs(seen[3] - seen[0]).max() > 0.01


# --- Classes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighborhood", ["euclidean", "boosted"])
def test_sets_contain_the_class_as_often_as_they_say(neighborhood):
    X, y = noisy(600)
    X_new, y_new = noisy(3000, seed=1)
    labels, new = (np.digitize(v, [-0.8, 0.0, 0.8]) for v in (y, y_new))
    options = {"neighborhood": neighborhood, "n_neighbors": 15, "random_state": 0}
    model = FALLClassifier(20, **options).fit(X, labels)
    found = model.predict_set(X_new, 0.9)
    assert found.shape == (3000, 4)
    assert found.dtype == bool
    assert abs(found[np.arange(3000), new].mean() - 0.9) < 0.05
    assert found[np.arange(3000), model.predict(X_new)].all()
    assert (found <= model.predict_set(X_new, 0.99)).all()


def test_searches_and_ensembles_of_classes_have_sets(make_problem):
    X, y, Q = make_problem(n=90)
    labels = np.where(y > 0, "up", "down")
    search = FALLClassifierCV(GRID, random_state=0).fit(X, labels)
    members = FALLEnsembleClassifier(2, search=None, random_state=0).fit(X, labels)
    for model in (search, members):
        assert model.predict_set(Q).any(axis=1).all()
        assert model.novelty(Q).shape == (30,)


def test_cv_plus_refits_a_search_as_a_whole(samples):
    X, y = samples
    grid = {"n_neighbors": [3, 10], "alpha": [1.0]}
    found = FALLRegressorCV(grid, random_state=0).fit(X, y).predict_interval(X[:5], method="cv+")
    assert (found[:, 0] < found[:, 1]).all()


@pytest.mark.parametrize("kind", [FALLRegressorCV, FALLEnsembleRegressor])
@pytest.mark.parametrize("as_masks", [False, True])
def test_cv_plus_refits_on_the_splits_of_each_part_where_cv_names_rows(samples, kind, as_masks):
    X, y = samples
    number = np.arange(len(X)) % 4
    masks = [(number != k, number == k) for k in range(4)]
    cv = masks if as_masks else [tuple(map(np.flatnonzero, pair)) for pair in masks]
    name = "search" if kind is FALLEnsembleRegressor else "grid"
    model = kind(**{name: {"alpha": [1.0, 9.0]}}, cv=cv, random_state=0).fit(X, y)
    found = model.predict_interval(X[:5], method="cv+")
    assert (found[:, 0] < found[:, 1]).all()


@pytest.mark.parametrize("kind", [FALLRegressorCV, FALLEnsembleRegressor])
def test_cv_plus_gives_a_search_the_groups_of_each_part(samples, kind, monkeypatch):
    X, y = samples
    groups, asked = np.arange(len(X)) // 10, []
    split = GroupKFold.split

    def noted(self, X, y=None, groups=None):
        asked.append(groups)
        return split(self, X, y, groups)

    monkeypatch.setattr(GroupKFold, "split", noted)
    name = "search" if kind is FALLEnsembleRegressor else "grid"
    model = kind(**{name: {"alpha": [1.0, 9.0]}}, cv=GroupKFold(2), random_state=0)
    model.fit(X, y, groups=groups).predict_interval(X[:5], method="cv+", groups=groups)
    parts = [given for given in asked if given is not None and len(given) < len(X)]
    assert len(parts) >= 5
    assert all(set(np.unique(part, return_counts=True)[1]) == {10} for part in parts)


def test_quantiles_and_sets_of_groups_are_those_of_intervals_and_larger():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 6)
    X = np.repeat(rng.normal(size=(80, 2)), 6, axis=0) + 0.01 * rng.normal(size=(480, 2))
    y = np.repeat(X[::6, 0] + rng.normal(size=80), 6)
    model = FALLRegressor(10, n_neighbors=20, random_state=0).fit(X, y)
    quantiles = model.predict_quantiles(X[:9], [0.05, 0.95], groups=groups)
    assert_allclose(quantiles, model.predict_interval(X[:9], groups=groups), rtol=1e-12)
    assert (np.ptp(quantiles, axis=1) > np.ptp(model.predict_interval(X[:9]), axis=1)).all()
    classifier = FALLClassifier(10, n_neighbors=20, random_state=0).fit(X, y > 0)
    Q = rng.normal(size=(400, 2))
    together = classifier.predict_set(Q, groups=groups)
    assert together.sum() > classifier.predict_set(Q).sum()


# --- Errors --------------------------------------------------------------------------------------


def test_wrong_arguments_are_refused_with_what_is_meant(make_problem):
    X, y, Q = make_problem(n=60)
    model = FALLRegressor(5, random_state=0).fit(X, y)
    for coverage in (90, 0, "most"):
        with pytest.raises(ValueError, match=r"coverage must be above 0 and below 1"):
            model.predict_interval(Q, coverage)
    with pytest.raises(ValueError, match='method must be "local" or "cv\\+"'):
        model.predict_interval(Q, method="split")
    with pytest.raises(ValueError, match="quantiles must be levels"):
        model.predict_quantiles(Q, [0.5, 5])
    with pytest.raises(ValueError, match="one entry per training sample"):
        model.predict_interval(Q, groups=np.zeros(9))
    with pytest.raises(ValueError, match="at least two groups"):
        model.predict_interval(Q, groups=np.zeros(60))
    with pytest.raises(ValueError, match="other samples are needed"):
        FALLRegressor(2, n_neighbors=5).fit(X[:5], y[:5]).predict_interval(Q)
