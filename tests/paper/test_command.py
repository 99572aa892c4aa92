import numpy as np
import pytest
from click.testing import CliRunner

from locallinear.datasets._sources import QSAR_FISH_TOXICITY
from locallinear.paper import command, runner
from locallinear.paper.command import reproduce
from locallinear.paper.live import LiveView
from locallinear.paper.protocol import load, plan
from locallinear.paper.store import Store


@pytest.fixture
def data_home(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    columns = QSAR_FISH_TOXICITY.columns
    table = rng.normal(size=(80, len(columns))).round(3)
    text = "\n".join([",".join(columns), *(",".join(map(str, row)) for row in table)])
    (tmp_path / "qsar_fish_toxicity.csv").write_text(text + "\n")
    monkeypatch.setenv("LOCALLINEAR_DATA", str(tmp_path))
    load.cache_clear()
    yield tmp_path
    load.cache_clear()


def call(*arguments):
    return CliRunner().invoke(reproduce, [str(argument) for argument in arguments])


SMALL = ("--dataset", "fish", "--model", "knn", "--model", "ridge", "--runs", 2)


def test_command_writes_tables_and_runs(data_home, tmp_path):
    out = tmp_path / "out"
    result = call("table1", "table2", *SMALL, "--out", out)
    assert result.exit_code == 0, result.output
    assert "Fish toxicity" in result.stdout
    names = {path.name for path in out.iterdir()}
    tables = {
        f"{name}.{suffix}" for name in ("table1", "table2") for suffix in ("txt", "md", "tex")
    }
    assert names == {"runs.sqlite", "runs.csv", *tables}
    assert (out / "table1.txt").read_text() in result.stdout
    assert len((out / "runs.csv").read_text().splitlines()) == 5


def test_same_command_again_repeats_nothing(data_home, tmp_path, monkeypatch):
    out = tmp_path / "out"
    first = call("table1", *SMALL, "--out", out)

    def forbidden(*arguments):
        raise AssertionError("a finished run was repeated")

    monkeypatch.setattr(runner, "evaluate", forbidden)
    again = call("table1", *SMALL, "--out", out)
    assert again.exit_code == 0
    assert again.stdout == first.stdout


def test_rows_of_an_export_without_a_results_file_count_as_finished(
    data_home, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    first = call("table1", "table2", *SMALL, "--tuner", "fixed", "--out", out)
    export = (out / "runs.csv").read_text()
    for path in out.glob("runs.sqlite*"):
        path.unlink()
    monkeypatch.delattr(runner, "evaluate")
    again = call("table1", "table2", *SMALL, "--tuner", "fixed", "--out", out)
    assert again.exit_code == 0, again.output
    assert again.stdout == first.stdout
    assert (out / "runs.csv").read_text() == export


def test_refit_keeps_the_parameters_and_times_them_again(data_home, tmp_path, monkeypatch):
    out = tmp_path / "out"
    call("table1", *SMALL, "--out", out)
    with Store(out / "runs.sqlite") as store:
        before = store.rows()
        for run in store.finished():
            store.replace(run, {"fit_s": 100.0, "test_s": 100.0, "code": "busy"})
    monkeypatch.delattr(runner, "evaluate")
    result = call("table1", *SMALL, "--runs", 5, "--refit", "--out", out)
    assert result.exit_code == 0, result.output
    with Store(out / "runs.sqlite") as store:
        after = store.rows()
    assert max(row["fit_s"] + row["test_s"] for row in after) < 100
    measured = ("fit_s", "test_s", "finished")
    assert [{k: v for k, v in row.items() if k not in measured} for row in after] == [
        {k: v for k, v in row.items() if k not in measured} for row in before
    ]


def test_export_with_a_broken_line_is_refused_and_leaves_no_trace(data_home, tmp_path):
    call("table1", *SMALL, "--out", tmp_path)
    export = (tmp_path / "runs.csv").read_text()
    for path in tmp_path.glob("runs.sqlite*"):
        path.unlink()
    (tmp_path / "runs.csv").write_text(export + "random,fish,ridge\n")
    result = call("table1", *SMALL, "--show", "--out", tmp_path)
    assert result.exit_code == 2
    assert "line 6 is not of one" in result.output
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.rows() == []


def test_foreign_export_is_refused_with_status_2(tmp_path):
    (tmp_path / "runs.csv").write_text("a,b\n1,2\n")
    result = call("table1", *SMALL, "--out", tmp_path)
    assert result.exit_code == 2
    assert "runs.csv should be an export of this command" in result.output


def test_honest_runs_both_splits_once(data_home, tmp_path):
    out = tmp_path / "out"
    result = call("table1", "honest", *SMALL, "--out", out)
    assert result.exit_code == 0, result.output
    with Store(out / "runs.sqlite") as store:
        assert sorted(row["split"] for row in store.rows()) == ["grouped"] * 4 + ["random"] * 4
    assert "grouped" in (out / "honest.md").read_text()


def test_show_draws_the_finished_runs_and_runs_nothing(data_home, tmp_path, monkeypatch):
    out = tmp_path / "out"
    whole = call("table1", *SMALL, "--out", out).stdout
    monkeypatch.delattr(runner, "evaluate")
    assert call("table1", *SMALL, "--show", "--out", out).stdout == whole
    part = call("table1", "--dataset", "Fish", "--model", "knn", "--show", "--out", out).stdout
    assert "KNN" in part
    assert "Ridge" not in part
    assert (out / "table1.txt").read_text() in whole  # files keep all that is finished


@pytest.mark.parametrize("option", ["--show", "--refit"])
def test_folder_without_results_has_nothing_to_show(tmp_path, option):
    result = call("table1", option, "--out", tmp_path / "mistyped")
    assert result.exit_code == 2
    assert "Nothing is finished in" in result.stderr
    assert not (tmp_path / "mistyped").exists()


def test_table_of_nothing_says_so(data_home, tmp_path):
    call("table1", *SMALL, "--out", tmp_path)
    result = call("table1", "--dataset", "concrete", "--show", "--out", tmp_path)
    assert "No run is finished yet." in result.stdout


def test_failed_runs_are_named_and_the_status_is_1(data_home, tmp_path, monkeypatch):
    def failing(run, cores):
        raise MemoryError("no room")

    monkeypatch.setattr(runner, "evaluate", failing)
    result = call("table1", *SMALL, "--out", tmp_path)
    assert result.exit_code == 1
    assert "4 runs failed" in result.stderr
    assert "fish, knn, seed 0: MemoryError: no room" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "Missing argument"),
        (("table3",), "'table3' is not one of"),
        (("table1", "--dataset", "iris"), "'iris' is not one of"),
        (("table1", "--model", "svm"), "'svm' is not one of"),
        (("table1", "--tuner", "guess"), "'guess' is not one of"),
        (("table1", "--runs", 0), "not in the range"),
        (("table1", "--runs", "many"), "not a valid integer"),
        (("table1", "--budget", 0), "not in the range"),
        (("table1", "--budget", "nan"), "nan is not a number of seconds"),
        (("table1", "--jobs", 0), "not in the range"),
    ],
)
def test_bad_arguments_are_refused_with_status_2(arguments, complaint):
    result = call(*arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_missing_data_is_one_clear_sentence_with_status_2(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALLINEAR_DATA", str(tmp_path))
    (tmp_path / "qsar_fish_toxicity.csv").write_text("not,the,file\n1,2,3\n")
    result = call("table1", *SMALL, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "should start with the columns CIC0" in result.stderr


def test_results_file_that_is_something_else_is_refused_with_status_2(tmp_path):
    (tmp_path / "runs.sqlite").write_bytes(b"not a database at all" * 100)
    result = call("table1", "--show", "--out", tmp_path)
    assert result.exit_code == 2
    assert "should be a results file" in result.stderr


def test_folder_that_cannot_be_made_is_refused_with_status_2(tmp_path):
    (tmp_path / "file").touch()
    for what in ("table1", "figures"):
        result = call(what, "--out", tmp_path / "file" / "out")
        assert result.exit_code == 2
        assert "--out should be a folder that can be written to" in result.stderr


def test_without_optuna_kernel_ridge_says_what_to_install(data_home, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    result = call("table1", "--dataset", "fish", "--model", "kernel_ridge", "--out", tmp_path)
    assert result.exit_code == 2
    assert "pip install 'locallinear[tune]'" in result.stderr


def test_help_has_an_example():
    result = call("--help")
    assert result.exit_code == 0
    assert "locallinear reproduce table1 table2 --dataset fish" in result.stdout


def test_live_view_counts_and_shows_the_table_when_a_model_is_finished(tmp_path, capsys):
    runs = plan(["fish"], ["knn", "ridge"], "exhaustive", 60, 2)
    result = {"tuning_s": 60.0, "fit_s": 0.0, "test_s": 0.0, "mse": 1.0}
    with (
        Store(tmp_path / "runs.sqlite") as store,
        LiveView(store, runs, 1, lambda: "THE TABLE") as view,
    ):
        store.finish(runs[0], result)
        view.refresh()
        assert view.time_left(store.finished()) == "at least 0:01:00 left"
        assert "THE TABLE" not in capsys.readouterr().err
        store.finish(runs[1], result)
        store.finish(runs[2], result)
        view.refresh()
        assert view.time_left(store.finished()) == "0:01:00 left"
        assert "THE TABLE" in capsys.readouterr().err


def test_model_drawn_with_its_one_anchor_is_the_fitted_local_model():
    figures = pytest.importorskip("locallinear.paper.figures", reason="figures need matplotlib")
    model, x, y, chosen = figures.parameters_fit(0)
    anchors = model.anchor_models_[:, :, 0]
    shares = np.eye(len(anchors))[chosen]
    drawn = figures.shared_model(anchors, x, y, shares, model.alpha)
    distances = np.abs(model.local_models()[:, :, 0] - drawn).max(axis=1)
    assert distances.min() < 1e-12
    assert chosen == np.argmin(np.abs(y - anchors @ x))


def test_figures_are_written_as_png_and_svg_and_are_the_same_each_time(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    first, second = tmp_path / "first", tmp_path / "second"
    assert call("figures", "--out", first).exit_code == 0
    assert call("figures", "--out", second).exit_code == 0
    drawn = sorted(path.name for path in first.glob("figure-*"))
    assert drawn == sorted(
        f"figure-{name}.{suffix}"
        for name in ("step", "moons", "parameters")
        for suffix in ("png", "svg")
    )
    for name in drawn:
        assert (first / name).read_bytes() == (second / name).read_bytes()
