"""The simple companion of a fitted model: few regimes with equations, for people to read.

An accurate model has a hundred anchors, or is an ensemble: its regimes are no finding. The
companion is a search with `prefer="simple"` on the same samples. It is fitted to the targets and
not to the accurate model's predictions: for its own samples an accurate model repeats the targets
nearly as they are, so that nothing would be gained, and equations fitted to the targets speak of
the data. How much of the accurate model the companion says is measured on rows that neither of
them had seen.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold

from ..grids import ALL, SIMPLE
from ..models.fall import FALL
from ..models.samples import counted_rows
from ..runtime.budgets import Budget
from .estimators import FALLClassifierCV, FALLRegressorCV
from .preference import standard_errors
from .search import NO_TIME, STOPPED
from .seeds import fixed_seed
from .splits import Folds, draw_rows, make_splits

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

N_FOLDS = 3
MOST_SAMPLES = 4000
# With a time budget, a companion is fitted to at most so many samples.
MOST_FITTED = 20_000
# The part of a time budget that is for the search and the fit; the rest is for the comparison.
SEARCHED = 0.6
# What is tried however little time there is: one linear model of all samples, or as many anchors as
# are wanted, in the middle of clusters.
LINEAR = SIMPLE | {
    "n_anchors": [1],
    "anchor_selection": ["random"],
    "n_anchor_neighbors": [ALL],
    "neighborhood": ["euclidean"],
}
CLUSTERS = SIMPLE | {"anchor_selection": ["kmeans"]}
# A model with at most so many regimes is its own companion, if it is one model in units.
FEW = 12


@dataclass(frozen=True, eq=False)
class Companion:
    """A model of few regimes, and how it compares with the model that predicts.

    Attributes
    ----------
    model : FALLRegressor or FALLClassifier
        The fitted model of few regimes; `RegimeDisplay` and reports take it.
    explained : float
        The share of the variance of the accurate model's predictions (for classes, scores) that
        the companion's have, on rows that neither had seen; 1 where they are one model.
    simplicity : dict of arrays or None
        `n_anchors`, `score`, `standard_error` and `index`, as `simplicity_` of a search has them,
        and `tried`, the share of the models with this number that there was time for. None where
        the model is its own companion.
    own_score : tuple of float or None
        The companion's score in the search and its standard error: it may be simpler than the best
        model with its number of anchors.
    """

    model: FALL
    explained: float
    simplicity: dict[str, NDArray] | None
    own_score: tuple[float, float] | None = None

    @property
    def is_own(self) -> bool:
        """Whether the model that predicts has few regimes in units itself, and this is it."""
        return self.simplicity is None

    @property
    def is_unfinished(self) -> bool:
        """Whether time ran out before all models of few regimes were tried."""
        return self.simplicity is not None and bool((self.simplicity["tried"] < 1).any())

    @property
    def n_scored(self) -> int:
        """By how many samples the search has scored models of few regimes."""
        return min(self.model.n_counted, MOST_SAMPLES)

    @property
    def is_thinned(self) -> bool:
        """Whether these are not all samples with weight of the companion."""
        return self.n_scored < self.model.n_counted


def companion_of(
    estimator: Any,
    n_regimes: int | None = None,
    *,
    time_budget: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> Companion:
    """The simple companion of a fitted model or ensemble.

    Parameters
    ----------
    estimator : fitted FALLRegressor, FALLClassifier or ensemble of them; of a search, its
        `best_estimator_`
    n_regimes : int, optional
        The number of anchors of the companion; by default the simplest number within one standard
        error of the best. A model that has few regimes in units is then its own companion.
    time_budget : float, optional
        Seconds for all this; of more than 20,000 samples as many are then drawn at random.
    n_jobs, random_state : as for `FALLRegressorCV`

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> from locallinear.search.companion import companion_of
    >>> X, y = load_diabetes(return_X_y=True)
    >>> accurate = FALLRegressor(n_neighbors=20, random_state=0).fit(X, y)
    >>> len(companion_of(accurate, 2).model.anchor_models_)
    2
    """
    accurate = estimator.regime_model
    if n_regimes is None and estimator is accurate and _is_readable(accurate):
        return Companion(accurate, 1.0, None)
    budget, random_state = Budget(time_budget), fixed_seed(random_state)
    X, Y = accurate.training_samples()
    classify = is_classifier(estimator)
    y = estimator.classes_[Y.argmax(axis=1)] if classify else accurate.as_users_see(Y)
    weights = accurate.training_weights()
    counted, rows = counted_rows(weights, len(X)), np.arange(len(X))
    if not budget.is_endless and len(counted) > MOST_FITTED:
        rows = counted[draw_rows(y[counted], MOST_FITTED, random_state, classify)]
    samples = X[rows], y[rows], None if weights is None else weights[rows]
    folds = _folds(y[counted], classify, random_state)
    wanted = [] if n_regimes is None else [n_regimes]
    grid = SIMPLE | {"n_anchors": sorted({*SIMPLE["n_anchors"], *wanted})}
    kind, known = FALLRegressorCV, {}
    if classify:
        kind, known = FALLClassifierCV, {"classes": estimator.classes_}  # samples may lack some
    search = kind(
        grid,
        prefer="simple",
        cv=_splits(folds, *samples, random_state, classify),
        n_jobs=n_jobs,
        random_state=random_state,
    )
    time_left = Budget(time_budget and SEARCHED * time_budget)
    search, curve = _search_in_time(search, n_regimes, time_left, *samples, **known)
    best, taken = search.best_estimator_, search.best_index_
    if n_regimes is not None:
        best, taken = _with_anchors(search, n_regimes, *samples, **known)
    own = _score_at(search, taken)
    best.take_names(accurate)
    return Companion(best, _explained(estimator, best, X, y, weights, budget), curve, own)


def _search_in_time(
    search: Any, n_regimes: int | None, budget: Budget, *samples: Any, **known: Any
) -> tuple[Any, dict[str, NDArray]]:
    """The fitted search, or a quick one that is as good where time ran out, and their price."""
    search.fit_within(budget, *samples, **known)
    curve = _price(search)
    if (curve["tried"] == 1).all():
        return search, curve
    quick = LINEAR if n_regimes in (None, 1) else CLUSTERS | {"n_anchors": [n_regimes]}
    other = clone(search).set_params(grid=quick).fit_within(Budget(None), *samples, **known)
    better = other if other.best_score_ >= _least(search, n_regimes) else search
    return better, _with_better(curve, _price(other))


def _is_readable(model: FALL) -> bool:
    counted = counted_rows(model.training_weights(), model.n_samples_fit_)
    few = len(np.unique(model.labels_[counted])) <= FEW
    return few and model.feature_space.has_units


def _price(search: Any) -> dict[str, NDArray]:
    """The price of simplicity, and the share of the models of each number that was tried."""
    curve, results = search.simplicity_, search.cv_results_
    untried = np.isin(results["reason"].astype(str), [STOPPED, NO_TIME])
    of_number = [results["param_n_anchors"] == count for count in curve["n_anchors"]]
    return curve | {"tried": np.array([1.0 - untried[rows].mean() for rows in of_number])}


def _score_at(search: Any, taken: int) -> tuple[float, float]:
    """The mean score of a configuration, and its standard error."""
    results = search.cv_results_
    errors = standard_errors(results, search.n_splits_)
    return float(results["mean_test_score"][taken]), float(errors[taken])


def _least(search: Any, n_regimes: int | None) -> float:
    """The score that a quick model needs to take the place of what an unfinished search has found.

    Of a wanted number of regimes, it is the best score; otherwise it is one standard error less,
    since nothing is simpler than one linear model.
    """
    results = search.cv_results_
    scores = results["mean_test_score"]
    if n_regimes is not None:
        scores = np.where(results["param_n_anchors"] == n_regimes, scores, np.nan)
    if not np.isfinite(scores).any():
        return -np.inf
    best = int(np.nanargmax(scores))
    error = 0.0 if n_regimes is not None else standard_errors(results, search.n_splits_)[best]
    return float(scores[best] - error)


def _with_better(curve: dict[str, NDArray], other: dict[str, NDArray]) -> dict[str, NDArray]:
    """A price of simplicity with the better of two scores for one number of anchors."""
    (number,), (score,) = other["n_anchors"], other["score"]
    at = curve["n_anchors"] == number
    if (curve["score"][at] >= score).any():
        return curve
    unknown = other | {"tried": curve["tried"][at] if at.any() else np.zeros(1)}
    joined = {name: np.append(column[~at], unknown[name]) for name, column in curve.items()}
    order = np.argsort(joined["n_anchors"], kind="stable")
    return {name: column[order] for name, column in joined.items()}


def _folds(y: NDArray, classify: bool, seed: int) -> KFold | StratifiedKFold:
    """Shuffled folds, since files are often in some order."""
    enough = classify and np.unique(y, return_counts=True)[1].min() >= N_FOLDS
    kind = StratifiedKFold if enough else KFold
    return kind(N_FOLDS, shuffle=True, random_state=seed)


def _splits(
    folds: KFold | StratifiedKFold,
    X: Array,
    y: NDArray,
    weights: Array | None,
    seed: int,
    classify: bool,
) -> Folds:
    """The splits of the samples with weight, or of some of many."""
    return Folds(
        make_splits(
            folds,
            X,
            y,
            None,
            max_samples=MOST_SAMPLES,
            seed=seed,
            classifier=classify,
            among=counted_rows(weights, len(X)),
        )
    )


def _with_anchors(
    search: Any, n_anchors: int, X: Array, y: NDArray, weights: Array | None, **known: Any
) -> tuple[FALL, int]:
    """The best configuration with this number of anchors, fitted on all samples, and its index."""
    curve, results = search.simplicity_, search.cv_results_
    at = np.flatnonzero(curve["n_anchors"] == n_anchors)
    if not len(at):
        raise ValueError(
            f"n_regimes={n_anchors} could not be scored: {results['reason'][0]}; give fewer "
            "regimes or more samples"
        )
    row = int(curve["index"][at[0]])
    columns = {name: column[row] for name, column in results.items() if name.startswith("param_")}
    params = {
        name.removeprefix("param_"): value.item() if isinstance(value, np.generic) else value
        for name, value in columns.items()
    }
    best = clone(search.best_estimator_).set_params(**params)
    return best.partial_fit(X, y, weights, **known), row


def _explained(
    accurate: Any, simple: FALL, X: Array, y: NDArray, weights: Array | None, budget: Budget
) -> float:
    """The share of the accurate model's variance that the simple one has, on unseen rows.

    The rows are those of all folds, or of as many as the time allows.
    """
    known, v = accurate.out_of_fold(), np.ones(len(X)) if weights is None else weights
    rows = counted_rows(weights, len(X)) if known is None else np.arange(len(X))
    if known is None and len(rows) > MOST_SAMPLES:
        drawn = np.random.default_rng(0).choice(len(rows), MOST_SAMPLES, replace=False)
        rows = rows[np.sort(drawn)]
    splitter = _folds(y[rows], is_classifier(accurate), 0)
    splits = splitter.split(rows, y[rows]) if known is None else PredefinedSplit(known[1]).split()
    parts: list[tuple[Array, Array, Array]] = []
    for train, test in splits:
        began = budget.left()
        fitted_on, tested = rows[train], rows[test]
        of_fitted = None if weights is None else weights[fitted_on]
        data = X[fitted_on], y[fitted_on], of_fitted, X[tested]
        accurate_values = _refitted(accurate, *data) if known is None else known[0][test]
        values = accurate_values.reshape(len(test), -1), _refitted(simple, *data)
        parts.append((*values, v[tested]))
        if began - budget.left() > budget.left():
            break
    accurate_values, simple_values, v = (np.concatenate(part) for part in zip(*parts, strict=True))
    left = v @ (accurate_values - simple_values) ** 2
    total = v @ (accurate_values - np.average(accurate_values, axis=0, weights=v)) ** 2
    if is_classifier(accurate):  # classes that hardly occur count little
        left, total = left.sum(keepdims=True), total.sum(keepdims=True)
    return float(np.mean(1 - left / np.where(total > 0, total, 1.0)))


def _refitted(model: Any, X: Array, y: NDArray, weights: Array | None, Q: Array) -> Array:
    """Predictions (q, m) by the model fitted on other samples; for classes, probabilities."""
    if model.regime_model is not model:  # an ensemble, which keeps the kinds that it has chosen
        again = model.refitted(X, y, weights)
    elif is_classifier(model):
        again = clone(model).partial_fit(X, y, weights, classes=model.classes_)
    else:
        again = clone(model).fit(X, y, weights)
    if not is_classifier(model):
        return again.predict(Q).reshape(len(Q), -1)
    return model.probabilities_of(again.predict_scores(Q))
