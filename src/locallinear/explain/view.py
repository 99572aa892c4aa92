"""A fitted model as pictures and reports see it: in the columns that its user knows.

A model of numbers has one feature per column. A model of raw tables has several for a column of
text, one per category, and for dates; here they are one column again: what they add is summed, and
a value is the cell in the table. Axis letters as in `interface`, and K for the categories of a
column.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ..runtime.extras import extra
from .interface import Column, Cyclic, Estimator, Explanation, FeatureSpace, TableModelLike
from .text import number

Array = NDArray[np.float64]

# What is smaller than this part of a prediction is what rounding leaves of a zero.
NOISE = 1e-12

# Where a frame of training rows notes which view made it; parts of the frame have the note too.
VIEW = "view"

# The words for a cell without a value, and for a text that the model was not fitted with.
MISSING, OTHER = "missing", "another value"


@dataclass
class NumberColumn:
    """A feature of a model of numbers, as a column."""

    name: str
    kind: str = "number"
    texts: Sequence[str | None] = ()
    unit: str = ""
    has_gaps: bool = False

    @property
    def feature_names(self) -> list[str]:
        """The one feature."""
        return [self.name]

    @property
    def settings(self) -> Array:
        """None: the column is one of numbers."""
        return np.empty((0, 1))

    def cells_of(self, features: Array) -> list[Any]:
        """The numbers."""
        return features[:, 0].tolist()


class Samples(NamedTuple):
    """Inputs (n, d) in units, numeric targets (n, m), and how often each sample counts, (n,)."""

    inputs: Array
    targets: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class ModelView:
    """A fitted estimator, and the columns that its features come from.

    Attributes
    ----------
    estimator : Estimator
    columns : sequence of Column
        In the order of the features.
    table : TableModelLike or None
        The model that takes raw tables, where there is one.
    """

    estimator: Estimator
    columns: Sequence[Column]
    table: TableModelLike | None = None

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [column.name for column in self.columns]

    @property
    def target_names(self) -> list[str]:
        """Names of the targets or classes."""
        owner = self.estimator.regime_model if self.table is None else self.table
        return list(owner.target_names)

    @property
    def classes(self) -> NDArray | None:
        """The classes of a classifier, (m,)."""
        return getattr(self.estimator, "classes_", None)

    @property
    def is_classifier(self) -> bool:
        """Whether targets are classes."""
        return is_classifier(self.estimator)

    @property
    def feature_names(self) -> list[str]:
        """Names of the estimator's features: for a column of text, one per category."""
        names: list[str] = []
        for column in self.columns:
            if 1 < len(column.texts) == len(column.feature_names):
                names += [f"{column.name}: {MISSING if t is None else t}" for t in column.texts]
            else:
                names += column.feature_names
        return names

    @cached_property
    def column_numbers(self) -> NDArray[np.intp]:
        """The number of each feature's column, (d,)."""
        sizes = [len(column.feature_names) for column in self.columns]
        return np.repeat(np.arange(len(sizes)), sizes)

    def features_of(self, j: int) -> slice:
        """The features of a column."""
        return slice(*np.searchsorted(self.column_numbers, [j, j + 1]).tolist())

    def by_column(self, parts: Array) -> Array:
        """Sums of what features add, (q, d, m), over those of each column, (q, c, m)."""
        starts = np.searchsorted(self.column_numbers, np.arange(len(self.columns)))
        return np.add.reduceat(parts, starts, axis=1)

    # --- Samples and rows ------------------------------------------------------------------------

    @cached_property
    def samples(self) -> Samples:
        """The training samples. Those of weight 0 are there too, so that all have their numbers."""
        model = self.estimator.regime_model
        (X, Y), weights = model.training_samples(), model.training_weights()
        return Samples(X, Y, np.ones(len(X)) if weights is None else weights)

    @property
    def counted(self) -> NDArray[np.intp]:
        """The numbers of the samples with weight."""
        return np.flatnonzero(self.samples.weights > 0)

    @property
    def n_samples(self) -> float:
        """How many samples there are, each as often as its weight says."""
        return float(self.samples.weights.sum())

    def of_regime(self, label: int) -> Samples:
        """The samples with weight whose anchor has this number."""
        chosen = (self.estimator.labels_ == label) & (self.samples.weights > 0)
        return Samples(*(column[chosen] for column in self.samples))

    @property
    def sample_targets(self) -> NDArray:
        """The targets of the samples as a user gave them: (n,), (n, m), or classes."""
        Y = self.samples.targets
        if self.classes is not None:
            return self.classes[Y.argmax(axis=1)]
        return Y[:, 0] if self.estimator.regime_model.one_target else Y

    @property
    def space(self) -> FeatureSpace:
        """What the coefficients multiply."""
        return self.estimator.regime_model.feature_space

    @cached_property
    def center(self) -> Array:
        """What the coefficients multiply at the average sample, (d,): where pictures start."""
        X, _, weights = self.samples
        return self.space.regressors(np.average(X, axis=0, weights=weights)[None])[0]

    @cached_property
    def spread(self) -> Array:
        """Standard deviations of what the coefficients multiply, (d,)."""
        return deviations(self.space.regressors(self.samples.inputs), self.samples.weights)

    def out_of_fold(self) -> tuple[NDArray, NDArray[np.intp]] | None:
        """Predictions in units, or probabilities, of samples as unseen rows; each one's fold."""
        return self.estimator.out_of_fold() if self.table is None else self.table.out_of_fold

    def predictions_in_units(self, predicted: NDArray) -> NDArray:
        """What the estimator predicts, (q,) or (q, m), in units where it is of logs."""
        return predicted if self.table is None else self.table.predictions_in_units(predicted)

    def targets_in_units(self, targets: NDArray) -> NDArray:
        """Targets of the estimator, (q,) or (q, m), in units where they are logs."""
        return targets if self.table is None else self.table.targets_in_units(targets)

    def on_model_scale(self, y: Any) -> Any:
        """Targets as a user has them, as the estimator does: where it is of logs, their logs."""
        if self.table is None or self.table.units is None:
            return y
        return self.table.targets_on_model_scale(np.asarray(y))

    def encode(self, X: Any) -> Any:
        """The rows that the estimator takes."""
        if self.table is None:
            return X
        own = self._training_numbers(X)
        return self.table.encode(X) if own is None else self.samples.inputs[own]

    def cells(self, X: Any) -> Any:
        """The cells of a table's rows as a reader sees them, as a frame."""
        assert self.table is not None
        return self.table.read(X).frame[self.names] if self._training_numbers(X) is None else X

    def explain(self, X: Any) -> Explanation:
        """The explanation of rows, by column."""
        if self.table is None:
            return self.estimator.explain(X)
        own = self._training_numbers(X)
        if own is None:
            return self.table.explain(X)
        return self.table.by_column(self.explain_inputs(self.samples.inputs[own]), X, X.index)

    def _training_numbers(self, X: Any) -> NDArray[np.intp] | None:
        """Which samples rows are, where they are some of the view's own `training_rows`.

        Their features are known: their cells are as a reader sees them, and may have been written
        otherwise in the table.
        """
        if getattr(X, "attrs", {}).get(VIEW) != id(self):
            return None
        return X.index.to_numpy() - 1

    def explain_without(self, X: Any, samples: NDArray[np.intp]) -> Explanation:
        """The explanation of rows, each without the sample of this number, by column; -1: none."""
        inputs = np.asarray(self.encode(X), dtype=np.float64)
        why = self.estimator.explain_checked(inputs, samples)
        if self.table is None:
            return why
        return self.table.by_column(why, self.cells(X), getattr(X, "index", None))

    def predict(self, inputs: Array, without: NDArray[np.intp] | None = None) -> Array:
        """Values or probabilities, (q, m), for rows of the estimator's features (q, d).

        `without` (q,) are numbers of samples: each row is predicted without that sample.
        """
        if without is not None:
            scores = self.estimator.predict_checked(inputs, without)
            return self.probabilities(scores) if self.is_classifier else scores
        model: Any = self.estimator
        rows = self.named_inputs(inputs)
        predicted = model.predict_proba(rows) if self.is_classifier else model.predict(rows)
        return predicted.reshape(len(inputs), -1)

    def probabilities(self, scores: Array) -> Array:
        """The probabilities of the classes that belong to scores, both (q, m)."""
        classifier: Any = self.estimator
        return classifier.probabilities_of(scores)

    def explain_inputs(self, inputs: Array) -> Explanation:
        """The explanation of rows of the estimator's features (q, d), by feature."""
        return self.estimator.explain(self.named_inputs(inputs))

    def named_inputs(self, inputs: Array) -> Any:
        """Rows of the estimator's features as a frame, where it was fitted with names."""
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None:
            return inputs
        return extra("pandas", "report", "Reports").DataFrame(inputs, columns=names)

    def training_rows(self) -> Any:
        """The training samples as rows: of a table, its cells as far as features tell them."""
        return self._training_rows

    @cached_property
    def _training_rows(self) -> Any:
        X = self.samples.inputs
        if self.table is None:
            return self.named_rows(X)
        pandas = extra("pandas", "report", "Reports on tables")
        numbers = range(1, len(X) + 1)  # as the rows of a file are counted
        frame = pandas.DataFrame(self.sample_values(X), columns=self.names, index=numbers)
        frame.attrs[VIEW] = id(self)
        return frame

    def named_rows(self, X: Any) -> Any:
        """Rows (q, d) as a frame, where the estimator was fitted with names; tables as they are."""
        return X if self.table is not None else self.named_inputs(X)

    def true_targets(self, X: Any, y: ArrayLike | None) -> NDArray:
        """The true targets or classes of rows: y, or those in the table where y is left out."""
        if y is None:
            if self.table is None:
                raise ValueError("y must hold the true targets of X, but was left out")
            return self.table.true_targets(X)
        targets = np.asarray(self.on_model_scale(y))
        if self.classes is None:
            return targets
        targets = targets.astype(str) if self.classes.dtype.kind == "U" else targets
        unknown = ~np.isin(targets, self.classes)
        if unknown.any():
            raise ValueError(
                f"y has the class {targets[unknown].tolist()[0]!r}, which the model was not fitted "
                f"with ({self.classes.tolist()})"
            )
        return targets

    # --- Columns of numbers and dates ------------------------------------------------------------

    def in_words(self, j: int, numbers: Sequence[float]) -> list[str]:
        """Numbers of a column's first feature as a reader writes them: of dates, the days."""
        if self.columns[j].kind != "date":
            return [number(value) for value in numbers]
        features = np.zeros((len(numbers), len(self.columns[j].feature_names)))
        features[:, 0] = numbers
        return [text[:10] for text in self.cells_of(j, features)]

    def label(self, j: int) -> str:
        """A column's name, with what its number counts where its cells do not say it."""
        column = self.columns[j]
        return f"{column.name} ({column.unit})" if column.unit else column.name

    def has_slope(self, j: int) -> bool:
        """Whether a column has a slope: texts have none, nor has a time of day."""
        column = self.columns[j]
        return not column.texts and (not isinstance(column, Cyclic) or column.has_trend)

    # --- Columns of text -------------------------------------------------------------------------

    def choices(self, j: int) -> list[str] | None:
        """What a column of text can hold, with any other text last; None for numbers."""
        texts = self.columns[j].texts
        if not texts:
            return None
        return [MISSING if text is None else text for text in texts] + [OTHER]

    def is_one_hot(self, j: int) -> bool:
        """Whether a column has one 0/1 feature per text; ordered texts have one for all."""
        return 1 < len(self.columns[j].texts) == len(self.columns[j].feature_names)

    def cells_of(self, j: int, features: Array) -> list[Any]:
        """What a reader sees of a column in rows with its features (n, f), or in means of rows."""
        column = self.columns[j]
        if not column.texts:
            return column.cells_of(features)
        return [[*column.texts, OTHER][k] for k in self._nearest_text(j, features)]

    def shares(self, j: int) -> Array:
        """How often the samples hold each choice of a column of text, (K + 1,)."""
        X, _, weights = self.samples
        held = self._nearest_text(j, X[:, self.features_of(j)])
        return np.bincount(held, weights, len(self.columns[j].texts) + 1) / weights.sum()

    def effects(self, coef: Array, j: int) -> Array:
        """What each choice of a column of text adds to models (.., d, m), (.., K + 1, m)."""
        features, settings = self.features_of(j), self.columns[j].settings
        rows = np.zeros((len(settings), len(self.column_numbers)))
        rows[:, features] = settings
        chosen = self.space.regressors(rows)[:, features]
        return np.einsum("gk,...km->...gm", chosen, coef[..., features, :])

    def _nearest_text(self, j: int, features: Array) -> NDArray[np.intp]:
        """Which text has the nearest features to rows (n, f), (n,); the last number: another."""
        # Features are 1 or 0, or whole numbers, up to rounding. Ties go to the first.
        return ((features[:, None] - self.columns[j].settings) ** 2).sum(axis=2).argmin(axis=1)

    # --- What columns add to models --------------------------------------------------------------

    def at_average(self, coef: Array) -> Array:
        """What each column adds at the average sample to models (q, d, m), (q, c, m)."""
        return self.by_column(coef * self.center[:, None])

    def sizes(self, coef: Array) -> Array:
        """How much each column usually moves models (.., d, m), (.., c, m).

        The standard deviation of the column's part in a prediction: for numbers the coefficient
        times their own, and for text that of what the categories add.
        """
        out = np.empty((*coef.shape[:-2], len(self.columns), coef.shape[-1]))
        for j, column in enumerate(self.columns):
            if column.texts:
                effects, shares = self.effects(coef, j), self.shares(j)[:, None]
                mean = (shares * effects).sum(axis=-2, keepdims=True)
                out[..., j, :] = np.sqrt((shares * (effects - mean) ** 2).sum(axis=-2))
            elif len(column.feature_names) == 1:
                first = self.features_of(j).start
                out[..., j, :] = np.abs(coef[..., first, :]) * self.spread[first]
            else:
                features = self.features_of(j)
                X, _, weights = self.samples
                regressors = self.space.regressors(X)[:, features]
                together = np.cov(regressors.T, bias=True, aweights=weights)
                own = coef[..., features, :]
                squares = np.einsum("...fm,fg,...gm->...m", own, together, own)
                out[..., j, :] = np.sqrt(np.maximum(squares, 0.0))
        return out

    def counting(self, why: Explanation) -> NDArray[np.bool_]:
        """Which columns count in explained models, (q, c, m), by more than rounding leaves."""
        prediction = why.contributions.sum(axis=1) + why.intercept
        size = np.abs(prediction) + np.abs(why.intercept)
        moves = np.maximum(self.sizes(by_feature(why).coef), np.abs(why.contributions))
        return moves > NOISE * size[:, None]

    # --- Values ----------------------------------------------------------------------------------

    def values(self, why: Explanation) -> list[list[Any]]:
        """What explained rows hold, (q, c): numbers, texts, and None where nothing is."""
        if self.table is None:
            return np.asarray(why.X, dtype=np.float64).tolist()
        return [
            [None if value is None or value != value else value for value in row]
            for row in why.X[self.names].to_numpy(dtype=object).tolist()
        ]

    def positions(self, inputs: Array) -> Array:
        """Where rows (q, d) are, (q, c): what a coefficient multiplies, or which choice."""
        regressors = self.space.regressors(inputs)
        out = np.empty((len(inputs), len(self.columns)))
        for j, column in enumerate(self.columns):
            first = self.features_of(j).start
            out[:, j] = (
                self._nearest_text(j, inputs[:, self.features_of(j)])
                if column.texts
                else regressors[:, first]
            )
        return out

    def sample_values(self, inputs: Array) -> list[list[Any]]:
        """What samples (n, d) hold, as `values`, as far as their features tell it."""
        columns = [
            self.cells_of(j, inputs[:, self.features_of(j)]) for j in range(len(self.columns))
        ]
        return [list(row) for row in zip(*columns, strict=True)]


def deviations(values: Array, weights: Array) -> Array:
    """Standard deviations (d,) of values (n, d) with weights (n,)."""
    mean = np.average(values, axis=0, weights=weights)
    return np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))


def view_of(model: Any) -> ModelView:
    """The view of a fitted model: an estimator, a search over estimators, or a table model."""
    table = getattr(model, "table_model", model)
    if hasattr(type(table), "encode"):
        return ModelView(fitted_estimator(table.estimator), table.columns, table)
    estimator = fitted_estimator(model)
    names = estimator.regime_model.feature_names
    return ModelView(estimator, [NumberColumn(str(name)) for name in names])


def fitted_estimator(model: Any) -> Estimator:
    """The estimator itself, or the best one of a search."""
    estimator = getattr(model, "best_estimator_", model)
    if not hasattr(type(estimator), "regime_model"):
        raise TypeError(
            "expected a fitted FALLRegressor, FALLClassifier, a search over them, an ensemble of "
            f"them or a TableRegressor or TableClassifier, but got {type(model).__name__}; of a "
            "pipeline, pass the last step and transformed rows"
        )
    check_is_fitted(estimator)
    return estimator


def by_feature(why: Explanation) -> Explanation:
    """An explanation by feature of the estimator, where that of a table is by column."""
    return why if why.encoded is None else why.encoded
