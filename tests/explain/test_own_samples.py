"""Rows that are the model's own samples are found, and explained without themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from houses import fitted, houses
from locallinear import FALLClassifier, FALLEnsembleRegressor, FALLRegressor, TableRegressor
from locallinear.explain import data_of_explanation, report_data, write_report
from locallinear.explain.explaining_rows import explain_rows, numbers_of_samples
from locallinear.explain.how_sure import how_sure
from locallinear.explain.own_samples import count_equal, own_samples
from locallinear.explain.view import view_of


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_samples_are_found_in_any_order(make_problem, scaling):
    X, y, _ = make_problem()
    view = view_of(FALLRegressor(4, scaling=scaling, random_state=0).fit(X, y))
    order = np.random.default_rng(0).permutation(len(X))[:50]
    assert_array_equal(own_samples(view, X[order], y[order]), order)
    assert count_equal(view, X[order]) == 50


def test_equal_rows_are_different_samples(make_problem):
    X, y, _ = make_problem(n=20)
    X, y = np.concatenate([X, X[:3]]), np.concatenate([y, y[:3]])
    view = view_of(FALLRegressor(4, random_state=0).fit(X, y))
    found = own_samples(view, X, y)
    assert sorted(found) == list(range(23))
    assert_array_equal(own_samples(view, X[[0, 0, 0]], y[[0, 0, 0]]), [0, 20, 0])


def test_a_row_with_another_target_or_value_is_no_sample(make_problem):
    X, y, Q = make_problem()
    view = view_of(FALLRegressor(4, random_state=0).fit(X, y))
    other = np.where(np.arange(len(y)) == 7, -1, np.arange(len(y)))
    assert_array_equal(own_samples(view, X, y + np.eye(len(y))[7]), other)
    assert_array_equal(own_samples(view, np.vstack([X[:3], Q[:1]]), y[:4]), [0, 1, 2, -1])
    assert_array_equal(own_samples(view, X[:2], np.array([np.nan, y[1]])), [-1, 1])
    assert_array_equal(own_samples(view, X[:3], np.array(["a", "b", "c"])), [-1, -1, -1])
    assert count_equal(view, np.concatenate([X[:5], Q])) == 5


def test_a_report_on_samples_has_their_predictions_without_themselves(make_problem):
    X, y, _ = make_problem()
    labels = np.where(y > 0, "up", "down")
    models = [
        FALLRegressor(4, random_state=0).fit(X, y),
        FALLEnsembleRegressor(2, search=None, random_state=0).fit(X, y),
        FALLClassifier(4, random_state=0).fit(X, labels),
    ]
    for model in models:
        targets = labels if hasattr(model, "classes_") else y
        expected = model.loo_prediction_.reshape(len(X), -1)
        for options in ({}, {"Xq": X, "yq": targets}):
            rows = report_data(model, X, targets, **options)["rows"]
            assert rows["n_own"] == rows["n_total"] == len(X)
            assert_allclose(rows["prediction"], expected, rtol=1e-8, atol=1e-8)
            assert not any(i in near for i, near in enumerate(rows["neighbors"]))


def test_a_table_keeps_its_gaps_when_its_rows_are_samples():
    frame, model = houses(), fitted()
    data = report_data(model, Xq=frame, yq=frame["price"].to_numpy())
    assert data["rows"]["n_own"] == len(frame)
    assert_allclose(np.ravel(data["rows"]["prediction"]), model.loo_prediction_, rtol=1e-8)
    assert data["rows"]["values"][0][0] is None
    assert data["rows"]["values"][17][2] is None


@pytest.mark.parametrize("lowest", [0.0, 1.0])  # of which 0 has a log with a shift only
def test_samples_of_a_log_model_are_found_by_their_targets_in_units(make_problem, lowest):
    X, y, Q = make_problem()
    y = lowest + y - y.min()
    model = TableRegressor(FALLRegressor(5, n_neighbors=5), target="log", random_state=0).fit(X, y)
    order = np.array([7, 2, np.argmin(y)])
    mixed, targets = np.vstack([X[order], Q[:1]]), np.append(y[order], np.nan)
    assert_array_equal(numbers_of_samples(view_of(model), mixed, targets), [*order, -1])
    assert report_data(model, Xq=X, yq=y)["rows"]["n_own"] == len(X)


def test_rows_without_targets_are_predicted_as_predict_does(make_problem, tmp_path):
    X, y, _ = make_problem()
    model = FALLRegressor(4, random_state=0).fit(X, y)
    data = report_data(model, X, y, Xq=X[:9])
    assert data["rows"]["n_own"] == 0
    assert data["rows"]["n_equal"] == 9
    assert_allclose(np.ravel(data["rows"]["prediction"]), model.predict(X[:9]), rtol=1e-8)
    write_report(tmp_path / "page.html", data)
    assert "exactly the values of a sample" in (tmp_path / "page.html").read_text("utf-8")


def test_the_page_says_that_samples_are_explained_without_themselves(make_problem, tmp_path):
    X, y, _ = make_problem(n=40)
    write_report(
        tmp_path / "page.html",
        data_of_explanation(FALLRegressor(4, random_state=0).fit(X, y).explain_samples([3, 8])),
    )
    text = " ".join((tmp_path / "page.html").read_text("utf-8").split())
    assert "predicted and explained without itself" in text


# --- Some rows are samples, others are new -------------------------------------------------------


def models_of(X, y):
    yield FALLRegressor(4, random_state=0).fit(X, y)
    yield FALLRegressor(4, scaling="quantile", neighborhood="forest", random_state=0).fit(X, y)
    yield FALLEnsembleRegressor(3, search=None, random_state=0).fit(X, y)
    yield FALLClassifier(4, random_state=0).fit(X, np.where(y > 0, "up", "down"))


def test_among_new_rows_samples_alone_are_explained_without_themselves(make_problem):
    X, y, Q = make_problem()
    mixed = np.vstack([Q[:2], X[[5, 9]], Q[2:4]])
    own = np.array([-1, -1, 5, 9, -1, -1])
    for model in models_of(X, y):
        why = explain_rows(view_of(model), mixed, own)
        alone, new = model.explain_samples([5, 9]), model.explain(mixed)
        for name in ("prediction", "coef", "neighborhood_part", "difference_parts", "slopes"):
            found = getattr(why, name)
            assert_allclose(found[own >= 0], getattr(alone, name), rtol=1e-8, atol=1e-8)
            assert_array_equal(found[own < 0], getattr(new, name)[own < 0])
        sure, others = how_sure(view_of(model), why), how_sure(view_of(model), new)
        without = how_sure(view_of(model), alone)
        assert_allclose(sure.novelty[own >= 0], without.novelty)
        assert_allclose(sure.novelty[own < 0], others.novelty[own < 0])
        if sure.interval is not None:
            assert_allclose(sure.interval[own >= 0], without.interval)
            assert_allclose(sure.interval[own < 0], others.interval[own < 0])
        assert_allclose(why.slopes_std[own >= 0], alone.slopes_std, rtol=1e-6)
        base = model.predict_checked(X[:8], None).mean(axis=0)
        values = why.take([0]).shapley(X[:8], random_state=0)[0].sum(axis=0)
        assert_allclose(values + base, np.ravel(new.prediction[0]))


def test_the_explanation_of_a_sample_among_new_rows_does_not_repeat_its_target(make_problem):
    X, y, Q = make_problem()
    y = y + 1000.0 * (np.arange(len(y)) == 5)
    model = FALLRegressor(4, random_state=0).fit(X, y)
    mixed, targets = np.vstack([X[[5]], Q[:3]]), np.array([y[5], 0.0, 0.0, np.nan])
    data = report_data(model, X, y, Xq=mixed, yq=targets)
    rows = data["rows"]
    assert rows["prediction"][0][0] < 900  # the others near it say nothing of 1,000
    assert 5 not in rows["neighbors"][0]
    assert_allclose(np.ravel(rows["prediction"][1:]), model.predict(Q[:3]), rtol=1e-8)
    assert rows["n_own"] == 1
    assert rows["names"] == ["row 0 (training row)", "row 1", "row 2", "row 3"]
    assert rows["true"][3] == [None]


def test_the_page_says_which_rows_are_samples_and_which_are_new(make_problem, tmp_path):
    X, y, Q = make_problem()
    model = FALLRegressor(4, random_state=0).fit(X, y)
    mixed, targets = np.vstack([X[:4], Q[:3]]), np.concatenate([y[:4], np.zeros(3)])
    write_report(tmp_path / "page.html", report_data(model, X, y, Xq=mixed, yq=targets))
    text = " ".join((tmp_path / "page.html").read_text("utf-8").split())
    assert "By their values and targets, 4 of 7 rows are samples that the model was fitted" in text
    assert "Each training row is predicted and explained without itself" in text
    one = report_data(model, X, y, Xq=mixed[3:], yq=targets[3:])
    write_report(tmp_path / "page.html", one)
    text = " ".join((tmp_path / "page.html").read_text("utf-8").split())
    assert "By their values and targets, 1 of 4 rows is a sample that the model was fitted" in text


def test_rows_that_are_equal_by_chance_are_no_samples():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 2)).astype(float), rng.integers(0, 2, 60)
    view = view_of(FALLClassifier(4, random_state=0).fit(X, y))
    assert (own_samples(view, X, y) >= 0).all()
    mixed = np.vstack([X, [[9.0, 9.0]]])
    assert (own_samples(view, mixed, np.append(y, 0)) == -1).all()


def test_samples_whose_equal_targets_come_back_with_rounding_are_recognised():
    rng = np.random.default_rng(0)
    X = 1e3 * rng.normal(size=(300, 4))
    y = rng.integers(5, 9, size=300) * 1234.1  # each target is that of many samples
    model = FALLRegressor(30, random_state=0).fit(X, y)
    assert len(np.unique(model.training_samples()[1])) > len(np.unique(y))
    np.testing.assert_array_equal(own_samples(view_of(model), X, y), np.arange(300))
