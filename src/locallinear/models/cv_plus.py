"""CV+ intervals (Barber, Candès, Ramdas, Tibshirani 2021): from models fitted without each fold.

With σ_k(x) the scale that the model without fold k has at x, and the signed scores
s_i = (y_i − ŷ_k(x_i)) / σ_k(x_i) of that fold's samples, the interval of a query x goes between
quantiles over all samples i of ŷ_k(x) + s_i σ_k(x), k being the fold of sample i. Each end misses
at most twice as often as it says, whatever the model, for exchangeable rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..runtime.chunks import row_chunks
from ..runtime.interrupts import interrupts_end_it
from .conformal import Conformal
from .folds import folds_of

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

N_FOLDS = 5


class CVPlus:
    """An estimator fitted without each of the folds, and the scores of the samples left out.

    Parameters
    ----------
    estimator : fitted; what it is cloned from is not used otherwise
    groups : (n,) or None
        Which samples belong to one fold.
    """

    def __init__(self, estimator: Any, groups: NDArray | None):
        self._of = Conformal(estimator.members, None, groups)
        first = estimator.members[0]
        X, Y = first.training_samples()
        y, weights = first.as_users_see(Y), first.training_weights()
        self._folds: list[tuple[Conformal, Array, Array]] = []
        for kept, tested in folds_of(self._of.counted, N_FOLDS, groups):
            v = None if weights is None else weights[kept]
            own = {} if groups is None else {"groups": groups[kept]}
            with interrupts_end_it():
                again = _for_part(estimator, kept, len(X))
                fitted = _fit_part(again, X[kept], y[kept], v, own, len(X))
            known = fitted.conformal()
            prediction, scale = known.at(X[tested])
            scores = np.divide(
                Y[tested] - prediction, scale, out=np.zeros_like(scale), where=scale > 0
            )
            self._folds.append((known, scores, self._of.weights[tested]))

    def holds_for(self, members: list[Any], groups: NDArray | None) -> bool:
        """Whether nothing has changed since."""
        return self._of.holds_for(members, groups)

    def quantiles(self, X: Array, levels: Array) -> Array:
        """Lower and upper ends (q, m, 2) for two levels."""
        at = [known.at(X) for known, _, _ in self._folds]
        counts = np.concatenate([each for _, _, each in self._folds])
        m = at[0][0].shape[1]
        out = np.empty((len(X), m, 2))
        for chunk in row_chunks(len(X), 4 * len(counts) * 8):
            for t in range(m):
                possible = np.concatenate(
                    [
                        prediction[chunk, t, None] + scale[chunk, t, None] * scores[:, t]
                        for (prediction, scale), (_, scores, _) in zip(at, self._folds, strict=True)
                    ],
                    axis=1,
                )
                out[chunk, t] = _ends(possible, counts, levels)
        return out


def _for_part(estimator: Any, kept: Rows, n: int) -> Any:
    """The estimator, not fitted, for a part of n samples: splits given as rows name these."""
    again = clone(estimator)
    cv = again.get_params(deep=False).get("cv")
    if isinstance(cv, list | tuple):
        number = np.full(n, -1)
        number[kept] = np.arange(len(kept))
        named = [[number[rows][number[rows] >= 0] for rows in split] for split in cv]
        again.set_params(cv=type(cv)(split for split in named if all(map(len, split))))
    return again


def _fit_part(
    estimator: Any, X: Array, y: Array, weights: Array | None, groups: dict[str, Any], n: int
) -> Any:
    """The estimator, fitted on a part of n samples; a search splits it by its groups."""
    own = groups if has_fit_parameter(estimator, "groups") else {}
    try:
        return estimator.fit(X, y, weights, **own)
    except ValueError as error:
        raise ValueError(
            f"method='cv+' fits the model again on {len(X)} of its {n} samples, which failed: "
            f"{error}; use method='local', or see that such a part can be fitted"
        ) from error


def _ends(values: Array, counts: Array, levels: Array) -> Array:
    """The ends (q, 2) of intervals from values (q, n); infinite where these are too few."""
    order = np.argsort(values, axis=1)
    total = np.cumsum(counts[order], axis=1)
    edge = levels[0] * (counts.sum() + 1.0)
    rows = np.arange(len(values))
    ordered = np.take_along_axis(values, order, axis=1)
    slack = 1e-9 * edge
    # The values before the lower end, itself included, weigh at most the edge; so from above.
    n_below = (total <= edge + slack).sum(axis=1)
    n_above = (total[:, -1:] - total + counts[order] <= edge + slack).sum(axis=1)
    low = np.where(n_below > 0, ordered[rows, np.maximum(n_below - 1, 0)], -np.inf)
    high = np.where(n_above > 0, ordered[rows, -np.maximum(n_above, 1)], np.inf)
    return np.column_stack([low, high])
