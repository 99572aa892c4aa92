"""FALLRegressor and FALLClassifier: FALL with targets of their own meaning."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from ..arrays import is_numpy, moved, namespace
from ..checks.inputs import (
    all_classes,
    check_classes,
    check_known_labels,
    validated_classes,
    validated_targets,
)
from ..checks.scores import ScoredClasses, ScoredNumbers
from ..io import register
from .calibration import Calibrated
from .fall import FALL
from .intervals import ClassSets, Intervals
from .samples import Made

Array = NDArray[np.float64]


@register
class FALLRegressor(Intervals, ScoredNumbers, MultiOutputMixin, FALL):
    """Fast anchor-regularised local linear regression.

    Each training sample has its own linear model, which is pulled towards the best of several
    anchor models; these are fitted on neighbourhoods of the data. A prediction is the output of
    the weighted average of the nearest samples' models: one exact linear model, which `explain`
    returns in the units of X.

    Axis letters: n samples, d features, m targets, k anchors, q queries, K neighbours.
    Numbers of anchors, neighbours and rounds are at least 1.

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchor models. At most as many as there are distinct samples.
    anchor_selection : {"random", "kmeans"} or array-like (k, d), default="random"
        Where the anchors are: at samples drawn at random, at the centres of k-means, or at the
        given points, in the units of X. Random anchors depend on the values of the samples and
        not on their order, and the anchors for a smaller `n_anchors` are the first of those for
        a larger one.
    anchor_models : array-like (k, d + 1, m), default=None
        Anchor models that are known beforehand, in the units of X (with scaling "quantile", of
        the scaled features), with the intercept last. If given, no anchor models are
        fitted.
    n_anchor_neighbors : int, default=20
        Number of samples in the neighbourhood of an anchor; all samples if there are fewer.
    anchor_alpha : float, default=1.0
        Penalty of the anchor models, at least 0, in the scaling of scikit-learn's ElasticNet.
    anchor_l1_ratio : float, default=0.0
        Share of the absolute values in that penalty, from 0 (ridge) to 1 (lasso).
    alpha : float, default=1.0
        Pull of each local model towards its anchor, above 0.
    n_neighbors : int, default=5
        Number of nearest samples whose models are averaged for a prediction.
    weights : {"distance", "uniform"} or callable, default="distance"
        Weights of these models: 1/distance, equal weights, or a function of the distances (q, K).
        With 1/distance a sample at distance zero takes all the weight; if several are at distance
        zero, they share it. With neighborhood "forest", the weight is the share of leaves in
        common. Where a function gives only zeros, all weights are equal.
    fit_intercept : bool, default=True
        Whether the models have a constant term.
    scaling : {"standard", "quantile"} or None, default="standard"
        Feature space of distances and models. "standard": mean 0 and variance 1 per feature.
        "quantile": the distribution of each feature made uniform, and continued linearly outside
        the data. None: the raw features, which is the paper's algorithm.
    neighborhood : {"euclidean", "learned", "forest", "boosted", "piecewise"}, default="euclidean"
        How nearness is measured in that space. "euclidean": all features count alike. "learned":
        each feature is weighted by how much the target moves with it, in the models' penalties too.
        The others count the leaves that two samples share in trees grown on the target:
        extremely randomised trees ("forest"), small boosted trees ("boosted"), or trees that
        split where one linear model no longer holds ("piecewise"). Where leaves are large,
        most of the nearest samples are found, in time that hardly grows with the samples.
    metric_iterations : int, default=4
        Rounds of learning with neighborhood "learned".
    neighborhood_features : array-like of int, default=None
        Numbers of the features that decide which samples are near; None for all. The models use
        all.
    indicators : array-like of int, default=None
        Numbers of the features that are 0 or 1, such as one per category. They are not scaled, so
        that two samples of different categories are as far apart in them as two samples usually
        are in a number, however rare a category is.
    assignment_neighbors : int, default=1
        Number of nearest samples whose errors decide the anchor of a sample. 1 is the sample's
        own error, as in the paper; more give smoother regimes. Of more than 100,000 samples, so
        many count as the nearest ones, beside the sample itself.
    n_jobs : int, default=None
        Threads of the neighbour search. None is all processors, and one thread where trees say who
        is near.
    random_state : int, RandomState or None, default=None
        Chance in the choice of anchors and in the growth of trees.

    Attributes
    ----------
    anchor_points_ : array (k, d)
        The anchors, in the units of X; NaN where the models were given.
    anchor_models_ : array (k, d + 1, m)
        Their models, in the same units as `local_models`.
    labels_ : array (n,)
        The anchor of each sample. Samples with the same anchor form a regime.
    feature_weights_ : array (d,)
        How much each feature decides which samples are near; the weights sum to one. With
        neighborhood "learned" they are for features in standard deviations. With trees they are
        the share of the target's variation that the splits of each feature explain (with
        "piecewise", of what linear models leave). Absent with neighborhood "euclidean" and all
        features.
    n_samples_fit_, n_features_in_ : int
    feature_names_in_ : array (d,), if X had names

    Notes
    -----
    Sample weights count samples: a weight of 2 means the same as the sample twice, 0 the same as
    leaving it out. A neighbourhood of K ends where the weights of its samples add up to K; where
    weights are at most 1, it is the K nearest samples.

    `alpha`, `n_neighbors`, `weights` and `n_jobs` are read when a prediction is made, so they can
    be set on a fitted model. `assignment_neighbors` is read when samples are assigned. All other
    parameters take effect at the next fit.

    With scikit-learn's `array_api_dispatch`, X may be a torch tensor or a CuPy array. The model and
    its results are then arrays of the same kind, on the same device; docs/gpu.md says what works.

    The order of the samples matters only where some are equally far, as copies of one sample are,
    and not all of them can be neighbours. Then the first ones are taken.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FALLRegressor(n_neighbors=20, random_state=0).fit(X[:400], y[:400])
    >>> model.predict(X[400:402])
    array([...])
    >>> model.explain(X[400:402]).contributions.shape
    (2, 10, 1)
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, graph: Any = None) -> Self:
        """Fit the anchors, and each sample's model.

        Parameters
        ----------
        X : array-like (n, d)
        y : array-like (n,) or (n, m)
        sample_weight : array-like (n,), optional
            How often each sample counts, in the fits of the anchors and in the averages.
        graph : sparse matrix (n, n), optional
            Row i holds the neighbours of sample i, which make the neighbourhood of an anchor in
            place of the nearest samples. Only the positions of the entries matter;
            none is negative.

        Returns
        -------
        self
        """
        with self.writing():
            fresh = self.unfitted()
            X, Y = fresh._check_samples(X, y, reset=True)
            fresh._fit(X, Y, sample_weight, graph)
            return self.become(fresh)

    def fit_together(
        self, siblings: "Sequence[FALLRegressor]", X: Any, y: Any, sample_weight: Any = None
    ) -> None:
        """Fit this model, which nobody reads yet, and its siblings.

        Their parameters differ by `random_state` alone. Siblings share the geometry, which is this
        model's, and the search for neighbours; each has anchors of its own.
        """
        X, Y = self._check_samples(X, y, reset=True)
        self._fit(X, Y, sample_weight, None, siblings)

    def appended(
        self, siblings: "Sequence[FALL]", X: Any, y: Any, sample_weight: Any, made: Made
    ) -> list[FALL]:
        """Itself and its siblings with more samples; `made` as in `Samples.append`."""
        X, Y = self._check_samples(X, y, reset=False)
        models = [self, *siblings]
        fitted = self._appended(siblings, X, Y, sample_weight, made)
        return [model.with_fitted(each) for model, each in zip(models, fitted, strict=True)]

    @_fit_context(prefer_skip_nested_validation=True)
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
            X, Y = self._check_samples(X, y, reset=False)
            self._append(X, Y, sample_weight)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the targets of X, (q,) or (q, m) as y was."""
        now = self.at_this_moment()
        return now.as_users_see(now.predict_numeric(X))

    def assign(self, X: Any, y: Any) -> NDArray[np.intp]:
        """The anchor that predicts each sample best, (q,).

        For new samples with known targets, it is what `labels_` is for the training samples.
        """
        check_is_fitted(self)
        now = self.at_this_moment()
        return now._assign_labelled(*now._check_samples(X, y, reset=False))

    def _check_samples(self, X: Any, y: Any, *, reset: bool) -> tuple[Array, Array]:
        X, targets = validated_targets(self, X, y, reset=reset)
        if is_numpy(X):
            targets = np.asarray(targets, dtype=np.float64)
        Y = namespace(X).reshape(targets, (X.shape[0], -1))
        if reset:
            self._one_target = targets.ndim == 1
            self._target_names = _target_names(y, Y.shape[1])
        elif Y.shape[1] != len(self._target_names):
            raise ValueError(
                f"y must have the {len(self._target_names)} targets of the fitted model, but has "
                f"{Y.shape[1]}"
            )
        return X, Y


@register
class FALLClassifier(ClassSets, ScoredClasses, Calibrated, FALL):
    """Fast anchor-regularised local linear classification.

    FALL on one target per class, 1 for the samples of the class and 0 for the others. The
    probabilities follow from the linear scores. Those of a single model are rough, since it has no
    samples to compare them with; `FALLClassifierCV` and `FALLEnsembleClassifier` calibrate theirs.

    Axis letters: n samples, d features, m classes, k anchors, q queries, K neighbours.
    Numbers of anchors, neighbours and rounds are at least 1.

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchor models. At most as many as there are distinct samples.
    anchor_selection : {"random", "kmeans"} or array-like (k, d), default="random"
        Where the anchors are: at samples drawn at random, at the centres of k-means, or at the
        given points, in the units of X. Random anchors depend on the values of the samples and
        not on their order, and the anchors for a smaller `n_anchors` are the first of those for
        a larger one.
    anchor_models : array-like (k, d + 1, m), default=None
        Anchor models that are known beforehand, in the units of X (with scaling "quantile", of
        the scaled features), with the intercept last. If given, no anchor models are
        fitted.
    n_anchor_neighbors : int, default=20
        Number of samples in the neighbourhood of an anchor; all samples if there are fewer.
    anchor_alpha : float, default=1.0
        Penalty of the anchor models, at least 0, in the scaling of scikit-learn's ElasticNet.
    anchor_l1_ratio : float, default=0.0
        Share of the absolute values in that penalty, from 0 (ridge) to 1 (lasso).
    alpha : float, default=1.0
        Pull of each local model towards its anchor, above 0.
    n_neighbors : int, default=5
        Number of nearest samples whose models are averaged for a prediction.
    weights : {"distance", "uniform"} or callable, default="distance"
        Weights of these models: 1/distance, equal weights, or a function of the distances (q, K).
        With 1/distance a sample at distance zero takes all the weight; if several are at distance
        zero, they share it. With neighborhood "forest", the weight is the share of leaves in
        common. Where a function gives only zeros, all weights are equal.
    fit_intercept : bool, default=True
        Whether the models have a constant term.
    scaling : {"standard", "quantile"} or None, default="standard"
        Feature space of distances and models. "standard": mean 0 and variance 1 per feature.
        "quantile": the distribution of each feature made uniform, and continued linearly outside
        the data. None: the raw features, which is the paper's algorithm.
    neighborhood : {"euclidean", "learned", "forest", "boosted", "piecewise"}, default="euclidean"
        How nearness is measured in that space. "euclidean": all features count alike. "learned":
        each feature is weighted by how much the target moves with it, in the models' penalties too.
        The others count the leaves that two samples share in trees grown on the target:
        extremely randomised trees ("forest"), small boosted trees ("boosted"), or trees that
        split where one linear model no longer holds ("piecewise"). Where leaves are large,
        most of the nearest samples are found, in time that hardly grows with the samples.
    metric_iterations : int, default=4
        Rounds of learning with neighborhood "learned".
    neighborhood_features : array-like of int, default=None
        Numbers of the features that decide which samples are near; None for all. The models use
        all.
    indicators : array-like of int, default=None
        Numbers of the features that are 0 or 1, such as one per category. They are not scaled, so
        that two samples of different categories are as far apart in them as two samples usually
        are in a number, however rare a category is.
    assignment_neighbors : int, default=1
        Number of nearest samples whose errors decide the anchor of a sample. 1 is the sample's
        own error, as in the paper; more give smoother regimes. Of more than 100,000 samples, so
        many count as the nearest ones, beside the sample itself.
    n_jobs : int, default=None
        Threads of the neighbour search, as in KNeighborsClassifier: None is one thread where a
        tree is searched, and all processors where all samples are compared.
    random_state : int, RandomState or None, default=None
        Chance in the choice of anchors and in the growth of trees.

    Attributes
    ----------
    classes_ : array (m,)
        The classes, in the order of the targets and of `predict_proba`.
    calibration_ : dict, only of the best estimator of a search
        The map from scores to probabilities; see Notes.
    anchor_points_ : array (k, d)
        The anchors, in the units of X; NaN where the models were given.
    anchor_models_ : array (k, d + 1, m)
        Their models, in the same units as `local_models`.
    labels_ : array (n,)
        The anchor of each sample. Samples with the same anchor form a regime.
    feature_weights_ : array (d,)
        How much each feature decides which samples are near; the weights sum to one. With
        neighborhood "learned" they are for features in standard deviations. With trees they are
        the share of the target's variation that the splits of each feature explain (with
        "piecewise", of what linear models leave). Absent with neighborhood "euclidean" and all
        features.
    n_samples_fit_, n_features_in_ : int
    feature_names_in_ : array (d,), if X had names

    Notes
    -----
    See the Notes of `FALLRegressor`, on sample weights, on parameters that can be set on a fitted
    model, and on the order of the samples.

    The probabilities are those nearest to the scores after one more sample of each class:
    (n π + 1) / (n + m), with n samples and π the nearest point to the scores whose parts are at
    least 0 and sum to one. None is exactly 0 or 1. The best estimator of a search has a
    `calibration_` with ``n``, ``slope`` and ``power`` instead: the probability of a class is
    proportional to exp(slope · score) · ((n π + 1) / (n + m)) ** power. Either way the order of the
    classes is that of their scores. `partial_fit` and `forget` keep a calibration; `fit` drops it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from locallinear import FALLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> FALLClassifier(random_state=0).fit(X, y).predict_proba(X[:1]).round(2)
    array([[0.99, 0.01, 0.01]])
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, graph: Any = None) -> Self:
        """Fit the anchors, and each sample's model.

        Parameters
        ----------
        X : array-like (n, d)
        y : array-like (n,) of labels of any type
        sample_weight, graph : as for `FALLRegressor.fit`

        Returns
        -------
        self
        """
        with self.writing():
            fresh = self.unfitted()
            X, y = validated_classes(fresh, X, y)
            fresh._set_classes(np.unique(y))
            fresh._fit(X, moved(fresh._one_hot(y), X), sample_weight, graph)
            return self.become(fresh)

    @_fit_context(prefer_skip_nested_validation=True)
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
                fresh = self.unfitted()
                fresh.fit_together((), X, y, sample_weight, classes)
                return self.become(fresh)
            check_classes(classes, self.classes_)
            X, y = validated_classes(self, X, y, reset=False)
            self._append(X, moved(self._one_hot(y), X), sample_weight)
        return self

    def fit_together(
        self,
        siblings: "Sequence[FALLClassifier]",
        X: Any,
        y: Any,
        sample_weight: Any = None,
        classes: ArrayLike | None = None,
    ) -> None:
        """As for `FALLRegressor`; `classes` are all classes, where y may lack some."""
        X, y = validated_classes(self, X, y)
        self._set_classes(all_classes(classes, y))
        self._fit(X, moved(self._one_hot(y), X), sample_weight, None, siblings)

    def appended(
        self, siblings: "Sequence[FALL]", X: Any, y: Any, sample_weight: Any, made: Made
    ) -> list[FALL]:
        """Itself and its siblings with more samples; `made` as in `Samples.append`."""
        X, y = validated_classes(self, X, y, reset=False)
        models = [self, *siblings]
        fitted = self._appended(siblings, X, self._one_hot(y), sample_weight, made)
        return [model.with_fitted(each) for model, each in zip(models, fitted, strict=True)]

    def predict_scores(self, X: Any) -> Array:
        """The linear scores of the classes, (q, m); `explain` has their models."""
        return self.predict_numeric(X)

    def _total_weight(self) -> float:
        return self.total_weight

    def assign(self, X: Any, y: Any) -> NDArray[np.intp]:
        """The anchor that predicts each sample best, (q,).

        For new samples with known targets, it is what `labels_` is for the training samples.
        """
        check_is_fitted(self)
        now = self.at_this_moment()
        X, y = validated_classes(now, X, y, reset=False)
        return now._assign_labelled(X, moved(now._one_hot(y), X))

    def _set_classes(self, classes: NDArray) -> None:
        self.classes_ = classes
        self._target_names = [str(c) for c in classes]

    def _one_hot(self, y: NDArray) -> Array:
        check_known_labels(y, self.classes_)
        return (y[:, None] == self.classes_).astype(np.float64)


def _target_names(y: Any, m: int) -> list[str]:
    """The names of a series or frame; otherwise y, or y0, y1 and so on."""
    named = getattr(y, "columns", None)
    if named is None and getattr(y, "name", None) is not None:
        named = [y.name]
    if named is not None and len(named) == m:
        return [str(name) for name in named]
    return ["y"] if m == 1 else [f"y{t}" for t in range(m)]
