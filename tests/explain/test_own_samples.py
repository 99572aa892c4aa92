"""Rows that are the model's own samples are found, and explained without themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from houses import fitted, houses
from locallinear import FALLClassifier, FALLEnsembleRegressor, FALLRegressor
from locallinear.explain import data_of_explanation, report_data, write_report
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
    assert own_samples(view, X[[0, 0, 0]], y[[0, 0, 0]]) is None


def test_a_row_with_another_target_or_value_is_no_sample(make_problem):
    X, y, Q = make_problem()
    view = view_of(FALLRegressor(4, random_state=0).fit(X, y))
    assert own_samples(view, X, y + np.eye(len(y))[7]) is None
    assert own_samples(view, np.concatenate([X[:5], Q[:1]]), y[:6]) is None
    assert own_samples(view, X[:3], np.array(["a", "b", "c"])) is None
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
            assert rows["without_themselves"]
            assert_allclose(rows["prediction"], expected, rtol=1e-8, atol=1e-8)
            assert not any(i in near for i, near in enumerate(rows["neighbors"]))


def test_a_table_keeps_its_gaps_when_its_rows_are_samples():
    frame, model = houses(), fitted()
    data = report_data(model, Xq=frame, yq=frame["price"].to_numpy())
    assert data["rows"]["without_themselves"]
    assert_allclose(np.ravel(data["rows"]["prediction"]), model.loo_prediction_, rtol=1e-8)
    assert data["rows"]["values"][0][0] is None
    assert data["rows"]["values"][17][2] is None


def test_rows_without_targets_are_predicted_as_predict_does(make_problem, tmp_path):
    X, y, _ = make_problem()
    model = FALLRegressor(4, random_state=0).fit(X, y)
    data = report_data(model, X, y, Xq=X[:9])
    assert not data["rows"]["without_themselves"]
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
