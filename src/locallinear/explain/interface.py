"""What this folder reads of models and explanations: it imports neither, and changes neither.

Three kinds of objects come in. A fitted `Estimator` is a single model or an ensemble; a search
passes its `best_estimator_`. A `TableModelLike` is a model of raw tables: an estimator, and the
columns that its features come from. An `Explanation` is what `explain` of either returns. Pictures
and reports read the members below and scikit-learn's own (`get_params`, `predict`,
`predict_proba`), and, where there are such, `classes_`, `feature_weights_`, `kinds_` and `alpha`,
and of classifiers `probability_map`, `probabilities_of` and `predict_scores`.

Axis letters: n samples, q queries, d features, c columns, m targets (for classes, one per class),
K neighbours.
"""

# Classes say in their own docstrings what their members are.
# ruff: noqa: D102

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]


class FeatureSpace(Protocol):
    """What the coefficients multiply: X itself, where it `has_units`, or its ranks.

    `regressors` returns it for X (q, d), and `from_regressors` returns X for it.
    """

    has_units: bool

    def regressors(self, X: Array, /) -> Array: ...

    def from_regressors(self, regressors: Array, /) -> Array: ...


class RegimeModel(Protocol):
    """The single model whose anchors are the regimes.

    `training_samples` returns X (n, d) and numeric targets (n, m).
    """

    anchor_models_: Array  # (k, d + 1, m), intercept last
    n_neighbors: int
    feature_space: FeatureSpace
    feature_names: list[str]
    target_names: list[str]
    one_target: bool  # whether predictions are (q,) and not (q, m)

    def training_samples(self) -> tuple[Array, Array]: ...

    def training_weights(self) -> Array | None: ...


class Estimator(Protocol):
    """A fitted model of numbers.

    `out_of_fold` returns predictions for samples that the model had not seen, with the number of
    each sample's fold, or None. `predict_checked` returns numeric predictions (q, m), each without
    one of the samples where numbers (q,) are given (-1: without none), and `explain_checked` the
    explanations that belong to them.
    """

    regime_model: RegimeModel
    n_samples_fit_: int
    labels_: Numbers  # (n,): the anchor of each sample

    def out_of_fold(self) -> tuple[NDArray, Numbers] | None: ...

    def explain(self, X: Any, /) -> "Explanation": ...

    def predict_checked(self, X: Array, without: Numbers | None = None) -> Array: ...

    def explain_checked(self, X: Array, without: Numbers) -> "Explanation": ...

    def predict(self, X: Any, /) -> NDArray: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


class CompanionLike(Protocol):
    """A model of few regimes, and the share of the accurate model's variance that it explains.

    `model` is an Estimator of the same samples. It `is_unfinished` where time ran out before all
    such models were tried.
    """

    @property
    def model(self) -> Any: ...

    @property
    def explained(self) -> float: ...

    @property
    def is_unfinished(self) -> bool: ...


class Column(Protocol):
    """A column of a table, whose features are one after the other.

    `texts` is what a column of categories can hold, None for a cell without a value; `settings`
    (K + 1, f) has the features of each text, and of any other text in the last row. It is empty for
    other columns. The first feature of these is a number, by which they are ordered: of numbers the
    value itself, of dates the years; `unit` says what it counts where cells do not. `cells_of`
    returns what a reader sees in rows with features (n, f): numbers, dates as text, and None for
    gaps. Where a column `has_gaps`, its last feature is 1 for them; those of categories are one of
    the texts.
    """

    name: str
    kind: str  # "number", "category", "ordered", "text" or "date"

    @property
    def texts(self) -> Sequence[str | None]: ...

    @property
    def unit(self) -> str: ...  # "hours", "years since 2024-01-31" or ""

    @property
    def has_gaps(self) -> bool: ...

    @property
    def feature_names(self) -> list[str]: ...

    @property
    def settings(self) -> Array: ...

    def cells_of(self, features: Array, /) -> list[Any]: ...


@runtime_checkable
class Cyclic(Protocol):
    """A column some of whose features are places on circles, such as the time of year.

    `in_common` tells in words where a few rows (n, f) with weights (n,) are: their mean may be in a
    season and at an hour in which none of them is. `places` returns the months, weekdays or hours
    of one of the `cycles` that rows (n, f) are in, in their order, and the number of each row's.
    `on_circle` returns the cycle that a feature belongs to, and in words where in it most rows
    of those rows (n, f) that are `inside` (n,) are, by the weights (n,) of all: no words where they
    are in no one place, and None for a feature of no cycle. A time of day has no trend: its first
    feature is always 0.
    """

    cycles: Sequence[str]

    @property
    def has_trend(self) -> bool: ...

    def in_common(self, features: Array, weights: Array, /) -> str: ...

    def places(self, number: int, features: Array, /) -> tuple[list[str], Numbers]: ...

    def on_circle(
        self, feature: int, features: Array, weights: Array, inside: NDArray[np.bool_], /
    ) -> tuple[str, str] | None: ...


class TableModelLike(Protocol):
    """A fitted model of raw tables.

    `encode` makes the estimator's inputs of a frame, and `read` a `Table` whose frame has the cells
    as a reader sees them. What `explain` returns is by column, and has an `encoded` explanation;
    `by_column` makes it of an explanation by feature. `true_targets` returns the targets that a
    frame holds, on the scale of the estimator. `out_of_fold` is as an estimator's, but in units,
    with NaN for rows that were not judged; `predictions_in_units` and `targets_in_units` lead from
    the scale of the estimator to units, and `targets_on_model_scale` back. `companion` returns the
    model of few regimes that pages show, or None.
    """

    estimator: Any  # an Estimator
    columns: Sequence[Column]  # in the order of the estimator's features
    target_names: list[str]
    out_of_fold: tuple[NDArray, Numbers] | None
    units: list[dict[str, Any]] | None  # the way back where targets are logs

    def companion(self) -> CompanionLike | None: ...

    def predictions_in_units(self, predicted: NDArray, /) -> NDArray: ...

    def targets_in_units(self, targets: NDArray, /) -> NDArray: ...

    def targets_on_model_scale(self, targets: NDArray, /) -> NDArray: ...

    def encode(self, data: Any, /) -> Any: ...

    def read(self, data: Any, /) -> Any: ...

    def explain(self, data: Any, /) -> "Explanation": ...

    def true_targets(self, data: Any, /) -> NDArray: ...

    def by_column(self, raw: Any, cells: Any, index: Any, /) -> "Explanation": ...

    def predict(self, data: Any, /) -> NDArray: ...


class Explanation(Protocol):
    """The linear models behind q predictions: `locallinear.LocalExplanation` has their meaning.

    By column, where a table was explained; `encoded` is then the same by feature of the estimator.
    `take` selects queries, and `shapley` returns the model's Shapley values, (q, c, m).
    """

    prediction: Array  # (q,) or (q, m)
    coef: Array  # (q, d, m)
    intercept: Array  # (q, m)
    contributions: Array  # (q, d, m)
    anchor_part: Array  # (q, d + 1, m)
    baseline: Array  # (m,)
    neighborhood_part: Array  # (q, m)
    difference_parts: Array  # (q, d, m)
    slopes: Array  # (q, d, m)
    neighbors: Numbers  # (q, K)
    neighbor_weights: Array  # (q, K)
    neighbor_labels: Numbers  # (q, K)
    feature_weights: Array | None  # (d,)
    feature_names: list[str]
    target_names: list[str]
    regressors: Array  # (q, d): what the coefficients multiply
    X: Any
    index: Any
    samples: Numbers | None  # (q,): of samples explained without themselves; -1 for other rows
    model: Any
    encoded: "Explanation | None"
    log: "Explanation | None"  # where the log of the target was modelled, the same on that scale

    @property
    def slopes_std(self) -> Array: ...  # (q, d, m)

    @property
    def times(self) -> Any: ...  # (q, d, m) where there is a log, else None

    @property
    def times_per_unit(self) -> Any: ...  # (q, d, m) where there is a log, else None

    def take(self, rows: Numbers, /) -> "Explanation": ...

    def shapley(
        self, background: Any = None, n_permutations: int = 2, random_state: Any = None
    ) -> Array: ...
