"""How predictions change as one column moves, whatever the linear models near each row say.

Two summaries are made from one table of predictions, that of each row with each value of the
column. The *mean* is over all rows (partial dependence); each row's own predictions are its ICE
curve. Where the column depends on others, many of these rows cannot exist, such as a hot night in
winter. *Accumulated* local effects (Apley and Zhu, 2020) then say more: from one value to the next
they take only the rows that are near, and add up the changes. What comes out is a change around 0
and no prediction: each value has other rows, which differ in the other columns too.

Axis letters: q rows, d features, m targets or classes, g values of the column.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from ..runtime.chunks import BLOCK_BYTES
from .effect_parts import Part, parts_of
from .interface import Explanation
from .json_values import SAMPLE_DIGITS, rounded
from .selection import sampled
from .view import ModelView, by_feature

Array = NDArray[np.float64]

KINDS = ("auto", "mean", "accumulated")
MOST_ROWS = 300
# Of the curves of single rows, as many are drawn.
MOST_CURVES = 20
# A page follows fewer rows, and of many classes fewer curves, so that it is soon made and small.
MOST_PAGE_ROWS = 150
LEAST_CURVES = 3
SECONDS = 4.0

# With a larger dependence, accumulated effects are shown: it is that of a correlation of one half.
DEPENDENT = 0.25
N_TREES = 50
LEAST_LEAF = 5
LEAST_ROWS = 4 * LEAST_LEAF


@dataclass(frozen=True, eq=False)
class Effect:
    """How predictions change as one column moves, or a part of it.

    Attributes
    ----------
    part : Part
        What moves, and in which rows.
    predictions : array (q, m)
        The rows as they are: values, or probabilities of the classes.
    curves : array (q, g, m)
        The rows with each value of the grid: the ICE curves.
    accumulated : array (g, m)
        Accumulated local effects: changes, whose mean over the rows is 0.
    slopes : array (q, m), (q, g, m) or None
        What the linear model of each row says: its slope, or what another text would add to its
        prediction. None for classes, whose linear models are of scores and not of probabilities.
    dependence : float or None
        The share of the variance of what moves that the other columns explain, from 0 to 1; None
        where rows are too few to know.
    kind : {"mean", "accumulated"}
        Which summary to show.
    """

    part: Part
    predictions: Array
    curves: Array
    accumulated: Array
    slopes: Array | None
    dependence: float | None
    kind: str

    @property
    def grid(self) -> NDArray:
        """The values that what moves takes, (g,): ascending numbers, or texts."""
        return self.part.grid

    @property
    def is_text(self) -> bool:
        """Whether the values are texts."""
        return self.grid.dtype.kind == "U"

    @property
    def mean(self) -> Array:
        """The mean of the curves, (g, m): partial dependence."""
        return self.curves.mean(axis=0)

    @property
    def summary(self) -> Array:
        """The summary to show, (g, m)."""
        return self.accumulated if self.kind == "accumulated" else self.mean


def effect_of(
    view: ModelView,
    inputs: Array,
    j: int,
    kind: str = "auto",
    explained: Explanation | None = None,
) -> Effect:
    """The effect of a column on rows of the estimator's features, (q, d), of a date its trend.

    `kind` and `explained` are as for `effect_of_part`.
    """
    return effect_of_part(view, inputs, j, parts_of(view, inputs, j)[0], kind, explained)


def effect_of_part(
    view: ModelView,
    inputs: Array,
    j: int,
    part: Part,
    kind: str = "auto",
    explained: Explanation | None = None,
) -> Effect:
    """The effect of a part of a column on rows (q, d); `kind` is in `KINDS`.

    `explained` is the explanation of the rows by feature, where there is one already. Samples that
    were explained without themselves are predicted without themselves as well.
    """
    if len(part.rows) < len(inputs):
        inputs = inputs[part.rows]
        explained = None if explained is None else explained.take(part.rows)
    samples = None if explained is None else explained.samples
    grid, position = part.grid, part.position
    curves = _curves(view, inputs, part, samples)
    predictions = view.predict(inputs, samples)
    if grid.dtype.kind == "U":
        added = accumulate_texts(curves, position)
        at_rows = added[position]
    else:
        added = accumulate_numbers(curves, position)
        at_rows = np.stack([np.interp(part.values, grid, line) for line in added.T], axis=1)
    dependence = dependence_of(view, inputs, j, part.features)
    chosen = "accumulated" if dependence is not None and dependence > DEPENDENT else "mean"
    return Effect(
        part=part,
        predictions=predictions,
        curves=curves,
        accumulated=added - at_rows.mean(axis=0),
        slopes=None
        if view.is_classifier
        else _slopes(view, explained or view.explain_inputs(inputs), inputs, j, part),
        dependence=dependence,
        kind=chosen if kind == "auto" else kind,
    )


# --- Predictions ---------------------------------------------------------------------------------


def _curves(view: ModelView, inputs: Array, part: Part, samples: NDArray[np.intp] | None) -> Array:
    """Predictions for each row with each setting of what moves, (q, g, m).

    Where `samples` (q,) are given, each row is predicted without that sample.
    """
    q, g = len(inputs), len(part.settings)
    step = max(1, BLOCK_BYTES // (8 * inputs.size or 1))
    blocks = []
    for start in range(0, g, step):
        some = part.settings[start : start + step]
        moved = np.repeat(inputs[None], len(some), axis=0)
        moved[:, :, part.features] = some[:, None]
        without = None if samples is None else np.tile(samples, len(some))
        predicted = view.predict(moved.reshape(len(some) * q, -1), without)
        blocks.append(predicted.reshape(len(some), q, -1))
    return np.concatenate(blocks).swapaxes(0, 1)


def _slopes(view: ModelView, why: Explanation, inputs: Array, j: int, part: Part) -> Array:
    """The slope of each row's linear model, (q, m), or what other texts would add, (q, g, m)."""
    choices = view.choices(j)
    if choices is not None:
        adds = view.effects(why.coef, j)[:, [choices.index(text) for text in part.grid]]
        return adds - adds[np.arange(len(adds)), part.position][:, None]
    if not part.is_cycle:
        return why.slopes[:, part.features[0]]
    moved = np.zeros((len(part.grid), inputs.shape[1]))
    moved[:, part.features] = part.settings
    there, here = (view.space.regressors(X)[:, part.features] for X in (moved, inputs))
    return np.einsum("qgf,qfm->qgm", there[None] - here[:, None], why.coef[:, part.features])


# --- Summaries -----------------------------------------------------------------------------------


def accumulate_numbers(curves: Array, position: NDArray[np.intp]) -> Array:
    """Mean changes from value to value, added up, (g, m); each row counts in its own step alone."""
    g, m = curves.shape[1:]
    steps = np.zeros((g, m))
    if g > 1:
        rows = np.arange(len(curves))
        np.add.at(steps, position, curves[rows, position] - curves[rows, position - 1])
        steps /= np.maximum(np.bincount(position, minlength=g), 1)[:, None]
    return steps.cumsum(axis=0)


def accumulate_texts(curves: Array, position: NDArray[np.intp]) -> Array:
    """Mean changes from text to text, added up, (g, m); rows count that hold one of the two."""
    steps = np.zeros(curves.shape[1:])
    for k in range(1, len(steps)):
        near = (position == k) | (position == k - 1)
        steps[k] = (curves[near, k] - curves[near, k - 1]).mean(axis=0)
    return steps.cumsum(axis=0)


def dependence_of(
    view: ModelView, inputs: Array, j: int, features: NDArray[np.intp]
) -> float | None:
    """The share of the variance of some features of a column that trees find from other columns.

    It is measured on rows that a tree was not grown on, so it is near 0 where they are independent.
    None where rows are too few to grow trees on.
    """
    column, others = inputs[:, features], np.delete(inputs, view.features_of(j), axis=1)
    variance = column.var(axis=0).sum()
    if not others.shape[1] or (variance == 0 and len(inputs) > 1):
        return 0.0
    if len(inputs) < LEAST_ROWS:
        return None
    trees = ExtraTreesRegressor(
        N_TREES, min_samples_leaf=LEAST_LEAF, bootstrap=True, oob_score=True, random_state=0
    )
    trees.fit(others, column if column.shape[1] > 1 else column[:, 0])
    left = ((column - trees.oob_prediction_.reshape(column.shape)) ** 2).mean(axis=0).sum()
    return float(np.clip(1 - left / variance, 0, 1))


# --- In words, and as data -----------------------------------------------------------------------


def sentence(effect: Effect, feature: str, target: str) -> str:
    """What the summary is, and what the other columns mean for it."""
    thick = "The large points are" if effect.is_text else "The thick line is"
    thin = "small point" if effect.is_text else "thin line"
    n = len(effect.curves)
    if len(effect.grid) == 1:
        rows = "one row only" if n == 1 else f"{n:,} rows, which all have the same {feature}"
        return f"Predictions were followed for {rows}: there is no other value to compare with."
    depends = effect.dependence is not None and effect.dependence > DEPENDENT
    if effect.dependence is None:
        known = f"{n} rows are too few to know whether such rows can occur."
    else:
        share = f"{effect.dependence:.0%}".replace("%", " %")
        known = f"The other columns explain {share} of the variance of {feature}, so "
        if effect.kind == "mean":
            known += "some of these rows do not occur." if depends else "such rows can occur."
        else:
            rest = "include rows that do not occur" if depends else "say nearly the same"
            known += f"the mean over all rows would {rest}."
    if effect.kind == "mean":
        return (
            f"{thick} the mean prediction of {target} if all {n:,} rows had the same {feature}; "
            f"each {thin} is one row. {known}"
        )
    return (
        f"{thick} the sum of the changes in predictions of {target} from one value of {feature} to "
        "the next, each change in the rows that are near these values (accumulated local "
        f"effects). This is a change and no prediction: 0 is the mean of the rows. {known}"
    )


def target_words(view: ModelView, target: int) -> str:
    """What is predicted, in words: a target, or the probability of a class."""
    name = view.target_names[target]
    return f"the probability of {name}" if view.is_classifier else name


def effects_section(
    view: ModelView, why: Explanation, columns: Sequence[int], seconds: float = SECONDS
) -> list[dict[str, Any]]:
    """The effects of columns on explained rows, as lists, numbers and text.

    Of many rows, a sample is used; when the time is over, the columns that are left have no entry.
    A column has one entry, and a date one per part: its trend, and each cycle.
    ``summary`` has one list per target; ``curves`` has one per target for each of the ``rows``,
    which are numbers of explained rows.
    """
    rows = sampled(len(why.contributions), MOST_PAGE_ROWS)
    encoded = by_feature(why.take(rows))
    inputs = np.asarray(encoded.X, dtype=np.float64)
    found: list[dict[str, Any]] = []
    start = time.perf_counter()
    for j in columns:
        moving = [
            effect_of_part(view, inputs, j, part, explained=encoded)
            for part in parts_of(view, inputs, j)
        ]
        # Of a date, what moves predictions most comes first.
        moving.sort(key=lambda effect: -float(np.ptp(effect.summary, axis=0).max()))
        found += [_section(view, effect, j, rows[effect.part.rows]) for effect in moving]
        if time.perf_counter() - start > seconds:
            break
    return found


def _section(view: ModelView, effect: Effect, j: int, rows: NDArray[np.intp]) -> dict[str, Any]:
    """An effect as data; of the trend of a date, the grid is of days."""
    q, _, m = effect.curves.shape
    is_day = view.columns[j].kind == "date" and not effect.is_text
    grid = effect.grid.tolist() if effect.is_text else rounded(effect.grid, SAMPLE_DIGITS)
    if is_day:
        grid = view.in_words(j, effect.grid.tolist())
    n_curves = max(LEAST_CURVES, MOST_CURVES // m)
    drawn = np.unique(np.linspace(0, q - 1, n_curves).astype(np.intp))
    return {
        "feature": view.names[j],
        "part": effect.part.name,
        "label": view.names[j] if is_day else effect.part.label,
        "column": j,
        "is_text": effect.is_text,
        "grid": grid,
        "kind": effect.kind,
        "dependence": effect.dependence,
        "summary": rounded(effect.summary.T, SAMPLE_DIGITS),
        "rows": rows[drawn].tolist(),
        "curves": rounded(effect.curves[drawn].swapaxes(1, 2), SAMPLE_DIGITS),
        "sentences": [
            sentence(effect, effect.part.name, target_words(view, t))
            for t in range(len(view.target_names))
        ],
    }
