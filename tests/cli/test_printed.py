"""What commands print: errors, parameters and equations, comparisons, demos and help."""

import os
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import call, frame_of, refused, refused_fit, written
from houses import houses
from locallinear import FALLEnsembleRegressor, load
from locallinear.cli.comparison import PACKAGES, more_models
from locallinear.cli.files import BadInput
from locallinear.cli.learning import read_types
from locallinear.datasets import make_rentals


@pytest.fixture
def few_packages(monkeypatch):
    """No packages of boosted trees: some of them take a minute for sixty rows."""
    monkeypatch.setattr("locallinear.cli.comparison.PACKAGES", {})


def test_fit_prints_errors_parameters_and_equations(tables, tmp_path):
    out = tmp_path / "one.model"
    output = call(
        "fit", tables / "houses.csv", "--target", "price", "--ignore", "rent", "--ignore", "kind",
        "--scaling", "standard", "--time-budget", 3, "--jobs", 1, "--out", out,
    ).stdout  # fmt: skip
    assert "60 rows, 7 columns beside the target" in output
    assert re.search(r"^  id +skip +left out: it counts the rows$", output, re.M), output
    assert re.search(r"^  district +category +4 categories, one of them for gaps$", output, re.M)
    for name in ("FALL", "KNN", "ridge", "mean"):
        assert re.search(rf"^  {name} +[\d.]+ ± [\d.]+ +-?\d\.\d\d\d$", output, re.M), output
    assert re.search(r"FALL's error is [\d.]+ to [\d.]+ %|cannot be told apart", output)
    assert "n_anchor_neighbors" in output
    assert re.search(r"price = −?[\d.]+ [+−] [^=]*[\d.]+ · size\s+\(m²\)", output)
    assert f"The model is in {out}. To explain" in output
    model = load(out)
    assert model.target_names_ == ["price"]
    assert f"{model.cv_score_:.3f}" in output  # one judgement for all


def test_regimes_are_as_many_as_asked_and_their_price_is_shown(tables, tmp_path):
    output = call(
        "fit", tables / "houses.csv", "--target", "price", "--ignore", "rent", "--ignore", "kind",
        "--quick", "--regimes", 5, "--time-budget", 60, "--jobs", 1,
        "--out", tmp_path / "one.model",
    ).stdout  # fmt: skip
    numbers = r"^  (\d+(?: to \d+)?)( \*)? +[\d.,]+ +-?\d\.\d\d\d ± \d\.\d\d\d$"
    shown = re.findall(numbers, output, re.M)
    # All rows are one neighbourhood, so that 1, 2, 3 and 4 regimes, and 6, 8 and 12, cost the same.
    assert shown == [("1 to 4", ""), ("5", " *"), ("6 to 12", "")]
    few = r"(A model of [2-5] regimes|One linear model of all rows)"
    assert re.search(few + r".* It explains\s+\d+% of the variance", output)


def test_a_replaced_model_is_noted(tmp_path):
    data, out = written(tmp_path, houses(12)), tmp_path / "one.model"
    out.write_text("older")
    output = call(
        "fit", data, "--target", "price", "--time-budget", 1, "--jobs", 1, "--out", out
    ).stdout
    assert f"The model is in {out}, which was replaced." in output


def test_what_more_time_would_buy_is_said(tables, tmp_path):
    output = call(
        "fit", tables / "houses.csv", "--target", "price", "--time-budget", 0.2, "--quick",
        "--jobs", 1, "--out", tmp_path / "one.model",
    ).stdout  # fmt: skip
    assert re.search(r"Search: [\d,]+ of 14,400 configurations", output)
    assert re.search(r"More time would buy the other [\d,]+: all would take about", output)


def test_a_wrong_guess_is_corrected_by_one_option(tables, tmp_path):
    out = tmp_path / "one.model"
    call(
        "fit", tables / "houses.csv", "--target", "price", "--types", "rooms=category",
        "--types", "name=skip", "--time-budget", 0.2, "--quick", "--jobs", 1, "--out", out,
    )  # fmt: skip
    kinds = load(out).encoding_.set_index("column")["kind"]
    assert kinds["rooms"] == "category"
    assert "--types takes COLUMN=KIND" in refused_fit(tables / "houses.csv", "--types", "rooms")
    assert "no column 'romos', which --types" in refused_fit(
        tables / "houses.csv", "--types", "romos=date"
    )


def test_types_may_say_how_cells_are_written():
    options = {
        "categorical": [],
        "ignore": [],
        "types": ["a=b=date: %d/%m/%Y", "mood=ordered: low<=1"],
    }
    assert read_types(options) == {"a=b": "date: %d/%m/%Y", "mood": "ordered: low<=1"}
    with pytest.raises(BadInput, match="a colon is used as in 'number: ,'"):
        read_types(options | {"types": ["size=number: ;"]})


def test_an_ensemble_is_fitted_on_request(tables, tmp_path):
    out = tmp_path / "many.model"
    output = call(
        "fit", tables / "houses.csv", "--target", "price", "--model", "ensemble", "--quick",
        "--time-budget", 3, "--jobs", 1, "--out", out,
    ).stdout  # fmt: skip
    assert "Fit: an ensemble of" in output
    assert isinstance(load(out).estimator_, FALLEnsembleRegressor)


def test_a_file_without_a_header_is_asked_about_and_read_with_the_answer(tmp_path):
    data, out = tmp_path / "bare.csv", tmp_path / "one.model"
    lines = [f"{i % 5},{'ab'[i % 2]},{i * 1.5}" for i in range(30)]
    data.write_text("\n".join(lines))
    sentence = refused("fit", data, "--target", "column 3")
    assert "looks like a row; pass --no-header if it is one, or --header if" in sentence
    call("fit", data, "--target", "column 3", "--no-header", "--quick", "--time-budget", 0.2,
         "--jobs", 1, "--out", out)  # fmt: skip
    assert len(frame_of(call("predict", out, data).stdout)) == 30


def test_text_that_a_spreadsheet_would_run_is_written_with_an_apostrophe(tmp_path):
    data, out = tmp_path / "data.csv", tmp_path / "one.model"
    lines = [f"{i},{'=1+1' if i % 2 else '@SUM(A1)'},{i % 7}" for i in range(40)]
    data.write_text("\n".join(["=a,b,c", *lines]))
    call("fit", data, "--target", "b", "--quick", "--time-budget", 0.2, "--jobs", 1, "--out", out)
    written_cells = call("predict", out, data, "--with-data").stdout
    assert "'=1+1" in written_cells
    assert not re.search(r"(^|,)[=@]", written_cells, re.M)


def test_numbers_are_classes_on_request(tables, tmp_path):
    out = tmp_path / "one.model"
    output = call(
        "fit", tables / "houses.csv", "--target", "rooms", "--classify", "--quick", "--jobs", 1,
        "--scaling", "quantile", "--time-budget", 1, "--out", out,
    ).stdout  # fmt: skip
    assert "Target: rooms, a class: " in output
    # Classes are the words of the file.
    assert set(load(out).classes_) <= {f"{i}.0" for i in range(7)}


@pytest.mark.usefixtures("few_packages")
def test_compare_prints_the_error_and_the_time_of_each_model(tables):
    output = call(
        "compare", tables / "houses.csv", "--target", "price", "--time-budget", 1, "--jobs", 1,
        "--ignore", "rent",
    ).stdout  # fmt: skip
    others = "KNN", "kernel ridge", "ridge", "lasso", "network lasso", "boosted trees", "mean"
    for name in ("FALL", *others):
        assert re.search(rf"^  {name} .*\d s$", output, re.M), output


@pytest.mark.usefixtures("few_packages")
def test_compare_counts_wrong_classes(tables):
    output = call(
        "compare", tables / "houses.csv", "--target", "kind", "--time-budget", 1, "--jobs", 1,
        "--ignore", "rent", "--ignore", "price",
    ).stdout  # fmt: skip
    assert re.search(r"^  most frequent class +[\d.]+ ± [\d.]+ % +\d", output, re.M), output


@pytest.mark.parametrize("classify", [False, True])
def test_packages_of_trees_join_a_comparison_where_they_are_installed(classify):
    y = np.arange(40.0) % 2
    models, notes = more_models(y, classify, 40, jobs=1, seed=0)
    for name, (package, *_) in PACKAGES.items():
        installed = find_spec(package.split(".")[0]) is not None
        assert (name in models) == installed
        assert installed or name in " ".join(notes)
    assert "boosted trees" in models


def test_demo_of_rentals_prints_the_laws_beside_what_the_model_found(tmp_path, monkeypatch):
    monkeypatch.setattr("locallinear.cli.demo.N_RENTALS", 200)
    monkeypatch.setattr("locallinear.cli.demo.N_NEW", 300)
    page = tmp_path / "report.html"
    output = call("demo", "--out", page, "--jobs", 1).stdout
    for formula in make_rentals(1, random_state=0).formulas:
        assert all(line in output for line in formula.split("\n"))
    number = r"−?[\d.]+"
    table = (
        rf"^  weekend +\d+ +{number} / {number} .* 9 / {number} .* 0 / {number} .* −1.5 / {number}$"
    )
    assert re.search(table, output, re.M), output
    assert output.splitlines()[-1] == f"The report is in {page}; open it in a browser."
    assert "what drives rentals" in page.read_text()


def test_demo_of_diabetes_prints_at_the_end_where_the_report_is(tmp_path):
    page = tmp_path / "report.html"
    output = call("demo", "--data", "diabetes", "--out", page, "--jobs", 1).stdout
    assert output.splitlines()[-1] == f"The report is in {page}; open it in a browser."
    assert "progression after a year" in page.read_text()
    assert "The laws that made" not in output


@pytest.mark.parametrize("command", ["fit", "predict", "explain", "compare", "demo", "reproduce"])
def test_help_has_an_example(command):
    assert f"Example:\n      locallinear {command}" in call(command, "--help").stdout


def test_concrete_from_the_file_to_the_report(tmp_path):
    data = Path(os.environ.get("LOCALLINEAR_DATA", "")) / "concrete.csv"
    if not data.is_file():
        pytest.skip("LOCALLINEAR_DATA has no concrete.csv")
    out, target = tmp_path / "one.model", "compressive_strength_mpa"
    output = call(
        "fit", data, "--target", target, "--quick", "--time-budget", 2, "--jobs", 1, "--out", out
    ).stdout
    assert "1,030 rows, 8 columns" in output
    predicted = frame_of(call("predict", out, data).stdout)[f"predicted {target}"]
    frame = pd.read_csv(data)
    assert np.corrcoef(predicted, frame[target])[0, 1] > 0.95
    call("explain", out, data, "--out", tmp_path / "why.html", "--max-rows", 50, "--jobs", 1)
