"""The command line writes what the library computes, and explains what is wrong with its input."""

import json
import re
import signal
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal

import locallinear
from archives import forge, members
from commands import call, frame_of, refused, refused_fit, written
from houses import houses
from locallinear import FALLRegressor, TableRegressor, load
from locallinear.__main__ import main
from locallinear.cli import ProgramStart
from locallinear.cli import commands as _commands
from locallinear.cli.terminal import warnings_as_notes
from locallinear.explain.text import number
from locallinear.runtime import budgets as _budgets
from locallinear.tables.table import TableError


@pytest.fixture(scope="module")
def folder(tables):
    """Data and models that the tests only read."""
    data, others = tables / "houses.csv", ["--jobs", 1, "--quick"]
    call("fit", data, "--target", "price", "--ignore", "rent", "--ignore", "kind",
         "--out", tables / "price.model", *others)  # fmt: skip
    call("fit", data, "--target", "price", "--target", "rent", "--ignore", "kind",
         "--out", tables / "both.model", "--time-budget", 3, *others)  # fmt: skip
    call("fit", data, "--target", "kind", "--ignore", "price", "--out", tables / "kind.model",
         "--time-budget", 3, *others)  # fmt: skip
    return tables


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


def test_a_new_category_is_noted_beside_the_predictions(folder, tmp_path):
    new = houses(seed=1).assign(district="moon")
    new.to_csv(tmp_path / "new.csv", index=False)
    result = call("predict", folder / "price.model", tmp_path / "new.csv")
    assert "60 of 60 rows, such as 'moon' in row 1" in result.stderr
    assert len(frame_of(result.stdout)) == 60


def test_predictions_can_be_written_beside_the_data(folder, tmp_path):
    out = tmp_path / "predicted.csv"
    call("predict", folder / "price.model", folder / "new.csv", "--with-data", "--out", out)
    predicted, given = pd.read_csv(out), pd.read_csv(folder / "new.csv")
    assert list(predicted.columns) == [*given.columns, "predicted price"]
    assert_array_equal(predicted["rooms"], given["rooms"])
    whole = [line.split(",")[0] for line in out.read_text().splitlines()[1:]]
    assert whole == [str(number) for number in given["id"]]  # 251, not 251.0


def test_a_column_of_earlier_predictions_is_refused_beside_new_ones(folder, tmp_path):
    out = tmp_path / "predicted.csv"
    call("predict", folder / "price.model", folder / "new.csv", "--with-data", "--out", out)
    sentence = refused("predict", folder / "price.model", out, "--with-data")
    assert "has a column 'predicted price' already" in sentence
    assert "predicted price" in call("predict", folder / "price.model", out).stdout


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


# --- What is refused -----------------------------------------------------------------------------


def test_a_folder_in_place_of_a_file_is_refused(folder):
    words = ". is a folder; name a CSV, Parquet or Excel file."
    assert refused_fit(".") == words
    assert refused("compare", ".", "--target", "price") == words
    assert refused("predict", folder / "price.model", ".") == words
    assert refused("explain", folder / "price.model", ".") == words
    for command in ("predict", "explain"):
        sentence = refused(command, ".", folder / "new.csv")
        assert sentence == ". is a folder; name a model file that locallinear fit made."


@pytest.mark.parametrize(("form", "name"), [("csv", "why.html"), ("html", "why.csv")])
def test_a_format_that_contradicts_the_name_of_the_file_is_refused(folder, tmp_path, form, name):
    out = tmp_path / name
    arguments = folder / "price.model", folder / "new.csv", "--format", form, "--out", out
    assert refused("explain", *arguments) == (
        f"--format is {form}, but {out} ends in {out.suffix}; leave out --format or rename the "
        "file."
    )
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_refused_before_the_work(folder, tmp_path):
    data = folder / "houses.csv"
    assert "there is no folder" in refused_fit(data, "--out", tmp_path / "no" / "one.model")
    assert "which is also an input" in refused_fit(data, "--out", data)
    arguments = folder / "price.model", data, "--out", tmp_path / "no" / "predicted.csv"
    assert "there is no folder" in refused("explain", *arguments)
    assert "there is no folder" in refused("predict", *arguments)


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
