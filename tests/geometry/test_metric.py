"""The learned metric: its weights, invariances, equivalences and files."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, train_test_split

import locallinear
from locallinear import FALLClassifier, FALLRegressor, FALLRegressorCV
from locallinear.geometry import metric
from locallinear.geometry.metric import learn_metric
from problems import needle


def learned(**parameters):
    return FALLRegressor(neighborhood="learned", random_state=0, **parameters)


# Results ---------------------------------------------------------------------------------------


def test_weights_find_the_features_that_matter():
    X, y = needle()
    weights = learned().fit(X, y).feature_weights_
    assert weights.sum() == pytest.approx(1)
    assert weights[:3].min() > 4 * weights[3:].max()


def test_error_halves_at_least_when_most_features_are_noise():
    X_train, X_test, y_train, y_test = train_test_split(*needle(), random_state=0)

    def error(model):
        return np.mean((model.fit(X_train, y_train).predict(X_test) - y_test) ** 2)

    assert error(learned()) < 0.5 * error(FALLRegressor(random_state=0))


def test_of_two_equal_features_the_pair_counts_as_one():
    X, y = needle(noise_features=2)
    twice = np.column_stack([X, X[:, 0]])
    alone, _ = learn_metric(X, y[:, None], None, 1)
    pair, _ = learn_metric(twice, y[:, None], None, 1)
    of_pair = np.hypot(pair[0], pair[-1]) / np.linalg.norm(pair)
    assert of_pair == pytest.approx(alone[0] / np.linalg.norm(alone), rel=0.25)


def test_the_metric_is_learned_from_classes_too():
    X, y = needle()
    model = FALLClassifier(neighborhood="learned", random_state=0).fit(X, y > 0)
    assert set(np.argsort(model.feature_weights_)[-3:]) == {0, 1, 2}


# Limits ----------------------------------------------------------------------------------------


def test_features_get_equal_weights_when_the_target_is_constant():
    X, _ = needle(100)
    assert_allclose(learned().fit(X, np.ones(100)).feature_weights_, 1 / 20)


def test_constant_features_do_no_harm():
    X, y = needle(200)
    X[:, 4] = 7.0
    assert np.isfinite(learned().fit(X, y).predict(X)).all()


@pytest.mark.parametrize("scaling", [None, "standard"])
def test_features_that_are_constant_up_to_rounding_do_no_harm(scaling):
    X, y = needle(200, 1)
    X[:, 3] = np.where(X[:, 3] < 0, 0.1 + 0.2, 0.3)
    queries = X[:9] + 0.01
    model = learned(scaling=scaling).fit(X, y)
    moved = np.column_stack([queries[:, :3], queries[:, 3] + 1e-7])
    assert_allclose(model.predict(moved), model.predict(queries), atol=1e-3)


# Invariances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_weights_do_not_depend_on_units_or_origins(scaling):
    X, y = needle(300, 3)
    units = np.array([1e-3, 1.0, 1e4, 30.0, 1e-6, 2.0])
    one = learned(scaling=scaling).fit(X, y).feature_weights_
    other = learned(scaling=scaling).fit(X * units + 5 * units, 1e3 * y - 8).feature_weights_
    assert_allclose(other, one, rtol=1e-6)


def test_weights_do_not_depend_on_the_order_of_the_samples():
    X, y = needle(300, 3)
    order = np.random.default_rng(1).permutation(300)
    one = learned().fit(X, y).feature_weights_
    assert_allclose(learned().fit(X[order], y[order]).feature_weights_, one, rtol=1e-9)


def test_learning_takes_memory_in_proportion_to_the_data():
    X = np.random.default_rng(0).normal(size=(1500, 120))
    learn_metric(X, X[:, :1], None, rounds=1)  # compiles
    tracemalloc.start()
    learn_metric(X, X[:, :1], None, rounds=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes


def test_of_many_features_those_that_say_most_of_the_target_are_weighed(monkeypatch):
    X, y = needle(noise_features=27)
    every, _ = learn_metric(X, y[:, None], None, 3)
    monkeypatch.setattr(metric, "MAX_FEATURES", 10)
    some, _ = learn_metric(X, y[:, None], None, 3, n_jobs=2)
    assert set(np.argsort(some)[-3:]) == set(np.argsort(every)[-3:]) == {0, 1, 2}
    assert_array_equal(some, learn_metric(X, y[:, None], None, 3)[0])


def test_thousands_of_features_take_memory_in_proportion_to_the_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5000))
    tracemalloc.start()
    weights, _ = learn_metric(X, X[:, :1] + X[:, 1:2], None, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes  # the square of 5,000 alone is 83 times X
    assert np.isfinite(weights).all()


def test_a_weight_of_two_is_the_sample_twice():
    X, y = needle(120, 3)
    counts = np.random.default_rng(2).integers(0, 3, size=120)
    weighted = learned().fit(X, y, sample_weight=counts).feature_weights_
    repeated = learned().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).feature_weights_
    assert_allclose(weighted, repeated, rtol=1e-9)


@pytest.mark.parametrize(("max_samples", "digits"), [(40, 0), (40, 1), (110, 1), (110, 9)])
def test_a_weight_of_two_is_the_sample_twice_where_not_all_samples_are_used(
    monkeypatch, max_samples, digits
):
    monkeypatch.setattr(metric, "MAX_SAMPLES", max_samples)
    X, y = needle(120, 1)
    X = X.round(digits)  # with few digits, samples of one place have several targets
    counts = np.random.default_rng(2).integers(0, 3, size=120)
    repeated = np.repeat(X, counts, axis=0), np.repeat(y, counts)[:, None]
    weighted, _ = learn_metric(X, y[:, None], counts.astype(float), 4)
    assert_allclose(weighted, learn_metric(*repeated, None, 4)[0], rtol=1e-9)


# Equivalences ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.7])
def test_models_are_those_of_features_multiplied_by_their_weights(scaling, l1_ratio):
    X, y = needle(200, 3)
    options = {"alpha": 3.0, "anchor_alpha": 0.1, "anchor_l1_ratio": l1_ratio, "n_anchors": 20}
    model = learned(scaling=scaling, **options).fit(X, y)
    inner = (X - X.mean(axis=0)) / X.std(axis=0)
    if scaling == "quantile":
        inner = np.sqrt(3) * ((2 * X.argsort(axis=0).argsort(axis=0) + 1) / len(X) - 1)
    weights = model.feature_weights_ / np.sqrt(np.mean(model.feature_weights_**2))
    Z = inner / inner.std(axis=0) * weights
    plain = FALLRegressor(scaling=None, random_state=0, **options)
    plain.set_params(anchor_selection=Z[:20]).fit(Z, y)
    model.set_params(anchor_selection=X[:20]).fit(X, y)
    assert_allclose(model.predict(X), plain.predict(Z), rtol=1e-9)
    assert_array_equal(model.labels_, plain.labels_)
    units = X.std(axis=0) if scaling == "standard" else inner.std(axis=0)
    coef = plain.local_models()[:, :-1, 0] * weights / units
    assert_allclose(model.local_models()[:, :-1, 0], coef, rtol=1e-6, atol=1e-9)


def test_slopes_are_large_only_for_the_features_that_matter():
    X, y = needle()
    why = learned(anchor_alpha=0.1).fit(X, y).explain(X[:100] + 0.01)
    slopes = np.abs(why.coef[:, :, 0]).mean(axis=0)
    assert slopes[:3].min() > 10 * slopes[3:].max()


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_anchor_models_are_passed_and_returned_in_the_same_units(scaling):
    X, y = needle(100, 3)
    model = learned(scaling=scaling, n_anchors=5).fit(X, y)
    again = learned(scaling=scaling, anchor_models=model.anchor_models_).fit(X, y)
    assert_allclose(again.predict(X + 0.1), model.predict(X + 0.1), rtol=1e-9)


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_contributions_add_up_to_the_prediction(scaling):
    X, y = needle(200, 3)
    model = learned(scaling=scaling).fit(X, y)
    why = model.explain(X[:9] + 0.1)
    total = why.contributions.sum(axis=1) + why.intercept
    assert_allclose(total[:, 0], model.predict(X[:9] + 0.1), rtol=1e-9)
    assert_array_equal(why.feature_weights, model.feature_weights_)


def test_added_samples_leave_the_weights_as_they_are():
    X, y = needle(300, 3)
    model = learned().fit(X[:200], y[:200])
    before = model.feature_weights_.copy()
    model.partial_fit(X[200:], y[200:])
    assert_array_equal(model.feature_weights_, before)
    exact = model.predict(X[250:260])
    model.forget(np.arange(10))
    assert_allclose(model.predict(X[250:260]), exact)


def test_a_file_keeps_the_metric(tmp_path):
    X, y = needle(200, 3)
    model = learned().fit(X, y)
    model.save(tmp_path / "model")
    again = locallinear.load(tmp_path / "model")
    assert_array_equal(again.predict(X + 0.1), model.predict(X + 0.1))
    assert_array_equal(again.feature_weights_, model.feature_weights_)


def test_a_search_scores_learned_metrics_as_a_loop_does():
    X, y = needle(150, 3)
    grid = {
        "neighborhood": ["euclidean", "learned"],
        "metric_iterations": [1, 3],
        "scaling": ["standard", "quantile"],
        "n_neighbors": [3, 7],
    }
    loop = GridSearchCV(FALLRegressor(random_state=0), grid, cv=3, refit=False).fit(X, y)
    search = FALLRegressorCV(grid, cv=3, random_state=0).fit(X, y)
    assert_allclose(
        search.cv_results_["mean_test_score"], loop.cv_results_["mean_test_score"], rtol=1e-9
    )


def test_weights_are_removed_by_a_fit_without_a_learned_metric():
    X, y = needle(100, 3)
    model = learned().fit(X, y).set_params(neighborhood="euclidean").fit(X, y)
    assert not hasattr(model, "feature_weights_")
    assert model.explain(X[:1]).feature_weights is None
