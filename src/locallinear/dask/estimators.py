"""FALLRegressor and FALLClassifier on Dask arrays and frames."""

from typing import Any, Self

import dask.array as da
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin

from ..checks.inputs import all_classes, check_classes
from ..kernels.local.probabilities import class_probabilities
from ..models import estimators as local
from .fall import DaskFALL
from .inputs import partitions_of
from .scores import accuracy_of, r2_of
from .tables import Tables

Array = NDArray[np.float64]


class FALLRegressor(RegressorMixin, MultiOutputMixin, DaskFALL):
    """Fast anchor-regularised local linear regression on Dask arrays and frames.

    The same model as `locallinear.FALLRegressor` with the same parameters: for the same samples,
    predictions and labels are the same, however the samples are partitioned. Samples stay in their
    partitions, on the workers of a cluster or in this process. `predict` and `explain` are lazy.

    Parameters
    ----------
    n_anchors, anchor_selection, anchor_models, n_anchor_neighbors, anchor_alpha, anchor_l1_ratio, \
alpha, n_neighbors, weights, fit_intercept, scaling, neighborhood, metric_iterations, \
neighborhood_features, assignment_neighbors, n_jobs, random_state
        As for `locallinear.FALLRegressor`, but:

        - `anchor_selection` "kmeans" needs all samples in one place, so at most 50,000.
        - `scaling` "quantile" is exact for features with at most 100,000 distinct values. Of more
          values, 100,000 are kept, and ranks are about right to 1 in 50,000.
        - `neighborhood` is "euclidean" or "learned": trees would have to see all samples.
        - `n_jobs` is not used. Each task has one thread; the workers say how many tasks run.

    Attributes
    ----------
    anchor_points_ : array (k, d)
        The anchors, in the units of X; NaN where the models were given.
    anchor_models_ : array (k, d + 1, m)
        Their models, the intercept last.
    labels_ : Dask array (n,)
        The anchor of each sample, in the partitions of the samples.
    feature_weights_ : array (d,)
        How much each feature decides which samples are near, as for the local model.
    n_samples_fit_, n_features_in_ : int
    feature_names_in_ : array (d,), if X had names

    See Also
    --------
    locallinear.FALLRegressor : The model for data in memory; `to_local` makes one.

    Examples
    --------
    >>> import dask.array as da
    >>> from locallinear.dask import FALLRegressor
    >>> X = da.random.default_rng(0).normal(size=(600, 3), chunks=(200, 3))
    >>> y = da.sin(X[:, 0]) + X[:, 1]
    >>> model = FALLRegressor(n_anchors=20, random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    dask.array<..., shape=(2,), dtype=float64, chunksize=(2,), chunktype=numpy.ndarray>
    >>> model.to_local()
    FALLRegressor(n_anchors=20, random_state=0)
    """

    _local = local.FALLRegressor

    def read(self, X: Any, y: Any, sample_weight: Any = None) -> Tables:
        """The samples for a fit, after all checks, kept on the workers."""
        self._check_parameters()
        targets = partitions_of(y, "y")
        m = targets.n_columns or 1
        self._one_target = targets.n_columns is None
        self._target_names = targets.names or (["y"] if m == 1 else [f"y{t}" for t in range(m)])
        return self._read(X, y, sample_weight, m, reset=True)

    def fit_tables(self, tables: Tables) -> Self:
        """Fit samples that `read` has checked."""
        self._fit(tables)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add samples; the anchors and everything already fitted stay. The first call fits.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`

        Returns
        -------
        self
        """
        with self.writing():
            if not self.__sklearn_is_fitted__():
                return self.fit(X, y, sample_weight)
            now = self.at_this_moment()
            now._append(now._read(X, y, sample_weight, len(self._target_names), reset=False))
            return self.become(now)

    def predict(self, X: Any) -> da.Array:
        """Predict the targets of X: a Dask array (q,) or (q, m) as y was."""
        found = self.predict_numeric(X)
        return found[:, 0] if self._one_target else found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions of X, the mean over the targets, as scikit-learn computes it.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
        """
        given = X, y, sample_weight, self.predict(X)
        return r2_of(self._like(), *given, len(self._target_names))


class FALLClassifier(ClassifierMixin, DaskFALL):
    """Fast anchor-regularised local linear classification on Dask arrays and frames.

    The same model as `locallinear.FALLClassifier` with the same parameters: for the same samples,
    probabilities and labels are the same, however the samples are partitioned.

    Parameters
    ----------
    n_anchors, anchor_selection, anchor_models, n_anchor_neighbors, anchor_alpha, anchor_l1_ratio, \
alpha, n_neighbors, weights, fit_intercept, scaling, neighborhood, metric_iterations, \
neighborhood_features, assignment_neighbors, n_jobs, random_state
        As for `FALLRegressor` of this module.

    Attributes
    ----------
    classes_ : array (m,)
        The classes, in the order of the targets and of `predict_proba`.
    calibration_ : dict, only of the best estimator of a search
        The map from scores to probabilities, as for the local model.
    anchor_points_, anchor_models_, labels_, feature_weights_, n_samples_fit_, n_features_in_, \
feature_names_in_
        As for `FALLRegressor` of this module.

    Examples
    --------
    >>> import dask.array as da
    >>> from locallinear.dask import FALLClassifier
    >>> X = da.random.default_rng(0).normal(size=(600, 3), chunks=(200, 3))
    >>> y = da.where(X[:, 0] > 0, "high", "low")
    >>> model = FALLClassifier(n_anchors=20, random_state=0).fit(X, y)
    >>> model.predict(X[:4]).compute() == y[:4].compute()
    array([ True,  True,  True,  True])
    """

    _local = local.FALLClassifier

    def read(self, X: Any, y: Any, sample_weight: Any = None) -> Tables:
        """The samples for a fit, after all checks, kept on the workers."""
        self._check_parameters()
        return self._read(X, y, sample_weight, None, reset=True)

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: ArrayLike | None = None
    ) -> Self:
        """Add samples; the anchors and everything already fitted stay. The first call fits.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
        classes : array-like, optional
            In the first call: all classes that will ever occur.

        Returns
        -------
        self
        """
        with self.writing():
            if not self.__sklearn_is_fitted__():
                now = self.unfitted()
                return self.become(now.fit_tables(now.read(X, y, sample_weight), classes))
            check_classes(classes, self.classes_)
            now = self.at_this_moment()
            tables = now._read(X, y, sample_weight, None, reset=False)
            _check_known(tables, self.classes_)
            now._append(tables)
            return self.become(now)

    def fit_tables(self, tables: Tables, classes: ArrayLike | None = None) -> Self:
        """Fit samples that `read` has checked; `classes` as for `partial_fit`."""
        tables.check_fit()
        self.classes_ = all_classes(classes, tables.classes)
        _check_known(tables, self.classes_)
        self._target_names = [str(label) for label in self.classes_]
        self._fit(tables)
        return self

    def predict_scores(self, X: Any) -> da.Array:
        """The linear scores of the classes, (q, m); `explain` has their models."""
        return self.predict_numeric(X)

    def predict_proba(self, X: Any) -> da.Array:
        """Predict the probabilities of the classes, (q, m), as the local model does."""
        scores = self.predict_scores(X)
        given = {"n": self._total_weight, "slope": 0.0, "power": 1.0}
        given = getattr(self, "calibration_", given)
        return da.map_blocks(_probabilities, scores, given, dtype=np.float64)

    def predict(self, X: Any) -> da.Array:
        """Predict the classes of X, (q,)."""
        found, kind = self.predict_proba(X), self.classes_.dtype
        return da.map_blocks(_best, found, self.classes_, drop_axis=1, dtype=kind)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right predictions of X.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
        """
        given = X, y, sample_weight, self.predict(X)
        return accuracy_of(self._like(), *given, self.classes_)


def _probabilities(scores: Array, given: dict[str, float]) -> Array:
    return class_probabilities(scores, **given) if len(scores) else scores


def _best(probabilities: Array, classes: NDArray) -> NDArray:
    return classes[probabilities.argmax(axis=1)]


def _check_known(tables: Tables, classes: NDArray) -> None:
    """Refuse classes that the model does not know."""
    for number, fact in enumerate(tables.facts):
        unknown = fact.labels[~np.isin(fact.labels, classes)]
        if len(unknown):
            raise ValueError(
                f"Partition {number}: y has the class {unknown.tolist()[0]!r}, which the model was "
                f"not fitted with ({classes.tolist()}); fit again, or begin with partial_fit and "
                "name all classes in its first call"
            )
