"""A web service that learns while it answers: that of the docs, with its clients on one machine.

uvicorn serves `examples/service.py` in one process. Its model has 100,000 samples with 20
features. The clients are threads of a second process. A writer sends samples as they come, 200 per
second: one request at a time with all that came since the last one, which are on the disk before
the reply. Eight readers ask about one row at a time, the next when the reply has come. Every eighth
question is for the explanation too, and of the single model for the interval.

Afterwards all calls are repeated in one process, and each answer must equal that of the state that
it names, digit by digit. That state must be one that the model had between question and reply.
The new samples lie near the twenty rows that are asked about, so that answers change all the time.
"""

import copy
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._run import (
    ROOT,
    Table,
    duration,
    interleaved,
    normal_points,
    seconds,
    verdict,
)
from benchmarks.fall import million
from locallinear import FALLEnsembleRegressor, FALLRegressor, load

N, D, ROWS = 100_000, 20, 20
READERS, PER_SECOND, SECONDS = 8, 200, 60.0
FULL_EVERY, POWER_EVERY = 8, 10
HEADER = ("model", "requests per second", "median", "99 %", "with explanation", "99 %")
HEADER += ("samples learned per second", "errors", "wrong answers", "new")


@dataclass
class Story:
    """What was asked, learned and answered; times are of one clock."""

    base: Any  # the model before all of it
    interval: float | None  # the coverage that readers ask for
    learned: list[tuple[float, float, int]] = field(default_factory=list)  # sent, reply, samples
    asked: list[tuple[float, float, int, bool, bytes]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def run() -> Iterator[Table]:
    busy = (
        f"Load of the machine when it began: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores. "
    )
    for make in (costs, service):
        table = make()
        table.note = busy + table.note
        yield table


class InPlace(FALLRegressor):
    """A model that readers use as it is, whatever writers do to it meanwhile."""

    def at_this_moment(self) -> "InPlace":
        return self


def costs() -> Table:
    """What it costs that every answer is that of one moment."""
    table = Table("Learning and reading, 1,000,000 x 8, k = 200", ("what", "reached", "target", ""))
    X, y, Q = million(8, 8)
    model = FALLRegressor(n_anchors=200, random_state=0).fit(X, y)
    in_place = InPlace(n_anchors=200, random_state=0).fit(X, y)
    for rows in (1, 1000):
        ratio = interleaved(
            partial(repeated, model.predict, Q[:rows]),
            partial(repeated, in_place.predict, Q[:rows]),
            repetitions=61,
            budget=10,
        )[2]
        what = f"`predict` of {rows:,}, against readers that take no moment"
        table.rows.append([what, f"{ratio:.3f}", "≤ 1.05", verdict(ratio, 1.05)])
    first = seconds(partial(model.partial_fit, Q[:1], [0.0]))
    each, worked = [], []
    for i in range(1, 3000):
        begin, began = time.perf_counter(), time.process_time()
        model.partial_fit(Q[i : i + 1], [0.0])
        each.append(time.perf_counter() - begin)
        worked.append(time.process_time() - began)
    for name, times, level in [
        ("median", each, 0.5),
        ("95 %", each, 0.95),
        ("95 % in time of the processor", worked, 0.95),
    ]:
        reached = float(np.quantile(times, level)) * 1e3
        what = f"`partial_fit` of one sample, {name}"
        table.rows.append([what, f"{reached:.2f} ms", "≤ 1 ms", verdict(reached, 1.0)])
    table.note = (
        f"The first `partial_fit` after a fit copies the samples to memory with room for more: "
        f"{duration(first)}. The longest of the others took {duration(max(each))}: now and then "
        "the newest samples are indexed together."
    )
    return table


def repeated(predict: Callable[[NDArray], NDArray], rows: NDArray) -> None:
    for _ in range(max(1, 100 // len(rows))):
        predict(rows)


def service() -> Table:
    table = Table(f"{SECONDS:.0f} s with {READERS} readers and one writer", HEADER)
    table.note = (
        "Wrong answers: those that do not equal the answer of a moment between question and reply. "
        "New: of a tenth of the answers, the part that the state before would not have given."
    )
    models = {
        "FALLRegressor": FALLRegressor(random_state=0),
        "FALLEnsembleRegressor, 30 members": FALLEnsembleRegressor(search=None, random_state=0),
    }
    for name, model in models.items():
        # Errors of ensembles take minutes to compute, for the service and again for the check.
        interval = 0.9 if isinstance(model, FALLRegressor) else None
        with tempfile.TemporaryDirectory() as folder:
            table.rows.append([name, *measured(model, Path(folder) / "served.model", interval)])
    return table


def measured(model: Any, path: Path, interval: float | None, seconds: float = SECONDS) -> list[str]:
    """A row of the table for one model."""
    X = normal_points(N, D, D)
    rows = normal_points(ROWS, D, D, seed=1)
    model.fit(X, law(X)).save(path)
    story = Story(load(path), interval)
    with served(path) as port:
        tell(story, port, rows, seconds)
    wrong, new = checked(story, rows)
    took = np.array([reply - sent for sent, reply, _, full, _ in story.asked if not full])
    full = np.array([reply - sent for sent, reply, _, full, _ in story.asked if full])
    lasted = story.learned[-1][1] - story.learned[0][0]
    return [
        f"{len(story.asked) / seconds:.0f}",
        *(duration(float(np.quantile(took, level))) for level in (0.5, 0.99)),
        *(duration(float(np.quantile(full, level))) for level in (0.5, 0.99)),
        f"{sum(n for *_, n in story.learned) / lasted:.0f} in {len(story.learned)} calls",
        f"{len(story.errors)}",
        f"{wrong} of {len(story.asked)}",
        f"{new:.0%}",
    ]


def law(X: NDArray) -> NDArray:
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3:6].sum(axis=1)


def sample(number: int, rows: NDArray) -> tuple[NDArray, float]:
    """The sample that comes as this one, near one of the rows."""
    rng = np.random.default_rng(number)
    x = rows[number % len(rows)] + rng.normal(scale=0.1, size=D)
    return x, float(law(x[None])[0] + rng.normal())


# --- The service, and its clients ---------------------------------------------------------------


@contextmanager
def served(path: Path) -> Iterator[int]:
    """A process that serves a model file, until the context ends; gives its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "--factory", "service:make_app"]
    command += ["--app-dir", str(ROOT / "examples"), "--port", str(port), "--log-level", "warning"]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"MODEL": str(path)})
    try:
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/state"):
                    break
            except OSError:
                if process.poll() is not None:
                    raise
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def post(line: http.client.HTTPConnection, path: str, content: dict[str, Any]) -> bytes:
    line.request("POST", path, json.dumps(content), {"Content-Type": "application/json"})
    reply = line.getresponse()
    body = reply.read()
    if reply.status != 200:
        raise ValueError(f"{reply.status}: {body[:200]!r}")
    return body


def tell(story: Story, port: int, rows: NDArray, seconds: float) -> None:
    """Let a writer and readers work for so long."""
    first = {"rows": rows[:1].tolist(), "interval": story.interval, "explain": True}
    post(http.client.HTTPConnection("127.0.0.1", port), "/score", first)  # computes the errors
    begin = time.monotonic()
    end = begin + seconds

    def learn() -> None:
        line, sent_so_far = http.client.HTTPConnection("127.0.0.1", port), 0
        while (now := time.monotonic()) < end:
            due = int((now - begin) * PER_SECOND)
            if due == sent_so_far:
                time.sleep(1 / PER_SECOND)
                continue
            X, y = zip(*(sample(i, rows) for i in range(sent_so_far, due)), strict=True)
            content = {"rows": np.array(X).tolist(), "targets": list(y)}
            sent = time.monotonic()
            story.learned.append((sent, np.inf, due - sent_so_far))
            post(line, "/learn", content)
            story.learned[-1] = sent, time.monotonic(), due - sent_so_far
            sent_so_far = due

    def ask(reader: int) -> None:
        line, count = http.client.HTTPConnection("127.0.0.1", port), reader
        rng = np.random.default_rng(reader)
        while time.monotonic() < end:
            row, full = int(rng.integers(len(rows))), count % FULL_EVERY == 0
            content: dict[str, Any] = {"rows": [rows[row].tolist()]}
            if full:
                content |= {"interval": story.interval, "explain": True}
            sent = time.monotonic()
            reply = post(line, "/score", content)
            story.asked.append((sent, time.monotonic(), row, full, reply))
            count += 1

    def safely(call: Any, *given: Any) -> None:
        try:
            call(*given)
        except Exception as error:
            story.errors.append(repr(error))

    threads = [threading.Thread(target=safely, args=(learn,))]
    threads += [threading.Thread(target=safely, args=(ask, reader)) for reader in range(READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# --- The check ------------------------------------------------------------------------------------


def checked(story: Story, rows: NDArray) -> tuple[int, float]:
    """How many answers are wrong, and the part of answers that the state before would not give."""
    sent = np.array([sent for sent, _, _ in story.learned])
    replied = np.array([reply for _, reply, _ in story.learned])
    wrong, by_state = 0, defaultdict(list)
    for number, (begin, end, row, full, reply) in enumerate(story.asked):
        answer = json.loads(reply)
        state = answer["state"]
        possible = np.searchsorted(replied, begin) <= state <= np.searchsorted(sent, end)
        wrong += not possible
        by_state[state].append((number, row, full, answer))
    n_new = n_tried = start = 0
    model = previous = copy.copy(story.base)
    for state in range(len(story.learned) + 1):
        if state:
            stop = start + story.learned[state - 1][2]
            X, y = zip(*(sample(i, rows) for i in range(start, stop)), strict=True)
            previous, start = model.at_this_moment(), stop
            model.partial_fit(X, y)
        known = {row: model.predict(rows[row : row + 1]) for _, row, _, _ in by_state[state]}
        for number, row, full, answer in by_state[state]:
            x = rows[row : row + 1]
            wrong += not same(story, answer, x, known[row], full=full)
            if state and number % POWER_EVERY == 0:
                n_tried += 1
                n_new += int((previous.predict(x) != known[row]).any())
    return wrong, n_new / max(n_tried, 1)


def same(story: Story, answer: dict[str, Any], x: NDArray, value: NDArray, *, full: bool) -> bool:
    """Whether an answer is what the model says."""
    if answer["values"] != value.tolist() or not full:
        return answer["values"] == value.tolist()
    (parts,) = answer["explanations"]
    total = parts["all samples"] + parts["samples like it"] + sum(parts["how it differs"].values())
    if story.interval is None or abs(total - value[0]) > 1e-9:
        return abs(total - value[0]) <= 1e-9
    # The errors are those of the beginning.
    interval = story.base.predict_interval(x, story.interval)
    interval += (value - story.base.predict(x))[:, None]
    return answer["intervals"] == interval.tolist()
