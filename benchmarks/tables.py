"""Raw tables: `TableRegressor` and `TableClassifier` beside LightGBM with native categories.

Three shuffled folds, the same for all models, in two threads. Ours get the frames as pandas reads
them, with `time_budget=30`; LightGBM gets categories as such, gaps as gaps, and of the time stamp
the hour, the weekday, the day of the year and the hours since 1970; it is at its defaults, and with
500 trees at a rate of 0.05. Errors are root mean squared errors, or log losses of classes. "From a
file" fits the parameters of our single model on the first fold, on the frame and on the CSV file as
the command line reads it: the largest difference of their predictions, as a part of their spread.
"Busy" is the processor time of our fits as a part of what two idle cores offer in the time that the
fits took: where it is small, other work took the time that a budget counts. The tables are those of
`tables` in the folder that LOCALLINEAR_DATA names.
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
from sklearn.base import clone
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks._run import Table, verdict
from locallinear import TableClassifier, TableRegressor
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
    table = Table("errors", ("table", "rows", *OURS, *THEIRS, "ratio", "busy", "from a file"))
    good = 0
    for name in SETS:
        path = folder() / f"{name}.csv"
        if not path.is_file():
            continue
        frame, y, classify = load(path)
        errors, busy, same = judge(path, frame, y, classify)
        means = {model: float(np.mean(found)) for model, found in errors.items()}
        ratio = min(means[model] for model in OURS) / min(means[model] for model in THEIRS)
        good += ratio <= 1 + ALLOWED
        cells = [f"{means[model]:.4g}" for model in (*OURS, *THEIRS)]
        ends = (f"{ratio:.2f}", f"{busy:.0%}", f"{same:.0e}")
        table.rows.append((name, f"{len(y):,}", *cells, *ends))
    table.note = (
        f"The better of ours is within {ALLOWED:.0%} of the better LightGBM on {good} of "
        f"{len(table.rows)} tables: {verdict(good, len(table.rows), at_least=True)}"
    )
    yield table


def folder() -> Path:
    return Path(os.environ.get("LOCALLINEAR_DATA", ".")) / "tables"


def load(path: Path) -> tuple[pd.DataFrame, NDArray, bool]:
    target, classify = SETS[path.stem]
    frame = pd.read_csv(path, na_values="?")
    frame = frame[frame[target].notna()].reset_index(drop=True)
    return frame.drop(columns=target), frame[target].to_numpy(), classify


def judge(
    path: Path, frame: pd.DataFrame, y: NDArray, classify: bool
) -> tuple[dict[str, list[float]], float, float]:
    """Errors of each fold by model, how busy our fits were, and how far the file's model is off."""
    splitter = (StratifiedKFold if classify else KFold)(N_FOLDS, shuffle=True, random_state=0)
    native = with_categories(frame)
    errors: dict[str, list[float]] = {}
    apart, ours = np.nan, np.zeros(2)  # processor and wall-clock seconds
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
            if name == "single" and fold == 0:
                apart = from_file(path, model, frame, y, train, test)
    return errors, ours[0] / ours[1] / N_THREADS, apart


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
            out = out.assign(hour=time.dt.hour, weekday=time.dt.dayofweek, day=time.dt.dayofyear)
        else:
            out[name] = frame[name].astype("category")
    return out


def from_file(
    path: Path, model: Any, frame: pd.DataFrame, y: NDArray, train: NDArray, test: NDArray
) -> float:
    """The largest difference of predictions by two models of the same parameters, as said above.

    A search within a time budget may end elsewhere, so both are fitted with those of `model`.
    """
    table = read_table(path)
    target, classify = SETS[path.stem]
    table = table.take(table.frame[target].notna().to_numpy())
    of_file = table.frame[target].to_numpy()
    again = clone(model).set_params(model=clone(model.estimator_), time_budget=None)
    if not classify:
        again.set_params(target="log" if model.is_log_ else "identity")
    again.fit(frame.iloc[train], y[train])
    predicted = said(again, frame.iloc[test], classify)
    again.fit(
        table.without([target]).take(train),
        of_file[train].astype(str) if classify else of_file[train],
    )
    found = said(again, table.take(test), classify)
    return float(np.abs(found - predicted).max() / predicted.std())
