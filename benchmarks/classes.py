"""Probabilities of classes: FALL beside logistic regression and LightGBM.

Five shuffled folds, the same for all models, one core. FALL is at its defaults, as a single model
chosen by a search (`FALLClassifierCV`) and as an ensemble. Logistic regression (of scaled features)
and LightGBM are at their defaults and tuned by log loss in three folds of the training part: the
former's penalty, the latter's number of trees and leaves at a rate of 0.05. Tables of text have one
0/1 column per text, the same for all models; income.csv is a random part of 4,000 rows, of which
FALL's ensemble takes a minute or more per fold. "0 or 1" is the share of probabilities that are
exactly that; "raw" is the log loss of the nearest probabilities to the single model's scores, which
were FALL's before it was calibrated.
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
from locallinear import FALLClassifierCV, FALLEnsembleClassifier
from locallinear.explain.reliability import probability_scores
from locallinear.kernels.local.probabilities import nearest_probabilities

LONG = True  # half an hour
N_FOLDS = 5
MOST_ROWS = 4000
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
        found = judge(*data)
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
    trees = {"n_estimators": [50, 100, 200, 400], "num_leaves": [7, 31]}
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


def judge(X: NDArray, y: NDArray) -> dict[str, list[tuple[float, float, float]]]:
    """By model, for each fold: log loss, accuracy, and the share of probabilities 0 or 1."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for train, test in shuffled(N_FOLDS).split(X, y):
        for name, model in models().items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of LightGBM and logistic regression
                said = {name: model.fit(X[train], y[train]).predict_proba(X[test])}
            if name == "FALL":
                said["raw"] = nearest_probabilities(model.best_estimator_.predict_scores(X[test]))
            for key, p in said.items():
                loss = probability_scores(y[test], p, model.classes_)["log loss"]
                right = np.mean(model.classes_[p.argmax(axis=1)] == y[test])
                certain = np.mean((p == 0) | (p == 1))
                found.setdefault(key, []).append((loss, float(right), float(certain)))
    return found


def table(name: str, target: str) -> tuple[NDArray, NDArray] | None:
    """A table as numbers, one 0/1 column per text; None where LOCALLINEAR_DATA has no tables."""
    import pandas

    path = Path(os.environ.get("LOCALLINEAR_DATA", ".")) / "tables" / f"{name}.csv"
    if not path.exists():
        return None
    frame = pandas.read_csv(path, skipinitialspace=True, na_values=["?"])
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    y = frame.pop(target).to_numpy(dtype=str)
    numbers = frame.select_dtypes("number")
    texts = frame.drop(columns=numbers.columns).fillna("missing")
    X = numbers.fillna(numbers.median()).join(pandas.get_dummies(texts))
    return X.to_numpy(dtype=np.float64), y


SETS: dict[str, Callable[[], tuple[NDArray, NDArray] | None]] = {
    "breast cancer": partial(load_breast_cancer, return_X_y=True),
    "wine": partial(load_wine, return_X_y=True),
    "digits": partial(load_digits, return_X_y=True),
    "credit": partial(table, "credit", "risk"),
    "income": partial(table, "income", "income"),
}
