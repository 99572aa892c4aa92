"""The pages are true: examples run, links lead somewhere, and named code exists."""

import os
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from test_house import MAY_IMPORT

ROOT = Path(__file__).parent.parent
README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
SOURCE = ROOT / "src" / "locallinear"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [*PAGES, CONTRIBUTING, ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "RESULTS.md"]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)  # the README: see below
def test_the_python_examples_of_a_page_run(page, monkeypatch):
    examples = blocks(page, "python")
    if "import torch" in "".join(examples):
        pytest.importorskip("torch", reason="the page needs torch, which is not installed")
        monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # as the page says
    if "import onnxruntime" in "".join(examples):
        pytest.importorskip("onnx", reason="the page needs onnx, which is not installed")
        pytest.importorskip("onnxruntime", reason="the page needs onnxruntime, not installed")
    if "fetch_" in "".join(examples) and "LOCALLINEAR_DATA" not in os.environ:
        pytest.skip("the page fetches data sets, and LOCALLINEAR_DATA names no folder of them")
    names: dict = {}
    for example in examples:
        exec(compile(example, str(page), "exec"), names)


def test_the_readme_shows_what_its_example_prints(capsys):
    exec(compile("".join(blocks(README, "python")), str(README), "exec"), {})
    printed, (shown,) = capsys.readouterr().out, blocks(README, "text")
    number = r"-?\d+\.?\d*"
    assert re.sub(number, "", printed).split() == re.sub(number, "", shown).split()
    # The last digit that is shown may be rounded in another way elsewhere.
    values = [[float(n) for n in re.findall(number, text)] for text in (printed, shown)]
    assert values[0] == pytest.approx(values[1], abs=0.11)


def test_the_readme_is_one_page():
    assert len(README.read_text("utf-8").split()) <= 600


def headings(page):
    """The fragments by which GitHub links to the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_to_files_and_headings(page):
    missing = []
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text("utf-8")):
        path, _, fragment = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (fragment and fragment not in headings(target)):
            missing.append(link)
    assert not missing


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_the_modules_and_functions_that_a_page_names_exist(page):
    rooms = "|".join(room for room in MAY_IMPORT if room)
    for name in re.findall(
        rf"`(?:locallinear\.)?((?:{rooms})(?:\.\w+)+)`", page.read_text("utf-8")
    ):
        if not name.endswith((".py", "_")):  # a file of the same name, or a fitted attribute
            resolve_name(f"locallinear.{name}")


def test_the_files_and_functions_of_the_map_exist():
    text = CONTRIBUTING.read_text("utf-8")
    for path, names in re.findall(r"`(\w+/[\w/]*\.py)`((?:[:,] `\w+`)*)", text):
        file = ROOT / path if (ROOT / path).exists() else SOURCE / path
        code = file.read_text("utf-8")
        for name in re.findall(r"\w+", names):
            assert re.search(rf"(def|class) {name}\b", code), f"{path} has no {name}"


def test_the_map_says_which_folder_may_import_which():
    rows = re.findall(r"^\| `([\w./]+)` \| .* \| (.*) \|$", CONTRIBUTING.read_text("utf-8"), re.M)
    said = {
        room_of(folder): {room_of(other) for other in re.findall(r"[\w.]+", others)}
        for folder, others in rows
    }
    assert {folder: others - {"nothing"} for folder, others in said.items()} == MAY_IMPORT


def room_of(folder):
    """The name by which the imports know a folder or file of the map."""
    name = folder.removesuffix("/").removesuffix(".py")
    return "" if name == "__init__" else name
