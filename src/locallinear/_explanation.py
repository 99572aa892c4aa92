"""Why a prediction is what it is: its exact linear model and where that came from."""

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LocalExplanation:
    """The exact linear models behind q predictions.

    Each prediction is ``contributions.sum(axis=1) + intercept``, to rounding, and each
    contribution is a coefficient times the feature's value (with scaling "quantile", its scaled
    value). Axis letters: q queries, d features, m targets (for a classifier, a column a class),
    K neighbours.

    Attributes
    ----------
    prediction : array (q,) or (q, m)
        The predictions; for a classifier the linear scores of the classes, whose nearest
        probabilities `predict_proba` gives.
    coef : array (q, d, m)
        Coefficients in the units of X; with scaling "quantile" in those of the scaled features.
    intercept : array (q, m)
    contributions : array (q, d, m)
        What each original feature adds to the prediction.
    anchor_part, correction_part : arrays (q, d + 1, m)
        The mixture of anchor models and the correction on top of it, intercept last; their sum is
        the model. (R_pred and C_pred of the paper.)
    neighbors : array (q, K)
        The samples whose models were averaged, nearest first.
    neighbor_weights : array (q, K)
        Their weights, which sum to one.
    neighbor_labels : array (q, K)
        Their anchors.
    feature_weights : array (d,) or None
        How much each feature, in standard deviations, counts in deciding who is near; they sum
        to one. None where all count alike.
    feature_names, target_names : lists of str
    X : array (q, d) or None
        The queries.
    model : estimator or None
        The model that was asked, for pictures and reports that say where the queries stand.
    """

    prediction: Array
    coef: Array
    intercept: Array
    contributions: Array
    anchor_part: Array
    correction_part: Array
    neighbors: NDArray[np.intp]
    neighbor_weights: Array
    neighbor_labels: NDArray[np.intp]
    feature_weights: Array | None
    feature_names: list[str] = field(repr=False)
    target_names: list[str] = field(repr=False)
    X: Array | None = field(default=None, repr=False)
    model: Any = field(default=None, repr=False)

    def to_frame(self) -> "pandas.DataFrame":
        """One line a query, target and feature: coefficient and contribution.

        The feature "(intercept)" has the constant; a query's contributions to a target add up
        to the prediction. Needs pandas.
        """
        import pandas

        q = len(self.contributions)
        features = [*self.feature_names, "(intercept)"]
        index = pandas.MultiIndex.from_product(
            [range(q), self.target_names, features], names=["query", "target", "feature"]
        )
        constant = self.intercept[:, None, :]
        coef = np.concatenate([self.coef, constant], axis=1)
        contribution = np.concatenate([self.contributions, constant], axis=1)
        return pandas.DataFrame(
            {
                "coef": coef.swapaxes(1, 2).ravel(),
                "contribution": contribution.swapaxes(1, 2).ravel(),
            },
            index=index,
        )

    def plot(self, row: int = 0, target: int = 0, ax=None, **options):
        """Draw one prediction's contributions and the neighbours that made it.

        Parameters
        ----------
        row, target : int
            Which query, and which target or class.
        ax : matplotlib Axes, optional
        options : as for `locallinear.explain.ContributionDisplay.plot`

        Returns
        -------
        locallinear.explain.ContributionDisplay
        """
        display = _upstairs("contributions").ContributionDisplay
        return display.from_explanation(self, row=row, target=target).plot(ax=ax, **options)

    def to_html(self, path: str | Path, **options) -> None:
        """Write the report on the model and these queries: one file that needs no network.

        Parameters
        ----------
        path : str or Path
        options : as for `locallinear.explain.report_data`
        """
        report = _upstairs("report")
        report.write_report(path, report.data_of_explanation(self, **options))


def _upstairs(name: str):
    """A module of `explain`, which builds on this one: found when a picture is asked for."""
    return import_module(f".explain.{name}", __package__)
