"""One judgement: `fit` prints, the page shows and `cv_score_` has the same score of a model."""

import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import locallinear
from houses import houses
from locallinear.__main__ import main
from locallinear.explain import interval_coverage, report_data
from locallinear.tables import procedure
from pages import data_in

OTHERS = ("price", "rent", "kind")


def call(*arguments):
    result = CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def judged(tmp_path):
    """Fit a column: the line that `fit` prints, the page's text and its data, and the model."""

    def judge(target, *options):
        data, model, page = (tmp_path / name for name in ("houses.csv", "a.model", "why.html"))
        table = houses(120)
        # Wide enough that prices and their logs are not judged alike.
        table["price"] = np.exp(table["price"] / 150).round(3)
        table.to_csv(data, index=False)
        ignored = [part for name in OTHERS if name != target for part in ("--ignore", name)]
        arguments = ["--target", target, *ignored, "--jobs", 1, "--out", model]
        said = call("fit", data, *arguments, "--time-budget", 4, *options)
        call("explain", model, data, "--out", page, "--jobs", 1)
        (line,) = re.findall(r"^ +FALL .*$", said, re.MULTILINE)
        text = page.read_text("utf-8")
        return line.split(), text, data_in(page), locallinear.load(model)

    return judge


def shown(text):
    """The score of the page's first card."""
    return float(re.search(r'class="big">\S+ ([\d.]+)<', text)[1])


@pytest.mark.parametrize("options", [(), ("--model", "ensemble")], ids=["single", "ensemble"])
@pytest.mark.parametrize("scale", ["identity", "log"])
def test_the_terminal_and_the_page_show_one_r2_and_one_error(judged, scale, options):
    line, text, page, model = judged("price", "--target-scale", scale, *options)
    _, error, _, half, r2 = line
    assert model.is_log_ == (scale == "log")
    assert float(r2) == pytest.approx(model.cv_score_, abs=0.0005)
    assert shown(text) == pytest.approx(model.cv_score_, abs=0.0005)
    ours = page["scores"]["models"][0]
    assert ours["R²"]["value"] == pytest.approx(model.cv_score_)
    assert float(error) == pytest.approx(ours["RMSE"]["value"], rel=0.05)
    assert float(half) == pytest.approx(ours["RMSE"]["half_width"], rel=0.05)
    assert page["scores"]["n_scored"] == 120


def test_the_terminal_and_the_page_show_one_share_of_right_classes(judged):
    line, text, page, model = judged("kind")
    wrong = float(line[1]) / 100
    assert 1 - wrong == pytest.approx(model.cv_score_, abs=0.0005)
    assert shown(text) == pytest.approx(model.cv_score_, abs=0.0005)
    scores = page["scores"]
    true = houses(120)["kind"].to_numpy()[:, None] == model.classes_
    likely = (model.cv_prediction_ * true).sum(axis=1)
    assert scores["probabilities"]["errors"]["log loss"] == pytest.approx(-np.log(likely).mean())


def test_rows_that_a_budget_left_no_time_for_are_in_neither_judgement(judged, monkeypatch):
    monkeypatch.setattr(procedure, "MOST_SEARCHED", 60)
    monkeypatch.setattr(procedure, "LEAST_JUDGED", 10)
    line, text, page, model = judged("price", "--target-scale", "identity", "--time-budget", 0.1)
    judged_rows = np.isfinite(model.cv_prediction_).sum()
    assert 0 < judged_rows < 120
    assert page["scores"]["n_scored"] == judged_rows
    assert float(line[-1]) == pytest.approx(model.cv_score_, abs=0.0005)
    assert shown(text) == pytest.approx(model.cv_score_, abs=0.0005)


def test_weights_of_rows_count_on_the_page_as_in_the_score():
    frame = houses(120).drop(columns=["rent", "kind"])
    weights = np.where(frame["district"] == "south", 5.0, 1.0)
    few = locallinear.FALLRegressor(5, n_neighbors=5)
    model = locallinear.TableRegressor(few, random_state=0).fit(frame, "price", weights)
    ours = report_data(model, max_rows=5)["scores"]["models"][0]
    assert ours["R²"]["value"] == pytest.approx(model.cv_score_)


def test_targets_of_a_log_model_are_given_in_units_and_judged_in_units():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    y = pd.Series(np.exp(X["a"] + 0.1 * rng.normal(size=300)), name="price")
    few = locallinear.FALLRegressor(5, n_neighbors=5)
    model = locallinear.TableRegressor(few, target="log", random_state=0).fit(X[:200], y[:200])
    (found,) = interval_coverage(model, X[200:], y[200:], coverages=(0.9,))
    low, high = model.predict_interval(X[200:], 0.9).T
    assert found["covered"] == [np.mean((low <= y[200:]) & (y[200:] <= high))]
    assert found["width"][0] == pytest.approx((high - low).mean())
    page = report_data(model, X[:200], y[:200], Xq=X[200:], yq=y[200:])
    assert page["targets"] == ["log of price"]
    assert page["coverage"][0]["covered"][2] == found["covered"][0]
    assert_allclose(np.ravel(page["rows"]["true"]), np.log(y[200:]), rtol=1e-5, atol=1e-5)


def test_the_terminal_and_the_page_say_alike_what_folds_do_not_show(tmp_path):
    data, model, page = (tmp_path / name for name in ("houses.csv", "a.model", "why.html"))
    table = houses(60)[["size (m²)", "rooms", "price"]]
    sentences = []
    for days in (False, True):
        if days:
            table["sold"] = pd.date_range("2020-01-01", periods=60, freq="9D")
        table.to_csv(data, index=False)
        said = call(
            "fit", data, "--target", "price", "--time-budget", 2, "--jobs", 1, "--out", model
        )
        call("explain", model, data, "--out", page, "--jobs", 1)
        sentence = data_in(page)["scores"]["later"]
        sentences.append(sentence)
        assert ("Each row has a time" in said) == days
        assert ("Each row has a time" in page.read_text("utf-8")) == days
        assert sentence is None or sentence in " ".join(said.split())
    assert sentences[0] is None
    assert sentences[1].startswith(
        "Each row has a time, in the column 'sold', and these errors are"
    )
