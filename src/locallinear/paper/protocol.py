"""The paper's protocol: split, tune, refit, test, for one data set, model and seed.

It is recovered exactly: tuned ridge, lasso and KNN give the published figures. A tenth of the raw,
unscaled samples is kept for the test by ``train_test_split`` with the run's number as seed.
Parameters are chosen by the mean error over three unshuffled folds of the rest. The model is fitted
to all of the rest, timed, and tested, timed.

The split "grouped" is ours: the paper's random split puts recordings of one person, or repeated
measurements of one material, in both parts. In a grouped split, samples of one group stay together,
in the parts and in the folds.
"""

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, train_test_split

from .. import datasets
from .models import MODELS
from .tuning import Array, Folds, Model, Params, Search, Tuned, search_optuna

N_RUNS = 50
TEST_SIZE = 0.1
N_FOLDS = 3
SPLITS = ("random", "grouped")
TUNERS = ("exhaustive", "optuna", "fixed")
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Dataset:
    """A data set of the comparison; adding one is adding an entry to :data:`DATASETS`."""

    name: str
    title: str
    fetch: Callable[[], Any]


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset("concrete", "Concrete", datasets.fetch_concrete),
        Dataset("superconductivity", "Superconductivity", datasets.fetch_superconductivity),
        Dataset("aquatic", "Aquatic toxicity", datasets.fetch_qsar_aquatic_toxicity),
        Dataset("fish", "Fish toxicity", datasets.fetch_qsar_fish_toxicity),
        Dataset("parkinsons", "Parkinsons motor UPDRS", datasets.fetch_parkinsons),
    )
}


@dataclass(frozen=True, order=True)
class Run:
    """One run: everything that decides its result.

    ``budget`` is the seconds of the tuner "optuna", and 0 for the others.
    """

    split: str
    dataset: str
    model: str
    tuner: str
    budget: float
    seed: int


def plan(
    dataset_names: Iterable[str],
    model_names: Iterable[str],
    tuner: str,
    budget: float,
    n_runs: int,
    split: str = "random",
) -> list[Run]:
    """List the runs of a table by data set, then model, then seed.

    Where a model's space is too large for the tuner "exhaustive", Optuna takes its place.

    Examples
    --------
    >>> from locallinear.paper.protocol import plan
    >>> for run in plan(["fish"], ["ridge", "kernel_ridge"], "exhaustive", 60.0, 1):
    ...     print(run.model, run.tuner, run.budget, run.seed)
    ridge exhaustive 0.0 0
    kernel_ridge optuna 60.0 0
    """
    runs = []
    for dataset, name in product(dataset_names, model_names):
        too_large = tuner == "exhaustive" and MODELS[name].exhaustive is None
        used = "optuna" if too_large else tuner
        seconds = float(budget) if used == "optuna" else 0.0
        runs += [Run(split, dataset, name, used, seconds, seed) for seed in range(n_runs)]
    return runs


@lru_cache(maxsize=1)
def load(name: str) -> tuple[Array, Array, Indices]:
    """Inputs, target and groups of a data set; the last one loaded is kept."""
    bunch = DATASETS[name].fetch()
    groups = bunch.get("groups")
    if groups is None:
        # Samples with equal inputs belong together.
        _, groups = np.unique(bunch.data, axis=0, return_inverse=True)
    return bunch.data, bunch.target, groups.ravel()


def split_samples(
    n_samples: int, groups: Indices, seed: int, split: str
) -> tuple[Indices, Indices]:
    """Indices of the training and the test part."""
    if split == "grouped":
        splitter = GroupShuffleSplit(n_splits=1, test_size=TEST_SIZE, random_state=seed)
        train, test = next(splitter.split(np.empty(n_samples), groups=groups))
        # The splitter keeps the file's order, whose first rows, FALL's anchors, are of one person.
        return np.random.RandomState(seed).permutation(train), test
    train, test = train_test_split(np.arange(n_samples), test_size=TEST_SIZE, random_state=seed)
    return train, test


def split_folds(n_samples: int, groups: Indices, split: str) -> Folds:
    """Index pairs of the folds of a training part."""
    samples = np.empty(n_samples)
    if split == "grouped":
        return list(GroupKFold(N_FOLDS).split(samples, groups=groups))
    return list(KFold(N_FOLDS).split(samples))


def tune(
    model: Model, run: Run, X: Array, y: Array, folds: Folds, n_jobs: int | None = None
) -> Tuned:
    """Choose the parameters by the tuner of the run."""
    if run.tuner == "fixed":
        return Tuned(dict(model.fixed), float("nan"), 0)
    search: Search = partial(search_optuna, budget=run.budget)
    if run.tuner == "exhaustive" and model.exhaustive is not None:
        search = model.exhaustive
    return search(model, X, y, folds, seed=run.seed, n_jobs=n_jobs)


def evaluate(run: Run, n_jobs: int | None = None) -> dict[str, Any]:
    """Do one run and return its result, a flat dictionary.

    Parameters
    ----------
    run : Run
    n_jobs : int or None
        For a search that can use several cores; what is timed is one plain call.

    Returns
    -------
    dict
        ``params``, ``cv_mse``, ``n_scored``, ``mse``, ``tuning_s``, ``fit_s``, ``test_s``,
        ``n_train``, ``n_test``, and ``warnings`` of the final fit.
    """
    model = MODELS[run.model]
    X, y, groups = load(run.dataset)
    train, _ = split_samples(len(X), groups, run.seed, run.split)
    folds = split_folds(len(train), groups[train], run.split)
    tuned, tuning_s = timed(lambda: tune(model, run, X[train], y[train], folds, n_jobs))
    return {
        "params": tuned.params,
        "cv_mse": tuned.cv_mse,
        "n_scored": tuned.n_scored,
        "tuning_s": tuning_s,
        **fit_and_test(run, tuned.params),
    }


def fit_and_test(run: Run, params: Params) -> dict[str, Any]:
    """Do the part of a run after the tuning; the result is what the parameters decide."""
    model = MODELS[run.model]
    X, y, groups = load(run.dataset)
    train, test = split_samples(len(X), groups, run.seed, run.split)
    X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    warm_up(model, params, X_train, y_train)
    estimator = model.make(params, X_train)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, fit_s = timed(lambda: estimator.fit(X_train, y_train))
    predicted, test_s = timed(lambda: estimator.predict(X_test))
    return {
        "mse": float(mean_squared_error(y_test, predicted)),
        "fit_s": fit_s,
        "test_s": test_s,
        "n_train": len(train),
        "n_test": len(test),
        "warnings": "; ".join(sorted({warning.category.__name__ for warning in caught})),
    }


def warm_up(model: Model, params: Params, X: Array, y: Array) -> None:
    """Fit and predict a few samples once per process: compilation and imports are not timed."""
    if model.name in WARM:
        return
    WARM.add(model.name)
    few = slice(0, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.make(params, X[few]).fit(X[few], y[few]).predict(X[few])


WARM: set[str] = set()


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call and its seconds."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start
