"""Why a prediction is what it is: its exact linear model and where that came from."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LocalExplanation:
    """The exact linear models behind q predictions.

    Each prediction is ``contributions.sum(axis=1) + intercept``, to rounding, and each
    contribution is a coefficient times the feature's value. Axis letters: q queries, d features,
    m targets (for a classifier, a column a class), K neighbours.

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
    feature_names, target_names : lists of str
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
    feature_names: list[str] = field(repr=False)
    target_names: list[str] = field(repr=False)

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
