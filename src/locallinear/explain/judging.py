"""How good a model is: cross-validation beside the models that anyone would try first.

Reports and the command line judge with the functions of this module: the same folds, the same
baselines, tuned within the training part of each fold, and the same scores, which are those of the
predictions of all rows at once. Axis letters: n rows, m targets.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
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
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from ..runtime.interrupts import interrupts_end_it
from ..runtime.threads import one_blas_thread
from .interface import Column
from .tuned_knn import TunedKNN

Array = NDArray[np.float64]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]

PENALTIES = np.logspace(-3, 3, 13)
NEIGHBORS = (1, 3, 5, 10, 20, 40)
N_RESAMPLES = 400
# Of more rows, KNN's tuning takes minutes.
MOST_FOR_KNN = 5000


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


def baselines(
    n_train: int, *, classify: bool, slow: bool = False, table: Any = None
) -> dict[str, Any]:
    """KNN and ridge, tuned by cross-validation, and the best constant.

    `n_train` is the number of rows in the smallest training part. Of more than `MOST_FOR_KNN`, KNN
    is left out unless `slow`. `table` is that of the model, if it has one: where that models the
    log of the target, ridge does, too.
    """
    knn = TunedKNN([k for k in NEIGHBORS if k <= max(1, n_train // 4)], classify)
    ridge = RidgeClassifierCV(PENALTIES) if classify else RidgeCV(PENALTIES)
    if table is not None and table.units is not None:
        ridge = TransformedTargetRegressor(
            ridge,
            func=table.targets_on_model_scale,
            inverse_func=table.predictions_in_units,
            check_inverse=False,  # the way back leads to the mean
        )
    tuned = {
        "KNN": make_pipeline(StandardScaler(), knn),
        "ridge": make_pipeline(StandardScaler(), ridge),
    }
    if n_train > MOST_FOR_KNN and not slow:
        del tuned["KNN"]
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
    weights: Array | None = None,
    watch: Callable[[list[Any]], Iterable[Any]] = iter,
) -> list[Judged]:
    """Predictions of each model for the rows of each fold, fitted on the others.

    `weights` (n,) are for the fits of models that take some. `watch` wraps the list of all fits, as
    a progress bar does.
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
            v = {} if weights is None else _weights_of_fit(models[name], weights[train])
            with interrupts_end_it():
                fitted = clone(models[name]).fit(X[train], y[train], **v)
                predicted[name][test] = fitted.predict(X[test])
        seconds[name] += (time.perf_counter() - start) / len(splits)
    return [Judged(name, predicted[name], seconds[name]) for name in models]


def _weights_of_fit(model: Any, weights: Array) -> dict[str, Array]:
    """Weights as a model's `fit` takes them; of a pipeline, for each step that takes some."""
    if isinstance(model, Pipeline):
        takes = [
            name
            for name, step in model.steps
            if has_fit_parameter(getattr(step, "regressor", step), "sample_weight")
        ]
        return {f"{name}__sample_weight": weights for name in takes}
    return {"sample_weight": weights} if has_fit_parameter(model, "sample_weight") else {}


# --- The judgement that a model brings along -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """Rows that a model's own procedure predicted without having seen them.

    Attributes
    ----------
    rows : array (t,)
        Their numbers among all n: a time budget may have left no time for others.
    splits : list of pairs of arrays
        Per fold with such rows: all rows of the other folds, and these rows.
    n_folds : int
        The number of all folds.
    """

    rows: NDArray[np.intp]
    splits: list[Split]
    n_folds: int

    @classmethod
    def of(cls, predicted: NDArray, folds: NDArray[np.intp]) -> "UnseenRows":
        """The rows whose prediction, (n,) or (n, m), is not NaN; -1 is the fold of rows in none."""
        known = ~np.isnan(predicted.reshape(len(predicted), -1)).any(axis=1)
        splits = [
            (np.flatnonzero((folds != k) & (folds >= 0)), np.flatnonzero(known & (folds == k)))
            for k in np.unique(folds[known])
        ]
        return cls(np.flatnonzero(known), splits, len(np.unique(folds[folds >= 0])))

    @property
    def n_train(self) -> int:
        """The number of rows in the smallest training part."""
        return min(len(train) for train, _ in self.splits)

    def judge(
        self,
        own: Judged,
        others: dict[str, Any],
        X: Array,
        y: NDArray,
        *,
        classify: bool,
        weights: Array | None = None,
        watch: Callable[[list[Any]], Iterable[Any]] = iter,
    ) -> list[Judged]:
        """The model's own predictions (n rows), and those of others on the same folds.

        Returns them of `rows` alone.
        """
        options: Any = {"classify": classify, "weights": weights, "watch": watch}
        found = [own, *judge(others, X, y, self.splits, **options)]
        return [replace(one, predicted=one.predicted[self.rows]) for one in found]


def tuning_sentence(*, is_ensemble: bool) -> str:
    """What a model's own procedure knew of the rows that judge it."""
    if is_ensemble:
        return (
            "FALL's members were fitted without the rows that they are scored on, but chosen with "
            "them, so that its score is a little too good; every other model was tuned on other "
            "folds than the one that it predicts."
        )
    return "Every model was tuned on other folds than the one that it predicts."


def later_sentence(columns: Sequence[Column]) -> str | None:
    """What folds at random do not show, where columns of a table have the time of a row."""
    date = next((column.name for column in columns if column.kind == "date" and column.unit), None)
    if date is None:
        return None
    return (
        f"Each row has a time, in the column {date!r}, and these errors are for rows between the "
        "others. For rows after the last one, errors may be much larger, and intervals too narrow."
    )


# --- Scores over all rows at once ----------------------------------------------------------------


def balanced_accuracy(
    true: NDArray, predicted: NDArray, sample_weight: NDArray | None = None
) -> float:
    """The mean recall of the true classes; those that are only predicted do not count."""
    return recall_score(
        true,
        predicted,
        labels=np.unique(true),
        average="macro",
        zero_division=0,
        sample_weight=sample_weight,
    )


REGRESSION = {"R²": r2_score, "RMSE": root_mean_squared_error, "MAE": mean_absolute_error}
CLASSIFICATION = {"accuracy": accuracy_score, "balanced accuracy": balanced_accuracy}


def pooled_scores(
    judged: Judged, y: NDArray, *, classify: bool, weights: Array | None = None
) -> dict[str, dict[str, float]]:
    """By metric its ``value`` over all rows at once, whatever their folds, and ``half_width``.

    The latter is half the width of the 95 % interval over rows drawn with repetition. Scores of
    folds are not averaged: R² compares with the mean target of the rows, and a fold has another.
    """
    metrics = CLASSIFICATION if classify else REGRESSION
    values = [metric(y, judged.predicted, sample_weight=weights) for metric in metrics.values()]
    v = np.ones(len(y)) if weights is None else weights
    of_draws = _class_scores(judged, y) if classify else _number_scores(judged, y)
    resampled = (v * counts for counts in resampled_counts(len(y)))
    draws = np.array([of_draws(drawn) for drawn in resampled if drawn.any()])
    halves = [_half_width(column) for column in draws.T]
    found = zip(metrics, values, halves, strict=True)
    return {name: {"value": float(value), "half_width": half} for name, value, half in found}


def _number_scores(judged: Judged, y: NDArray) -> Callable[[Array], list[float]]:
    """The metrics of `REGRESSION` for any weights of the rows, by sums."""
    true, predicted = y.reshape(len(y), -1), judged.predicted.reshape(len(y), -1)
    errors, centered = predicted - true, true - true.mean(axis=0)

    def scores(v: Array) -> list[float]:
        total = v.sum()
        squared, absolute = v @ errors**2 / total, v @ np.abs(errors) / total
        variance = v @ centered**2 / total - (v @ centered / total) ** 2
        left = squared / np.where(variance > 0, variance, np.nan)
        return [float((1 - left).mean()), float(np.sqrt(squared).mean()), float(absolute.mean())]

    return scores


def _class_scores(judged: Judged, y: NDArray) -> Callable[[Array], list[float]]:
    """The metrics of `CLASSIFICATION` for any weights of the rows, by sums."""
    codes, right = np.unique(y, return_inverse=True)[1], judged.predicted == y

    def scores(v: Array) -> list[float]:
        of_class, hits = np.bincount(codes, v), np.bincount(codes, v * right)
        there = of_class > 0
        return [float(hits.sum() / v.sum()), float(np.mean(hits[there] / of_class[there]))]

    return scores


def _half_width(draws: Array) -> float:
    """Half of the interval that has 95 % of the draws; 0 where none is defined."""
    draws = draws[np.isfinite(draws)]
    return float(np.ptp(np.quantile(draws, [0.025, 0.975])) / 2) if len(draws) else 0.0


def resampled_counts(n: int, seed: int = 0) -> Iterable[NDArray[np.intp]]:
    """How often each of n rows, (n,), is among n rows drawn with repetition; for each draw."""
    rng = np.random.default_rng(seed)
    for _ in range(N_RESAMPLES):
        yield np.bincount(rng.integers(n, size=n), minlength=n)


# --- Errors of rows, as the command line shows them ----------------------------------------------


def row_errors(judged: Judged, y: NDArray, *, classify: bool) -> Array:
    """The error of each row and target, (n, m): squared, or 1 for a wrong class."""
    if classify:
        return (judged.predicted != y)[:, None].astype(np.float64)
    return (judged.predicted.reshape(len(y), -1) - y.reshape(len(y), -1)) ** 2


def typical_error(errors: Array, *, classify: bool) -> Array:
    """The mean of row errors (.., n, m) over the rows, (.., m), in the units of the target."""
    mean = errors.mean(axis=-2)
    return mean if classify else np.sqrt(mean)


def error_change(draws: Array, one: int, other: int, *, classify: bool) -> tuple[float, float]:
    """The 95 % interval of one model's error against another's, from `resampled_errors`.

    As a part of the other's error, the mean over targets; of classes in shares of the rows, because
    none may be wrong.
    """
    change = draws[one] - draws[other] if classify else draws[one] / draws[other] - 1
    low, high = np.quantile(change.mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def resampled_errors(
    errors: Sequence[Array], *, classify: bool, weights: Array | None = None, seed: int = 0
) -> Array:
    """Typical errors on rows drawn with repetition, the same for all models: (models, draws, m)."""
    n = len(errors[0])
    v = np.ones(n) if weights is None else weights
    drawn = (v * counts for counts in resampled_counts(n, seed))
    means = [[rows @ one / rows.sum() for one in errors] for rows in drawn if rows.any()]
    found = np.array(means).swapaxes(0, 1)
    return found if classify else np.sqrt(found)
