"""prefer="simple", the price of simplicity, and the simple companion of an accurate model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_score

from locallinear import (
    FALLClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    SearchDisplay,
)
from locallinear.grids import SIMPLE
from locallinear.search import companion as _companion
from locallinear.search.companion import companion_of
from locallinear.search.preference import preferred, price_of_simplicity, standard_errors

GRID = {
    "n_anchors": [1, 2, 6],
    "anchor_alpha": [0.01, 0.1],
    "alpha": [1.0, 100.0],
    "n_neighbors": [5, 10],
}


def two_laws(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, np.where(X[:, 0] > 0, 4 * X[:, 1], -4 * X[:, 1]) + 0.3 * rng.normal(size=n)


def fitted(prefer, **options):
    cv = KFold(5, shuffle=True, random_state=0)
    return FALLRegressorCV(GRID, prefer=prefer, cv=cv, random_state=0, **options).fit(*two_laws())


def test_the_simple_choice_is_the_first_of_a_sort_by_hand():
    search = fitted("simple")
    results, at = search.cv_results_, search.best_index_
    splits = np.array([results[f"split{i}_test_score"] for i in range(5)])
    best = results["mean_test_score"].argmax()
    least = splits[:, best].mean() - splits[:, best].std(ddof=1) / np.sqrt(5)
    near = [i for i in range(splits.shape[1]) if splits[:, i].mean() >= least]
    simplest = min(
        near,
        key=lambda i: (
            results["param_n_anchors"][i],
            -results["param_anchor_alpha"][i],
            -results["param_alpha"][i],
            -results["mean_test_score"][i],
        ),
    )
    assert at == simplest
    assert search.best_params_ == {name: results[f"param_{name}"][at] for name in GRID}
    assert search.best_score_ == results["mean_test_score"][at]
    assert search.best_estimator_.n_anchors == search.best_params_["n_anchors"]


def test_both_preferences_score_alike_and_the_accurate_one_is_the_default():
    accurate, simple = fitted("accurate"), fitted("simple")
    for name, column in accurate.cv_results_.items():
        assert_array_equal(column, simple.cv_results_[name])
    assert accurate.best_index_ == accurate.cv_results_["mean_test_score"].argmax()
    assert simple.best_params_["n_anchors"] <= accurate.best_params_["n_anchors"]
    assert FALLRegressorCV().prefer == "accurate"


def made_up(**columns):
    mean = np.array(columns.pop("mean"), dtype=float)
    ranks = np.where(np.isfinite(mean), (mean[:, None] < mean).sum(axis=1) + 1, len(mean) + 1)
    results = {"mean_test_score": mean, "std_test_score": np.full(len(mean), 0.1)}
    results["rank_test_score"] = ranks
    return results | {f"param_{name}": np.array(values) for name, values in columns.items()}


def test_fewer_anchors_count_before_stronger_penalties_and_those_before_the_score():
    mean = [0.90, 0.88, 0.87, 0.89, 0.5, np.nan]
    anchors, penalties = [9, 2, 2, 2, 1, 1], [1.0, 1.0, 0.1, 1.0, 1.0, 1.0]
    results = made_up(mean=mean, n_anchors=anchors, anchor_alpha=penalties)
    assert preferred(results, 3, "simple") == 3
    assert preferred(results, 3, "accurate") == 0


def test_with_one_split_nothing_but_the_best_is_near():
    results = made_up(mean=[0.9, 0.8999], n_anchors=[5, 1]) | {"std_test_score": np.zeros(2)}
    assert preferred(results, 1, "simple") == 0


def test_standard_errors_divide_by_one_split_less_as_a_sample_deviation_does():
    scores = np.random.default_rng(0).normal(size=(4, 1))
    results = {"std_test_score": scores.std(axis=0)}
    assert_allclose(standard_errors(results, 4), scores.std(axis=0, ddof=1) / 2)


def test_the_price_of_simplicity_is_the_best_score_of_each_number_of_anchors():
    search = fitted("simple")
    curve, results = search.simplicity_, search.cv_results_
    assert_array_equal(curve["n_anchors"], [1, 2, 6])
    for count, score in zip(curve["n_anchors"], curve["score"], strict=True):
        assert score == results["mean_test_score"][results["param_n_anchors"] == count].max()
    assert_array_equal(results["mean_test_score"][curve["index"]], curve["score"])
    assert_array_equal(SearchDisplay.from_estimator(search, "n_anchors").scores, curve["score"])


def test_numbers_of_anchors_without_a_score_are_left_out_of_the_curve():
    results = made_up(mean=[0.9, np.nan], n_anchors=[5, 1])
    assert_array_equal(price_of_simplicity(results, 3)["n_anchors"], [5])


def test_a_grid_without_numbers_of_anchors_has_no_curve():
    X, y = two_laws(40)
    search = FALLRegressorCV({"n_neighbors": [3]}, prefer="simple").fit(X, y)
    with pytest.raises(AttributeError, match="several as n_anchors"):
        _ = search.simplicity_


def test_simple_searches_the_grid_of_few_regimes_in_units():
    X, y = two_laws(150)
    search = FALLRegressorCV(prefer="simple", random_state=0).fit(X, y)
    assert set(search.simplicity_["n_anchors"]) <= set(SIMPLE["n_anchors"])
    assert search.best_params_["scaling"] == "standard"
    assert search.best_params_["n_anchors"] <= 12


@pytest.mark.parametrize("kind", ["single", "ensemble"])
def test_a_companion_has_as_many_anchors_as_asked_and_explains_what_unseen_rows_say(kind):
    X, y = two_laws()
    model = FALLRegressor(60, random_state=0)
    if kind == "ensemble":
        model = FALLEnsembleRegressor(2, search={"n_neighbors": [5]}, random_state=0)
    model.fit(X, y)
    found = companion_of(model, 4)
    assert len(found.model.anchor_models_) == 4
    assert found.model.feature_space.has_units
    assert set(found.simplicity["n_anchors"]) == set(SIMPLE["n_anchors"])
    assert 0.5 < found.explained < 1
    # New rows agree.
    unseen, _ = two_laws(2000, seed=1)
    there = r2_score(model.predict(unseen), found.model.predict(unseen))
    assert found.explained == pytest.approx(there, abs=0.15)


def test_a_companion_says_how_many_models_of_each_number_of_regimes_there_was_time_for():
    model = FALLRegressor(60, random_state=0).fit(*two_laws())
    in_time, starved = companion_of(model), companion_of(model, time_budget=1e-9)
    assert_array_equal(in_time.simplicity["tried"], 1.0)
    assert not in_time.is_unfinished
    assert (starved.simplicity["tried"] < 0.5).all()
    assert starved.is_unfinished


def test_out_of_time_a_companion_is_no_worse_than_the_mean(monkeypatch):
    X, y = two_laws(300)
    only = {"n_anchor_neighbors": [3], "n_anchors": [1, 2], "anchor_alpha": [1e-9]}
    monkeypatch.setattr(_companion, "SIMPLE", SIMPLE | only)  # lines through three samples
    model = FALLRegressor(60, random_state=0).fit(X, y)
    worse = companion_of(model, 1).model
    assert r2_score(y, worse.predict(X)) < 0
    found = companion_of(model, time_budget=1e-9)
    assert r2_score(y, found.model.predict(X)) > 0
    assert found.is_unfinished


def test_out_of_time_a_companion_is_one_linear_model_of_all_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = X @ [1.0, 2.0, -1.0] + 3 * rng.standard_normal(2000)
    found = companion_of(FALLRegressor(60, random_state=0).fit(X, y), time_budget=1e-9)
    of_all = LinearRegression().fit(X, y)
    assert_allclose(found.model.predict(X), of_all.predict(X), rtol=0.02, atol=0.02)
    assert found.simplicity["n_anchors"][0] == 1
    assert found.is_unfinished


def test_out_of_time_a_wanted_number_of_regimes_is_found_in_clusters():
    X, y = two_laws()
    model = FALLRegressor(60, random_state=0).fit(X, y)
    found = companion_of(model, 2, time_budget=1e-9)
    assert len(found.model.anchor_models_) == 2
    assert found.own_score[0] == found.simplicity["score"][found.simplicity["n_anchors"] == 2]
    assert found.own_score[0] > 0.9 * companion_of(model, 2).own_score[0]


def test_a_companion_knows_its_own_score_beside_the_best_of_its_number_of_regimes():
    X, y = two_laws()
    found = companion_of(FALLRegressor(60, random_state=0).fit(X, y))
    folds = KFold(3, shuffle=True, random_state=0)
    own = cross_val_score(clone(found.model), X, y, cv=folds)
    expected = own.mean(), own.std(ddof=1) / np.sqrt(3)
    assert found.own_score == pytest.approx(expected, rel=1e-6)
    at = found.simplicity["n_anchors"] == len(found.model.anchor_models_)
    assert found.own_score[0] < found.simplicity["score"][at]


def test_a_model_of_few_regimes_is_its_own_companion():
    model = FALLRegressor(3, random_state=0).fit(*two_laws(60))
    found = companion_of(model)
    assert found.model is model
    assert (found.explained, found.simplicity) == (1.0, None)


def test_with_a_time_budget_a_companion_is_fitted_to_so_many_samples_at_most(monkeypatch):
    monkeypatch.setattr(_companion, "MOST_FITTED", 80)
    model = FALLRegressor(30, random_state=0).fit(*two_laws(120))
    assert companion_of(model, 2, time_budget=60).model.n_samples_fit_ == 80
    assert companion_of(model, 2).model.n_samples_fit_ == 120


def test_a_companion_of_classes_keeps_their_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = FALLClassifier(40, random_state=0).fit(X, y.map({0: "a", 1: "b", 2: "c"}))
    found = companion_of(model, 3)
    assert found.model.target_names == ["a", "b", "c"]
    assert_array_equal(found.model.feature_names, X.columns)
    assert found.explained > 0.7


def test_sample_weights_of_the_model_count_in_its_companion():
    X, y = two_laws(120)
    weights = np.where(X[:, 0] > 0, 1.0, 0.0)
    model = FALLRegressor(30, random_state=0).fit(X, y, weights)
    coef = companion_of(model, 1).model.anchor_models_[0, :3, 0]
    assert_allclose(coef, [0, 4, 0], atol=0.5)  # the law of the rows that count
