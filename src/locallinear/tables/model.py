"""EncodedModel: a fitted estimator of features, and the columns of the table that they come from.

Pictures and reports take it (`explain.interface.TableModelLike`), and `TableRegressor` and
`TableClassifier` are built on it. What it explains is by column: what the features of a column add
is summed. Axis letters: q rows, c columns, d features, m targets.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..explain.view import view_of
from ..models.explanation import LocalExplanation
from ..search.companion import Companion
from .dates import DateColumn
from .encoding import Column, Encoding, by_column
from .scale import LogScale, in_units, to_logs
from .table import Table, as_table

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]


class EncodedModel:
    """A fitted estimator behind the encoding of a table.

    Attributes
    ----------
    encoding : Encoding
        The columns, and how they become features.
    estimator : FALLRegressor, FALLClassifier or an ensemble of them
        The fitted model of these features.
    target_names : list of str
        Names of the targets, or of the classes.
    true_targets : callable
        Returns the targets that a frame holds, (q,) or (q, m), or classes.
    out_of_fold : tuple of arrays or None
        Predictions of the training rows by models that had not seen them, in units (for classes,
        probabilities), and each row's fold. NaN for rows that were not judged.
    scales : list of LogScale or None
        Where targets are logs, the way back for each.
    unit_names : list of str
        Names of the targets in units.
    find_companion : callable or None
        Returns the simple model of few regimes beside the estimator.
    """

    def __init__(
        self,
        encoding: Encoding,
        estimator: Any,
        target_names: list[str],
        true_targets: Callable[[Any], NDArray],
        out_of_fold: tuple[NDArray, NDArray[np.intp]] | None = None,
        scales: list[LogScale] | None = None,
        unit_names: Sequence[str] = (),
        find_companion: Callable[[], Companion] | None = None,
    ) -> None:
        self.encoding = encoding
        self.estimator = estimator
        self.target_names = target_names
        self.true_targets = true_targets
        self.out_of_fold = out_of_fold
        self.scales = scales
        self.unit_names = list(unit_names) or target_names
        self.find_companion = find_companion

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in the order of the estimator's features."""
        return self.encoding.columns

    @property
    def column_numbers(self) -> NDArray[np.intp]:
        """The number of the column that each feature of the estimator comes from, (d,)."""
        return self.encoding.owners

    @property
    def units(self) -> list[dict[str, Any]] | None:
        """Where targets are logs, the way back for each: ``name``, ``smear`` and ``shift``."""
        if self.scales is None:
            return None
        pairs = zip(self.unit_names, self.scales, strict=True)
        return [{"name": n, "smear": s.smear, "shift": s.shift} for n, s in pairs]

    def companion(self) -> Companion | None:
        """The simple model of few regimes that pages show; None where it is the estimator."""
        found = None if self.find_companion is None else self.find_companion()
        return None if found is None or found.is_own else found

    def predictions_in_units(self, predicted: NDArray) -> NDArray:
        """What the estimator predicts, (q,) or (q, m), in units."""
        return predicted if self.scales is None else in_units(self.scales, predicted)

    def targets_in_units(self, targets: NDArray) -> NDArray:
        """Targets of the estimator, (q,) or (q, m), in units."""
        if self.scales is None:
            return targets
        columns = zip(self.scales, targets.reshape(len(targets), -1).T, strict=True)
        return np.column_stack([s.back_quantile(c) for s, c in columns]).reshape(targets.shape)

    def targets_on_model_scale(self, targets: NDArray) -> NDArray:
        """Targets in units, (q,) or (q, m), as the estimator has them; NaN stays NaN."""
        return targets if self.scales is None else to_logs(self.scales, targets)

    def read(self, data: Any) -> Table:
        """A table whose cells are those that a reader sees."""
        table = as_table(data, self.encoding.missing)
        return Table(self.encoding.cells(table), table.name)

    def encode(self, data: Any) -> "pandas.DataFrame":
        """The features that the estimator takes, (q, d)."""
        return self.encoding.inputs(as_table(data, self.encoding.missing))

    def predict(self, data: Any) -> NDArray:
        """Predictions of the estimator, (q,) or (q, m)."""
        return self.estimator.predict(self.encode(data))

    def predict_proba(self, data: Any) -> Array:
        """Probabilities of the classes, (q, m)."""
        return self.estimator.predict_proba(self.encode(data))

    def explain(self, data: Any) -> LocalExplanation:
        """The exact linear model behind each prediction, by column of the table.

        A cell that is no number has the value 1, so that its coefficient is what the cell adds.
        The contributions and the intercept sum to the prediction.
        """
        table = as_table(data, self.encoding.missing)
        raw = self.estimator.explain(self.encoding.inputs(table))
        return self.by_column(raw, self.encoding.cells(table), getattr(data, "index", None))

    def explain_samples(self, indices: ArrayLike | None = None) -> LocalExplanation:
        """Explain rows of the table that the model was fitted on, none by itself.

        As `FALLRegressor.explain_samples`, by column. Rows are numbered as the estimator keeps
        them.
        """
        raw = self.estimator.explain_samples(indices)
        frame = view_of(self).training_rows().iloc[raw.samples]
        return self.by_column(raw, frame, frame.index)

    def by_column(
        self, raw: LocalExplanation, cells: "pandas.DataFrame", index: Any
    ) -> LocalExplanation:
        """The estimator's explanation of rows with these cells, by column of the table."""
        raw = replace(raw, target_names=self.target_names, index=index)
        owners = self.encoding.owners
        numbers = [i for i, column in enumerate(self.columns) if column.kind == "number"]
        first = np.searchsorted(owners, numbers)
        parts: dict[str, Any] = {}
        for name in ("anchor_part", "correction_part"):
            part = getattr(raw, name)
            added = by_column(part[:, :-1] * raw.regressors[:, :, None], owners)
            added[:, numbers] = part[:, first]
            parts[name] = np.concatenate([added, part[:, -1:]], axis=1)
        ranks, weights = None, raw.feature_weights
        if raw.ranks is not None:
            ranks = np.ones((len(cells), len(self.columns)))
            ranks[:, numbers] = raw.ranks[:, first]
        if weights is not None:
            weights = np.bincount(owners, weights).astype(np.float64)
        coef = parts["anchor_part"][:, :-1] + parts["correction_part"][:, :-1]
        slopes = coef.copy()
        slopes[:, self._sloped] = raw.slopes[:, np.searchsorted(owners, self._sloped)]
        return replace(
            raw,
            coef=coef,
            contributions=by_column(raw.contributions, owners),
            difference_parts=by_column(raw.difference_parts, owners),
            slopes=slopes,
            feature_weights=weights,
            feature_names=self.encoding.names,
            ranks=ranks,
            X=cells,
            model=self,
            encoded=raw,
            **parts,
        )

    @property
    def _sloped(self) -> list[int]:
        """The columns that have a slope: numbers, and dates, whose slope is that of the trend."""
        return [
            i
            for i, column in enumerate(self.columns)
            if column.kind == "number" or (isinstance(column, DateColumn) and column.has_trend)
        ]

    def combinations(self, raw: LocalExplanation, *, of_slopes: bool = False) -> Array:
        """The coefficients of columns as combinations (q, c, d) of those of the estimator.

        The coefficient of a cell that is no number is what its features add. Of slopes, that of a
        date is the one of its trend.
        """
        owners = self.encoding.owners
        parts = np.zeros((len(raw.coef), len(self.columns), len(owners)))
        for i, column in enumerate(self.columns):
            own = owners == i
            if column.kind == "number" or (of_slopes and i in self._sloped):
                parts[:, i, np.searchsorted(owners, i)] = 1.0
            else:
                parts[:, i, own] = raw.regressors[:, own]
        return parts

    def slope_factors(self, factors: Array) -> Array:
        """Factors of features (q, d) by column, (q, c); 1 for columns that have no slope."""
        found = np.ones((len(factors), len(self.columns)))
        first = np.searchsorted(self.encoding.owners, self._sloped)
        found[:, self._sloped] = factors[:, first]
        return found

    def predict_checked(self, X: Array, without: NDArray[np.intp] | None = None) -> Array:
        """Numeric predictions (q, m) for features (q, d), as the estimator makes them."""
        return self.estimator.predict_checked(X, without)

    @property
    def loo_prediction_(self) -> Array:
        """Predictions of the training rows, each without itself, as the estimator's."""
        return self.estimator.loo_prediction_

    @property
    def regime_model(self) -> Any:
        """The single model that holds the samples."""
        return self.estimator.regime_model
