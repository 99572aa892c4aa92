"""The command line writes what the library computes, and explains what is wrong with its input."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal

import locallinear
from archives import forge, members
from houses import houses
from locallinear import FALLEnsembleRegressor, FALLRegressor, TableRegressor, load
from locallinear.__main__ import main
from locallinear.cli import ProgramStart
from locallinear.cli import commands as _commands
from locallinear.cli.comparison import PACKAGES, more_models
from locallinear.cli.terminal import warnings_as_notes
from locallinear.datasets import make_rentals
from locallinear.explain.text import number
from locallinear.runtime import budgets as _budgets
from locallinear.tables.table import TableError


def call(*arguments, status=0):
    result = CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result


def refused(*arguments):
    """The one sentence with which a command refuses its input."""
    result = call(*arguments, status=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("Error: ")


def frame_of(text):
    return pd.read_csv(io.StringIO(text))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data and models that the tests only read."""
    folder = tmp_path_factory.mktemp("houses")
    houses().to_csv(folder / "houses.csv", index=False)
    houses(seed=1).drop(columns=["price", "kind"]).to_csv(folder / "new.csv", index=False)
    data, others = folder / "houses.csv", ["--jobs", 1, "--quick"]
    call("fit", data, "--target", "price", "--ignore", "rent", "--ignore", "kind",
         "--out", folder / "price.model", *others)  # fmt: skip
    call("fit", data, "--target", "price", "--target", "rent", "--ignore", "kind",
         "--out", folder / "both.model", "--time-budget", 3, *others)  # fmt: skip
    call("fit", data, "--target", "kind", "--ignore", "price", "--out", folder / "kind.model",
         "--time-budget", 3, *others)  # fmt: skip
    return folder


# --- Files hold what the library computes --------------------------------------------------------


def test_fit_and_predict_are_the_python_api(folder):
    model = locallinear.load(folder / "price.model")
    predicted = frame_of(call("predict", folder / "price.model", folder / "new.csv").stdout)
    assert list(predicted.columns) == ["predicted price"]
    assert isinstance(model, TableRegressor)
    assert_allclose(predicted["predicted price"], model.predict(houses(seed=1)))


@pytest.mark.parametrize("name", ["price", "both", "kind"])
def test_what_the_columns_add_and_the_constant_are_the_prediction(folder, name):
    arguments = (folder / f"{name}.model", folder / "new.csv")
    explained = frame_of(call("explain", *arguments, "--format", "csv").stdout)
    predicted = frame_of(call("predict", *arguments).stdout)
    parts = explained.filter(like="adds: ")
    assert "adds: district" in parts.columns
    total = explained["constant"] + parts.sum(axis=1)
    layers = explained["rows in general"] + explained["those like it"]
    assert_allclose(layers + explained.filter(like="differs: ").sum(axis=1), total)
    if name == "kind":
        assert_allclose(total, explained["score"])
        best = explained.loc[explained.groupby("row")["score"].idxmax(), "class"]
        assert best.tolist() == predicted["predicted kind"].tolist()
        assert_allclose(predicted.filter(like="probability").sum(axis=1), 1)
    else:
        assert_allclose(total, explained["prediction"])
        assert_allclose(explained["prediction"], predicted.to_numpy().ravel())
        assert (explained["lowest"] < explained["prediction"]).all()
        assert (explained["prediction"] < explained["highest"]).all()


def test_one_row_is_explained_in_the_terminal(folder):
    arguments = (folder / "price.model", folder / "new.csv")
    said = call("explain", *arguments, "--row", 3).stdout
    predicted = frame_of(call("predict", *arguments, "--interval", 0.9).stdout).iloc[2]
    ends = [float(predicted[f"{end} price"]) for end in ("lowest", "highest")]
    assert f"between {number(ends[0])} and {number(ends[1])}" in said
    assert f"prediction  {number(predicted['predicted price'], 4)}" in re.sub(" +", "  ", said)
    assert "--row is 999, but" in refused("explain", *arguments, "--row", 999)


@pytest.mark.parametrize("name", ["price", "both", "kind"])
def test_the_report_holds_rows_that_add_up(folder, tmp_path, name):
    page = tmp_path / "why.html"
    output = call(
        "explain", folder / f"{name}.model", folder / "new.csv", "--out", page, "--jobs", 1
    )
    assert f"The report is in {page}" in output.stdout
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text(), re.S)
    rows = json.loads(found[1])["rows"]
    total = np.sum(rows["contributions"], axis=2) + rows["intercept"]
    assert_allclose(total, rows["prediction"], rtol=1e-6, atol=1e-6)
    model = load(folder / f"{name}.model")
    explanation = model.explain(houses(seed=1))
    expected = explanation.contributions.sum(axis=1) + explanation.intercept
    assert_allclose(rows["prediction"], expected, rtol=1e-6, atol=1e-6)


def test_predictions_come_with_intervals_and_say_which_rows_are_unlike_any(folder, tmp_path):
    new = pd.read_csv(folder / "new.csv")
    new.loc[2, "size (m²)"] = 1e6
    new.to_csv(tmp_path / "far.csv", index=False)
    arguments = "predict", folder / "price.model", tmp_path / "far.csv", "--interval", "0.8"
    done = call(*arguments)
    found = frame_of(done.stdout)
    names = ["predicted price", "lowest price", "highest price", "novelty"]
    assert list(found.columns) == names
    ends = load(folder / "price.model").predict_interval(new, 0.8)
    assert_allclose(found[["lowest price", "highest price"]], ends)
    assert found["novelty"][2] > 0.99
    assert "3" in done.stderr
    assert "unlike anything seen" in done.stderr
    classes = frame_of(
        call("predict", folder / "kind.model", folder / "new.csv", "--interval", "0.9").stdout
    )
    for possible, best in zip(classes["possible classes"], classes["predicted kind"], strict=True):
        assert best in possible.split(" or ")


@pytest.mark.filterwarnings("default")
def test_a_warning_is_a_sentence_without_code(capsys):
    with warnings_as_notes():
        warnings.warn("the fit took long", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "Note: the fit took long\n"


def test_rows_that_the_model_was_fitted_on_are_noted(folder):
    of_training = call("predict", folder / "price.model", folder / "houses.csv").stderr
    assert "exactly the values of a training row" in of_training
    assert not call("predict", folder / "price.model", folder / "new.csv").stderr


def test_predictions_can_be_written_beside_the_data(folder, tmp_path):
    out = tmp_path / "predicted.csv"
    call("predict", folder / "price.model", folder / "new.csv", "--with-data", "--out", out)
    predicted, given = pd.read_csv(out), pd.read_csv(folder / "new.csv")
    assert list(predicted.columns) == [*given.columns, "predicted price"]
    assert_array_equal(predicted["rooms"], given["rooms"])
    whole = [line.split(",")[0] for line in out.read_text().splitlines()[1:]]
    assert whole == [str(number) for number in given["id"]]  # 251, not 251.0


def test_parquet_is_read_and_written(folder, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    houses(seed=1).to_parquet(tmp_path / "new.parquet")
    call("predict", folder / "price.model", tmp_path / "new.parquet", "--out", tmp_path / "a.pq")
    predicted = pd.read_parquet(tmp_path / "a.pq")["predicted price"]
    assert_allclose(predicted, load(folder / "price.model").predict(houses(seed=1)))


def test_delimiter_and_decimal_mark_do_not_change_predictions(folder, tmp_path):
    new = pd.read_csv(folder / "new.csv")
    new.to_csv(tmp_path / "neu.csv", index=False, sep=";", decimal=",")
    predicted = call("predict", folder / "price.model", tmp_path / "neu.csv").stdout
    assert predicted == call("predict", folder / "price.model", folder / "new.csv").stdout


# --- What is printed -----------------------------------------------------------------------------


def test_fit_prints_errors_parameters_and_equations(folder, tmp_path):
    out = tmp_path / "one.model"
    output = call(
        "fit", folder / "houses.csv", "--target", "price", "--ignore", "rent", "--ignore", "kind",
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


def test_regimes_are_as_many_as_asked_and_their_price_is_shown(folder, tmp_path):
    output = call(
        "fit", folder / "houses.csv", "--target", "price", "--ignore", "rent", "--ignore", "kind",
        "--quick", "--regimes", 5, "--time-budget", 20, "--jobs", 1,
        "--out", tmp_path / "one.model",
    ).stdout  # fmt: skip
    numbers = r"^  (\d+(?: to \d+)?)( \*)? +[\d.,]+ +-?\d\.\d\d\d ± \d\.\d\d\d$"
    shown = re.findall(numbers, output, re.M)
    # All rows are one neighbourhood, so that 1, 2, 3 and 4 regimes, and 6, 8 and 12, cost the same.
    assert shown == [("1 to 4", ""), ("5", " *"), ("6 to 12", "")]
    assert re.search(r"A model of [1-5] regimes?.* It explains\s+\d+% of the variance", output)


def test_a_replaced_model_is_noted(tmp_path):
    data, out = written(tmp_path, houses(12)), tmp_path / "one.model"
    out.write_text("older")
    output = call(
        "fit", data, "--target", "price", "--time-budget", 1, "--jobs", 1, "--out", out
    ).stdout
    assert f"The model is in {out}, which was replaced." in output


def test_what_more_time_would_buy_is_said(folder, tmp_path):
    output = call(
        "fit", folder / "houses.csv", "--target", "price", "--time-budget", 0.2, "--quick",
        "--jobs", 1, "--out", tmp_path / "one.model",
    ).stdout  # fmt: skip
    assert re.search(r"Search: [\d,]+ of 14,400 configurations", output)
    assert re.search(r"More time would buy the other [\d,]+: all would take about", output)


def test_a_wrong_guess_is_corrected_by_one_option(folder, tmp_path):
    out = tmp_path / "one.model"
    call(
        "fit", folder / "houses.csv", "--target", "price", "--types", "rooms=category",
        "--types", "name=skip", "--time-budget", 0.2, "--quick", "--jobs", 1, "--out", out,
    )  # fmt: skip
    kinds = load(out).encoding_.set_index("column")["kind"]
    assert kinds["rooms"] == "category"
    assert "--types takes COLUMN=KIND" in fit(folder / "houses.csv", "--types", "rooms")
    assert "no column 'romos', which --types" in fit(folder / "houses.csv", "--types", "romos=date")


def test_an_ensemble_is_fitted_on_request(folder, tmp_path):
    out = tmp_path / "many.model"
    output = call(
        "fit", folder / "houses.csv", "--target", "price", "--model", "ensemble", "--quick",
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


def test_numbers_are_classes_on_request(folder, tmp_path):
    out = tmp_path / "one.model"
    output = call(
        "fit", folder / "houses.csv", "--target", "rooms", "--classify", "--quick", "--jobs", 1,
        "--scaling", "quantile", "--time-budget", 1, "--out", out,
    ).stdout  # fmt: skip
    assert "Target: rooms, a class: " in output
    # Classes are the words of the file.
    assert set(load(out).classes_) <= {f"{i}.0" for i in range(7)}


@pytest.fixture
def few_packages(monkeypatch):
    """No packages of boosted trees: some of them take a minute for sixty rows."""
    monkeypatch.setattr("locallinear.cli.comparison.PACKAGES", {})


@pytest.mark.usefixtures("few_packages")
def test_compare_prints_the_error_and_the_time_of_each_model(folder):
    output = call(
        "compare", folder / "houses.csv", "--target", "price", "--time-budget", 1, "--jobs", 1,
        "--ignore", "rent",
    ).stdout  # fmt: skip
    others = "KNN", "kernel ridge", "ridge", "lasso", "network lasso", "boosted trees", "mean"
    for name in ("FALL", *others):
        assert re.search(rf"^  {name} .*\d s$", output, re.M), output


@pytest.mark.usefixtures("few_packages")
def test_compare_counts_wrong_classes(folder):
    output = call(
        "compare", folder / "houses.csv", "--target", "kind", "--time-budget", 1, "--jobs", 1,
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


def test_a_new_category_is_noted_beside_the_predictions(folder, tmp_path):
    new = houses(seed=1).assign(district="moon")
    new.to_csv(tmp_path / "new.csv", index=False)
    result = call("predict", folder / "price.model", tmp_path / "new.csv")
    assert "60 of 60 rows, such as 'moon' in row 1" in result.stderr
    assert len(frame_of(result.stdout)) == 60


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


# --- What is refused -----------------------------------------------------------------------------


def fit(data, *arguments):
    return refused("fit", data, "--target", "price", *arguments)


def written(tmp_path, frame):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def test_a_missing_target_is_refused_with_a_similar_name(folder):
    sentence = refused("fit", folder / "houses.csv", "--target", "pirce")
    assert sentence.endswith("has no column 'pirce', the target. Did you mean 'price'?")


def test_without_a_target_the_columns_are_named(folder):
    sentence = refused("fit", folder / "houses.csv")
    assert "with --target. Its columns are id, size (m²), rooms, district" in sentence


def test_a_file_that_does_not_exist_is_refused(folder):
    sentence = fit(folder / "house.csv")
    assert sentence.startswith(f"There is no file {folder / 'house.csv'}.")


def test_text_among_numbers_is_refused_by_row_and_column(tmp_path):
    frame = houses()
    frame["rooms"] = frame["rooms"].astype(object)
    frame.loc[2, "rooms"] = "three"
    sentence = fit(written(tmp_path, frame))
    assert "row 3, column 'rooms': expected a number, but found 'three'" in sentence


def test_a_constant_target_is_refused(tmp_path):
    sentence = fit(written(tmp_path, houses().assign(price=1.0)))
    assert "'price' is 1.0 in every row" in sentence


def test_too_few_rows_are_refused(tmp_path):
    sentence = fit(written(tmp_path, houses(5)))
    assert "has 5 rows with a target; at least 10 are needed. Add rows, or fill in" in sentence


def test_a_folder_in_place_of_a_file_is_refused(folder):
    words = ". is a folder; name a CSV, Parquet or Excel file."
    assert fit(".") == words
    assert refused("compare", ".", "--target", "price") == words
    assert refused("predict", folder / "price.model", ".") == words
    assert refused("explain", folder / "price.model", ".") == words
    for command in ("predict", "explain"):
        sentence = refused(command, ".", folder / "new.csv")
        assert sentence == ". is a folder; name a model file that locallinear fit made."


def test_a_target_that_is_ignored_is_refused(folder):
    sentence = fit(folder / "houses.csv", "--ignore", "price")
    assert sentence.startswith("Column 'price' is the target, and --ignore, --categorical or")


@pytest.mark.parametrize(("form", "name"), [("csv", "why.html"), ("html", "why.csv")])
def test_a_format_that_contradicts_the_name_of_the_file_is_refused(folder, tmp_path, form, name):
    out = tmp_path / name
    arguments = folder / "price.model", folder / "new.csv", "--format", form, "--out", out
    assert refused("explain", *arguments) == (
        f"--format is {form}, but {out} ends in {out.suffix}; leave out --format or rename the "
        "file."
    )
    assert not out.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("", "is empty"), ("price,a,a\n1,2,3\n", "two columns 'a'"), ("price\n1,2\n", "row 1 has")],
)
def test_a_broken_file_is_refused(tmp_path, content, sentence):
    (tmp_path / "data.csv").write_text(content)
    assert sentence in fit(tmp_path / "data.csv")


def test_a_wrong_delimiter_is_refused(folder):
    assert "leave --delimiter out" in fit(folder / "houses.csv", "--delimiter", ";")
    assert "takes one character" in fit(folder / "houses.csv", "--delimiter", ";;")


def test_an_output_that_cannot_be_written_is_refused_before_the_work(folder, tmp_path):
    data = folder / "houses.csv"
    assert "there is no folder" in fit(data, "--out", tmp_path / "no" / "one.model")
    assert "which is also an input" in fit(data, "--out", data)
    arguments = folder / "price.model", data, "--out", tmp_path / "no" / "predicted.csv"
    assert "there is no folder" in refused("explain", *arguments)
    assert "there is no folder" in refused("predict", *arguments)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--jobs", 0, "0 threads cannot work"),
        ("--seed", -1, "not in the range"),
        ("--time-budget", "nan", "nan is not a number of seconds"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(folder, option, value, words):
    result = call("fit", folder / "houses.csv", "--target", "price", option, value, status=2)
    assert words in result.stderr


def test_an_unknown_format_of_an_explanation_is_refused(folder, tmp_path):
    arguments = folder / "price.model", folder / "new.csv", "--out", tmp_path / "why.pdf"
    assert "should end in .html" in refused("explain", *arguments)
    assert not (tmp_path / "why.pdf").exists()


def test_an_unknown_format_of_predictions_is_refused(folder, tmp_path):
    arguments = folder / "price.model", folder / "new.csv", "--out", tmp_path / "predicted.xlsx"
    assert "should end in .csv or .parquet" in refused("predict", *arguments)
    assert not (tmp_path / "predicted.xlsx").exists()


def test_a_file_with_other_columns_is_refused_with_a_similar_name(folder, tmp_path):
    data = written(tmp_path, houses().rename(columns={"rooms": "Room"}))
    sentence = refused("predict", folder / "price.model", data)
    assert sentence.endswith("no column 'rooms', which the model takes. Did you mean 'Room'?")


def test_text_where_the_model_takes_numbers_is_refused(folder, tmp_path):
    data = written(tmp_path, houses().assign(rooms="many"))
    sentence = refused("predict", folder / "price.model", data)
    assert "row 1, column 'rooms': expected a number, but found 'many'" in sentence


def test_a_file_that_holds_no_table_model_is_refused(folder, tmp_path):
    data = folder / "new.csv"
    assert "There is no model file" in refused("predict", tmp_path / "none.model", data)
    assert "name the model first" in refused("predict", data, data)
    (tmp_path / "text.model").write_text("text")
    assert "is not a model file" in refused("predict", tmp_path / "text.model", data)
    FALLRegressor(n_neighbors=1).fit([[0.0], [1.0]], [0.0, 1.0]).save(tmp_path / "bare.model")
    assert "holds a FALLRegressor without" in refused("predict", tmp_path / "bare.model", data)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((b'"version": 5', b'"version": 99'), "a newer version of locallinear (file format 99"),
        ((b'"version": 5', b'"version": 0'), "an older version of locallinear (file format 0"),
        ((b'"version": 5', b'"other": 2'), "an older version of locallinear (file format None"),
        ((b'"class": "FALLRegressor"', b'"class": "Later"'), "another version of locallinear: it "
         "holds a 'Later', which this one does not know; update"),
        ((b'"n_anchors"', b'"n_later"'), "another version of locallinear: its FALLRegressor has "
         "the parameter 'n_later'; update locallinear, or fit and save the model again"),
    ],
    ids=["newer", "older", "none", "class", "parameter"],
)  # fmt: skip
def test_a_model_of_another_version_is_refused(folder, tmp_path, change, words):
    content = members(folder / "price.model")
    content["model.json"] = content["model.json"].replace(*change)
    forge(tmp_path / "other.model", content)
    sentence = refused("predict", tmp_path / "other.model", folder / "new.csv")
    assert words in sentence


# --- As a process of its own ---------------------------------------------------------------------


def run(*arguments, **options):
    command = [sys.executable, "-m", "locallinear", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_python_m_locallinear_is_the_program(folder, tmp_path):
    made = run("fit", folder / "houses.csv", "--target", "price", "--quick", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    predicted = run("predict", "houses.model", folder / "houses.csv", cwd=tmp_path)
    assert_allclose(
        frame_of(predicted.stdout)["predicted price"],
        load(tmp_path / "houses.model").predict(houses()),
    )


def test_the_processor_time_of_the_start_is_part_of_its_time_budget(folder, monkeypatch):
    given = []

    def stop(problem, options, budget):
        given.append(budget)
        raise TableError("enough")

    monkeypatch.setattr(_budgets.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(_commands, "fit_model", stop)
    arguments = ["fit", str(folder / "houses.csv"), "--target", "price", "--time-budget", "20"]
    for start in (None, ProgramStart(7.0)):
        CliRunner().invoke(main, arguments, obj=start)
    assert given == [16.0, 9.0]


@pytest.mark.parametrize(("loading", "said"), [(0.0, False), (2.9, False), (3.1, True)])
def test_a_command_that_took_longer_than_its_budget_says_so(
    folder, tmp_path, monkeypatch, loading, said
):
    monkeypatch.setattr(_budgets.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(_commands, "fit_model", lambda *_: load(folder / "price.model"))
    monkeypatch.setattr(_commands, "print_summary", lambda *_: None)
    arguments = ["fit", folder / "houses.csv", "--target", "price", "--quick", "--time-budget", 1]
    arguments += ["--out", tmp_path / "one.model"]
    made = CliRunner().invoke(main, list(map(str, arguments)), obj=ProgramStart(loading))
    assert made.exit_code == 0
    note = "--time-budget is 1 s, but the command took 3.1 s; give a longer one, or fit fewer rows."
    assert (note in made.stderr) == said


def test_the_note_of_a_late_command_names_the_comparison_where_there_was_one(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(_budgets.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(_commands, "fit_model", lambda *_: load(folder / "price.model"))
    for name in ("print_comparison", "print_summary"):
        monkeypatch.setattr(_commands, name, lambda *_: None)
    arguments = ["fit", folder / "houses.csv", "--target", "price", "--time-budget", 1]
    arguments += ["--out", tmp_path / "one.model"]
    made = CliRunner().invoke(main, list(map(str, arguments)), obj=ProgramStart(9.0))
    assert "fewer rows, or leave out the comparison with --quick." in made.stderr
    assert "reading the file" not in made.stderr  # it took no time here


def test_bad_input_gives_one_sentence_and_status_two(folder, tmp_path):
    cases = [
        (("fit", "nothing.csv", "--target", "price"), "There is no file nothing.csv."),
        (("predict", folder / "price.model", "other.csv"), "Did you mean 'Room'?"),
    ]
    houses().rename(columns={"rooms": "Room"}).to_csv(tmp_path / "other.csv", index=False)
    # Started together: most of the time is the interpreter's.
    started = [(start(*arguments, cwd=tmp_path), words) for arguments, words in cases]
    ended = [(process, *process.communicate(), words) for process, words in started]
    for process, output, complaint, words in ended:
        assert (process.returncode, output) == (2, ""), complaint
        (line,) = complaint.splitlines()
        assert line.startswith("Error: ")
        assert words in line


def start(*arguments, **options):
    command = [sys.executable, "-m", "locallinear", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **pipes, **options)


KILLED = """
import io, os, signal, sys
from locallinear.runtime import files as _files

class HalfWritten(io.BufferedRandom):
    def write(self, content):
        super().write(bytes(content)[: max(1, len(content) // 2)])
        self.flush()
        os.kill(os.getpid(), signal.SIGKILL)

_files.os.fdopen = lambda handle, mode: HalfWritten(io.FileIO(handle, mode))
from locallinear.__main__ import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("one.model", None),
        ("predicted.csv", b"there"),
        ("predicted.parquet", None),
        ("why.html", b"there"),
    ],
)
def test_a_kill_while_writing_leaves_no_broken_file(folder, tmp_path, name, before):
    out = tmp_path / name
    if before is not None:
        out.write_bytes(before)
    model, data, new = folder / "price.model", folder / "houses.csv", folder / "new.csv"
    arguments = {
        "one.model": ["fit", data, "--target", "price", "--quick", "--time-budget", 1],
        "why.html": ["explain", model, new, "--max-rows", 5],
    }.get(name, ["predict", model, new])
    command = [sys.executable, "-c", KILLED, *map(str, arguments), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (out.read_bytes() if out.exists() else None) == before
    (part,) = (path for path in tmp_path.iterdir() if path != out)
    assert re.fullmatch(r"\.locallinear-\w+\.part", part.name)
