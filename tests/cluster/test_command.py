"""`locallinear fit --cluster` reads Parquet files by pattern and writes one model of them."""

import numpy as np
import pytest
from click.testing import CliRunner

from houses import houses
from locallinear import load
from locallinear.cli import cluster
from locallinear.cli.commands import main
from locallinear.tables.procedure import CLASS_SCORING

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("dask.dataframe")
cluster_search = pytest.importorskip("locallinear.dask.search")


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as found:
        yield found.scheduler_address


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three files with rows of one table; one row has no price."""
    monkeypatch.chdir(tmp_path)
    frame = houses(90)
    frame.loc[4, "price"] = np.nan
    for i in range(3):
        frame[30 * i : 30 * (i + 1)].to_parquet(f"part-{i}.parquet")
    return frame


def run(*arguments):
    return CliRunner().invoke(main, ["fit", *arguments], catch_exceptions=False)


def test_all_files_make_one_model_that_predicts_raw_tables(folder, address):
    done = run("part-*.parquet", "--target", "price", "--ignore", "rent", "--cluster", address)
    assert done.exit_code == 0, done.output
    assert "89 rows" in done.output
    model = load("part.model")
    assert model.n_samples_fit_ == 89
    known = folder.dropna(subset=["price"])
    error = np.mean((model.predict(known) - known["price"]) ** 2)
    assert error < 0.2 * known["price"].var()


def test_a_target_of_text_is_classified(folder, address):
    given = ["--target", "kind", "--time-budget", "1", "--cluster", address, "--out", "k.model"]
    done = run("part-*.parquet", "--ignore", "price", "--ignore", "rent", *given)
    assert done.exit_code == 0, done.output
    assert set(load("k.model").predict(folder)) == {"large", "small"}


def test_classes_are_chosen_by_the_score_of_a_fit_without_a_cluster(folder, address, monkeypatch):
    scored = []
    monkeypatch.setattr(
        cluster_search.DaskSearchCV, "_grid", lambda self: scored.append(self.scoring) or self.grid
    )
    given = ["--target", "kind", "--time-budget", "1", "--cluster", address, "--out", "k.model"]
    run("part-*.parquet", "--ignore", "price", "--ignore", "rent", *given)
    assert scored == [CLASS_SCORING]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-*.parquet", "--target", "price"], "No file matches no-*.parquet"),
        (["part-*", "--target", "nothing"], "nothing"),
        (["part-*"], "Choose a column of part-* to predict"),
    ],
)
def test_what_cannot_be_fitted_is_said_in_one_sentence(folder, address, arguments, sentence):
    done = run(*arguments, "--cluster", address)
    assert done.exit_code == 2
    assert sentence in done.output


def test_a_cluster_that_does_not_answer_is_said_in_one_sentence(folder):
    done = run("part-*.parquet", "--target", "price", "--cluster", "nowhere")
    assert done.exit_code == 2
    assert "No Dask scheduler answers at nowhere" in done.output
    assert dask.config.get("scheduler", None) is None  # this process computes again


def test_the_model_has_the_name_of_the_pattern():
    assert cluster.model_name(cluster.Path("a/part-*.parquet")).name == "part.model"
    assert cluster.model_name(cluster.Path("*.parquet")).name == "cluster.model"
