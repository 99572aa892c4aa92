"""TableRegressor and TableClassifier: models of raw tables, as scikit-learn's estimators.

`learning.py` and `answers.py` have what both share, `numeric_targets.py` the scale of a target.
"""

from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..checks.inputs import check_classes
from ..checks.scores import ScoredClasses, ScoredNumbers
from ..ensemble.estimators import FALLEnsembleClassifier, FALLEnsembleRegressor
from ..io import register
from ..models.estimators import FALLClassifier, FALLRegressor
from ..models.explanation import LocalExplanation
from ..search.estimators import FALLClassifierCV, FALLRegressorCV
from .learning import TableEstimator
from .numeric_targets import NumericTargets
from .scale import SCALES
from .targets import class_labels
from .wanted import Wanted

Array = NDArray[np.float64]


@register
class TableRegressor(ScoredNumbers, MultiOutputMixin, NumericTargets):
    """Regression on a raw table: text, categories, dates and gaps as they are.

    Columns are understood and become features, parameters are chosen by cross-validation, and
    each prediction is explained in the table's own columns. `encoding_` says what became of each
    column.

    Parameters
    ----------
    model : {"single", "ensemble"} or estimator, default="single"
        "single": one FALL model, with its parameters chosen by `FALLRegressorCV`. "ensemble":
        `FALLEnsembleRegressor`, which is more accurate on most tables and slower. Or a
        `FALLRegressor`, a `FALLRegressorCV` or a `FALLEnsembleRegressor` with parameters of its
        own.
    prefer : {"accurate", "simple"}, default="accurate"
        "simple" takes few regimes, which can be read as equations.
    time_budget : float, default=None
        Seconds that `fit` may take in all, with the judgement; None for no limit. If it is short,
        only some of the rows are judged. It is also for a search or an ensemble that is given as
        `model` and has no budget of its own.
    types : dict, default=None
        What columns are, where the guess is wrong: "number", "category", "ordered", "text",
        "date", or "skip" to leave a column out. "date: %d/%m/%Y" says how days are written and
        "number: ," which mark begins decimals; levels are ordered by "ordered: low < mid < high"
        or the list of them.
    target : {"auto", "identity", "log"}, default="auto"
        Whether the target or its log is modelled. Predictions, intervals and explanations are in
        units in each case. "auto" takes the log where that is clearly better in cross-validation.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Chance in folds, anchors and trees.
    verbose : int, default=0
        1 shows progress bars.

    Attributes
    ----------
    encoding_ : DataFrame
        One line per column of the table: ``column``, ``kind``, ``encoding`` (what became of it)
        and ``reason``.
    estimator_ : FALLRegressor or FALLEnsembleRegressor
        The fitted model of the features.
    best_params_ : dict
        The parameters that the search chose.
    cv_prediction_ : array (n,) or (n, m), or None
        Predictions of the training rows by models that had not seen them: each fold by the
        configuration that was best on the other folds, fitted on these. NaN for rows of weight 0
        and for those that a time budget left no time for; None after `partial_fit` or `forget`.
    cv_score_ : float
        R² of these predictions; NaN without them. The command line and the report show the same.
    folds_ : array (n,)
        The fold of each training row; -1 for rows of weight 0, which are in none.
    target_names_ : list of str
    feature_importances_ : array (c,)
        How much each column of `feature_names_in_` moves predictions; they sum to one.
    n_features_in_ : int
    feature_names_in_ : array (c,), if X had names

    Examples
    --------
    >>> import pandas
    >>> from locallinear import TableRegressor
    >>> flats = pandas.DataFrame({
    ...     "size": [30.0, 45, 60, 75, 90, 105, 120, 135] * 4,
    ...     "district": ["north", "south"] * 16,
    ...     "sold": pandas.date_range("2020-01-01", periods=32, freq="30D"),
    ... })
    >>> price = 3.0 * flats["size"] + 50.0 * (flats["district"] == "south")
    >>> quick = {"n_neighbors": [3, 5], "n_anchors": [5]}
    >>> from locallinear import FALLRegressorCV
    >>> model = TableRegressor(FALLRegressorCV(quick), random_state=0).fit(flats, price)
    >>> model.encoding_["kind"].tolist()
    ['number', 'category', 'date']
    >>> why = model.explain(flats[:2])
    >>> why.feature_names
    ['size', 'district', 'sold']
    >>> total = why.contributions.sum(axis=1) + why.intercept
    >>> bool(abs(total[:, 0] - model.predict(flats[:2])).max() < 1e-9)
    True
    """

    _parameter_constraints: ClassVar[dict] = TableEstimator._parameter_constraints | {
        "model": [
            StrOptions({"single", "ensemble"}),
            FALLRegressor,
            FALLRegressorCV,
            FALLEnsembleRegressor,
        ],
        "target": [StrOptions(set(SCALES))],
    }
    _is_classifier = False

    def __init__(
        self,
        model: Any = "single",
        *,
        prefer: str = "accurate",
        time_budget: float | None = None,
        types: dict[str, Wanted] | None = None,
        target: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            model,
            prefer=prefer,
            time_budget=time_budget,
            types=types,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.target = target

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows; what is fitted stays, the encoding too. The first call fits.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`

        Returns
        -------
        self
        """
        with self.writing():
            if not self.__sklearn_is_fitted__():
                return self._fit(X, y, sample_weight, None)
            self.learn_and_note(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> NDArray:
        """Predict the targets of rows, (q,) or (q, m) as y was.

        Parameters
        ----------
        X : DataFrame or array-like (q, c)
            The columns of `fit`, in any order; others are not read.
        """
        now = self.at_this_moment()
        inputs = now.encode(X)
        return now._back(now.estimator_.predict(inputs))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of predictions for rows that the model has not seen.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`; y may be the name of the target, as a column of X
        """
        return super().score(*self._to_score(X, y), sample_weight)

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, method: str = "local", groups: Any = None
    ) -> Array:
        """Predict intervals that contain the given share of the targets.

        Parameters
        ----------
        X : DataFrame or array-like (q, c)
        coverage, method, groups : as for `FALLRegressor.predict_interval`

        Returns
        -------
        array (q, 2), or (q, m, 2) for several targets
        """
        now = self.at_this_moment()
        inputs = now.encode(X)
        found = now.estimator_.predict_interval(inputs, coverage, method=method, groups=groups)
        return now.quantiles_in_units(found)

    def predict_quantiles(self, X: Any, quantiles: ArrayLike, *, groups: Any = None) -> Array:
        """Predict quantiles of the targets, as `FALLRegressor.predict_quantiles`."""
        now = self.at_this_moment()
        inputs = now.encode(X)
        found = now.estimator_.predict_quantiles(inputs, quantiles, groups=groups)
        return now.quantiles_in_units(found)

    @property
    def predict_set(self) -> NoReturn:
        """Not here: sets are of classes."""
        raise AttributeError(
            "TableRegressor has no predict_set, which is for classes; use predict_interval, or "
            "TableClassifier"
        )

    def predict_checked(self, X: Array, without: NDArray[np.intp] | None = None) -> Array:
        """Predictions (q, m) in units for features (q, d), each without one of the samples."""
        return self._back(self.estimator_.predict_checked(X, without))

    def explain(self, X: Any) -> LocalExplanation:
        """The exact linear model behind each prediction, by column of the table.

        Parameters
        ----------
        X : DataFrame or array-like (q, c)

        Returns
        -------
        LocalExplanation
            Contributions and intercept sum to the prediction. A cell that is no number has the
            value 1, so that its coefficient is what the cell adds. Where the log of the target was
            modelled, `log` has the explanation of the log, and `times` what each column
            multiplies the prediction by.
        """
        return super().explain(X)

    @property
    def loo_prediction_(self) -> Array:
        """Predictions of the training rows, each without itself, in units."""
        check_is_fitted(self)
        return self._back(self.estimator_.loo_prediction_)


@register
class TableClassifier(ScoredClasses, TableEstimator):
    """Classification of the rows of a raw table: text, categories, dates and gaps as they are.

    Columns are understood and become features, parameters are chosen by cross-validation,
    probabilities are calibrated, and each score is explained in the table's own columns.
    `encoding_` says what became of each column.

    Parameters
    ----------
    model : {"single", "ensemble"} or estimator, default="single"
        "single": one FALL model, with its parameters chosen by `FALLClassifierCV`. "ensemble":
        `FALLEnsembleClassifier`, which is more accurate on most tables and slower. Or a
        `FALLClassifier`, a `FALLClassifierCV` or a `FALLEnsembleClassifier` with parameters of its
        own.
    prefer : {"accurate", "simple"}, default="accurate"
        "simple" takes few regimes, which can be read as equations.
    time_budget : float, default=None
        Seconds that `fit` may take in all, with the judgement; None for no limit. If it is short,
        only some of the rows are judged. It is also for a search or an ensemble that is given as
        `model` and has no budget of its own.
    types : dict, default=None
        What columns are, where the guess is wrong: "number", "category", "ordered", "text",
        "date", or "skip" to leave a column out. "date: %d/%m/%Y" says how days are written and
        "number: ," which mark begins decimals; levels are ordered by "ordered: low < mid < high"
        or the list of them.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Chance in folds, anchors and trees.
    verbose : int, default=0
        1 shows progress bars.

    Attributes
    ----------
    classes_ : array (m,)
        The classes, in the order of `predict_proba`.
    encoding_ : DataFrame
        One line per column of the table: ``column``, ``kind``, ``encoding`` (what became of it)
        and ``reason``.
    estimator_ : FALLClassifier or FALLEnsembleClassifier
        The fitted model of the features.
    best_params_ : dict
        The parameters that the search chose.
    cv_prediction_ : array (n, m) or None
        Probabilities of the training rows by models that had not seen them, as for
        `TableRegressor`. The map from scores to probabilities, `calibration_` of `estimator_`, is
        fitted to all of them.
    cv_score_ : float
        Accuracy of these predictions; NaN without them.
    target_names_ : list of str
        The name of the target.
    feature_importances_ : array (c,)
        How much each column of `feature_names_in_` moves scores; they sum to one.
    n_features_in_ : int
    feature_names_in_ : array (c,), if X had names

    Examples
    --------
    >>> import pandas
    >>> from locallinear import FALLClassifier, TableClassifier
    >>> guests = pandas.DataFrame({
    ...     "age": [20, 25, 31, 38, 44, 52, 61, 70] * 3, "meal": list("abcabcab") * 3
    ... })
    >>> comes = ["yes" if age < 40 else "no" for age in guests["age"]]
    >>> few = FALLClassifier(3, n_neighbors=3)
    >>> model = TableClassifier(few, random_state=0).fit(guests, comes)
    >>> model.predict(guests[:2]).tolist()
    ['yes', 'yes']
    """

    _parameter_constraints: ClassVar[dict] = TableEstimator._parameter_constraints | {
        "model": [
            StrOptions({"single", "ensemble"}),
            FALLClassifier,
            FALLClassifierCV,
            FALLEnsembleClassifier,
        ],
    }
    _is_classifier = True

    @property
    def classes_(self) -> NDArray:
        """The classes, in the order of `predict_proba`."""
        check_is_fitted(self)
        return self.estimator_.classes_

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: ArrayLike | None = None
    ) -> Self:
        """Add rows; what is fitted stays, the encoding too. The first call fits.

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
                return self._fit(X, y, sample_weight, None, classes)
            check_classes(classes, self.classes_)
            self.learn_and_note(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> NDArray:
        """Predict the classes of rows, (q,)."""
        now = self.at_this_moment()
        inputs = now.encode(X)
        return now.estimator_.predict(inputs)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of predictions for rows that the model has not seen.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`; y may be the name of the target, as a column of X
        """
        return super().score(*self._to_score(X, y), sample_weight)

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of the classes, (q, m), in the order of `classes_`."""
        now = self.at_this_moment()
        inputs = now.encode(X)
        return now.estimator_.predict_proba(inputs)

    def predict_set(
        self, X: Any, coverage: float = 0.9, *, groups: Any = None
    ) -> NDArray[np.bool_]:
        """Predict sets of classes, (q, m), as `FALLClassifier.predict_set`."""
        now = self.at_this_moment()
        inputs = now.encode(X)
        return now.estimator_.predict_set(inputs, coverage, groups=groups)

    @property
    def predict_interval(self) -> NoReturn:
        """Not here: intervals are of numbers."""
        raise AttributeError(
            "TableClassifier has no predict_interval, which is for numbers; use predict_set for "
            "the possible classes, or predict_proba"
        )

    def predict_checked(self, X: Array, without: NDArray[np.intp] | None = None) -> Array:
        """Scores of the classes (q, m) for features (q, d), each without one of the samples."""
        return self.estimator_.predict_checked(X, without)

    @property
    def loo_prediction_(self) -> Array:
        """Scores of the training rows, each without itself, (n, m)."""
        check_is_fitted(self)
        return self.estimator_.loo_prediction_

    def _read_targets(self, y: Any) -> tuple[NDArray, list[str]]:
        labels, names = class_labels(y, type(self).__name__)
        check_classification_targets(labels)
        return labels, names

    def _set_judgement(self, y: NDArray, unseen: NDArray, weights: Array | None) -> None:
        self.cv_prediction_ = unseen
        known = ~np.isnan(unseen).any(axis=1)
        chosen = self.classes_[unseen[known].argmax(axis=1)]
        v = None if weights is None else weights[known]
        self.cv_score_ = float(accuracy_score(y[known], chosen, sample_weight=v))

    @property
    def _page_targets(self) -> list[str]:
        return [str(c) for c in self.classes_]

    @property
    def _unit_names(self) -> list[str]:
        return self._page_targets
