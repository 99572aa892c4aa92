"""FALLRegressorCV and FALLClassifierCV: FALL with every parameter chosen by cross-validation.

`search_cv.py` has what both share.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from ..checks.inputs import validated_classes, validated_targets
from ..checks.scores import ScoredClasses, ScoredNumbers
from ..io import register
from ..models.estimators import FALLClassifier, FALLRegressor
from ..models.intervals import ClassSets, Intervals
from ..runtime.interrupts import InterruptedWarning
from ..runtime.progress import Bar
from . import scores as _scores
from .finalists import Finalists, find_finalists
from .grids import is_for_classes
from .search import Search
from .search_cv import SearchCV

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@register
class FALLRegressorCV(Intervals, ScoredNumbers, MultiOutputMixin, SearchCV):
    """FALLRegressor with its parameters chosen by exhaustive cross-validation.

    Every configuration of the grid is scored, on at most `max_samples` samples, exactly as fitting
    and predicting these in a loop would score it, but the work that configurations share is done
    once: a million take seconds.

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
class FALLClassifierCV(ClassSets, ScoredClasses, SearchCV):
    """FALLClassifier with its parameters chosen by exhaustive cross-validation.

    Every configuration of the grid is scored, on at most `max_samples` samples, exactly as fitting
    and predicting these in a loop would score it, but the work that configurations share is done
    once. The probabilities of the best one are calibrated: the map from scores to probabilities is
    the one that fits the samples best that a split had left out.

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
    the rank of the best configuration need not be 1. The same holds for a part of the values of
    this grid. With any other grid or scoring, the highest score decides alone, as in GridSearchCV.

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
    _private_fitted: ClassVar[tuple[str, ...]] = ("_finalists",)
    _finalists: Finalists | None  # None where the highest score decided alone

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
        classes: NDArray[Any] | None = None,
    ) -> dict[str, Any]:
        """The map to probabilities that fits the samples best that the splits had left out.

        With the library's grid, takes the finalist whose probabilities lose the least on them.
        """
        v = np.ones(len(y)) if weights is None else weights
        sizes = [float(v[test].sum()) for _, test in splits]
        open_choice = self.scoring is None and self.prefer == "accurate" and not search.interrupted
        values = {name: search.grid[name] for name in self.best_params_}
        if open_choice and is_for_classes(values):
            found = self._finalists = find_finalists(self.cv_results_, sizes)
        else:
            found, self._finalists = Finalists([[self.best_index_]]), None
        neighborhoods: Any = self.cv_results_.get("param_neighborhood", [])  # one row needs none
        every = np.unique(y) if classes is None else classes
        show = bool(self.verbose) and len(found.rows) > 1
        with Bar(len(found.rows), "finalists", title="Comparing probabilities", show=show) as bar:
            for row in found.rows:
                if found.maps and not search.schedule.has_time_for(neighborhoods[row]):
                    break
                try:
                    found.judge(row, search.predictions_of(row), y, weights, splits, every)
                except KeyboardInterrupt:
                    if not found.maps:
                        raise
                    self._warn_of_interrupt(len(found.maps), len(found.rows))
                    break
                bar.advance()
        self._take(search, found.best())
        return {"calibration_": found.maps[self.best_index_]}

    @staticmethod
    def _warn_of_interrupt(n_compared: int, total: int) -> None:
        warnings.warn(
            "The comparison of probabilities was interrupted; the best of "
            f"{n_compared} configurations is kept, of {total}.",
            InterruptedWarning,
            stacklevel=7,  # past scikit-learn's check of the parameters
        )

    def _best_without(self, split: int) -> int | None:
        if self._finalists is None:
            return super()._best_without(split)
        return self._finalists.best(without=split)

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
