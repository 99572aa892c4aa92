"""Where commands write: links, devices, standard output, and what is refused."""

import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from numpy.testing import assert_allclose

from commands import call, refused
from houses import houses, table_estimator
from locallinear import FALLRegressor, TableRegressor, load
from locallinear.cli.files import own_name


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model and a table, that the tests only read."""
    folder = tmp_path_factory.mktemp("houses")
    table_estimator().save(folder / "price.model")
    houses(seed=1).to_csv(folder / "new.csv", index=False)
    return folder / "price.model", folder / "new.csv"


def test_a_dash_is_standard_output_for_predictions_and_explanations(files):
    assert call("predict", *files, "--out", "-").stdout == call("predict", *files).stdout
    as_csv = ["--format", "csv"]
    explained = call("explain", *files, *as_csv, "--out", "-").stdout
    assert explained == call("explain", *files, *as_csv).stdout


def test_a_dash_is_standard_input_for_data(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = files[1].read_bytes()
    assert call("predict", files[0], "-", stdin=data).stdout == call("predict", *files).stdout
    options = ["--target", "price", "--quick", "--jobs", 1, "--time-budget", 0.1]
    printed = call("fit", "-", *options, stdin=data).stdout
    assert "locallinear explain table.model TABLE.csv" in printed
    call("explain", files[0], "-", "--jobs", 1, stdin=data)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table-report.html", "table.model"]
    assert "standard input is empty" in refused("predict", files[0], "-")


@pytest.mark.parametrize(
    ("name", "own"), [("a.csv", "a"), ("a.csv.gz", "a"), ("-", "table"), ("/dev/null", "table")]
)
def test_what_is_made_of_a_table_is_named_after_it(name, own):
    assert own_name(Path(name)) == own


def test_a_dash_is_standard_output_for_a_report(files):
    page = call("explain", *files, "--out", "-", "--jobs", 1)
    assert page.stdout.startswith("<!doctype html>")
    assert page.stdout.rstrip().endswith("</html>")
    assert page.stderr == ""


def test_a_dash_is_standard_output_for_a_model_and_the_text_goes_to_standard_error(files, tmp_path):
    arguments = ["--target", "price", "--quick", "--jobs", 1, "--time-budget", 0.1, "--out", "-"]
    done = call("fit", files[1], *arguments)
    (tmp_path / "model").write_bytes(done.stdout_bytes)
    assert load(tmp_path / "model").predict(houses(seed=1)).shape == (60,)
    assert "Chosen parameters" in done.stderr


def test_an_output_that_is_a_link_or_private_stays_so(files, tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    call("predict", *files, "--out", link)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_text() == call("predict", *files).stdout


def test_a_share_that_is_no_number_is_refused(files):
    result = call("predict", *files, "--interval", "nan", status=2)
    assert "nan is not a number above 0 and below 1" in result.stderr


def test_a_device_stays_a_device(files):
    call("predict", *files, "--out", "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert refused("predict", *files, "--out", "/dev/full") == (
        "/dev/full cannot be written: No space left on device."
    )


def test_what_cannot_be_replaced_is_refused_before_the_work(files, tmp_path):
    read_only, loop, hard = (tmp_path / name for name in ("kept.csv", "loop.csv", "hard.csv"))
    read_only.write_text("old")
    read_only.chmod(0o444)
    loop.symlink_to(loop)
    os.link(files[1], hard)
    assert f"{read_only} cannot be written: it is read-only" in refused(
        "predict", *files, "--out", read_only
    )
    assert read_only.read_text() == "old"
    assert "leads back to itself" in refused("predict", *files, "--out", loop)
    assert "is also an input" in refused("predict", *files, "--out", hard)
    assert "Too many levels of symbolic links" in refused("predict", files[0], loop)
    assert "There is no model file" in refused("predict", loop, files[1])
    assert "File name too long" in refused("predict", "m" * 300, files[1])
    assert "File name too long" in refused("predict", files[0], "m" * 300)


@pytest.mark.parametrize("arguments", [("fit", ""), ("predict", "", ""), ("demo", "--out", "")])
def test_an_empty_name_is_refused(arguments):
    assert "The name is empty; name a file." in call(*arguments, status=2).stderr


def run(*arguments, stdout):
    command = [sys.executable, "-m", "locallinear", *map(str, arguments)]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(os.name != "posix", reason="no shell that closes a handle")
def test_a_closed_standard_error_loses_notes_and_nothing_else(files):
    command = [sys.executable, "-m", "locallinear", "predict", *map(str, files)]
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command]
    done = subprocess.run(shell, stdout=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, call("predict", *files).stdout)


def test_a_full_disk_behind_standard_output_is_one_sentence(files):
    with open("/dev/full", "w") as full:
        done = run("predict", *files, stdout=full)
    assert done.returncode == 2
    assert done.stderr == "Error: Standard output cannot be written: No space left on device.\n"


@pytest.mark.parametrize("arguments", [("predict",), ("explain", "--row", "3")], ids=" ".join)
def test_a_reader_that_has_gone_ends_a_command_silently_as_other_programs_end(files, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    name, *options = arguments
    with os.fdopen(writer, "w") as gone:
        done = run(name, *files, *options, stdout=gone)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_closed_standard_output_is_refused_and_not_ignored(files):
    command = ["sh", "-c", '"$@" >&-', "sh", sys.executable, "-m", "locallinear", "predict", *files]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "Standard output is closed; open it, or name a file with --out" in done.stderr


def test_predictions_through_a_pipe_are_those_of_the_model(files):
    done = run("predict", *files, "--out", "/dev/stdout", stdout=subprocess.PIPE)
    predicted = pd.read_csv(io.StringIO(done.stdout))["predicted price"]
    assert_allclose(predicted, load(files[0]).predict(houses(seed=1)))


def test_a_file_that_mixes_training_rows_and_new_ones_says_which_are_which(files, tmp_path):
    model = load(files[0])
    new = houses(seed=1)[:4].astype({"price": object})
    new.loc[0, "price"] = None  # nobody knows it yet
    mixed = pd.concat([new[:2], houses()[10:13], new[2:]])
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    done = call("explain", files[0], tmp_path / "mixed.csv", "--format", "csv")
    assert "The model was fitted on 3 of 7 rows" in done.stderr
    found = pd.read_csv(io.StringIO(done.stdout))
    is_own = [False, False, True, True, True, False, False]
    assert found["training row"].tolist() == is_own
    assert_allclose(found["prediction"][is_own], model.loo_prediction_[10:13], rtol=1e-8)
    fresh = found["prediction"][[not own for own in is_own]]
    assert_allclose(fresh, model.predict(new), rtol=1e-8)
    one = call("explain", files[0], tmp_path / "mixed.csv", "--row", 3).stdout
    assert "fitted on this row: it is explained without itself" in one
    assert (
        "without itself" not in call("explain", files[0], tmp_path / "mixed.csv", "--row", 1).stdout
    )


# --- Models of a log -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log_model(tmp_path_factory):
    """The file of a model of the log of the price."""
    path = tmp_path_factory.mktemp("logs") / "price.model"
    fall = FALLRegressor(5, n_neighbors=5)
    model = TableRegressor(fall, target="log", random_state=0)
    model.fit(houses().drop(columns=["rent", "kind"]), "price").save(path)
    return path


def test_training_rows_of_a_log_model_are_explained_without_themselves(log_model, tmp_path):
    houses().to_csv(tmp_path / "training.csv", index=False)
    done = call("explain", log_model, tmp_path / "training.csv", "--format", "csv")
    assert "fitted on these rows: each is predicted and explained without itself" in done.stderr
    found = pd.read_csv(io.StringIO(done.stdout))
    assert found["training row"].all()
    assert_allclose(found["prediction"], load(log_model).loo_prediction_, rtol=1e-8)
    one = call("explain", log_model, tmp_path / "training.csv", "--row", 3).stdout
    assert "fitted on this row: it is explained without itself" in one


def test_a_target_without_a_log_hides_no_other_target(log_model, tmp_path):
    rows = pd.concat([houses(), houses(seed=1)[:2].assign(price=[0.0, -1.0])])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    done = call("explain", log_model, tmp_path / "rows.csv", "--format", "csv")
    assert "Note: 2 of 62 rows have a target without a log" in done.stderr
    assert "fitted on 60 of 62 rows" in done.stderr
    found = pd.read_csv(io.StringIO(done.stdout))
    assert found["training row"].tolist() == [True] * 60 + [False] * 2
    assert (
        "without a log" not in call("explain", log_model, tmp_path / "rows.csv", "--row", 3).stderr
    )
    last = call("explain", log_model, tmp_path / "rows.csv", "--row", 61)
    assert "1 of 1 row has a target without a log" in last.stderr
    page = call("explain", log_model, tmp_path / "rows.csv", "--out", "-", "--jobs", 1)
    assert "60 of 62 rows are samples that the model was fitted on" in " ".join(page.stdout.split())
