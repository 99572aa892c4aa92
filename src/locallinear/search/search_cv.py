"""What FALLRegressorCV and FALLClassifierCV share: everything but the meaning of the targets.

`fit` reads as what happens: check the samples, make the splits, score the grid on them, and fit the
best configuration on all samples. `search.py` scores the grid, `preference.py` says which
configuration is the best, and `best.py` is what the search answers afterwards.
"""

import math
import sys
import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, _fit_context
from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import check_sample_weights, check_some_weight
from ..checks.inputs import all_classes
from ..checks.parameters import GEOMETRY, N_JOBS, TIME_BUDGET, Numbers
from ..models.fall import FALL
from ..models.samples import counted_rows
from ..runtime.budgets import Budget
from ..runtime.interrupts import InterruptedWarning
from ..runtime.progress import Progress
from ..runtime.threads import processes_chosen
from . import scores as _scores
from .best import AnswersAsBest
from .folds import SplitData
from .grids import GRIDS, NOT_SEARCHED, Grid, check_grid, edges, named_grid
from .planning import SearchSamples, plan_search
from .preference import preferred, price_of_simplicity, without_split
from .processes import SpreadSearch
from .results import results_of
from .search import Search
from .seeds import fixed_seed
from .splits import make_splits, may_thin

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class SearchCV(MetaEstimatorMixin, AnswersAsBest):
    """A search without the meaning of the targets, which a subclass gives."""

    _parameter_constraints: ClassVar[dict] = {
        "grid": [StrOptions(set(GRIDS)), dict],
        "cv": ["cv_object"],
        "max_samples": [None, Numbers(Integral, 2, None, closed="left")],
        "time_budget": TIME_BUDGET,
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
            scores. Folds are scikit-learn's, and count each sample once, also one of weight 0.
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
        self,
        budget: Budget,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Fit within a budget that may have begun before, in place of `time_budget`.

        `classes` are all those of a classifier, where y may lack some.
        """
        with self.writing():
            fresh = self.unfitted()
            fresh._fit_fresh(budget, X, y, sample_weight, groups, classes)
            return self.become(fresh)

    def _fit_fresh(
        self, budget: Budget, X: Any, y: Any, sample_weight: Any, groups: Any, classes: Any
    ) -> None:
        """Search and fit, as an estimator that nobody reads yet."""
        inputs, targets = self._check_samples(X, y)
        known = {} if classes is None else {"classes": all_classes(classes, targets)}
        weights = check_sample_weights(sample_weight, len(inputs))
        check_some_weight(weights)
        many = self.max_samples is not None and len(inputs) > self.max_samples
        seed = fixed_seed(self.random_state)
        splits = make_splits(
            self.cv,
            inputs,
            targets,
            groups,
            max_samples=self.max_samples,
            seed=seed,
            classifier=isinstance(self, ClassifierMixin),
            # Folds of all samples are scikit-learn's: they count each once, whatever its weight.
            among=counted_rows(weights, len(inputs)) if many else None,
        )
        samples = SearchSamples(inputs, targets, weights, seed)
        search, splits = self.run_search(
            samples,
            splits,
            budget,
            after=lambda seconds: seconds * (1 + budget.judging),
            thin=may_thin(self.cv, self.max_samples),
        )
        learned = self._learn_from(search, targets, weights, splits, **known)
        del search  # the fit needs the memory
        estimator = self._estimator_class(random_state=seed, n_jobs=self.n_jobs)
        self.best_estimator_ = estimator.set_params(**self.best_params_)
        self.best_estimator_.partial_fit(X, y, sample_weight, **known)
        for name, value in learned.items():
            setattr(self.best_estimator_, name, value)

    def run_search(
        self,
        samples: SearchSamples,
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
        classes: NDArray[Any] | None = None,
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
    ) -> tuple[SplitData, Callable[[], _scores.Metric]]:
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
        return SplitData(X, train, test, Y, fitted, grid, seed, threads), metric

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
