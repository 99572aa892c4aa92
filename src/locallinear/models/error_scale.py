"""How large an error is usually, told by what surrounds a sample or a query.

What tells it: the errors of the samples near it, how unusual its place is, how far the prediction
is above or below the middle, and how far the members of an ensemble disagree. How much each of them
tells is learned from the samples, which are predicted without themselves. Axis letters as in
`surroundings`, and p for what tells.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.local.spread import conformal_quantiles, fit_exponents
from .member_views import Views

Array = NDArray[np.float64]

# Errors and disagreements below this part of their mean are no smaller than it.
FLOOR = 0.05
# Ratios above this quantile of the samples' make intervals wider in proportion.
USUAL = 0.99


class Usual(NamedTuple):
    """The mean error, the middle of the predictions, their mean distance from it and the members'
    mean disagreement, each (m,), and the largest ratio that is usual.
    """

    error: Array
    middle: Array
    away: Array
    disagreement: Array
    ratio: float


class ErrorScale:
    """The scale of errors, learned from those of samples; each part computed when needed.

    Parameters
    ----------
    errors : (n, m) of the samples
    views : what surrounds the samples
    weights : (n,) how often each sample counts
    """

    def __init__(self, errors: Array, views: Views, weights: Array):
        self._errors, self._views, self._weights = errors, views, weights

    def of(self, seen: Views) -> Array:
        """The scale of the errors (q, m), in the units of the targets up to a constant factor.

        It stays within what is usual for the samples: no error has tested more. But far outside
        the samples it grows with the distance, as the error of a slope does.
        """
        logs = np.clip(self._log_scale(seen), *self._log_range)
        beyond = np.maximum(seen.ratio / self._usual.ratio, 1.0)
        return self._usual.error * np.exp(logs) * beyond[:, None]

    @cached_property
    def _usual(self) -> Usual:
        """What is usual for the samples without themselves."""
        v, seen = self._weights / self._weights.sum(), self._views
        half = np.array([0.5])
        middle = [conformal_quantiles(p, self._weights, half)[0] for p in seen.prediction.T]
        return Usual(
            error=_unit(v @ np.abs(self._errors)),
            middle=np.array(middle),
            away=_unit(v @ np.abs(seen.prediction - middle)),
            disagreement=_unit(0.0 if seen.disagreement is None else v @ seen.disagreement),
            ratio=conformal_quantiles(seen.ratio, self._weights, np.array([USUAL]))[0],
        )

    def _features(self, seen: Views) -> Array:
        """Logarithms of what tells the size of an error, (m, q, p)."""
        usual = self._usual
        ratio = np.minimum(seen.ratio, usual.ratio)  # `of` says what is beyond
        away = (seen.prediction - usual.middle) / usual.away
        columns = [
            seen.error / usual.error + FLOOR,
            np.broadcast_to(ratio[:, None], seen.error.shape),
            1.0 + np.maximum(away, 0.0),
            1.0 + np.maximum(-away, 0.0),
        ]
        if seen.disagreement is not None:
            columns.append(seen.disagreement / usual.disagreement + FLOOR)
        return np.log(np.stack(columns, axis=2)).swapaxes(0, 1)

    @cached_property
    def _exponents(self) -> Array:
        """How much each of them tells, (m, p)."""
        absolute = np.abs(self._errors)
        features = self._features(self._views)
        return np.array(
            [fit_exponents(absolute[:, t], f, self._weights) for t, f in enumerate(features)]
        )

    def _log_scale(self, seen: Views) -> Array:
        """The logarithm of the scale (q, m) in mean errors, as the exponents say it."""
        return np.einsum("mqp,mp->qm", self._features(seen), self._exponents)

    @cached_property
    def _log_range(self) -> tuple[Array, Array]:
        """The smallest and the largest usual logarithm of the samples' scale, each (m,)."""
        levels = np.array([1.0 - USUAL, USUAL])
        columns = self._log_scale(self._views).T
        found = [conformal_quantiles(column, self._weights, levels) for column in columns]
        low, high = np.transpose(found)
        return low, high


def _unit(sizes: Any) -> Array:
    """Sizes to divide by: 1 where nothing has any."""
    return np.where(sizes > 0, sizes, 1.0)
