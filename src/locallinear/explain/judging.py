"""How good a model is: cross-validation beside the models that anyone would try first.

Reports and the command line judge with the functions of this module: the same folds, the same
baselines, tuned within the training part of each fold, and the same errors. Axis letters: n rows,
m targets.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.metrics import (
    accuracy_score,
    mean_absolute_error,
    r2_score,
    recall_score,
    root_mean_squared_error,
)
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..runtime.interrupts import interrupts_end_it
from ..runtime.threads import one_blas_thread
from .tuned_knn import TunedKNN

Array = NDArray[np.float64]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]

PENALTIES = np.logspace(-3, 3, 13)
NEIGHBORS = (1, 3, 5, 10, 20, 40)
N_RESAMPLES = 400


@dataclass(frozen=True, eq=False)
class Judged:
    """A model's predictions for rows that it had not seen.

    Attributes
    ----------
    name : str
    predicted : array (n,) or (n, m)
        Each row's prediction by the model that was fitted without the row's fold.
    seconds : float
        The time per fold, for fitting with tuning and for predicting.
    """

    name: str
    predicted: NDArray
    seconds: float = 0.0


def folds_of(y: NDArray, n_folds: int, *, classify: bool, seed: int = 0) -> KFold | StratifiedKFold:
    """Shuffled folds of two rows or more, with every class in each where each has enough rows."""
    if len(y) < 4:
        raise ValueError(f"cross-validation needs 4 samples, but there are {len(y)}.")
    n_folds = min(n_folds, len(y) // 2)
    if classify and np.unique(y, return_counts=True)[1].min() >= n_folds:
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return KFold(n_folds, shuffle=True, random_state=seed)


def baselines(n_train: int, *, classify: bool) -> dict[str, Any]:
    """KNN and ridge, tuned by cross-validation, and the best constant.

    `n_train` is the number of rows in the smallest training part.
    """
    knn = TunedKNN([k for k in NEIGHBORS if k <= max(1, n_train // 4)], classify)
    ridge = RidgeClassifierCV(PENALTIES) if classify else RidgeCV(PENALTIES)
    tuned = {
        "KNN": make_pipeline(StandardScaler(), knn),
        "ridge": make_pipeline(StandardScaler(), ridge),
    }
    return tuned | (
        {"most frequent class": DummyClassifier()} if classify else {"mean": DummyRegressor()}
    )


def judge(
    models: dict[str, Any],
    X: Array,
    y: NDArray,
    splits: Sequence[Split],
    *,
    classify: bool,
    watch: Callable[[list[Any]], Iterable[Any]] = iter,
) -> list[Judged]:
    """Predictions of each model for the rows of each fold, fitted on the others.

    `watch` wraps the list of all fits, as a progress bar does.
    """
    dtype = y.dtype if classify else np.dtype(np.float64)
    predicted = {name: np.empty(y.shape, dtype) for name in models}
    seconds = dict.fromkeys(models, 0.0)
    for name, (train, test) in watch([(name, split) for name in models for split in splits]):
        start = time.perf_counter()
        # One thread for all models: on a busy machine kernel ridge's small systems take twenty
        # times longer with two.
        with warnings.catch_warnings(), one_blas_thread():
            # A model that stops short of its optimum on a fold is still judged by its errors.
            warnings.simplefilter("ignore")
            with interrupts_end_it():
                predicted[name][test] = clone(models[name]).fit(X[train], y[train]).predict(X[test])
        seconds[name] += (time.perf_counter() - start) / len(splits)
    return [Judged(name, predicted[name], seconds[name]) for name in models]


# --- Scores per fold, as reports show them -------------------------------------------------------


def balanced_accuracy(true: NDArray, predicted: NDArray) -> float:
    """The mean recall of the true classes; a small fold may lack some of those predicted."""
    return recall_score(true, predicted, labels=np.unique(true), average="macro", zero_division=0)


REGRESSION = {"R²": r2_score, "RMSE": root_mean_squared_error, "MAE": mean_absolute_error}
CLASSIFICATION = {"accuracy": accuracy_score, "balanced accuracy": balanced_accuracy}


def fold_scores(
    judged: Judged, y: NDArray, splits: Sequence[Split], *, classify: bool
) -> dict[str, dict[str, float]]:
    """By metric the ``mean`` and the ``spread``, a standard deviation, over the folds."""
    found = {}
    for name, metric in (CLASSIFICATION if classify else REGRESSION).items():
        scores = [metric(y[test], judged.predicted[test]) for _, test in splits]
        found[name] = {"mean": float(np.mean(scores)), "spread": float(np.std(scores))}
    return found


# --- Errors over all rows, as the command line shows them ----------------------------------------


def row_errors(judged: Judged, y: NDArray, *, classify: bool) -> Array:
    """The error of each row and target, (n, m): squared, or 1 for a wrong class."""
    if classify:
        return (judged.predicted != y)[:, None].astype(np.float64)
    return (judged.predicted.reshape(len(y), -1) - y.reshape(len(y), -1)) ** 2


def typical_error(errors: Array, *, classify: bool) -> Array:
    """The mean of row errors (.., n, m) over the rows, (.., m), in the units of the target."""
    mean = errors.mean(axis=-2)
    return mean if classify else np.sqrt(mean)


def resampled_errors(errors: Sequence[Array], *, classify: bool, seed: int = 0) -> Array:
    """Typical errors on rows drawn with repetition, the same for all models: (models, draws, m)."""
    rng = np.random.default_rng(seed)
    n, m = errors[0].shape
    out = np.empty((len(errors), N_RESAMPLES, m))
    for draw in range(N_RESAMPLES):
        rows = rng.integers(n, size=n)
        for i, of_model in enumerate(errors):
            out[i, draw] = typical_error(of_model[rows], classify=classify)
    return out
