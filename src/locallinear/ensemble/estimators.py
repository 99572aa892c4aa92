"""FALLEnsembleRegressor and FALLEnsembleClassifier: ensembles with targets of their own meaning."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, _fit_context
from sklearn.metrics import accuracy_score, r2_score

from ..checks.inputs import (
    all_classes,
    check_classes,
    check_queries,
    validated_classes,
    validated_targets,
)
from ..checks.scores import ScoredClasses, ScoredNumbers
from ..io import register
from ..models.calibration import Calibrated, calibration_of, scores_of_all
from ..models.estimators import FALLClassifier, FALLRegressor
from ..models.intervals import ClassSets, Intervals
from ..search.estimators import FALLClassifierCV, FALLRegressorCV
from .ensemble import Ensemble
from .members import Kind, plain_kinds

Array = NDArray[np.float64]


@register
class FALLEnsembleRegressor(Intervals, ScoredNumbers, MultiOutputMixin, Ensemble):
    """The mean of FALL regressors with different neighbourhoods.

    The neighbourhoods of each member use a random part of the features (features that decide more
    are drawn more often); its models use all features. Cross-validation on the samples chooses the
    kinds of members, and how many of each kind there are. The mean of the members' linear models
    is one linear model per prediction, which `explain` returns exactly.

    Parameters
    ----------
    n_estimators : int, default=30
        Number of members.
    max_features : float, default=0.6
        Share of the features that a neighbourhood uses. With a search, members that use all
        features are tried as well, and trees always use all: they differ without it.
    n_neighborhoods : int, default=8
        About how many different neighbourhoods there are. Members that share one differ in their
        anchors alone, so that neighbours are searched once for all of them.
    search : {"default", "paper", "simple"}, dict or None, default="default"
        The grid of `FALLRegressorCV` that is searched for the parameters of the members; the best
        configuration of each neighbourhood makes one kind of members. None: no search; members
        have the parameters of `estimator`.
    estimator : FALLRegressor, default=None
        The members before the search sets parameters; None for the defaults. The first member
        keeps its `random_state`.
    cv : int, splitter or iterable, default=None
        Folds of the search and of the choice of shares, as in scikit-learn; None for three
        shuffled folds, and for up to ten where there are at most 1,000 samples. Samples that
        belong together (of one person, say) should be in one fold.
    max_samples : int or None, default=4000
        Samples that choose kinds, at most: of more samples so many are drawn at random. One split
        of all samples then chooses the shares of the kinds, unless `cv` is given, and the members
        are fitted on all samples. None for all; splits that are given as rows are used whole.
    time_budget : float, default=None
        Seconds that the fit may take; None for no end. The search, the comparison of kinds and the
        members share the time. A short budget chooses kinds on fewer samples and gives fewer
        members. A warning says where one configuration and one member alone take much longer. An
        interrupt from the keyboard keeps the members that are fitted by then, and one member if the
        search still runs.
    n_jobs : int, default=None
        Threads, in which members are fitted and predict side by side. Without a time budget,
        results do not depend on it.
    random_state : int, RandomState or None, default=None
        Chance in the choice of features and anchors, and in the growth of trees.
    verbose : int, default=0
        1 shows progress bars.

    Attributes
    ----------
    estimators_ : list of FALLRegressor
        The members. They share one copy of the samples; members with neighborhood "learned" share
        a second copy.
    best_params_ : dict
        The best single configuration of the search; {} without a search.
    kinds_ : list of dict
        The kinds of members: ``params``, ``max_features`` and ``n_members``, which can be 0.
    cv_prediction_ : array (n,) or (n, m), with a search
        Predictions of the samples of `fit` by members that were fitted without them; NaN for
        samples that no fold tests.
    cv_score_ : float, with a search
        R² of these predictions: about what to expect on new samples. It is a little high, since
        kinds and shares were chosen on the same folds, and a little low, since these members had
        fewer samples.
    labels_ : array (n,)
        The anchor of each sample in the first member.
    feature_weights_ : array (d,), where not all features count alike
        How much each feature decides which samples are near: the mean over the members.
    n_samples_fit_, n_features_in_ : int
    feature_names_in_ : array (d,), if X had names

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FALLEnsembleRegressor(5, search=None, random_state=0).fit(X, y)
    >>> mean, spread = model.predict(X[:2], return_std=True)
    >>> model.explain(X[:2]).coef.shape
    (2, 10, 1)
    """

    _parameter_constraints: ClassVar[dict] = Ensemble._parameter_constraints | {
        "estimator": [None, FALLRegressor]
    }
    _member_class = FALLRegressor
    _search_class = FALLRegressorCV

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add samples to every member; what is fitted stays. The first call fits.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`

        Returns
        -------
        self
        """
        with self.writing():
            if self.__sklearn_is_fitted__():
                return self._append(X, y, sample_weight)
            return self._fit(X, y, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the targets of X, (q,) or (q, m) as y was.

        Parameters
        ----------
        X : array-like (q, d)
        return_std : bool, default=False
            Whether to return the standard deviation of the targets around the predictions as well.
            It is calibrated as the intervals of `predict_interval` are, and so contains the noise
            that all members share; their disagreement helps to tell where it is large.

        Returns
        -------
        mean, or (mean, std)
        """
        now = self.at_this_moment()
        X, as_users_see = check_queries(now, X), now.regime_model.as_users_see
        if not return_std:
            return as_users_see(now.predict_checked(X))
        known = now.conformal()
        mean, scale = known.at(X)
        return as_users_see(mean), as_users_see(known.deviation_of(scale))

    def _check_samples(self, X: Any, y: Any) -> tuple[Array, Array]:
        return validated_targets(self, X, y)

    def _numeric(self, y: NDArray) -> Array:
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)

    def _all_targets(self, predictions: Array, y: NDArray) -> Array:
        return predictions

    def _fit_group(
        self, members: list[FALLRegressor], X: Any, y: Any, weights: Array | None
    ) -> list[FALLRegressor]:
        members[0].fit_together(members[1:], X, y, weights)
        return members

    def _judge(
        self, scores: Array, tested: NDArray[np.bool_], y: NDArray, weights: Array | None
    ) -> tuple[Array, float]:
        """Out-of-fold predictions (n, m) as users get them, and the score of the tested samples."""
        prediction = scores.reshape(np.shape(y))
        return prediction, float(r2_score(y[tested], prediction[tested], sample_weight=weights))


@register
class FALLEnsembleClassifier(ClassSets, ScoredClasses, Calibrated, Ensemble):
    """The mean of FALL classifiers with different neighbourhoods.

    The neighbourhoods of each member use a random part of the features; its models use all
    features. Cross-validation on the samples chooses the kinds of members, and how many of each
    kind there are; with search "default", one linear model of all samples is tried as a kind, too.
    The mean of the members' linear scores is one linear model per class and prediction, which
    `explain` returns exactly. The probabilities follow from these scores by a map that fits the
    out-of-fold scores best, as the Notes of `FALLClassifier` describe; without a search there are
    no folds, and they are the smoothed ones of a single model.

    Parameters
    ----------
    n_estimators : int, default=30
        Number of members.
    max_features : float, default=0.6
        Share of the features that a neighbourhood uses. With a search, members that use all
        features are tried as well, and trees always use all: they differ without it.
    n_neighborhoods : int, default=8
        About how many different neighbourhoods there are. Members that share one differ in their
        anchors alone, so that neighbours are searched once for all of them.
    search : {"default", "classes", "paper", "simple"}, dict or None, default="default"
        The grid of `FALLClassifierCV` that is searched, by the squared error of scores, for the
        parameters of the members; the best configuration of each neighbourhood makes one kind of
        members. None: no search; members have the parameters of `estimator`.
    estimator : FALLClassifier, default=None
        The members before the search sets parameters; None for the defaults. The first member
        keeps its `random_state`.
    cv : int, splitter or iterable, default=None
        Folds of the search and of the choice of shares, as in scikit-learn; None for three
        shuffled folds. Samples that belong together (of one person, say) should be in one fold.
    max_samples : int or None, default=4000
        Samples that choose kinds, at most: of more samples so many are drawn at random. One split
        of all samples then chooses the shares of the kinds, unless `cv` is given, and the members
        are fitted on all samples. None for all; splits that are given as rows are used whole.
    time_budget : float, default=None
        Seconds that the fit may take; None for no end. The search, the comparison of kinds and the
        members share the time. A short budget chooses kinds on fewer samples and gives fewer
        members. A warning says where one configuration and one member alone take much longer. An
        interrupt from the keyboard keeps the members that are fitted by then, and one member if the
        search still runs.
    n_jobs : int, default=None
        Threads, in which members are fitted and predict side by side. Without a time budget,
        results do not depend on it.
    random_state : int, RandomState or None, default=None
        Chance in the choice of features and anchors, and in the growth of trees.
    verbose : int, default=0
        1 shows progress bars.

    Attributes
    ----------
    classes_ : array (m,)
        The classes, in the order of `predict_proba`.
    estimators_ : list of FALLClassifier
        The members. They share one copy of the samples; members with neighborhood "learned" share
        a second copy.
    best_params_ : dict
        The best single configuration of the search; {} without a search.
    kinds_ : list of dict
        The kinds of members: ``params``, ``max_features`` and ``n_members``, which can be 0.
    calibration_ : dict, with a search
        ``n``, ``slope`` and ``power`` of the map from scores to probabilities.
    cv_prediction_ : array (n, m), with a search
        Probabilities of the samples of `fit` by members that were fitted without them; NaN for
        samples that no fold tests.
    cv_score_ : float, with a search
        Accuracy of these predictions.
    labels_ : array (n,)
        The anchor of each sample in the first member.
    feature_weights_ : array (d,), where not all features count alike
        How much each feature decides which samples are near: the mean over the members.
    n_samples_fit_, n_features_in_ : int
    feature_names_in_ : array (d,), if X had names

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from locallinear import FALLEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FALLEnsembleClassifier(5, search=None, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """

    _parameter_constraints: ClassVar[dict] = Ensemble._parameter_constraints | {
        "estimator": [None, FALLClassifier]
    }
    _member_class = FALLClassifier
    _search_class = FALLClassifierCV
    _scoring = "neg_mean_squared_error"  # of scores: probabilities matter, not classes alone

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: ArrayLike | None = None
    ) -> Self:
        """Add samples to every member; what is fitted stays. The first call fits.

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
                return self._fit(X, y, sample_weight, classes=classes)
            check_classes(classes, self.classes_)
            return self._append(X, y, sample_weight)

    def predict_scores(self, X: Any) -> Array:
        """The members' mean scores of the classes, (q, m); `explain` has their models."""
        now = self.at_this_moment()
        return now.predict_checked(check_queries(now, X))

    def _total_weight(self) -> float:
        return self.regime_model.total_weight

    def _more_kinds(self, search: Any) -> list[Kind]:
        # Where classes are nearly separated by planes, local scores alone are too rough to be
        # good probabilities. A grid of the user's own stays as it is.
        return plain_kinds(search) if self.search in ("default", "classes") else []

    def _check_samples(
        self, X: Any, y: Any, classes: ArrayLike | None = None
    ) -> tuple[Array, NDArray]:
        X, y = validated_classes(self, X, y)
        self.classes_ = all_classes(classes, y)
        return X, y

    def _numeric(self, y: NDArray) -> Array:
        return (np.asarray(y)[:, None] == self.classes_).astype(np.float64)

    def _all_targets(self, predictions: Array, y: NDArray) -> Array:
        return scores_of_all(predictions, y, self.classes_)

    def _fit_group(
        self, members: list[FALLClassifier], X: Any, y: Any, weights: Array | None
    ) -> list[FALLClassifier]:
        members[0].fit_together(members[1:], X, y, weights, self.classes_)  # a fold may lack some
        return members

    def _judge(
        self, scores: Array, tested: NDArray[np.bool_], y: NDArray, weights: Array | None
    ) -> tuple[Array, float]:
        """Calibrates on the scores, and judges the probabilities that follow from them."""
        self.calibration_ = calibration_of(scores[tested], self._numeric(y[tested]), weights)
        prediction = scores.copy()
        prediction[tested] = self.probabilities_of(scores[tested])
        chosen = self.classes_[prediction[tested].argmax(axis=1)]
        return prediction, float(accuracy_score(y[tested], chosen, sample_weight=weights))
