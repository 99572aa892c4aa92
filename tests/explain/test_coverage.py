"""The data of a coverage plot."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from locallinear import FALLRegressor, TableRegressor
from locallinear.explain import interval_coverage, report_data, write_report


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    return X, np.column_stack([X[:, 0], X[:, 1] * (1 + rng.normal(size=500))])


def test_coverage_is_the_share_of_rows_within_their_intervals(problem):
    X, Y = problem
    model = FALLRegressor(9, n_neighbors=10, random_state=0).fit(X[:300], Y[:300])
    found = interval_coverage(model, X[300:], Y[300:], coverages=(0.5, 0.9))
    assert [each["target"] for each in found] == ["y0", "y1"]
    low, high = np.moveaxis(model.predict_interval(X[300:], 0.9)[:, 1], 1, 0)
    inside = (low <= Y[300:, 1]) & (Y[300:, 1] <= high)
    assert_allclose(found[1]["covered"][1], inside.mean())
    assert_allclose(found[1]["width"][1], (high - low).mean())
    parts = found[1]["parts"]
    assert [part["n_rows"] for part in parts] == [40] * 5
    largest = np.argsort(model.predict(X[300:])[:, 1], kind="stable")[-40:]
    assert_allclose(parts[-1]["covered"][1], inside[largest].mean())
    assert parts[0]["highest"] <= parts[1]["lowest"]


def test_without_rows_the_samples_are_judged_without_themselves(problem):
    X, Y = problem
    model = FALLRegressor(9, n_neighbors=10, random_state=0).fit(X, Y[:, 0])
    (found,) = interval_coverage(model)
    assert found["source"] == "samples without themselves"
    assert found["n_rows"] == 500
    assert_allclose(found["covered"], found["expected"], atol=0.01)


def test_errors_that_targets_made_small_count_as_those_of_new_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    y = X[:, 0] + 2 * rng.normal(size=400)
    model = FALLRegressor(40, neighborhood="boosted", n_neighbors=5, random_state=0).fit(X, y)
    low, high = model.conformal().sample_quantiles(np.array([0.05, 0.95]))[:, 0].T
    as_they_are = np.mean((low <= y) & (y <= high))
    (found,) = interval_coverage(model)
    assert as_they_are > 0.93  # the trees were grown on these targets
    assert_allclose(found["covered"], found["expected"], atol=0.01)


def test_a_page_counts_new_rows_however_their_cells_are_written():
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=200, freq="5D")
    frame = pd.DataFrame({"day": days.strftime("%d.%m.%Y"), "size": rng.normal(size=200)})
    y = frame["size"] + 0.1 * rng.normal(size=200)
    few = FALLRegressor(5, n_neighbors=5)
    model = TableRegressor(few, target="identity", random_state=0).fit(frame[:140], y[:140])
    (found,) = report_data(model, Xq=frame[140:], yq=y[140:])["coverage"]
    assert (found["source"], found["n_rows"]) == ("held-out rows", 60)
    (expected,) = interval_coverage(model, frame[140:], y[140:])
    assert_allclose(found["covered"], expected["covered"])


def test_a_page_says_why_intervals_of_too_few_samples_cannot_be_counted(tmp_path):
    X = np.arange(6.0)[:, None]
    data = report_data(FALLRegressor(2, n_neighbors=6).fit(X, X[:, 0]), max_rows=3)
    assert "give more samples" in data["coverage"]["missing"]
    write_report(tmp_path / "page.html", data)
    assert data["coverage"]["missing"] in (tmp_path / "page.html").read_text("utf-8")
