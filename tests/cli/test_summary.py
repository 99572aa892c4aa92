"""The summary of a model on the command line: effects and equations of its regimes."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from houses import table_estimator
from locallinear import FALLRegressor, TableRegressor
from locallinear.cli import summary
from locallinear.cli.summary import MEANING, parameter_lines, regime_lines, simplicity_lines
from locallinear.search.companion import companion_of


def lines_of(model, n_regimes=None):
    return regime_lines(model, companion_of(model.estimator_, n_regimes))


def table_model(frame, **options):
    return TableRegressor(FALLRegressor(**options), target="identity").fit(frame, "y")


def test_what_an_equation_leaves_out_is_bounded_in_the_same_line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 7))
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(y=X @ np.arange(7.0))
    text = " ".join(" ".join(lines_of(table_model(frame, n_anchors=1, random_state=0))).split())
    bound = float(re.search(r"± ([\d.]+) left out", text).group(1))
    assert 0 < bound < 2 * 3 * 3  # of columns with coefficients up to 2
    assert "left out" not in " ".join(lines_of(table_estimator(scaling="standard", n_anchors=1)))


def test_one_regime_is_said_to_hold_all_rows():
    lines = lines_of(table_estimator(scaling="standard", n_anchors=1))
    assert lines[0] == "All rows form one regime, with one linear equation:"


def two_laws():
    rng = np.random.default_rng(0)
    group = np.repeat([1.0, 4.0], 40)
    frame = pd.DataFrame({"a": group, "b": rng.normal(size=80)})
    return frame.assign(y=np.where(group == 4, 5, -5) * frame["b"])


def test_regimes_are_named_by_what_sets_them_apart():
    anchors = [[1.0, 0.0], [4.0, 0.0]]
    model = table_model(two_laws(), n_anchors=2, anchor_selection=anchors, n_anchor_neighbors=30)
    text = " ".join(lines_of(model))
    assert re.search(r"\d\. high a.*: \d+ rows \(\d+%\); a mostly 4", text)
    assert re.search(r"\d\. low a.*: \d+ rows \(\d+%\); a mostly 1", text)


def test_a_model_of_many_regimes_is_summed_up_by_a_simple_one_in_units():
    model = table_model(two_laws(), n_anchors=40, scaling="quantile", random_state=0)
    companion = companion_of(model.estimator_, 2)
    text = " ".join(regime_lines(model, companion))
    assert "A model of 2 regimes" in text
    assert f"{companion.explained:.0%} of the variance" in text
    curve = simplicity_lines(model, companion)
    assert sum("*" in line for line in curve) == 2  # the row, and what the mark means
    assert any(line.split()[:2] == ["2", "*"] for line in curve)


def test_parameters_come_in_the_order_of_the_algorithm():
    lines = parameter_lines({"weights": "uniform", "alpha": 1, "n_anchors": 10})
    assert [line.split()[0] for line in lines] == ["n_anchors", "alpha", "weights"]
    assert lines[0].endswith(MEANING["n_anchors"])


def test_numbers_of_regimes_that_cost_the_same_are_one_line():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=30), "y": rng.normal(size=30)})
    model = table_model(frame, n_anchors=30, scaling="quantile", random_state=0)
    lines = simplicity_lines(model, companion_of(model.estimator_))  # all rows near every anchor
    found = [re.split(r" {2,}", line.strip()) for line in lines if re.match(r"  \d", line)]
    assert [regimes for regimes, *_ in found] == ["1 *", "2 to 12"]
    assert found[0][1:] == found[1][1:]


def test_the_equations_have_their_own_error_below_what_few_regimes_cost():
    model = table_model(two_laws(), n_anchors=40, scaling="quantile", random_state=0)
    found = replace(companion_of(model.estimator_), own_score=(0.75, 0.125))
    error = model.estimator_.training_samples()[1].std() / 2
    assert any(
        f" below, with stronger penalties: error {error:.3g}, R² 0.750 ± 0.125." in line
        for line in simplicity_lines(model, found)
    )


def test_equations_that_fit_worse_than_the_folds_promise_say_so():
    model = table_model(two_laws(), n_anchors=40, scaling="quantile", random_state=0)
    found = companion_of(model.estimator_)
    assert "less luckily" not in " ".join(simplicity_lines(model, found))
    X, Y = found.model.training_samples()
    error = np.sqrt(np.mean((found.model.predict_checked(X) - Y) ** 2))
    lucky = replace(found, own_score=(1 - (0.8 * error / Y.std()) ** 2, 0.001))
    lines = " ".join(" ".join(simplicity_lines(model, lucky)).split())
    assert f"the equations below have an error of {error:.3g}, more than in these folds" in lines


def test_numbers_of_regimes_that_there_was_no_time_to_try_have_no_price():
    model = table_model(two_laws(), n_anchors=40, scaling="quantile", random_state=0)
    found = companion_of(model.estimator_, 2)
    partly = np.where(found.simplicity["n_anchors"] < 6, 1.0, 0.1)
    for tried, shown in ((partly, ["1", "2", "3", "4"]), (np.zeros(len(partly)), ["2"])):
        starved = replace(found, simplicity=found.simplicity | {"tried": tried})
        lines = simplicity_lines(model, starved)
        assert [line.split()[0] for line in lines if re.match(r"  \d", line)] == shown
        assert "Time ran out before all models of few regimes were tried" in " ".join(lines)
    assert "Time ran out" not in " ".join(simplicity_lines(model, found))


def test_what_regimes_of_a_log_cost_is_said_to_be_of_the_log():
    frame = two_laws().assign(y=lambda f: np.exp(f["b"]))
    few = FALLRegressor(40, scaling="quantile", random_state=0)
    model = TableRegressor(few, target="log").fit(frame, "y")
    lines = simplicity_lines(model, companion_of(model.estimator_, 2))
    assert lines[0].startswith("What few regimes cost, in cross-validation, for the log of y (")


def test_one_regime_is_told_as_one_linear_model(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame["y"] = frame["a"] - frame["b"]
    model = table_model(frame, n_anchors=40, scaling="quantile", random_state=0)
    found = companion_of(model.estimator_, 3)
    own = table_model(frame, n_anchors=5, n_anchor_neighbors=60, alpha=1e9)
    (first, *_) = lines_of(own)
    assert first.endswith("with one linear equation (no row chooses another of 5 anchor models):")
    one = property(lambda self: np.zeros(self.n_samples_fit_, dtype=np.intp))
    monkeypatch.setattr(FALLRegressor, "labels_", one)
    text = " ".join(regime_lines(model, found))
    assert "One linear model of all rows, which is simple enough to read." in text
    assert "3 equations were fitted, but no row chooses another." in text
    assert "A model of 1 regime" not in text
    assert any("* the equation below: " in line for line in simplicity_lines(model, found))


def test_what_is_left_out_is_explained_wherever_lines_break(monkeypatch):
    model = table_model(two_laws(), n_anchors=2, n_anchor_neighbors=30, random_state=0)
    for length in range(10, 30):
        text = f"y = {'a' * length * 3} ± 2 left out"
        monkeypatch.setattr(summary, "_equations", lambda *_, text=text: [text])
        assert "What is left out is at most" in " ".join(lines_of(model))
