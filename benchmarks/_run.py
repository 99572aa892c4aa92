"""Shared by the benchmarks: fair timing, data, tables, and where a figure was measured."""

import gc
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from locallinear import datasets
from locallinear.paper.provenance import processor

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "RESULTS.md"
Parts = tuple[NDArray, NDArray, NDArray, NDArray]


@dataclass
class Table:
    """Rows under a header, and a note on how they were measured."""

    title: str
    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    note: str = ""

    def markdown(self) -> str:
        lines = [list(self.header), ["---"] * len(self.header), *map(list, self.rows)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts = [f"### {self.title}", table if self.rows else "", self.note]
        return "\n\n".join(part for part in parts if part)


def seconds(call: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def interleaved(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    repetitions: int = 15,
    budget: float = 20.0,
    at_least: int = 3,
    warm: bool = True,
) -> tuple[float, float, float]:
    """Median times of both, and the median of the ratios of neighbouring runs.

    The two take turns, so that other work of the machine slows both; they alternate in who goes
    first. After `at_least` turns, no turn begins once the budget, in seconds, is used up.
    """
    if warm:
        ours(), theirs()
    a: list[float] = []
    b: list[float] = []
    begin = time.perf_counter()
    while len(a) < at_least or (len(a) < repetitions and time.perf_counter() - begin < budget):
        turn = [(ours, a), (theirs, b)]
        for call, times in turn if len(a) % 2 == 0 else reversed(turn):
            times.append(seconds(call))
    return median(a), median(b), median(x / y for x, y in zip(a, b, strict=True))


def verdict(value: float, target: float, *, at_least: bool = False) -> str:
    return "met" if (value >= target if at_least else value <= target) else "**missed**"


def duration(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def load(name: str) -> tuple[NDArray, NDArray] | None:
    """One of the paper's sets, shuffled; None where the folder of LOCALLINEAR_DATA lacks it."""
    fetch = getattr(datasets, f"fetch_{name}")
    try:
        X, y = fetch(download_if_missing=False, return_X_y=True)
    except OSError:
        return None
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def split(name: str) -> Parts | None:
    """Inputs and targets to fit, nine tenths of a set, and to query; None where it is absent."""
    loaded = load(name)
    if loaded is None:
        return None
    X, y = loaded
    q = len(X) // 10
    return X[q:], y[q:], X[:q], y[:q]


def normal_points(n: int, d: int, intrinsic: int, seed: int = 0) -> NDArray:
    """Standard normal points, of all d features or in a subspace that is the same for all seeds."""
    coordinates = np.random.default_rng(seed).standard_normal((n, intrinsic))
    if intrinsic == d:
        return coordinates
    return coordinates @ np.random.default_rng(d).standard_normal((intrinsic, d))


def in_subprocess(code: str) -> float:
    """Run Python code in a separate process and return the number that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def resident(field: str) -> int:
    """Memory of this process in bytes: VmRSS now, VmHWM at most.

    getrusage would do elsewhere, but Linux lets a child inherit its parent's peak.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith(field))
        return int(line.split()[1]) * 1024
    import resource  # not on Windows

    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def keep(path: Path, name: str, doc: str | None, tables: Iterable[Table]) -> None:
    """Print tables as they come, and write them as the section of a module."""
    printed = []
    for table in tables:
        print(f"\n{table.markdown()}", flush=True)
        printed.append(table)
    write_section(path, name, section(name, doc, printed))
    print(f"\nKept in {path}")


def section(name: str, doc: str | None, tables: list[Table]) -> str:
    """Text of a module's section in RESULTS.md."""
    about = (doc or "").strip()
    where = (
        f"`LOCALLINEAR_DATA=... python -m benchmarks {name}`, {date.today():%d %B %Y}, "
        f"commit {commit()}, {machine()}."
    )
    return "\n\n".join([f"## {name}", where, about, *(t.markdown() for t in tables)]) + "\n"


def write_section(path: Path, name: str, text: str) -> None:
    """Replace the section of the same name, or add one at the end."""
    old = path.read_text() if path.exists() else "# What was measured\n"
    head, *parts = old.split("\n## ")
    sections = {part.split("\n", 1)[0]: part.rstrip("\n") for part in parts}
    sections[name] = text.removeprefix("## ").rstrip("\n")
    path.write_text("\n\n## ".join([head.rstrip("\n"), *sections.values()]) + "\n")


def commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    # The results themselves change with every run.
    kept = (":!benchmarks/RESULTS.md", ":!benchmarks/*.csv", ":!benchmarks/*.svg")
    dirty = git("status", "--porcelain", "--untracked-files=no", "--", *kept)
    return git("rev-parse", "--short", "HEAD") + (" with local changes" if dirty else "")


def machine() -> str:
    return f"{computer()}, {versions('numpy', 'scipy', 'scikit-learn')}"


def computer() -> str:
    return f"{os.cpu_count()} cores of {processor()}, {platform.system()}"


def versions(*packages: str) -> str:
    """Versions of Python and of packages, each once."""
    found = [f"{package} {version(package)}" for package in dict.fromkeys(packages)]
    return ", ".join([f"Python {platform.python_version()}", *found])
