"""One simple model: `fit` prints it, its file holds it, and the page of `explain` shows it."""

import os
import re
import threading

import pytest

from commands import call
from houses import houses
from locallinear import load
from locallinear.cli.summary import regime_lines
from locallinear.tables import answers
from pages import data_in

WHOLE = ["--target", "price", "--quick", "--jobs", 1, "--time-budget", 4]
MANY = ["--scaling", "quantile"]  # never its own companion


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A table in a file."""
    path = tmp_path_factory.mktemp("one") / "houses.csv"
    houses(90).drop(columns=["rent", "kind"]).to_csv(path, index=False)
    return path


def equations_in(page):
    """The regimes of a page as the terminal prints them: number, name, rows and share."""
    return [
        f"{number}. {regime['name']}: {regime['size']} rows ({regime['share']:.0%})"
        for number, regime in enumerate(page["regimes"], 1)
    ]


@pytest.mark.parametrize("options", [("--regimes", 3), ()], ids=["asked", "chosen"])
def test_the_terminal_and_the_page_show_one_simple_model(data, tmp_path, options):
    model, page = tmp_path / "a.model", tmp_path / "why.html"
    said = " ".join(call("fit", data, *WHOLE, *MANY, *options, "--out", model).stdout.split())
    call("explain", model, data, "--out", page, "--jobs", 1)
    shown = data_in(page)
    regimes = shown["regimes"]
    for regime in equations_in(shown):
        assert regime in said
    many = f"A model of {len(regimes)} regimes that"
    assert (many if len(regimes) > 1 else "One linear model of all rows, which") in said
    share = f"{shown['regime_model']['explained']:.0%} of the variance"
    assert share in said
    kept = load(model).companion()
    for regime in regimes:  # the equations are those of the model that is kept
        assert regime["label"] < len(kept.model.anchor_models_)
    lines = " ".join(" ".join(regime_lines(load(model), kept)).split())
    assert lines in said


def test_a_file_without_a_companion_is_explained_with_a_new_one(data, tmp_path):
    model, page = tmp_path / "a.model", tmp_path / "why.html"
    call("fit", data, *WHOLE, *MANY, "--out", model)
    fitted = load(model)
    fitted.forget([0]).save(model)
    call("explain", model, data, "--out", page, "--jobs", 1)
    assert data_in(page)["regime_model"]["is_simpler"]


def interrupted(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "place",
    ["locallinear.cli.commands.print_comparison", "locallinear.tables.answers.companion_of"],
    ids=["compared", "looked for"],
)
def test_an_interrupt_after_the_fit_leaves_a_whole_model(data, tmp_path, monkeypatch, place):
    monkeypatch.setattr(place, interrupted)
    out = tmp_path / "a.model"
    options = [option for option in WHOLE if option != "--quick"]
    done = call("fit", data, *options, *MANY, "--out", out, status=1)
    assert "Aborted" in done.stderr
    assert load(out).predict(houses(seed=1)).shape == (60,)
    assert list(tmp_path.iterdir()) == [out]


def test_an_interrupt_before_a_stream_gets_the_model_leaves_it_empty(data, monkeypatch):
    monkeypatch.setattr(answers, "companion_of", interrupted)
    assert call("fit", data, *WHOLE, *MANY, "--out", "-", status=1).stdout_bytes == b""


def test_a_pipe_gets_one_model_with_its_companion(data, tmp_path):
    pipe, out = tmp_path / "pipe", tmp_path / "a.model"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: out.write_bytes(pipe.read_bytes()))
    reader.start()
    said = call("fit", data, *WHOLE, *MANY, "--regimes", 2, "--out", pipe).stdout
    reader.join()
    assert len(load(out).companion().model.anchor_models_) == 2
    assert re.search(r"^ +2 \*", said, re.MULTILINE)


def test_standard_output_gets_the_companion_too(data, tmp_path):
    out = tmp_path / "a.model"
    done = call("fit", data, *WHOLE, *MANY, "--regimes", 2, "--out", "-")
    out.write_bytes(done.stdout_bytes)
    assert len(load(out).companion().model.anchor_models_) == 2
