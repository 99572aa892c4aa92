"""The procedure behind a table's model: choose parameters, fit, and judge on unseen rows.

The rows are cut into folds once. The search compares configurations on these folds (of many rows,
on a sample of them). For the judgement, the rows of each fold are predicted by the configuration
that is best on the *other* folds, fitted on the other folds: what is judged is the procedure, and
no row has a say in the choice of the configuration that predicts it. It costs one fit per fold and
no second search. Two things are fitted to all folds at once: the map from scores of classes to
probabilities, which has two numbers, and an ensemble's kinds and shares. Axis letters: n rows, d
features, m targets.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from ..ensemble.ensemble import Ensemble
from ..ensemble.estimators import FALLEnsembleClassifier, FALLEnsembleRegressor
from ..models.calibration import scores_of_all
from ..models.estimators import FALLClassifier, FALLRegressor
from ..models.fall import FALL
from ..models.samples import counted_rows
from ..runtime.budgets import Budget
from ..runtime.progress import Bar
from ..search.estimators import FALLClassifierCV, FALLRegressorCV
from ..search.grids import Grid, named_grid
from ..search.splits import Folds

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

N_FOLDS = 3
# Rows that choose parameters, at most.
MOST_SEARCHED = 5000
# Rows that compare the scales of a target, at most.
MOST_COMPARED = 2000
# How long it takes to judge one fold, in times of the fit on all rows: a fit on two thirds of them,
# and predictions of the others. Of a large table, at least so many rows are predicted.
PER_FOLD, LEAST_JUDGED = 0.8, 2000
# What searches of a table's classes minimise, of the scores: probabilities matter, not classes
# alone.
CLASS_SCORING = "neg_mean_squared_error"


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learnt, and how.

    Attributes
    ----------
    X : DataFrame (n, d)
    y : array (n,) or (n, m)
    classify : bool
    weights : array (n,) or None
    folds : array (n,)
        The fold that tests each row; -1 for rows without weight, which are in none.
    indicators : tuple of int
        Features that are 0 or 1.
    prefer, n_jobs, seed, verbose : as parameters of `TableRegressor`
    budget : Budget
        The time that the fit may take, which has begun.
    classes : array (m,) or None
        All classes, where they are known and y may lack some.
    """

    X: Any
    y: NDArray
    classify: bool
    weights: Array | None
    folds: Rows
    indicators: tuple[int, ...]
    prefer: str
    n_jobs: int | None
    seed: int
    verbose: int
    budget: Budget
    classes: NDArray | None = None

    @property
    def counted(self) -> Rows:
        """The rows with weight."""
        return counted_rows(self.weights, len(self.y))

    @property
    def is_large(self) -> bool:
        """Whether there are more rows with weight than choose parameters."""
        return len(self.counted) > MOST_SEARCHED

    def take(self, rows: Rows) -> tuple[Any, NDArray, Array | None]:
        """X, y and weights of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return self.X.iloc[rows], self.y[rows], weights


@dataclass(frozen=True, eq=False)
class Learnt:
    """A fitted estimator, and what its procedure says of rows that it had not seen.

    Attributes
    ----------
    estimator : FALL or Ensemble
    search : the search that chose its parameters, or None
    unseen : array (n,) or (n, m)
        Predictions (for classes, probabilities) of the rows; NaN for rows that there was no time
        for.
    """

    estimator: Any
    search: Any
    unseen: NDArray


def fold_numbers(
    y: NDArray,
    classify: bool,
    seed: int,
    groups: NDArray | None = None,
    weights: Array | None = None,
) -> Rows:
    """The fold of each row, (n,): shuffled, with every class in each where it has enough rows.

    Rows without weight are in none: -1.
    """
    counted, numbers = counted_rows(weights, len(y)), np.full(len(y), -1)
    y, n_folds = y[counted], max(2, min(N_FOLDS, len(counted) // 2))
    if groups is not None:
        names, codes = np.unique(groups[counted], return_inverse=True)
        of_group = np.random.RandomState(seed).permutation(len(names)) % n_folds
        numbers[counted] = of_group[codes]
        return numbers
    enough = classify and np.unique(y, return_counts=True)[1].min() >= n_folds
    splitter = (StratifiedKFold if enough else KFold)(n_folds, shuffle=True, random_state=seed)
    for k, (_, test) in enumerate(splitter.split(np.zeros(len(y)), y)):
        numbers[counted[test]] = k
    return numbers


def learn(model: Any, task: Task) -> Learnt:
    """Fit "single", "ensemble" or an estimator of the library on a task, and judge it."""
    estimator = make_estimator(model, task)
    task.budget.judging = PER_FOLD
    if not (task.is_large or isinstance(estimator, Ensemble)):
        task.budget.judging *= task.folds.max() + 1
    fitted = _fitted(estimator, task)
    best = getattr(fitted, "best_estimator_", fitted)
    chosen = [best] * (task.folds.max() + 1)
    if getattr(fitted, "n_splits_", None) == len(chosen) > 1:
        chosen = [clone(best).set_params(**fitted.params_without(k)) for k in range(len(chosen))]
    search = fitted if best is not fitted else None
    return Learnt(best, search, _unseen(best, chosen, task))


def _fitted(estimator: Any, task: Task) -> Any:
    """The estimator, fitted on all rows."""
    given = task.X, task.y, task.weights
    known = {} if task.classes is None else {"classes": task.classes}
    if isinstance(estimator, FALL):
        return estimator.partial_fit(*given, **known)
    if estimator.time_budget is None:
        return estimator.fit_within(task.budget, *given, **known)
    budget = Budget(estimator.time_budget)
    estimator.fit_within(budget, *given, **known)
    budget.warn_if_late(stacklevel=8)
    return estimator


def make_estimator(model: Any, task: Task) -> Any:
    """The estimator that learns a task, not fitted."""
    common: dict[str, Any] = {
        "n_jobs": task.n_jobs,
        "random_state": task.seed,
        "verbose": task.verbose,
    }
    indicators = {"indicators": [task.indicators]} if task.indicators else {}
    splits = _sampled_splits(task)
    if model == "single":
        kind: Any = FALLClassifierCV if task.classify else FALLRegressorCV
        grid = named_grid("default", prefer=task.prefer, classify=task.classify) | indicators
        common["scoring"] = CLASS_SCORING if task.classify else None
        return kind(grid, cv=splits, prefer=task.prefer, **common)
    if model == "ensemble":
        kind = FALLEnsembleClassifier if task.classify else FALLEnsembleRegressor
        member: Any = FALLClassifier if task.classify else FALLRegressor
        common["estimator"] = member(indicators=task.indicators or None)
        search = "simple" if task.prefer == "simple" else "default"
        return kind(search=search, cv=splits, **common)
    model._validate_params()
    return _adapted(clone(model), task, splits, indicators)


def _adapted(given: Any, task: Task, splits: Folds, indicators: Grid) -> Any:
    """A user's estimator with what it leaves open: indicators, folds, chance and threads."""
    for name, value in (("random_state", task.seed), ("n_jobs", task.n_jobs)):
        if getattr(given, name) is None:
            given.set_params(**{name: value})
    if isinstance(given, FALL):
        if given.indicators is None and task.indicators:
            given.set_params(indicators=task.indicators)
        return given
    name = "search" if isinstance(given, Ensemble) else "grid"
    grid = getattr(given, name)
    if grid is None and given.estimator is not None:
        given.set_params(estimator=_adapted(clone(given.estimator), task, splits, indicators))
    elif grid is not None:
        values = grid
        if isinstance(grid, str):
            prefer = getattr(given, "prefer", "accurate")
            values = named_grid(grid, prefer=prefer, classify=task.classify, argument=name)
        given.set_params(**{name: indicators | values})
        if given.cv is None or isinstance(given.cv, int):
            given.set_params(cv=splits)
    return given


def sampled_rows(task: Task) -> Rows:
    """At most `MOST_SEARCHED` rows with weight, drawn at random, with every class among them."""
    rows = task.counted
    if len(rows) <= MOST_SEARCHED:
        return rows
    drawn = drawn_rows(task, MOST_SEARCHED)
    if task.classify:
        drawn = np.union1d(drawn, rows[np.unique(task.y[rows], return_index=True)[1]])
    return np.sort(drawn)


def drawn_rows(task: Task, size: int) -> Rows:
    """At most so many rows with weight, at random.

    The folds are drawn with the seed itself: its permutation would give rows of one fold.
    """
    rows = task.counted
    return rows[np.random.default_rng([task.seed, 1]).permutation(len(rows))[:size]]


def _sampled_splits(task: Task) -> Folds:
    """The folds as pairs of rows, of a sample of the rows."""
    rows = sampled_rows(task)
    folds = task.folds[rows]
    return Folds((rows[folds != k], rows[folds == k]) for k in np.unique(folds))


def _unseen(best: Any, chosen: list[Any], task: Task) -> NDArray:
    """Predictions of each fold's rows by its estimator, fitted on the other folds.

    Of a large table, and by an ensemble, rows are left out that a time budget has no time for: NaN
    for them.
    """
    known = best.out_of_fold()
    if known is not None:
        return known[0]
    classify = is_classifier(best)
    m = len(best.classes_) if classify else np.reshape(task.y, (len(task.y), -1)).shape[1]
    found, show = np.full((len(task.y), m), np.nan), bool(task.verbose)
    with Bar(len(chosen), "folds", title="Judging on unseen rows", show=show) as bar:
        for k, estimator in enumerate(chosen):
            began = task.budget.left()
            _judge_fold(best, estimator, task, k, found)
            bar.advance()
            left = task.budget.left()
            if (task.is_large or isinstance(best, Ensemble)) and began - left > left:
                break
    if classify:
        rows = ~np.isnan(found).any(axis=1)
        found[rows] = best.probabilities_of(found[rows])
        return found
    return found[:, 0] if np.ndim(task.y) == 1 else found


def _judge_fold(best: Any, estimator: Any, task: Task, k: int, found: Array) -> None:
    """Write predictions (n, m) of a fold's rows, of a large table as far as the time allows."""
    test = np.flatnonzero(task.folds == k)
    if not len(test):
        return
    X, y, weights = task.take(task.counted[task.folds[task.counted] != k])
    if isinstance(best, Ensemble):
        again = best.refitted(X, y, weights)
    else:
        again = clone(estimator).fit(X, y, weights)
    step = len(test)
    if task.is_large and not task.budget.is_endless:
        test, step = np.random.default_rng([task.seed, 2, k]).permutation(test), LEAST_JUDGED
    for first in range(0, len(test), step):
        rows = test[first : first + step]
        found[rows] = _predicted(again, best, task.X.iloc[rows])
        if task.is_large and task.budget.left() < 0:
            break


def _predicted(again: Any, best: Any, queries: Any) -> Array:
    """Numeric predictions (q, m), or scores of all classes, by an estimator of other rows."""
    if not is_classifier(best):
        return again.predict(queries).reshape(len(queries), -1)
    return scores_of_all(again.predict_scores(queries), again.classes_, best.classes_)


def best_params(learnt: Learnt) -> dict[str, Any]:
    """The parameters that the search chose; {} where none was made."""
    source = learnt.estimator if learnt.search is None else learnt.search
    params = getattr(source, "best_params_", {})
    return {name: value for name, value in params.items() if name != "indicators"}


def quick_error(task: Task, scale: Any = None) -> float:
    """The squared error in units, on unseen rows, of a small search; of a sample of the rows."""
    rows = np.sort(drawn_rows(task, MOST_COMPARED))
    folds, (X, y, weights) = task.folds[rows], task.take(rows)
    logs = y if scale is None else scale.forward(y)
    grid = QUICK | ({"indicators": [task.indicators]} if task.indicators else {})
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in np.unique(folds)]
    search = FALLRegressorCV(grid, cv=splits, n_jobs=task.n_jobs, random_state=task.seed)
    search.fit(X, logs, weights)
    predicted = np.empty(len(y))
    for train, test in splits:
        v = None if weights is None else weights[train]
        again = clone(search.best_estimator_).fit(X.iloc[train], logs[train], v)
        predicted[test] = again.predict(X.iloc[test])
    if scale is not None:
        predicted = scale.with_errors(y, predicted, weights).back(predicted)
    return float(np.average((y - predicted) ** 2, weights=weights))


# A few configurations, to compare scales of a target.
QUICK: dict[str, list] = {
    "n_anchors": [30],
    "n_anchor_neighbors": [40],
    "anchor_alpha": [1e-2, 1e-1, 1.0],
    "alpha": [1.0, 10.0],
    "n_neighbors": [5, 12],
    "assignment_neighbors": [15],
    "scaling": ["quantile"],
    "neighborhood": ["euclidean", "learned"],
}
MODELS = (FALLRegressor, FALLClassifier, FALLRegressorCV, FALLClassifierCV, Ensemble)
