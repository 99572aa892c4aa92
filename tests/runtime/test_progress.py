"""Progress: what a terminal shows, with tqdm and without, and that files stay free of it."""

import re
import sys
import time

import pytest

from locallinear.runtime import progress
from locallinear.runtime.progress import Bar, duration, watched, working


@pytest.fixture
def without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


@pytest.fixture(params=["tqdm", "text"])
def either(request):
    """Bars with tqdm and without."""
    if request.param == "text":
        request.getfixturevalue("without_tqdm")


def be_terminal(monkeypatch, answer=True):
    """Not a fixture: pytest replaces standard error after these have run."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: answer, raising=False)


def test_a_bar_shows_title_count_unit_and_state(either, capsys):
    bar = Bar(2000, "runs", title="Repeating", show=True)
    bar.advance(1500, "3 of 5 data sets")
    bar.close("done")
    assert bar.done == 1500
    assert re.search(r"Repeating: .*1,500 of 2,000 runs, done *\n", capsys.readouterr().err)


def test_bytes_are_counted_and_megabytes_shown(either, capsys):
    with Bar(2_000_000, "MB", title="Tiny data", scale=1e-6, show=True) as bar:
        bar.advance(200_000)
        bar.advance(300_000)
    shown = capsys.readouterr().err
    assert "\rTiny data: " in shown
    assert shown.endswith("0.5 of 2.0 MB\n")


def test_a_total_may_be_unknown(either, capsys):
    with Bar(None, "MB", title="Tiny data", scale=1e-6, show=True) as bar:
        bar.advance(500_000)
    assert capsys.readouterr().err.endswith("Tiny data: 0.5 MB\n")


def test_a_shorter_line_leaves_nothing_of_a_longer_one(without_tqdm, capsys):
    bar = Bar(2, "runs", show=True)
    bar.advance(1, "a long state")
    bar.close("short")
    first, last = capsys.readouterr().err.strip("\r\n").split("\r")
    assert first == "1 of 2 runs, a long state"
    assert last == "1 of 2 runs, short".ljust(len(first))


def test_text_above_a_bar_stays(either, capsys):
    with Bar(2, "runs", show=True) as bar:
        bar.advance()
        bar.print_above("THE TABLE")
    assert "\rTHE TABLE\n" in capsys.readouterr().err


def test_watched_items_come_in_order_and_their_bar_goes(without_tqdm, capsys, monkeypatch):
    be_terminal(monkeypatch)
    monkeypatch.setattr(progress, "SHORT_SECONDS", 0.0)
    assert list(watched("abc", "Reading", "letters")) == ["a", "b", "c"]
    shown = capsys.readouterr().err
    assert shown.startswith("\rReading: 1 of 3 letters")
    assert shown.endswith("\r" + " " * len("Reading: 1 of 3 letters") + "\r")


def test_a_long_step_shows_its_seconds_until_it_ends(capsys, monkeypatch):
    be_terminal(monkeypatch)
    monkeypatch.setattr(progress, "SHORT_SECONDS", 0.01)
    shown = ""
    with working("Writing"):
        for _ in range(1000):
            time.sleep(0.01)
            shown += capsys.readouterr().err
            if shown:
                break
    assert shown == "\rWriting: 0 s"
    assert capsys.readouterr().err.endswith(" \r")


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_is_shown_of_short_work_or_into_a_file(either, capsys, monkeypatch, terminal):
    be_terminal(monkeypatch, terminal)
    assert list(watched("abc", "Reading", "letters")) == ["a", "b", "c"]
    with working("Writing"):
        pass
    if not terminal:
        with Bar(2, "runs") as bar:
            bar.advance()
    assert capsys.readouterr() == ("", "")


def test_durations_are_rounded_before_their_unit_is_chosen():
    assert duration(59.6) == "1:00 min"
    assert duration(3599.6) == "1:00 h"
