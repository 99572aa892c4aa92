"""The examples of the gallery run as they are, and draw what the pages show."""

import os
import re
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot
import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
IMAGES = ROOT / "docs" / "images"


@pytest.fixture(scope="module")
def drawn():
    """The pictures that each example drew; filled as they run."""
    return {}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_draws(example, tmp_path, drawn, monkeypatch):
    if "fetch_" in example.read_text("utf-8") and "LOCALLINEAR_DATA" not in os.environ:
        pytest.skip("the example fetches data, and LOCALLINEAR_DATA names no folder of them")
    monkeypatch.setattr(sys, "argv", [str(example), "--quick", "--out", str(tmp_path)])
    monkeypatch.syspath_prepend(example.parent)
    with matplotlib.rc_context({"backend": "Agg"}):
        runpy.run_path(str(example), run_name="__main__")
        matplotlib.pyplot.close("all")
    pictures = list(tmp_path.glob("*.png"))
    assert pictures
    assert all(path.stat().st_size < 150_000 for path in pictures)
    drawn[example.stem] = {path.name for path in pictures}


def test_the_pictures_of_the_pages_are_small_and_come_from_the_examples(drawn):
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    links = "".join(page.read_text("utf-8") for page in pages)
    shown = set(re.findall(r"images/([\w-]+\.png)", links))
    assert shown == {path.name for path in IMAGES.glob("*.png")}
    assert all((IMAGES / name).stat().st_size <= 150_000 for name in shown)
    if len(drawn) < len(EXAMPLES):
        pytest.skip("not all examples ran")
    # The report is a picture of a browser.
    assert shown - set().union(*drawn.values()) == {"report.png"}
