"""Raw tables: `TableRegressor` and `TableClassifier` beside LightGBM with native categories.

Three shuffled folds, the same for all models, in two threads. Ours get the frames as pandas reads
them, with `time_budget=30`; LightGBM gets categories as such, gaps as gaps, and of the time stamp
the hour, the weekday, the day of the year and the hours since 1970; it is at its defaults, and with
500 trees at a rate of 0.05. Errors are root mean squared errors, or log losses of classes. "Busy"
is the processor time of our fits as a part of what two idle cores offer in the time that the fits
took: where it is small, other work took the time that a budget counts. "From a file" fits a model
of fixed parameters to 2,000 rows of the frame, and to the same rows of the CSV file as the command
line reads it: the largest difference of their predictions of 1,000 other rows, as a part of their
spread. The tables are those of `tables` in the folder that LOCALLINEAR_DATA names.
"""

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks._run import Table, verdict
from locallinear import FALLClassifier, FALLRegressor, TableClassifier, TableRegressor
from locallinear.tables import read_table

LONG = True  # fifteen minutes
N_FOLDS = 3
SECONDS = 30.0
N_THREADS = 2
# Our error may be above LightGBM's by this part.
ALLOWED = 0.05

# The table, its target, and whether that is a class.
SETS = {
    "cars": ("price", False),
    "credit": ("risk", True),
    "income": ("income", True),
    "beijing_air": ("pm25", False),
}
OURS = ("single", "ensemble")
THEIRS = {"LightGBM": {}, "LightGBM, 500 trees": {"n_estimators": 500, "learning_rate": 0.05}}


def run() -> Iterator[Table]:
    table = Table("errors", ("table", "rows", *OURS, *THEIRS, "ratio", "busy"))
    good = 0
    for name in SETS:
        path = folder() / f"{name}.csv"
        if not path.is_file():
            continue
        frame, y, classify = load(path)
        errors, busy = judge(path, frame, y, classify)
        means = {model: float(np.mean(found)) for model, found in errors.items()}
        ratio = min(means[model] for model in OURS) / min(means[model] for model in THEIRS)
        good += ratio <= 1 + ALLOWED
        cells = [f"{means[model]:.4g}" for model in (*OURS, *THEIRS)]
        table.rows.append((name, f"{len(y):,}", *cells, f"{ratio:.2f}", f"{busy:.0%}"))
    table.note = (
        f"The better of ours is within {ALLOWED:.0%} of the better LightGBM on {good} of "
        f"{len(table.rows)} tables: {verdict(good, len(table.rows), at_least=True)}"
    )
    yield table
    yield files()


def files() -> Table:
    """How far models of a file are from those of the frame."""
    table = Table("from a file", ("table", "largest difference"))
    for name in SETS:
        path = folder() / f"{name}.csv"
        if path.is_file():
            table.rows.append((name, f"{from_file(path):.0e}"))
    return table


def folder() -> Path:
    return Path(os.environ.get("LOCALLINEAR_DATA", ".")) / "tables"


def load(path: Path) -> tuple[pd.DataFrame, NDArray, bool]:
    target, classify = SETS[path.stem]
    frame = pd.read_csv(path, na_values="?")
    frame = frame[frame[target].notna()].reset_index(drop=True)
    return frame.drop(columns=target), frame[target].to_numpy(), classify


def judge(
    path: Path, frame: pd.DataFrame, y: NDArray, classify: bool
) -> tuple[dict[str, list[float]], float]:
    """Errors of each fold by model, and how busy our fits were."""
    splitter = (StratifiedKFold if classify else KFold)(N_FOLDS, shuffle=True, random_state=0)
    native = with_categories(frame)
    errors: dict[str, list[float]] = {}
    ours = np.zeros(2)  # processor and wall-clock seconds
    for fold, (train, test) in enumerate(splitter.split(frame, y)):
        for name, model in models(classify).items():
            data = native if name in THEIRS else frame
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                start = np.array([time.process_time(), time.perf_counter()])
                model.fit(data.iloc[train], y[train])
                took = np.array([time.process_time(), time.perf_counter()]) - start
            ours += took if name in OURS else 0
            predicted = said(model, data.iloc[test], classify)
            errors.setdefault(name, []).append(error(y[test], predicted, classify))
            print(path.stem, fold, name, f"{errors[name][-1]:.4g}", took.round(1), flush=True)
    return errors, ours[0] / ours[1] / N_THREADS


def models(classify: bool) -> dict[str, Any]:
    from lightgbm import LGBMClassifier, LGBMRegressor  # of the group `bench`

    ours: Any = TableClassifier if classify else TableRegressor
    theirs: Any = LGBMClassifier if classify else LGBMRegressor
    options = {"time_budget": SECONDS, "n_jobs": N_THREADS, "random_state": 0}
    found = {name: ours(name, **options) for name in OURS}
    return found | {
        name: theirs(**params, n_jobs=N_THREADS, verbose=-1, random_state=0)
        for name, params in THEIRS.items()
    }


def said(model: Any, rows: Any, classify: bool) -> NDArray:
    return model.predict_proba(rows) if classify else model.predict(rows)


def error(true: NDArray, predicted: NDArray, classify: bool) -> float:
    if classify:
        return float(log_loss(true, predicted))
    return float(root_mean_squared_error(true, predicted))


def with_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Text as categories, and a time stamp as numbers, which is what LightGBM takes."""
    out = frame.copy()
    for name in frame:
        if pd.api.types.is_numeric_dtype(frame[name]):
            continue
        if name == "time":
            time = pd.to_datetime(frame[name])
            out[name] = time.astype("int64") / 3.6e12
            out = out.assign(
                hour=time.dt.hour, weekday=time.dt.day_of_week, day=time.dt.day_of_year
            )
        else:
            out[name] = frame[name].astype("category")
    return out


def from_file(path: Path) -> float:
    """The largest difference of predictions by models of the file and of the frame."""
    frame, y, classify = load(path)
    rows = np.random.default_rng(0).permutation(len(y))[:3000]
    train, test = rows[: 2 * len(rows) // 3], rows[2 * len(rows) // 3 :]
    fall: Any = FALLClassifier if classify else FALLRegressor
    kind: Any = TableClassifier if classify else TableRegressor
    model = kind(fall(50, n_neighbors=10), n_jobs=N_THREADS, random_state=0)
    predicted = said(model.fit(frame.iloc[train], y[train]), frame.iloc[test], classify)
    target = SETS[path.stem][0]
    table = read_table(path)
    table = table.take(table.frame[target].notna().to_numpy())
    of_file = table.frame[target].to_numpy()[train]
    model.fit(table.without([target]).take(train), of_file.astype(str) if classify else of_file)
    found = said(model, table.take(test), classify)
    return float(np.abs(found - predicted).max() / predicted.std())
