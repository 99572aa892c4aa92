"""What a model says about simulated rows, beside the laws that made them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..explain.text import number
from ..explain.view import view_of
from ..tables.estimators import TableRegressor
from .summary import columns_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LawCheck:
    """A model and l laws, on q new rows; s columns have slopes.

    Attributes
    ----------
    rows : array (l,)
        How many of the rows follow each law.
    means : array (l, 2)
        The mean target by the law, and as the model predicts it.
    slopes : array (l, s, 2)
        The mean slope of each column by the law, and in the model's explanations.
    correlations : array (s,)
        Of the slopes of single rows with the law's; NaN where the law's are all equal.
    explained : float
        The share of the variance of the noiseless target that the predictions explain.
    same_law, by_chance : float
        The mean share of a row's neighbours, by weight, that follow the row's own law, and what
        it would be for neighbours drawn at random.
    pure : float
        The share of the training rows that follow the law of most rows in their regime.
    """

    rows: NDArray[np.intp]
    means: Array
    slopes: Array
    correlations: Array
    explained: float
    same_law: float
    by_chance: float
    pure: float


def check_laws(model: TableRegressor, simulated: Any, new: Any) -> LawCheck:
    """Compare a model of the rows in `simulated` with the truth about the rows in `new`."""
    view = view_of(model)
    why = view.explain(new.data)
    columns = [view.names.index(name) for name in new.slope_names]
    found, true = why.slopes[:, columns, 0], np.asarray(new.slopes)
    members = [new.law == law for law in range(len(new.law_names))]
    laws = [np.array([values[rows].mean(axis=0) for rows in members]) for values in (true, found)]
    means = [[values[rows].mean() for values in (new.truth, why.prediction)] for rows in members]
    near = simulated.law[why.neighbors] == new.law[:, None]
    shares = np.bincount(simulated.law, minlength=len(members)) / len(simulated.law)
    labels = view.estimator.labels_
    largest = [np.bincount(simulated.law[labels == label]).max() for label in np.unique(labels)]
    return LawCheck(
        rows=np.array([rows.sum() for rows in members]),
        means=np.array(means),
        slopes=np.stack(laws, axis=-1),
        correlations=np.array([_correlation(*pair) for pair in zip(true.T, found.T, strict=True)]),
        explained=1 - np.mean((why.prediction - new.truth) ** 2) / new.truth.var(),
        same_law=float((near * why.neighbor_weights).sum(axis=1).mean()),
        by_chance=float(shares[new.law].mean()),
        pure=sum(largest) / len(labels),
    )


def _correlation(true: Array, found: Array) -> float:
    return float(np.corrcoef(true, found)[0, 1]) if np.ptp(true) > 0 else float("nan")


def law_lines(model: TableRegressor, simulated: Any, new: Any) -> list[str]:
    """The laws, and what the model found of them, as lines of text."""
    found, target = check_laws(model, simulated, new), new.target_names[0]
    indented = [f"  {line}" for formula in new.formulas for line in formula.split("\n")]
    heads = ["law", "rows", target, *(f"per {name}" for name in new.slope_names)]
    lines = []
    for law, name in enumerate(new.law_names):
        cells = [_pair(found.means[law]), *map(_pair, found.slopes[law])]
        lines.append([name, str(found.rows[law]), *cells])
    vary = [
        f"{name} {r:.2f}"
        for name, r in zip(new.slope_names, found.correlations, strict=True)
        if np.isfinite(r)
    ]
    return [
        "The laws that made the table, which no model was told:",
        "",
        *indented,
        "",
        f"Is the explanation true? {len(new.law):,} new rows of the same laws; in each cell the "
        "mean by the law,",
        f"then by the model: {target}, and how much it rises per unit of a column:",
        "",
        *columns_of(heads, lines),
        "",
        f"The predictions explain {100 * found.explained:.1f} % of the variance of the means that "
        "the laws give.",
        f"Correlation of the slopes of single rows with the law's: {', '.join(vary)}.",
        f"{100 * found.same_law:.0f} % of a row's neighbours follow the row's own law "
        f"({100 * found.by_chance:.0f} % by chance), and",
        f"{100 * found.pure:.0f} % of the rows follow the law of most rows in their regime.",
    ]


def _pair(values: Array) -> str:
    """The law's number and the model's."""
    true, found = (number(round(float(value), 2) + 0.0) for value in values)
    return f"{true} / {found}"
