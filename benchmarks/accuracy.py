"""Test error on the paper's splits, the same for all models, with what people use today beside.

Splits are those of the paper: `train_test_split(test_size=0.1, random_state=seed)`, seeds from 0.
Every choice is made by cross-validation on the training part. A run is a row of
benchmarks/accuracy.csv as soon as it is done, so that the command goes on where it was stopped.
"""

import csv
import os
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks._run import Table, commit
from locallinear import FALLRegressorCV, datasets

LONG = True  # an hour: only run when asked for by name
ROWS = Path(__file__).parent / "accuracy.csv"
FIELDS = ("set", "model", "seed", "mse", "fit_s", "predict_s", "commit")

# Name, loader, splits of the paper that are run, best column of the paper's Table 1.
SETS = (
    ("Concrete", datasets.fetch_concrete, 50, 42.16),
    ("Aquatic toxicity", datasets.fetch_qsar_aquatic_toxicity, 50, 1.46),
    ("Fish toxicity", datasets.fetch_qsar_fish_toxicity, 50, 0.91),
    ("Parkinsons, motor UPDRS", datasets.fetch_parkinsons, 50, 20.76),
    ("Superconductivity", datasets.fetch_superconductivity, 5, 117.48),
)


def fall_cv():
    return FALLRegressorCV(n_jobs=2, random_state=0)


def cubist():
    from cubist import Cubist

    return Cubist(n_committees=20, neighbors=5)


def lightgbm():
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=500, learning_rate=0.05, n_jobs=2, verbose=-1, random_state=0)


MODELS: dict[str, Callable] = {
    "FALLRegressorCV": fall_cv,
    "LightGBM": lightgbm,
    "Cubist": cubist,
}


def run() -> Iterator[Table]:
    done = read()
    for (model_name, make), (set_name, fetch, n_splits, _) in product(MODELS.items(), SETS):
        X, y = fetch(return_X_y=True)
        for seed in range(n_splits):
            if (set_name, model_name, seed) not in done:
                row = one_run(make(), X, y, seed)
                append({"set": set_name, "model": model_name, "seed": seed} | row)
    yield league(read())


def one_run(model, X: NDArray, y: NDArray, seed: int) -> dict:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.1, random_state=seed)
    start = time.perf_counter()
    model.fit(X_train, y_train)
    fitted = time.perf_counter()
    prediction = np.asarray(model.predict(X_test))
    end = time.perf_counter()
    error = np.mean((prediction - y_test) ** 2)
    return {
        "mse": f"{error:.6g}",
        "fit_s": f"{fitted - start:.3g}",
        "predict_s": f"{end - fitted:.3g}",
        "commit": commit(),
    }


def league(rows: dict[tuple, dict]) -> Table:
    """Mean error of each model, and how much more it is than ours, over the splits of both."""
    ours, *others = MODELS
    header = ["set", "splits", "paper's best", ours, *others]
    table = Table("Mean test error (MSE)", header)
    for set_name, _, n_splits, published in SETS:
        error = {
            name: [float(rows[set_name, name, s]["mse"]) for s in range(n_splits)]
            for name in MODELS
            if all((set_name, name, s) in rows for s in range(n_splits))
        }
        if ours not in error:
            continue
        cells = [set_name, str(n_splits), f"{published:.2f}", f"**{np.mean(error[ours]):.4g}**"]
        cells += [_beside(error.get(name), error[ours]) for name in others]
        table.rows.append(cells)
    table.note = (
        "Beside each error: how much it is above ours on the same splits, in the mean, ± the "
        "standard error of that difference (which neglects that training parts overlap). "
        "FALLRegressorCV searches its default grid; Cubist has 20 committees and 5 neighbours, "
        'LightGBM 500 trees at a rate of 0.05. "Paper\'s best" is the lowest error of any model '
        "in the paper's Table 1 (50 splits)."
    )
    return table


def _beside(theirs: list[float] | None, ours: list[float]) -> str:
    if theirs is None:
        return "not run"
    difference = np.array(theirs) - ours
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return f"{np.mean(theirs):.4g} ({difference.mean():+.3g} ± {error:.2g})"


def read() -> dict[tuple, dict]:
    if not ROWS.exists():
        return {}
    with ROWS.open(newline="") as file:
        return {(r["set"], r["model"], int(r["seed"])): r for r in csv.DictReader(file)}


def append(row: dict) -> None:
    new = not ROWS.exists()
    with ROWS.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow(row)
        file.flush()
        os.fsync(file.fileno())
