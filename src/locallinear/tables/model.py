"""TableModel: a fitted estimator together with the encoding of the table that it was fitted on."""

from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from ..explain.view import view_of
from ..io import register, save
from ..models.explanation import LocalExplanation
from .encoding import Column, Encoding, by_column
from .table import Table, as_table

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

EMPTY = Encoding((), (), False)


@register
class TableModel:
    """A model of raw tables: it takes text and missing values, and explains by column.

    ``locallinear fit`` makes such models and `locallinear.load` reads them. All methods take a
    DataFrame of pandas or polars with the columns that the model was fitted with, in any order.

    Attributes
    ----------
    encoding : Encoding
        The columns, and how they become numbers.
    estimator : FALLRegressor or FALLClassifier
        The fitted model of these numbers.

    Examples
    --------
    >>> import pandas
    >>> from locallinear import FALLRegressor, TableModel
    >>> from locallinear.tables import fit_encoding
    >>> frame = pandas.DataFrame(
    ...     {"size": [1.0, 2, 3, 4], "kind": list("abab"), "price": [1.0, 4, 3, 8]}
    ... )
    >>> encoding, table, notes = fit_encoding(frame, ("price",))
    >>> fall = FALLRegressor(n_neighbors=2).fit(encoding.inputs(table), encoding.outputs(table))
    >>> model = TableModel(encoding, fall)
    >>> model.explain(frame).feature_names
    ['size', 'kind']
    """

    def __init__(self, encoding: Encoding = EMPTY, estimator: Any = None) -> None:
        self.encoding = encoding
        self.estimator = estimator

    @property
    def classes_(self) -> NDArray:
        """The classes, in the order of `predict_proba`."""
        return self.estimator.classes_

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in the order of the estimator's features."""
        return self.encoding.columns

    @property
    def column_numbers(self) -> NDArray[np.intp]:
        """The number of the column that each feature of the estimator comes from, (d,)."""
        return self.encoding.owners

    @property
    def target_names(self) -> list[str]:
        """Names of the targets, or of the classes."""
        if self.encoding.classify:
            return [str(c) for c in self.classes_]
        return list(self.encoding.targets)

    def read(self, data: Any) -> Table:
        """Convert a frame to a Table, with the model's columns of text and missing values."""
        return as_table(data, self.encoding.text, self.encoding.missing)

    def encode(self, data: Any) -> "pandas.DataFrame":
        """The numbers that the estimator takes, (q, d)."""
        self._check_fitted()
        return self.encoding.inputs(self.read(data))

    def _check_fitted(self) -> None:
        if self.estimator is None:
            raise NotFittedError(
                "This TableModel is empty; the command `locallinear fit` makes fitted ones, which "
                "locallinear.load reads."
            )

    def true_targets(self, data: Any) -> NDArray:
        """The targets or classes that a frame holds, (q,) or (q, m)."""
        return self.encoding.outputs(self.read(data))

    def predict(self, data: Any) -> NDArray:
        """Predict the targets, (q,) or (q, m), or the classes, (q,)."""
        inputs = self.encode(data)
        return self.estimator.predict(inputs)

    def predict_proba(self, data: Any) -> Array:
        """Predict the probabilities of the classes, (q, m)."""
        inputs = self.encode(data)
        return self.estimator.predict_proba(inputs)

    def explain(self, data: Any) -> LocalExplanation:
        """The exact linear model behind each prediction, by column of the table.

        A column of text has the value 1, so that its coefficient is what its text adds. The
        contributions and the intercept sum to the prediction.
        """
        table = self.read(data)
        inputs = self.encode(table)
        raw = self.estimator.explain(inputs)
        return self._by_column(raw, table.frame, getattr(data, "index", None))

    def explain_samples(self, indices: ArrayLike | None = None) -> LocalExplanation:
        """Explain rows of the table that the model was fitted on, none by itself.

        As `FALLRegressor.explain_samples`, by column. Rows are numbered as the estimator keeps
        them, and their cells are those that it knows: a missing number is the one that replaced
        it.
        """
        self._check_fitted()
        raw = self.estimator.explain_samples(indices)
        frame = view_of(self).training_rows().iloc[raw.samples]
        return self._by_column(raw, frame, frame.index)

    @property
    def loo_prediction_(self) -> Array:
        """Predictions of the rows, each without itself, as `FALLRegressor.loo_prediction_`."""
        self._check_fitted()
        return self.estimator.loo_prediction_

    def _by_column(
        self, raw: LocalExplanation, frame: "pandas.DataFrame", index: Any
    ) -> LocalExplanation:
        """The estimator's explanation of the rows of a frame, by column of the table."""
        raw = replace(raw, target_names=self.target_names, index=index)
        owners = self.encoding.owners
        numbers = [i for i, column in enumerate(self.encoding.columns) if not column.is_text]
        encoded_numbers = np.searchsorted(owners, numbers)
        parts: dict[str, Any] = {}
        for name in ("anchor_part", "correction_part"):
            part = getattr(raw, name)
            added = by_column(part[:, :-1] * raw.regressors[:, :, None], owners)
            added[:, numbers] = part[:, encoded_numbers]
            parts[name] = np.concatenate([added, part[:, -1:]], axis=1)
        ranks, weights = None, raw.feature_weights
        if raw.ranks is not None:
            ranks = np.ones((len(frame), len(self.encoding.columns)))
            ranks[:, numbers] = raw.ranks[:, encoded_numbers]
        if weights is not None:
            weights = np.bincount(owners, weights).astype(np.float64)
        coef = parts["anchor_part"][:, :-1] + parts["correction_part"][:, :-1]
        slopes = coef.copy()
        slopes[:, numbers] = raw.slopes[:, encoded_numbers]
        return replace(
            raw,
            coef=coef,
            contributions=by_column(raw.contributions, owners),
            difference_parts=by_column(raw.difference_parts, owners),
            slopes=slopes,
            feature_weights=weights,
            feature_names=self.encoding.names,
            ranks=ranks,
            X=frame[self.encoding.names],
            model=self,
            encoded=raw,
            **parts,
        )

    def combinations(self, raw: LocalExplanation) -> Array:
        """The coefficients of columns as combinations (q, p, d) of those of an estimator.

        The coefficient of a text is what its features add.
        """
        owners = self.encoding.owners
        parts = np.zeros((len(raw.coef), len(self.encoding.columns), len(owners)))
        for i, column in enumerate(self.encoding.columns):
            own = owners == i
            parts[:, i, own] = raw.regressors[:, own] if column.is_text else own[own]
        return parts

    def by_number(self, values: Array) -> Array:
        """Values of features (q, d) by column, (q, p): of columns of numbers, and 1 for text."""
        found = np.ones((len(values), len(self.encoding.columns)))
        for i, column in enumerate(self.encoding.columns):
            if not column.is_text:
                found[:, i] = values[:, np.searchsorted(self.encoding.owners, i)]
        return found

    def predict_interval(self, data: Any, coverage: float = 0.9, **options: Any) -> Array:
        """Predict intervals, (q, 2) or (q, m, 2), as `FALLRegressor.predict_interval`."""
        inputs = self.encode(data)
        return self.estimator.predict_interval(inputs, coverage, **options)

    def predict_set(self, data: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Predict sets of classes, (q, m), as `FALLClassifier.predict_set`."""
        inputs = self.encode(data)
        return self.estimator.predict_set(inputs, coverage)

    def novelty(self, data: Any) -> Array:
        """How unusual each row is, (q,), as `FALLRegressor.novelty`."""
        inputs = self.encode(data)
        return self.estimator.novelty(inputs)

    def save(self, path: str | Path | IO[bytes]) -> None:
        """Write the model to a file that `locallinear.load` reads; it is complete or absent."""
        save(self, path)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Nothing: a table model has no parameters, only fitted parts."""
        return {}

    def _validate_params(self) -> None:
        """Nothing to check; files of models are checked by this method."""

    def fitted_state(self) -> dict[str, Any]:
        """What a file holds of the model."""
        return {"encoding": self.encoding.to_dict(), "estimator": self.estimator}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the state that `fitted_state` returned."""
        self.encoding = Encoding.from_dict(state["encoding"])
        self.estimator = state["estimator"]
        n_inputs = len(self.encoding.owners)
        if self.estimator.n_features_in_ != n_inputs:
            raise ValueError(
                f"its table has {n_inputs} inputs, and its model {self.estimator.n_features_in_}"
            )
