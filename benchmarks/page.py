"""The page of a report on 100,000 rows of a raw table: its size, and how long a browser takes.

Twelve columns (nine numbers, two of text, a time stamp) and a model of one target. The file is
opened in headless chromium (CHROMIUM names another), each time in a new tab. "First screen" is the
first paint with text: the summary and the scores. "Ready" is when rows can be found and their
tables read, "drawn" when all charts are there; both count from the start of loading. "Processor"
is the time of the tab's process until all is drawn. Medians over the runs.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._run import Table, verdict
from locallinear import FALLRegressor, TableRegressor
from locallinear.explain import report_data, write_report

LONG = True  # three minutes, most of them to explain the rows; wants chromium and playwright
N_ROWS, N_RUNS = 100_000, 5
MOST_SECONDS, MOST_BYTES = 3.0, 10_000_000
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


def run() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        held = write_page(path)
        size = path.stat().st_size
        runs = open_page(path)
    shown = {name: median(found[name] for found in runs) for name in runs[0]}
    slowest = max(found["ready"] for found in runs)
    table = Table(
        f"{N_ROWS:,} rows",
        ("rows held", "size", "first screen", "ready", "drawn", "processor", "slowest ready"),
        [
            (
                f"{held:,}",
                f"{size / 1e6:.1f} MB",
                *(f"{shown[name]:.2f} s" for name in ("paint", "ready", "drawn", "processor")),
                f"{slowest:.2f} s",
            )
        ],
    )
    table.note = (
        f"All rows held: {verdict(held, N_ROWS, at_least=True)}. At most 10 MB: "
        f"{verdict(size, MOST_BYTES)}. Ready in 3 s: {verdict(shown['ready'], MOST_SECONDS)}. "
        f"Drawn in 3 s: {verdict(shown['drawn'], MOST_SECONDS)}."
    )
    yield table


def make_table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=N_ROWS).round(3) for j in range(9)})
    frame["city"] = rng.choice(["north", "south", "old town", "harbour"], N_ROWS)
    frame["grade"] = rng.choice(list("abcdef"), N_ROWS)
    frame["time"] = pd.date_range("2015-01-01", periods=N_ROWS, freq="h").strftime("%Y-%m-%d %H:%M")
    slopes = 8.0 * (frame["city"] == "south")
    level = 100 + 10 * frame["x0"] + 5 * np.sin(frame["x1"]) + slopes * frame["x2"]
    frame["price"] = (level + rng.normal(size=N_ROWS)).round(2)
    return frame


def write_page(path: Path) -> int:
    """Write the page; returns how many rows it holds."""
    frame, few = make_table(), FALLRegressor(8, n_neighbors=10)
    model = TableRegressor(few, target="identity", random_state=0, time_budget=60)
    data = report_data(model.fit(frame, "price"), Xq=frame, yq=frame["price"])
    write_report(path, data)
    return data["all_rows"]["n"]


def open_page(path: Path) -> list[dict[str, float]]:
    """Seconds until the steps of opening are done, for each run."""
    from playwright.sync_api import sync_playwright  # of the group `test`

    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=list(FLAGS))
        runs = [open_once(browser, path) for _ in range(N_RUNS + 1)]
        browser.close()
    return runs[1:]  # the first one also starts the browser's own parts


def open_once(browser: Any, path: Path) -> dict[str, float]:
    """One opening, in a new tab with its own process."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(path.as_uri(), wait_until="commit")
    page.wait_for_selector("html[data-drawn=yes]", timeout=120_000)
    marks = "(kind) => performance.getEntriesByType(kind).map((e) => [e.name, e.startTime / 1000])"
    found = {**dict(page.evaluate(marks, "mark")), **dict(page.evaluate(marks, "paint"))}
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    busy = max(each["cpuTime"] for each in processes if each["type"] == "renderer")
    context.close()
    return {
        "paint": found["first-contentful-paint"],
        "ready": found["ready"],
        "drawn": found["drawn"],
        "processor": busy,
    }
