"""What a fitted model of a raw table says: its columns, explanations, how unusual rows are.

`TableRegressor` and `TableClassifier` share it. Axis letters: n or q rows, c columns, d features,
m targets.
"""

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..checks.parameters import check_companion
from ..models.explanation import LocalExplanation
from ..models.moments import Kept, Moments
from ..runtime.interrupts import interrupts_end_it
from ..search.companion import Companion, companion_of
from .encoding import Encoding
from .importances import importances_of
from .inputs import check_columns
from .model import EncodedModel
from .scale import LogScale
from .table import Table, as_table
from .targets import outputs

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

# How long a page or a command looks for the companion, by default.
COMPANION_SECONDS = 10.0


class TableAnswers(Moments):
    """A fitted estimator and the encoding of its table, asked about rows of the table."""

    estimator_: Any
    target_names_: list[str]
    cv_prediction_: NDArray | None
    cv_score_: float
    random_state: Any
    n_jobs: int | None
    _encoding: Encoding
    _folds: NDArray[np.intp]
    _is_classifier: bool
    _scales: list[LogScale] | None = None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def at_this_moment(self) -> Self:
        """The model as it is now: rows that come or go later do not reach it."""
        now = super().at_this_moment()
        if "estimator_" in now.__dict__:
            now.estimator_ = now.estimator_.at_this_moment()
        return now

    @property
    def encoding_(self) -> "pandas.DataFrame":
        """What became of each column of the table, and why."""
        check_is_fitted(self)
        return self._encoding.to_frame()

    @property
    def n_samples_fit_(self) -> int:
        """How many rows the model keeps."""
        check_is_fitted(self)
        return self.estimator_.n_samples_fit_

    @property
    def table_model(self) -> EncodedModel:
        """The estimator behind its encoding, as pictures and reports take it.

        Where the log of the target was modelled, it is in logs.
        """
        check_is_fitted(self)
        now = self.at_this_moment()
        return EncodedModel(
            now._encoding,
            now.estimator_,
            now._page_targets,
            now.true_targets,
            None if now.cv_prediction_ is None else (now.cv_prediction_, now._folds),
            now._scales,
            now.target_names_,
            now.companion,
        )

    def companion(
        self, n_regimes: int | None = None, *, time_budget: float | None = COMPANION_SECONDS
    ) -> Companion:
        """The simple model of few regimes beside this one, which pages and `fit` show.

        It is found by the first call, kept, and saved with the model, until the rows of the model
        change: after `partial_fit` and `forget`, the next call finds the one of the rows of then.

        Parameters
        ----------
        n_regimes : int, optional
            The number of its regimes; by default that of the one that is kept, or the simplest
            number within one standard error of the best. Another number finds another companion,
            which is kept from then on.
        time_budget : float, default=10
            Seconds that finding it may take; None for no limit.

        Returns
        -------
        Companion
            Its `model` is of the features of `estimator_`. `explained` is the share of the
            variance of this model's predictions that it has on rows that neither had seen.
        """
        check_is_fitted(self)
        check_companion(n_regimes, time_budget, "companion")
        now = self.at_this_moment()
        kept = now._kept_companion(n_regimes)
        if kept is not None:
            return kept
        seed = self.random_state if isinstance(self.random_state, Integral) else 0
        with interrupts_end_it():
            found = companion_of(
                now.estimator_,
                n_regimes,
                time_budget=time_budget,
                n_jobs=self.n_jobs,
                random_state=seed,
            )
        now._known["companion"] = Kept.of(now.estimator_.members, found)
        return found

    def _kept_companion(self, n_regimes: int | None = None) -> Companion | None:
        """The companion that is kept; None where there is none of the rows of now."""
        kept: Kept | None = self._known.get("companion")
        if kept is None or not kept.holds_for(self.estimator_.members):
            return None
        as_many = n_regimes in (None, len(kept.value.model.anchor_models_))
        return kept.value if as_many else None

    @property
    def folds_(self) -> NDArray[np.intp]:
        """The fold of each training row in `cv_prediction_`, (n,); -1 for rows of weight 0."""
        check_is_fitted(self)
        return self._folds

    def true_targets(self, X: Any) -> NDArray:
        """The targets that rows of a table hold, on the scale of `table_model`."""
        table, names = as_table(X, self._encoding.missing), tuple(self.target_names_)
        return self.to_model_scale(outputs(table, names, classify=self._is_classifier))

    @property
    def column_numbers(self) -> NDArray[np.intp]:
        """The number of the column that each feature of `estimator_` comes from, (d,)."""
        return self._encoding.owners

    @property
    def feature_importances_(self) -> Array:
        """How much each column moves predictions, (c,): computed when it is first read.

        The mean squared change of predictions when a column's cells are exchanged between rows,
        as parts of the sum over all columns. Columns that are left out have 0.
        """
        check_is_fitted(self)
        now = self.at_this_moment()
        members, kept = now.estimator_.members, now._known.get("importances")
        if kept is None or not kept.holds_for(members):
            moved = importances_of(now._encoding, now.estimator_)
            columns = [name for name, _ in now._encoding.reasons]
            kept = Kept.of(members, np.array([moved.get(name, 0.0) for name in columns]))
            now._known["importances"] = kept
        return kept.value

    @property
    def to_onnx(self) -> NoReturn:
        """Not here: a graph takes the features, not the cells of a table."""
        raise AttributeError(
            f"{type(self).__name__} has no to_onnx, because a graph takes no raw tables; use "
            "model.estimator_.to_onnx(), which takes what model.encode(X) returns"
        )

    def encode(self, X: Any) -> "pandas.DataFrame":
        """The features that `estimator_` takes, (q, d)."""
        table = self.read(X)
        return self._encoding.inputs(table)

    def read(self, X: Any) -> Table:
        """Rows as a table with the names of the columns of `fit`."""
        check_is_fitted(self)
        return check_columns(self, X, self._encoding)

    def notes(self, X: Any) -> list[str]:
        """A sentence per column of X with cells that the model does not know."""
        table = self.read(X)
        return self._encoding.unseen(table)

    def explain(self, X: Any) -> LocalExplanation:
        """The exact linear models of the scores of the classes, by column of the table.

        Parameters
        ----------
        X : DataFrame or array-like (q, c)

        Returns
        -------
        LocalExplanation
            Contributions and intercept sum to the scores. A cell that is no number has the value
            1, so that its coefficient is what the cell adds.
        """
        now = self.at_this_moment()
        table = now.read(X)
        raw = now.estimator_.explain(now._encoding.inputs(table))
        index = getattr(X, "index", None)
        cells = now._encoding.cells(table)
        return now.in_units(now.table_model.by_column(raw, cells, index))

    def explain_samples(self, indices: ArrayLike | None = None) -> LocalExplanation:
        """Explain rows of the training table, none by itself, as `explain` does new ones."""
        now = self.at_this_moment()
        return now.in_units(now.table_model.explain_samples(indices))

    def _of_this(self, why: LocalExplanation) -> LocalExplanation:
        """An explanation that names this model as the one that was asked."""
        return replace(why, model=self, target_names=self._unit_names)

    @property
    def _unit_names(self) -> list[str]:
        return self.target_names_

    def novelty(self, X: Any) -> Array:
        """How unusual each row is, (q,), as `FALLRegressor.novelty`."""
        now = self.at_this_moment()
        inputs = now.encode(X)
        return now.estimator_.novelty(inputs)

    def influence(self, X: Any) -> Any:
        """How much each training row counts in predictions, as `FALLRegressor.influence`.

        Where the log of the target was modelled, in predictions of the log.
        """
        now = self.at_this_moment()
        inputs = now.encode(X)
        return now.estimator_.influence(inputs)

    def combinations(self, raw: LocalExplanation, *, of_slopes: bool = False) -> Array:
        """The coefficients of columns as combinations of those of features: see `EncodedModel`."""
        return self.table_model.combinations(raw, of_slopes=of_slopes)

    def slope_factors(self, factors: Array) -> Array:
        """Factors of features by column: see `EncodedModel`."""
        return self.table_model.slope_factors(factors)

    # --- The meaning of the targets --------------------------------------------------------------

    def to_model_scale(self, y: NDArray, weights: Array | None = None) -> NDArray:
        """Targets as `table_model` has them; `weights` (n,) are those of the rows."""
        return y

    def in_units(self, why: LocalExplanation) -> LocalExplanation:
        """An explanation by `table_model` as `explain` returns it."""
        return self._of_this(why)

    @property
    def _page_targets(self) -> list[str]:
        """Names of what the estimator predicts."""
        raise NotImplementedError
