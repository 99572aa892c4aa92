"""TableModel: a fitted model together with the way from a raw table to its numbers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..io import register, save
from ..models.explanation import LocalExplanation
from .encoding import Column, Encoding, by_column
from .table import Table, as_table

Array = NDArray[np.float64]


NOTHING = Encoding((), (), False)


@register
class TableModel:
    """A model of raw tables: it takes text and missing values, and explains by column.

    Made by ``locallinear fit`` and read by `locallinear.load`. All methods take a
    DataFrame, of pandas or polars, with the columns that the model was fitted with, in any order.

    Attributes
    ----------
    encoding : Encoding
        The columns, and how they become numbers.
    estimator : FALLRegressor or FALLClassifier
        The model of these numbers.

    Examples
    --------
    >>> import pandas
    >>> from locallinear import FALLRegressor
    >>> from locallinear.tables.encoding import fit_encoding
    >>> from locallinear.tables.table import as_table
    >>> frame = pandas.DataFrame(
    ...     {"size": [1.0, 2, 3, 4], "kind": list("abab"), "price": [1.0, 4, 3, 8]}
    ... )
    >>> encoding, table, notes = fit_encoding(as_table(frame), ("price",))
    >>> fall = FALLRegressor(n_neighbors=2).fit(encoding.inputs(table), encoding.outputs(table))
    >>> model = TableModel(encoding, fall)
    >>> model.explain(frame).feature_names
    ['size', 'kind']
    """

    def __init__(self, encoding: Encoding = NOTHING, estimator: Any = None):
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

    def true_targets(self, data) -> NDArray:
        """The targets or classes that a frame holds."""
        return self.encoding.outputs(self.read(data))

    def read(self, data) -> Table:
        """The rows of a frame as this model takes them: what is text, and what means no value."""
        return as_table(data, self.encoding.text, self.encoding.missing)

    def encode(self, data):
        """The numbers that the estimator takes, as a DataFrame."""
        return self.encoding.inputs(self.read(data))

    def predict(self, data) -> NDArray:
        """Predict the targets, (q,) or (q, m), or the classes, (q,)."""
        return self.estimator.predict(self.encode(data))

    def predict_proba(self, data) -> Array:
        """Predict the probabilities of the classes, (q, m)."""
        return self.estimator.predict_proba(self.encode(data))

    def explain(self, data) -> LocalExplanation:
        """The exact linear model behind each prediction, by column of the table.

        A column of text counts as 1, so that its coefficient is what its text adds. Contributions
        and intercept add up to the prediction.
        """
        table = self.read(data)
        inputs = self.encode(table)
        index = getattr(data, "index", None)
        raw = self.estimator.explain(inputs)
        raw = replace(raw, target_names=self.target_names, index=index)
        owners = self.encoding.owners
        numbers = [place for place, c in enumerate(self.encoding.columns) if not c.is_text]
        inputs_of_numbers = np.searchsorted(owners, numbers)
        whole = {"contributions": by_column(raw.contributions, owners)}
        for name in ("anchor_part", "correction_part"):
            part = getattr(raw, name)
            added = by_column(part[:, :-1] * raw.regressors[:, :, None], owners)
            added[:, numbers] = part[:, inputs_of_numbers]
            whole[name] = np.concatenate([added, part[:, -1:]], axis=1)
        ranks = None
        if raw.ranks is not None:
            ranks = np.ones((len(inputs), len(self.encoding.columns)))
            ranks[:, numbers] = raw.ranks[:, inputs_of_numbers]
        return replace(
            raw,
            coef=whole["anchor_part"][:, :-1] + whole["correction_part"][:, :-1],
            feature_weights=self._weights(raw.feature_weights),
            feature_names=self.encoding.names,
            ranks=ranks,
            X=table.frame[self.encoding.names],
            model=self,
            encoded=raw,
            **whole,
        )

    @property
    def target_names(self) -> list[str]:
        """The targets, or the classes."""
        if self.encoding.classify:
            return [str(c) for c in self.classes_]
        return list(self.encoding.targets)

    def save(self, path: str | Path) -> None:
        """Write the model to a file that `locallinear.load` reads; it is whole or absent."""
        save(self, path)

    def _weights(self, weights: Array | None) -> Array | None:
        if weights is None:
            return None
        return np.bincount(self.encoding.owners, weights).astype(np.float64)

    def get_params(self, deep: bool = True) -> dict:
        """Nothing: a table model is made of fitted parts."""
        return {}

    def _validate_params(self) -> None:
        """Nothing to check."""

    def fitted_state(self) -> dict:
        """What a file has to hold of the model."""
        return {"encoding": self.encoding.to_dict(), "estimator": self.estimator}

    def restore(self, state: dict) -> None:
        """Become the model that `fitted_state` described."""
        self.encoding = Encoding.from_dict(state["encoding"])
        self.estimator = state["estimator"]
        n_inputs = len(self.encoding.owners)
        if self.estimator.n_features_in_ != n_inputs:
            raise ValueError(
                f"its table has {n_inputs} inputs, and its model {self.estimator.n_features_in_}"
            )
