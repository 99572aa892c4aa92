"""FALL beside what anyone would try first: the same folds, every model tuned inside them.

Models are judged on rows that they have not seen, by the error that a reader can hold against the
target: the root mean squared error in its units, or the share of wrong classes.
"""

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    LassoCV,
    LogisticRegression,
    MultiTaskLassoCV,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..runtime.threads import one_blas_thread
from ..search.estimators import FALLClassifierCV, FALLRegressorCV

Array = NDArray[np.float64]

PENALTIES = np.logspace(-3, 3, 13)
# Matrices of all pairs of rows, and models of each of them, end here.
MAX_ROWS = 3000
N_RESAMPLES = 400


@dataclass(frozen=True, eq=False)
class Judged:
    """What a model said of rows that it had not seen.

    Attributes
    ----------
    name : str
    errors : array (n, m)
        Squared errors a target; for classes, one column, 1 where wrong.
    seconds : float
        Fitting with tuning, and predicting, a fold.
    """

    name: str
    errors: Array
    seconds: float


def folds_of(y: NDArray, n_folds: int, classify: bool, seed: int) -> KFold | StratifiedKFold:
    """Shuffled folds, with every class in each where there are enough of it."""
    if classify and np.unique(y, return_counts=True)[1].min() >= n_folds:
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return KFold(min(n_folds, len(y)), shuffle=True, random_state=seed)


def make_search(y: NDArray, classify: bool, seed: int, **options):
    """The search over FALL's configurations, on shuffled folds."""
    search = FALLClassifierCV if classify else FALLRegressorCV
    return search(cv=folds_of(y, 3, classify, seed), random_state=seed, **options)


def baselines(y: NDArray, classify: bool, n_train: int) -> dict:
    """Ridge, KNN and no model at all, each with its parameter chosen by cross-validation."""
    sizes = [k for k in (1, 2, 3, 5, 8, 12, 20, 40) if k <= n_train // 2]
    grid = {"n_neighbors": sizes, "weights": ["distance", "uniform"]}
    scaled = StandardScaler()
    if classify:
        knn = GridSearchCV(KNeighborsClassifier(), grid, cv=folds_of(y, 3, False, 0))
        return {
            "KNN": make_pipeline(scaled, knn),
            "ridge": make_pipeline(scaled, RidgeClassifierCV(PENALTIES)),
            "most frequent class": DummyClassifier(),
        }
    knn = GridSearchCV(KNeighborsRegressor(), grid, cv=folds_of(y, 3, False, 0))
    return {
        "KNN": make_pipeline(scaled, knn),
        "ridge": make_pipeline(scaled, RidgeCV(PENALTIES)),
        "mean": DummyRegressor(),
    }


def rivals(y: NDArray, classify: bool, n_train: int) -> tuple[dict, list[str]]:
    """More models for a comparison, and a sentence for each that is left out."""
    scaled = StandardScaler()
    if classify:
        return {"logistic": make_pipeline(scaled, LogisticRegression(max_iter=2000))}, []
    lasso = LassoCV(max_iter=20_000) if y.ndim == 1 else MultiTaskLassoCV(max_iter=20_000)
    models = {"lasso": make_pipeline(scaled, lasso)}
    if n_train > MAX_ROWS:
        return models, [
            f"Kernel ridge and network lasso are left out: they take up to {MAX_ROWS:,} rows."
        ]
    kernel = {"alpha": np.logspace(-3, 1, 5), "gamma": np.logspace(-3, 0, 7)}
    models["kernel ridge"] = _on_scaled(GridSearchCV(KernelRidge(kernel="rbf"), kernel, cv=3))
    network = _network_lasso()
    if network is None:
        return models, ["Network lasso is left out: this version of locallinear has none."]
    search = GridSearchCV(network(), {"alpha": [0.3, 3.0, 30.0]}, cv=folds_of(y, 3, False, 0))
    models["network lasso"] = _on_scaled(search)
    return models, []


def _on_scaled(regressor) -> TransformedTargetRegressor:
    """A model of scaled inputs and targets: its penalties know no units."""
    return TransformedTargetRegressor(
        make_pipeline(StandardScaler(), regressor), transformer=StandardScaler()
    )


def _network_lasso():
    import locallinear

    return getattr(locallinear, "NetworkLassoRegressor", None)


def compile_kernels() -> None:
    """Make the machine code that FALL and network lasso need on first use, which takes seconds."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    FALLRegressorCV({"n_neighbors": [2]}, random_state=0).fit(X, X[:, 0])
    network = _network_lasso()
    if network is not None:
        network().fit(X, X[:, 0]).predict(X[:2])


def judge(
    models: dict,
    X: Array,
    y: NDArray,
    folds,
    classify: bool,
    watch: Callable[[list], Iterable] = iter,
) -> list[Judged]:
    """Errors of each model on the rows of each fold, fitted on the others.

    `watch` wraps the list of all fits, as a progress bar does.
    """
    splits = list(folds.split(X, y))
    errors = {name: np.empty((len(y), 1 if y.ndim == 1 else y.shape[1])) for name in models}
    seconds = dict.fromkeys(models, 0.0)
    for name, (train, test) in watch([(name, split) for name in models for split in splits]):
        start = time.perf_counter()
        # One thread for all alike: on a busy machine kernel ridge's small systems take twenty
        # times longer with two.
        with warnings.catch_warnings(), one_blas_thread():
            # A rival that stops short of its optimum on a fold is still judged by its errors.
            warnings.simplefilter("ignore")
            said = clone(models[name]).fit(X[train], y[train]).predict(X[test])
        seconds[name] += (time.perf_counter() - start) / len(splits)
        errors[name][test] = error_of(y[test], said, classify)
    return [Judged(name, errors[name], seconds[name]) for name in models]


def error_of(y: NDArray, said: NDArray, classify: bool) -> Array:
    """The error of each row and target, (n, m): squared, or 1 for a wrong class."""
    if classify:
        return (np.asarray(said) != y)[:, None].astype(np.float64)
    return (np.reshape(said, (len(y), -1)) - y.reshape(len(y), -1)) ** 2


def typical(errors: Array, classify: bool) -> Array:
    """The mean of the errors over rows, (.., m), in the units of the target."""
    mean = errors.mean(axis=-2)
    return mean if classify else np.sqrt(mean)


def resampled(judged: list[Judged], classify: bool, seed: int = 0) -> Array:
    """Typical errors on the same rows drawn again with repetition, (models, resamples, m)."""
    rng = np.random.default_rng(seed)
    n = len(judged[0].errors)
    out = np.empty((len(judged), N_RESAMPLES, judged[0].errors.shape[1]))
    for r in range(N_RESAMPLES):
        rows = rng.integers(n, size=n)
        for i, one in enumerate(judged):
            out[i, r] = typical(one.errors[rows], classify)
    return out
