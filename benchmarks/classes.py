"""Probabilities of classes: FALL beside logistic regression and LightGBM.

Three shuffled folds, the same for all models, one core. FALL is at its defaults, as a single model
chosen by a search (`FALLClassifierCV`) and as an ensemble (`FALLEnsembleClassifier`). Of tables
with text (credit, income), both are in a `TableClassifier`, which gets the table as it is; the
others get medians for gaps and one 0/1 column per text. income.csv is a random part of 3,000 rows.
Logistic
regression (of scaled features) and LightGBM are at their defaults and tuned by log loss in three
folds of the training part: the former's penalty, the latter's numbers of trees and leaves at a rate
of 0.05. "0 or 1" is the share of the ensemble's probabilities that are exactly that; "raw" is the
log loss of the nearest probabilities to the single model's scores, as they are before calibration.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._run import Table, verdict
from locallinear import FALLClassifierCV, FALLEnsembleClassifier, TableClassifier
from locallinear.explain.reliability import probability_scores
from locallinear.kernels.local.probabilities import nearest_probabilities

LONG = True  # a quarter of an hour
N_FOLDS = 3
MOST_ROWS = 3000
WANTED = 4  # sets of five on which the log loss should be at least as good

OURS = ("FALL", "FALL ensemble")
DEFAULTS = ("logistic regression", "LightGBM")


def run() -> Iterator[Table]:
    losses = Table("log loss", ("set", *models(), "raw", "0 or 1"))
    hits = Table("accuracy", ("set", *models()))
    better = dict.fromkeys(OURS, 0)
    for name, load in SETS.items():
        data = load()
        if data is None:
            continue
        found = judge(*data, is_table=name in TABLES)
        means = {model: np.mean(parts, axis=0) for model, parts in found.items()}
        cells = [f"{means[model][0]:.4f}" for model in models()]
        extra = f"{means['raw'][0]:.4f}", f"{100 * means['FALL ensemble'][2]:.0f} %"
        losses.rows.append((name, *cells, *extra))
        hits.rows.append((name, *(f"{means[model][1]:.3f}" for model in models())))
        for ours in OURS:
            better[ours] += all(means[ours][0] <= means[theirs][0] for theirs in DEFAULTS)
    losses.note = "; ".join(
        f"{ours} is at least as good as both at their defaults on {count} of {len(losses.rows)} "
        f"sets (wanted: {WANTED}): {verdict(count, WANTED, at_least=True)}"
        for ours, count in better.items()
    )
    yield losses
    yield hits


def models() -> dict[str, Any]:
    from lightgbm import LGBMClassifier  # of the group `bench`

    boosted = partial(LGBMClassifier, n_jobs=1, verbose=-1)
    trees = {"n_estimators": [50, 100, 200], "num_leaves": [7, 31]}
    logistic = LogisticRegressionCV(
        Cs=np.logspace(-3, 2, 6), cv=3, scoring="neg_log_loss", max_iter=5000
    )
    return {
        "FALL": FALLClassifierCV(cv=shuffled(3), random_state=0, n_jobs=1),
        "FALL ensemble": FALLEnsembleClassifier(random_state=0, n_jobs=1),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)),
        "logistic regression tuned": make_pipeline(StandardScaler(), logistic),
        "LightGBM": boosted(),
        "LightGBM tuned": GridSearchCV(
            boosted(learning_rate=0.05), trees, cv=shuffled(3), scoring="neg_log_loss"
        ),
    }


def shuffled(n_folds: int) -> StratifiedKFold:
    return StratifiedKFold(n_folds, shuffle=True, random_state=0)


def judge(X: Any, y: NDArray, is_table: bool) -> dict[str, list[tuple[float, float, float]]]:
    """By model, for each fold: log loss, accuracy, and the share of probabilities 0 or 1."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    numbers = as_numbers(X) if is_table else X
    for train, test in shuffled(N_FOLDS).split(numbers, y):
        for name, model in models().items():
            rows = numbers
            if is_table and name in OURS:
                model, rows = TableClassifier(model, random_state=0), X
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of LightGBM and logistic regression
                model.fit(_take(rows, train), y[train])
                said = {name: model.predict_proba(_take(rows, test))}
            if name == "FALL":
                said["raw"] = nearest_probabilities(_scores(model, _take(rows, test)))
            for key, p in said.items():
                loss = probability_scores(y[test], p, model.classes_)["log loss"]
                right = np.mean(model.classes_[p.argmax(axis=1)] == y[test])
                certain = np.mean((p == 0) | (p == 1))
                found.setdefault(key, []).append((loss, float(right), float(certain)))
    return found


def _take(X: Any, rows: NDArray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _scores(model: Any, X: Any) -> NDArray:
    """The linear scores of the classes by a search, or by the model of a table."""
    if isinstance(model, TableClassifier):
        return model.estimator_.predict_scores(model.encode(X))
    return model.best_estimator_.predict_scores(X)


def table(name: str, target: str) -> tuple[Any, NDArray] | None:
    """A table and its classes; None where LOCALLINEAR_DATA has no tables."""
    import pandas

    path = Path(os.environ.get("LOCALLINEAR_DATA", ".")) / "tables" / f"{name}.csv"
    if not path.exists():
        return None
    frame = pandas.read_csv(path, skipinitialspace=True, na_values=["?"])
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    y = frame.pop(target).to_numpy(dtype=str)
    return frame.reset_index(drop=True), y


def as_numbers(frame: Any) -> NDArray:
    """A table with medians for gaps and one 0/1 column per text."""
    import pandas

    numbers = frame.select_dtypes("number")
    texts = frame.drop(columns=numbers.columns).fillna("missing")
    X = numbers.fillna(numbers.median()).join(pandas.get_dummies(texts))
    return X.to_numpy(dtype=np.float64)


TABLES: dict[str, Callable[[], tuple[Any, NDArray] | None]] = {
    "credit": partial(table, "credit", "risk"),
    "income": partial(table, "income", "income"),
}
SETS: dict[str, Callable[[], tuple[Any, NDArray] | None]] = {
    "breast cancer": partial(load_breast_cancer, return_X_y=True),
    "wine": partial(load_wine, return_X_y=True),
    "digits": partial(load_digits, return_X_y=True),
    **TABLES,
}
