"""A fitted model as pictures and reports see it: in the columns that its user knows.

A FALL has one feature a column. A TableModel has several for a column of text, one a category;
here they are one thing again: what they add is summed, and a value is the text in the table.
Axis letters: q rows, c columns, d features of the FALL, m targets, K categories of a column.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ..models.explanation import LocalExplanation
from ..models.fall import FALL
from ..tables.encoding import NO_VALUE, Column, by_column
from ..tables.model import TableModel
from ._model import fall_of

Array = NDArray[np.float64]

ALL = slice(None)

# What is smaller than this part of a prediction is what rounding leaves of a zero.
NOISE = 1e-12

# What a page calls a cell without a value, and a text that fitting did not see.
MISSING, OTHER = "missing", "another value"


@dataclass(frozen=True, eq=False)
class Subject:
    """A FALL, and the columns that its features stand for.

    Attributes
    ----------
    fall : FALL
    columns : tuple of Column
        In the order of the features.
    table : TableModel or None
        Where the model takes raw tables.
    """

    fall: FALL
    columns: tuple[Column, ...]
    table: TableModel | None = None

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [column.name for column in self.columns]

    @property
    def targets(self) -> list[str]:
        """Names of the targets or classes."""
        return list(
            self.fall.regime_model.target_names if self.table is None else self.table.target_names
        )

    @property
    def feature_names(self) -> list[str]:
        """Names of the FALL's features: of a column of text one a category."""
        names: list[str] = []
        for place, name in enumerate(self.names):
            choices = self.choices(place)
            names += [name] if choices is None else [f"{name}: {text}" for text in choices[:-1]]
        return names

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """For each feature the place of its column."""
        sizes = [len(column.encoded_names) for column in self.columns]
        return np.repeat(np.arange(len(sizes)), sizes)

    def part(self, place: int) -> slice:
        """The features of a column."""
        return slice(*np.searchsorted(self.owners, [place, place + 1]).tolist())

    @cached_property
    def samples(self) -> tuple[Array, Array]:
        """The samples that the model keeps, in units: inputs (n, d) and numeric targets (n, m)."""
        return self.fall.regime_model.training_samples()

    @property
    def space(self) -> Any:
        """The feature space of the models."""
        return self.fall.regime_model.feature_space

    @cached_property
    def center(self) -> Array:
        """What the coefficients multiply at the average sample, (d,): where pictures start."""
        return self.space.regressors(self.samples[0].mean(axis=0, keepdims=True))[0]

    @cached_property
    def spread(self) -> Array:
        """Standard deviations of what the coefficients multiply, (d,)."""
        return self.space.regressors(self.samples[0]).std(axis=0)

    def inputs(self, X) -> Any:
        """What the FALL takes of rows."""
        return X if self.table is None else self.table.encode(X)

    def explain(self, X) -> LocalExplanation:
        """The explanation of rows, by column."""
        return (self.fall if self.table is None else self.table).explain(X)

    def feature_coef(self, told: LocalExplanation, rows: slice = ALL) -> Array:
        """The coefficients of explained rows by feature of the FALL, (q, d, m)."""
        if self.table is None:
            return told.coef[rows]
        return self.fall.explain(self.table.encode(told.X.iloc[rows])).coef

    def at_average(self, coef: Array) -> Array:
        """What each column would add at the average sample to models (q, d, m), (q, c, m)."""
        return by_column(coef * self.center[:, None], self.owners)

    def labels(self) -> NDArray:
        """The targets of the samples as a user gave them: (n,), (n, m), or classes."""
        Y = self.samples[1]
        if is_classifier(self.fall):
            return self.fall.classes_[Y.argmax(axis=1)]
        return Y[:, 0] if self.fall.regime_model.one_target else Y

    # --- Columns of text -------------------------------------------------------------------------

    def choices(self, place: int) -> list[str] | None:
        """What a column of text can hold, a text that fitting did not see last; None of numbers."""
        column = self.columns[place]
        if not column.is_text:
            return None
        return [MISSING if c == NO_VALUE else c for c in column.categories] + [OTHER]

    def shares(self, place: int) -> Array:
        """How often the samples hold each choice of a column of text, (K + 1,)."""
        known = self.samples[0][:, self.part(place)].mean(axis=0)
        return np.append(known, max(0.0, 1.0 - known.sum()))

    def effects(self, coef: Array, place: int) -> Array:
        """What each choice of a column of text adds to models (.., d, m), (.., K + 1, m)."""
        part = self.part(place)
        K = part.stop - part.start
        rows = np.zeros((K + 1, len(self.owners)))
        rows[:K, part] = np.eye(K)
        chosen = self.space.regressors(rows)[:, part]
        return np.einsum("gk,...km->...gm", chosen, coef[..., part, :])

    def sizes(self, coef: Array) -> Array:
        """How much each column usually moves models (.., d, m), (.., c, m).

        Of numbers the coefficient times their standard deviation, and of text the standard
        deviation of what the categories add: both of the column's part in a prediction.
        """
        out = np.empty((*coef.shape[:-2], len(self.columns), coef.shape[-1]))
        for place, column in enumerate(self.columns):
            if column.is_text:
                effects, shares = self.effects(coef, place), self.shares(place)[:, None]
                mean = (shares * effects).sum(axis=-2, keepdims=True)
                out[..., place, :] = np.sqrt((shares * (effects - mean) ** 2).sum(axis=-2))
            else:
                first = self.part(place).start
                out[..., place, :] = np.abs(coef[..., first, :]) * self.spread[first]
        return out

    def counts(self, coef: Array, contributions: Array, size: Array) -> NDArray[np.bool_]:
        """Which columns count in models, (q, c, m), by more than rounding leaves of a zero.

        `coef` (q, d, m) and `contributions` (q, c, m) are those of rows, and `size` (q, m) tells
        how large the numbers were that were rounded.
        """
        moves = np.maximum(self.sizes(coef), np.abs(contributions))
        return moves > NOISE * size[:, None]

    # --- Values ----------------------------------------------------------------------------------

    def values(self, X) -> list[list]:
        """What rows hold, (q, c): numbers, texts, and None where nothing is."""
        if self.table is None:
            return np.asarray(X, dtype=np.float64).tolist()
        frame = self.table.read(X).frame
        return [
            [None if value is None or value != value else value for value in line]
            for line in frame[self.names].to_numpy(dtype=object).tolist()
        ]

    def positions(self, inputs: Array) -> Array:
        """Where rows (q, d) stand, (q, c): what a coefficient multiplies, or which choice."""
        regressors = self.space.regressors(inputs)
        out = np.empty((len(inputs), len(self.columns)))
        for place, column in enumerate(self.columns):
            part = self.part(place)
            here = inputs[:, part] > 0.5  # 1 or 0, up to the rounding of the way back from a space
            chosen = np.where(here.any(axis=1), here.argmax(axis=1), here.shape[1])
            out[:, place] = chosen if column.is_text else regressors[:, part.start]
        return out

    def sample_values(self, inputs: Array) -> list[list]:
        """What samples (n, d) hold, as `values` has it; a missing number is the one put in."""
        places = self.positions(inputs)
        columns = []
        for j, column in enumerate(self.columns):
            texts = [None if c == NO_VALUE else c for c in column.categories] + [OTHER]
            numbers = inputs[:, self.part(j).start].tolist()
            columns.append([texts[int(i)] for i in places[:, j]] if column.is_text else numbers)
        return [list(line) for line in zip(*columns, strict=True)]


def can_be_shown(estimator) -> bool:
    """Whether `subject_of` knows the kind of an estimator, or of what explained a row."""
    return (
        isinstance(estimator, TableModel | FALL)
        or hasattr(estimator, "best_estimator_")
        or hasattr(type(estimator), "regime_model")
    )


def subject_of(estimator) -> Subject:
    """What pictures ask of an estimator: a FALL, the best of a search, or a TableModel."""
    if isinstance(estimator, TableModel):
        return Subject(fall_of(estimator.estimator), estimator.encoding.columns, estimator)
    fall = fall_of(estimator)
    return Subject(fall, tuple(Column(str(name)) for name in fall.regime_model.feature_names))


def labels_of(subject: Subject, X, y=None) -> NDArray:
    """The true targets or classes of rows: y, or those in a table where y is left out."""
    if y is None:
        if subject.table is None:
            raise ValueError("y must hold the true targets of X, but was left out")
        return subject.table.encoding.outputs(subject.table.read(X))
    truth = np.asarray(y)
    if is_classifier(subject.fall):
        classes = subject.fall.classes_
        truth = truth.astype(str) if classes.dtype.kind == "U" else truth
        unknown = ~np.isin(truth, classes)
        if unknown.any():
            raise ValueError(
                f"y has the class {truth[unknown].tolist()[0]!r}, which the model was not fitted "
                f"with ({classes.tolist()})"
            )
    return truth
