"""FALLRegressorCV and FALLClassifierCV on Dask arrays and frames.

A sample chooses the parameters, and the best model is fitted on all samples.
"""

from pathlib import Path
from typing import Any, Self

import dask.array as da
import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    MultiOutputMixin,
    RegressorMixin,
)
from sklearn.utils.validation import check_is_fitted

from ..models.fall import FALL
from ..search import estimators as local
from ..search.grids import Grid, named_grid
from ..search.seeds import fixed_seed
from .estimators import FALLClassifier, FALLRegressor
from .explanation import DaskExplanation
from .geometry import NEIGHBORHOODS

# With max_samples=None, so many samples choose the parameters.
MOST_SAMPLES = 50_000


class DaskSearchCV(MetaEstimatorMixin, BaseEstimator):
    """A search without the meaning of the targets, which a subclass gives."""

    __init__ = local.FALLRegressorCV.__init__  # the same parameters with the same defaults

    _local: type[local.FALLRegressorCV] | type[local.FALLClassifierCV]
    _estimator: type[FALLRegressor] | type[FALLClassifier]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Score the configurations on a sample, and fit the best on all samples.

        Parameters
        ----------
        X, y, sample_weight : as for the model on Dask

        Returns
        -------
        self
        """
        seed = fixed_seed(self.random_state)
        reader = self._estimator()
        tables = reader.read(X, y, sample_weight)
        size = MOST_SAMPLES if self.max_samples is None else self.max_samples
        sample = tables.draw(size, np.random.default_rng(seed))
        given = self.get_params(deep=False) | {"max_samples": None, "random_state": seed}
        self.search_ = self._local(**given | {"grid": self._grid()})
        self.search_.fit(*sample)
        for name in ("best_params_", "best_score_", "cv_results_", "n_configurations_"):
            setattr(self, name, getattr(self.search_, name))
        best = self.search_.best_estimator_
        self.best_estimator_ = reader.set_params(**best.get_params(deep=False))
        self.best_estimator_.fit_tables(tables)
        if hasattr(best, "calibration_"):
            self.best_estimator_.calibration_ = best.calibration_
        return self

    def _grid(self) -> Grid:
        """The grid to search; those with names are without what models on Dask cannot do."""
        if not isinstance(self.grid, str):
            return self.grid
        classify = isinstance(self, ClassifierMixin)
        return for_cluster(named_grid(self.grid, prefer=self.prefer, classify=classify))

    def predict(self, X: Any) -> da.Array:
        """Predict with the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def explain(self, X: Any) -> DaskExplanation:
        """Explain each prediction of the best estimator by its exact linear model."""
        check_is_fitted(self)
        return self.best_estimator_.explain(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of the best estimator: R², or the share of right predictions."""
        check_is_fitted(self)
        return self.best_estimator_.score(X, y, sample_weight)

    def to_local(self) -> FALL:
        """The best estimator in the memory of this process."""
        check_is_fitted(self)
        return self.best_estimator_.to_local()

    def save(self, path: str | Path) -> None:
        """Write the best estimator to a file that `locallinear.load` reads."""
        check_is_fitted(self)
        self.best_estimator_.save(path)


def for_cluster(grid: Grid) -> Grid:
    """A grid without what models on Dask cannot do: trees, and k-means of many samples."""
    given = grid.get("neighborhood", ["euclidean"])
    near = [kind for kind in given if kind in NEIGHBORHOODS]
    return grid | {"neighborhood": near, "anchor_selection": ["random"]}


class FALLRegressorCV(RegressorMixin, MultiOutputMixin, DaskSearchCV):
    """FALLRegressor on Dask with its parameters chosen by cross-validation on a sample.

    Parameters
    ----------
    grid, cv, time_budget, scoring, prefer, n_jobs, random_state, verbose
        As for `locallinear.FALLRegressorCV`. Of the grids with names, only "euclidean" and
        "learned" neighbourhoods and random anchors are tried.
    max_samples : int or None, default=5000
        Samples that choose the parameters, drawn at random from all partitions and brought here;
        None for 50,000.

    Attributes
    ----------
    best_estimator_ : locallinear.dask.FALLRegressor
        Fitted on all samples.
    search_ : locallinear.FALLRegressorCV
        The search on the sample.
    best_params_, best_score_, cv_results_, n_configurations_
        Those of the search.

    Examples
    --------
    >>> import dask.array as da
    >>> from locallinear.dask import FALLRegressorCV
    >>> X = da.random.default_rng(0).normal(size=(600, 3), chunks=(200, 3))
    >>> y = da.sin(X[:, 0]) + X[:, 1]
    >>> grid = {"n_anchors": [5, 20], "alpha": [0.1, 10.0]}
    >>> search = FALLRegressorCV(grid, max_samples=200, random_state=0).fit(X, y)
    >>> search.best_estimator_.n_samples_fit_
    600
    """

    _local, _estimator = local.FALLRegressorCV, FALLRegressor
    score = DaskSearchCV.score  # that of RegressorMixin would bring all values here


class FALLClassifierCV(ClassifierMixin, DaskSearchCV):
    """FALLClassifier on Dask with its parameters chosen by cross-validation on a sample.

    Probabilities are calibrated on the sample.

    Parameters
    ----------
    grid, cv, max_samples, time_budget, scoring, prefer, n_jobs, random_state, verbose
        As for `FALLRegressorCV` of this module.

    Attributes
    ----------
    best_estimator_, search_, best_params_, best_score_, cv_results_, n_configurations_
        As for `FALLRegressorCV` of this module.
    """

    _local, _estimator = local.FALLClassifierCV, FALLClassifier
    score = DaskSearchCV.score  # that of ClassifierMixin would bring all values here

    def predict_proba(self, X: Any) -> da.Array:
        """Predict the probabilities of the classes with the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)
