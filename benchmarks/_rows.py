"""Finished runs, one per row of a CSV file: a benchmark that was stopped goes on after the last."""

import csv
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._run import Parts


def read_rows(path: Path) -> list[dict[str, str]]:
    """All rows of the file, in the order in which they were written."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append_row(path: Path, fields: Sequence[str], row: Mapping[str, Any]) -> None:
    """Write one more row, and the header first if the file is new."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fields)
        if new:
            writer.writeheader()
        writer.writerow(row)
        file.flush()
        os.fsync(file.fileno())


def measure(model: Any, parts: Parts) -> tuple[float, dict[str, str]]:
    """Mean squared error on the test part, and the seconds that fit and predict took."""
    X_train, y_train, X_test, y_test = parts
    start = time.perf_counter()
    model.fit(X_train, y_train)
    fitted = time.perf_counter()
    prediction = np.asarray(model.predict(X_test))
    end = time.perf_counter()
    error = float(np.mean((prediction - y_test) ** 2))
    return error, {"fit_s": f"{fitted - start:.3g}", "predict_s": f"{end - fitted:.3g}"}
