"""FALLRegressorCV and FALLClassifierCV: FALL with every parameter chosen by cross-validation."""

import math
import sys
import warnings
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    ClassifierMixin,
    MetaEstimatorMixin,
    MultiOutputMixin,
    RegressorMixin,
    _fit_context,
)
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import check_sample_weights
from ..checks.inputs import validated_classes, validated_targets
from ..checks.parameters import GEOMETRY, N_JOBS, Floats
from ..io import register
from ..kernels.local.probabilities import class_probabilities
from ..models.calibration import calibration_of, scores_of_all
from ..models.estimators import FALLClassifier, FALLRegressor
from ..models.explanation import LocalExplanation
from ..models.fall import FALL
from ..models.intervals import ClassSets, HowSure, Intervals
from ..models.without_itself import WithoutItself
from ..runtime.budgets import Budget
from ..runtime.interrupts import InterruptedWarning
from ..runtime.progress import Progress
from ..runtime.threads import processes_chosen
from . import scores as _scores
from .folds import Split
from .grids import GRIDS, NOT_SEARCHED, Grid, check_grid, edges, is_for_classes, named_grid
from .planning import Samples, plan_search
from .preference import finalists, preferred, price_of_simplicity, without_split
from .processes import SpreadSearch
from .results import results_of
from .search import Search
from .splits import make_splits, may_thin

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class _SearchCV(MetaEstimatorMixin, HowSure, WithoutItself):
    """A search without the meaning of the targets, which a subclass gives."""

    _parameter_constraints: ClassVar[dict] = {
        "grid": [StrOptions(set(GRIDS)), dict],
        "cv": ["cv_object"],
        "max_samples": [None, Interval(Integral, 2, None, closed="left")],
        "time_budget": [None, Floats(Real, 0, None, closed="neither")],
        "scoring": [None, StrOptions(set(get_scorer_names())), callable],
        "prefer": [StrOptions({"accurate", "simple"})],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        grid: str | dict[str, Any] = "default",
        *,
        cv: Any = 3,
        max_samples: int | None = 5000,
        time_budget: float | None = None,
        scoring: str | Callable[..., float] | None = None,
        prefer: str = "accurate",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.grid = grid
        self.cv = cv
        self.max_samples = max_samples
        self.time_budget = time_budget
        self.scoring = scoring
        self.prefer = prefer
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score every configuration by cross-validation, and fit the best on all samples.

        Parameters
        ----------
        X : array-like (n, d)
        y : array-like (n,) or, for a regressor, (n, m)
        sample_weight : array-like (n,), optional
            How often each sample counts, in the fits and, if the scorer takes weights, in the
            scores.
        groups : array-like (n,), optional
            Passed to the splitter.

        Returns
        -------
        self
        """
        budget = Budget(self.time_budget)
        self.fit_within(budget, X, y, sample_weight, groups)
        budget.warn_if_late()
        return self

    def fit_within(
        self, budget: Budget, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Fit within a budget that may have begun before, in place of `time_budget`."""
        with self.writing():
            fresh = self.unfitted()
            fresh._fit_fresh(budget, X, y, sample_weight, groups)
            return self.become(fresh)

    def _fit_fresh(self, budget: Budget, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Search and fit, as an estimator that nobody reads yet."""
        inputs, targets = self._check_samples(X, y)
        weights = check_sample_weights(sample_weight, len(inputs))
        seed = fixed_seed(self.random_state)
        splits = make_splits(
            self.cv,
            inputs,
            targets,
            groups,
            max_samples=self.max_samples,
            seed=seed,
            classifier=isinstance(self, ClassifierMixin),
        )
        samples = Samples(inputs, targets, weights, seed)
        search, splits = self.run_search(
            samples,
            splits,
            budget,
            after=lambda seconds: seconds * (1 + budget.judging),
            thin=may_thin(self.cv, self.max_samples),
        )
        learned = self._learn_from(search, targets, weights, splits)
        del search  # the fit needs the memory
        estimator = self._estimator_class(random_state=seed, n_jobs=self.n_jobs)
        self.best_estimator_ = estimator.set_params(**self.best_params_)
        self.best_estimator_.fit(X, y, sample_weight)
        for name, value in learned.items():
            setattr(self.best_estimator_, name, value)

    def at_this_moment(self) -> Self:
        """The search as it is now: later updates of its best estimator do not reach it."""
        now = super().at_this_moment()
        if "best_estimator_" in now.__dict__:
            now.best_estimator_ = now.best_estimator_.at_this_moment()
        return now

    def run_search(
        self,
        samples: Samples,
        splits: list[tuple[Rows, Rows]],
        budget: Budget,
        after: Callable[[float], float],
        thin: bool,
    ) -> tuple[Search, list[tuple[Rows, Rows]]]:
        """Score the grid on splits of checked samples; sets the results, and fits nothing.

        `after` says how many seconds follow, from those of a fit on all samples. If `thin`, fewer
        samples than in `splits` choose the parameters where the budget is short; the splits that
        were used are returned, too.
        """
        X, y, weights, seed = samples.X, samples.y, samples.weights, samples.seed
        estimator = self._estimator_class(random_state=seed, n_jobs=self.n_jobs)
        grid = self._values(estimator)
        fixed = {name: [value] for name, value in estimator.get_params().items()}
        all_values = {name: grid.get(name, fixed[name]) for name in set(fixed) - NOT_SEARCHED}
        schedule, splits = plan_search(
            budget, estimator, all_values, samples, splits, after, may_thin=thin
        )
        score_weights = _scores.score_weights(self.scoring, weights)
        # Folds side by side, and threads within them where there are more threads than folds.
        n_folds = len(splits) * math.prod(len(all_values[name]) for name in GEOMETRY)
        threads = -(-effective_n_jobs(self.n_jobs) // n_folds)
        parts = [
            self._split(X, y, weights, score_weights, train, test, all_values, seed, threads)
            for train, test in splits
        ]
        kind = SpreadSearch if processes_chosen() else Search
        search = kind(all_values, *zip(*parts, strict=True))
        self.n_splits_ = len(splits)
        total = search.scores[0].size
        latest = max(schedule.deadline([kind]) for kind in all_values["neighborhood"])
        progress = Progress(total, latest, verbose=self.verbose)
        search.run(schedule=schedule, n_jobs=self.n_jobs, progress=progress)
        self._set_results(search, grid)
        if search.interrupted:
            warnings.warn(
                f"The search was interrupted; the best of {self.n_configurations_:,} "
                f"configurations is kept, of {total:,} in the grid.",
                InterruptedWarning,
                stacklevel=6,  # past scikit-learn's check of the parameters
            )
        at_edges = ", ".join(edges(grid, self.best_params_))
        if self.verbose and at_edges:
            print(f"Best at the edge of the grid: {at_edges} that was tried.", file=sys.stderr)
        return search, splits

    def _learn_from(
        self,
        search: Search,
        y: NDArray[Any],
        weights: Array | None,
        splits: list[tuple[Rows, Rows]],
    ) -> dict[str, Any]:
        """Attributes of the best estimator beside its fit; none, unless targets are classes."""
        return {}

    def _set_results(self, search: Search, grid: Grid) -> None:
        """Set `cv_results_` and the best configuration from the scores."""
        self.cv_results_ = results_of(search, grid, effective_n_jobs(self.n_jobs))
        mean = self.cv_results_["mean_test_score"]
        self.n_configurations_ = int(np.count_nonzero(np.isfinite(mean)))
        self._take(search, preferred(self.cv_results_, self.n_splits_, self.prefer))

    def _take(self, search: Search, row: int) -> None:
        """Make the configuration in this row of the results the best one."""
        self.best_index_ = row
        self.best_score_ = float(self.cv_results_["mean_test_score"][row])
        position = np.unravel_index(row, search.scores.shape[1:])
        self.best_params_ = {
            name: search.grid[name][i]
            for name, i in zip(search.axes, position, strict=True)
            if f"param_{name}" in self.cv_results_
        }

    def _values(self, estimator: FALL) -> Grid:
        """The grid as lists of valid values."""
        if isinstance(self.grid, str):
            classify = isinstance(self, ClassifierMixin)
            return named_grid(self.grid, prefer=self.prefer, classify=classify)
        return check_grid(self.grid, estimator)

    def params_without(self, split: int) -> dict[str, Any]:
        """The parameters that the search chooses without one of its splits."""
        check_is_fitted(self)
        row = self._best_without(split)
        if row is None:
            return self.best_params_
        values = {name: self.cv_results_[f"param_{name}"][row] for name in self.best_params_}
        return {n: v.item() if isinstance(v, np.generic) else v for n, v in values.items()}

    def _best_without(self, split: int) -> int | None:
        """The row that is best without one of the splits; None where no row has a score."""
        return without_split(self.cv_results_, self.n_splits_, split, self.prefer)

    def _check_samples(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, NDArray[Any]]:
        """Checked inputs and targets."""
        raise NotImplementedError

    def _targets_and_metric(
        self, X: Array, y: NDArray[Any], train: Rows, test: Rows, n: float, weights: Array | None
    ) -> tuple[Array, Callable[[], _scores.Metric]]:
        """Numeric targets of the training samples, and a function that makes the metric.

        `n` is the total weight of the training samples; `weights` are those of the test samples in
        the score.
        """
        raise NotImplementedError

    def _split(
        self,
        X: Array,
        y: NDArray[Any],
        weights: Array | None,
        score_weights: Array | None,
        train: Rows,
        test: Rows,
        grid: Grid,
        seed: int,
        threads: int,
    ) -> tuple[Split, Callable[[], _scores.Metric]]:
        """A split of the data, and the function that makes its metric."""
        train, test = np.asarray(train), np.asarray(test)
        if weights is not None and not (weights[train].any() and weights[test].any()):
            raise ValueError(
                "sample_weight is zero for all samples of a part of a split; leave out samples "
                "without weight, or give other splits by cv"
            )
        fitted = None if weights is None else weights[train]
        scored = None if score_weights is None else score_weights[test]
        n = float(len(train) if fitted is None else fitted.sum())
        Y, metric = self._targets_and_metric(X, y, train, test, n, scored)
        return Split(X, train, test, Y, fitted, grid, seed, threads), metric

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict with the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def explain(self, X: ArrayLike) -> LocalExplanation:
        """Explain each prediction of the best estimator by its exact linear model."""
        check_is_fitted(self)
        return self.best_estimator_.explain(X)

    def _loo_prediction(self) -> Array:
        return self.best_estimator_.loo_prediction_

    def _explain_samples(self, indices: ArrayLike | None) -> LocalExplanation:
        return self.best_estimator_.explain_samples(indices)

    def local_models(self, indices: ArrayLike | None = None) -> Array:
        """The models of training samples in the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.local_models(indices)

    @property
    def simplicity_(self) -> dict[str, NDArray[Any]]:
        """The price of simplicity: the best score for each number of anchors in the grid.

        A dict of arrays: ``n_anchors`` in increasing order, ``score``, its ``standard_error`` over
        the splits, and the ``index`` of the configuration in `cv_results_`. `SearchDisplay` draws
        it: ``SearchDisplay.from_estimator(search, "n_anchors").plot()``.
        """
        check_is_fitted(self)
        if "param_n_anchors" not in self.cv_results_:
            raise AttributeError("the grid has one number of anchors; give several as n_anchors")
        return price_of_simplicity(self.cv_results_, self.n_splits_)

    @property
    def labels_(self) -> NDArray[np.intp]:
        """The anchor of each sample in the best estimator, (n,)."""
        check_is_fitted(self)
        return self.best_estimator_.labels_

    @property
    def regime_model(self) -> FALL:
        """The model whose anchors and labels are the regimes in figures: the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_

    @property
    def members(self) -> list[FALL]:
        """The fitted models whose mean this is: the best estimator."""
        check_is_fitted(self)
        return [self.best_estimator_]

    def save(self, path: str | Path) -> None:
        """Write the best estimator to a file that `locallinear.load` reads."""
        check_is_fitted(self)
        self.best_estimator_.save(path)

    def to_onnx(self) -> Any:
        """The best model as a graph of ONNX, as `FALLRegressor.to_onnx`."""
        check_is_fitted(self)
        return self.best_estimator_.to_onnx()


@register
class FALLRegressorCV(Intervals, RegressorMixin, MultiOutputMixin, _SearchCV):
    """FALLRegressor with its parameters chosen by exhaustive cross-validation.

    Every configuration of the grid is scored exactly as fitting and predicting in a loop would
    score it, but the work that configurations share is done once: a million take seconds.

    Parameters
    ----------
    grid : {"default", "paper", "simple"} or dict, default="default"
        The configurations to try: the library's choice, the paper's space of 1,078,000
        configurations, those with few anchors in the units of the data, or lists of values for
        parameters of `FALLRegressor`.
    cv : int, splitter or iterable, default=3
        As in scikit-learn: a number makes splits of consecutive samples. If the samples are
        sorted by target or time, give a splitter: KFold(3, shuffle=True, random_state=0) or
        TimeSeriesSplit().
    max_samples : int or None, default=5000
        Samples that choose the parameters, at most: of more samples so many are drawn at random.
        The best configuration is fitted on all samples. None for all; splits that are given as
        rows are used whole.
    time_budget : float, default=None
        The seconds that `fit` may take, with the fit of the best configuration on all samples;
        None for no limit. The configurations that are scored cover the grid evenly, each kind of
        neighbourhood first; if the budget is short, fewer samples choose among them. An interrupt
        from the keyboard also keeps the best so far. A warning says where the first configuration
        and the last fit alone take much longer.
    scoring : str or callable, default=None
        As in scikit-learn; None is R². The scorers r2, neg_mean_squared_error,
        neg_root_mean_squared_error and neg_mean_absolute_error are fast; any other is called once
        per configuration and split.
    prefer : {"accurate", "simple"}, default="accurate"
        "simple" takes the simplest configuration whose mean score is within one standard error
        (over the splits) of the best: with the fewest anchors, then the largest `anchor_alpha` and
        `alpha`. With grid "default" it searches the grid "simple". `best_index_`, `best_params_`
        and `best_score_` are those of the configuration taken.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Chance in the choice of anchors and in the growth of trees: the same for all configurations
        and splits.
    verbose : int, default=0
        1 shows a progress bar, and the best values that lie at the edge of the grid.

    Attributes
    ----------
    best_estimator_ : FALLRegressor
        The best configuration, fitted on all samples.
    best_params_ : dict
        The parameters of the best configuration.
    best_score_ : float
        The mean score of the best configuration over the splits.
    best_index_ : int
        The row of the best configuration in `cv_results_`.
    cv_results_ : dict of arrays
        `param_*`, `split*_test_score`, `mean_test_score`, `std_test_score`, `rank_test_score` as
        in GridSearchCV, in the order of ParameterGrid, and `reason`, which says why a
        configuration has no score. `pandas.DataFrame(cv_results_)` makes a frame of it.
    n_configurations_ : int
        The number of configurations that have a score.
    n_splits_ : int
        The number of splits.
    simplicity_ : dict of arrays
        The price of simplicity: the best score for each number of anchors, with its standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grid = {"n_neighbors": [5, 10, 20, 40], "alpha": [1, 10, 100]}
    >>> model = FALLRegressorCV(grid, random_state=0).fit(X, y)
    >>> model.n_configurations_
    12
    >>> sorted(model.best_params_)
    ['alpha', 'n_neighbors']
    """

    _estimator_class = FALLRegressor

    def _check_samples(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, NDArray[Any]]:
        return validated_targets(self, X, y)

    def _targets_and_metric(
        self, X: Array, y: NDArray[Any], train: Rows, test: Rows, n: float, weights: Array | None
    ) -> tuple[Array, Callable[[], _scores.Metric]]:
        Y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        scoring = "r2" if self.scoring is None else self.scoring
        if scoring in _scores.REGRESSION:
            return Y[train], partial(_scores.REGRESSION[scoring], Y[test], weights)
        replay = partial(_scores.ReplayRegressor, np.ndim(y) == 1)
        return Y[train], partial(_scores.AnyScorer, scoring, X[test], y[test], weights, replay)


@register
class FALLClassifierCV(ClassSets, ClassifierMixin, _SearchCV):
    """FALLClassifier with its parameters chosen by exhaustive cross-validation.

    Every configuration of the grid is scored exactly as fitting and predicting in a loop would
    score it, but the work that configurations share is done once. The probabilities of the best
    one are calibrated: the map from scores to probabilities is the one that fits the samples best
    that a split had left out.

    Parameters
    ----------
    grid : {"default", "classes", "paper", "simple"} or dict, default="default"
        The configurations to try: the library's choice for classes (by both names), the paper's
        space of 1,078,000 configurations, those with few anchors in the units of the data, or lists
        of values for parameters of `FALLClassifier`.
    cv : int, splitter or iterable, default=3
        As in scikit-learn: a number makes splits that keep the shares of the classes. If the
        samples are sorted by time, give a splitter: TimeSeriesSplit().
    max_samples : int or None, default=5000
        Samples that choose the parameters, at most: of more samples so many are drawn at random.
        The best configuration is fitted on all samples. None for all; splits that are given as
        rows are used whole.
    time_budget : float, default=None
        The seconds that `fit` may take, with the fit of the best configuration on all samples;
        None for no limit. The configurations that are scored cover the grid evenly, each kind of
        neighbourhood first; if the budget is short, fewer samples choose among them. An interrupt
        from the keyboard also keeps the best so far. A warning says where the first configuration
        and the last fit alone take much longer.
    scoring : str or callable, default=None
        As in scikit-learn; None is the accuracy, which is fast. With the library's grid,
        probabilities then decide among the most accurate configurations: see Notes.
        "neg_mean_squared_error" is that of the scores, with the classes as 0 and 1, and as fast.
        Any other scorer is called once per configuration and split.
    prefer : {"accurate", "simple"}, default="accurate"
        "simple" takes the simplest configuration whose mean score is within one standard error
        (over the splits) of the best: with the fewest anchors, then the largest `anchor_alpha` and
        `alpha`. With grid "default" it searches the grid "simple". `best_index_`, `best_params_`
        and `best_score_` are those of the configuration taken.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Chance in the choice of anchors and in the growth of trees: the same for all configurations
        and splits.
    verbose : int, default=0
        1 shows a progress bar, and the best values that lie at the edge of the grid.

    Attributes
    ----------
    best_estimator_ : FALLClassifier
        The best configuration, fitted on all samples; its `calibration_` is the map from scores to
        probabilities, which the Notes of `FALLClassifier` describe.
    best_params_ : dict
        The parameters of the best configuration.
    best_score_ : float
        The mean score of the best configuration over the splits.
    best_index_ : int
        The row of the best configuration in `cv_results_`.
    cv_results_ : dict of arrays
        `param_*`, `split*_test_score`, `mean_test_score`, `std_test_score`, `rank_test_score` as
        in GridSearchCV, in the order of ParameterGrid, and `reason`, which says why a
        configuration has no score. `pandas.DataFrame(cv_results_)` makes a frame of it.
    n_configurations_ : int
        The number of configurations that have a score.
    n_splits_ : int
        The number of splits.
    simplicity_ : dict of arrays
        The price of simplicity: the best score for each number of anchors, with its standard error.
    classes_ : array (m,)
        The classes, in the order of `predict_proba`.

    Notes
    -----
    Accuracies of thousands of configurations differ by few samples, so that chance decides which is
    the highest. With the grid "default" or "classes" and scoring None, those whose accuracy is
    within one standard error of the highest are nearly as good. Of these, the most accurate one for
    each `alpha` and `n_anchor_neighbors` is a finalist, and the finalist whose calibrated
    probabilities have the least log loss on the samples that the splits had left out is taken. So
    the rank of the best configuration need not be 1. With any other grid or scoring, the highest
    score decides alone, as in GridSearchCV.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from locallinear import FALLClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FALLClassifierCV({"n_neighbors": [5, 10, 20]}, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """

    _estimator_class = FALLClassifier
    _private_fitted: ClassVar[tuple[str, ...]] = ("_losses",)
    _losses: dict[int, Array]  # of the finalists' probabilities: a sum per split

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of `predict_proba`."""
        return self.best_estimator_.classes_

    def predict_proba(self, X: ArrayLike) -> Array:
        """Predict the probabilities of the classes with the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    def _check_samples(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, NDArray[Any]]:
        return validated_classes(self, X, y)

    def _learn_from(
        self,
        search: Search,
        y: NDArray[Any],
        weights: Array | None,
        splits: list[tuple[Rows, Rows]],
    ) -> dict[str, Any]:
        """The map to probabilities that fits the samples best that the splits had left out.

        With the library's grid, takes the finalist whose probabilities lose the least on them.
        """
        classes, tested = np.unique(y), np.concatenate([test for _, test in splits])
        Y = (y[tested, None] == classes).astype(np.float64)
        v = np.ones(len(tested)) if weights is None else weights[tested]
        of_split = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
        maps: dict[int, dict[str, float]] = {}
        self._losses = {}
        for row in self._finalists(search, len(tested)):
            if maps and not search.schedule.has_time_for(
                self.cv_results_["param_neighborhood"][row]
            ):
                break
            predictions = zip(search.predictions_of(row), splits, strict=True)
            scores = [scores_of_all(part, y[train], classes) for part, (train, _) in predictions]
            maps[row] = calibration_of(np.concatenate(scores), Y, v)
            p = class_probabilities(np.concatenate(scores), **maps[row])
            lost = -np.log((p * Y).sum(axis=1))
            self._losses[row] = np.bincount(of_split, v * lost, len(splits)).astype(np.float64)
        self._take(search, min(maps, key=lambda row: self._losses[row].sum()))
        return {"calibration_": maps[self.best_index_]}

    def _finalists(self, search: Search, n_tested: int) -> list[int]:
        """The rows of the results among which probabilities decide; the best one comes first."""
        open_choice = self.scoring is None and self.prefer == "accurate" and not search.interrupted
        if open_choice and is_for_classes({name: search.grid[name] for name in self.best_params_}):
            return finalists(self.cv_results_, self.n_splits_, n_tested)
        return [self.best_index_]

    def _best_without(self, split: int) -> int | None:
        if len(self._losses) == 1:
            return super()._best_without(split)
        return min(self._losses, key=lambda row: np.delete(self._losses[row], split).sum())

    def _targets_and_metric(
        self, X: Array, y: NDArray[Any], train: Rows, test: Rows, n: float, weights: Array | None
    ) -> tuple[Array, Callable[[], _scores.Metric]]:
        classes = np.unique(y[train])
        Y = (y[train][:, None] == classes).astype(np.float64)
        if self.scoring in (None, "accuracy"):
            codes = np.where(np.isin(y[test], classes), np.searchsorted(classes, y[test]), -1)
            return Y, partial(_scores.Accuracy, codes, weights)
        if self.scoring == "neg_mean_squared_error":
            true = (y[test][:, None] == classes).astype(np.float64)
            return Y, partial(_scores.NegMeanSquaredError, true, weights)
        replay = partial(_scores.ReplayClassifier, classes, n)
        return Y, partial(_scores.AnyScorer, self.scoring, X[test], y[test], weights, replay)


def fixed_seed(random_state: int | np.random.RandomState | None) -> int:
    """One seed for all configurations, so that they differ only by their parameters."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
