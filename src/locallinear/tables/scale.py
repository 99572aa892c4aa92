"""The scale of a target: as it is, or its log.

A count or a price often moves in shares and not in amounts. Its log is then modelled, and what
comes out is in units again: predictions, intervals, and explanations, whose parts still sum to the
prediction. Axis letters: q rows, c columns, m targets.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks.stored import require
from ..kernels.logs import LARGEST_LOG, exponential
from ..kernels.quantiles import weighted_quantiles
from ..models.explanation import LocalExplanation
from .stored import check_stored_types

Array = NDArray[np.float64]

SCALES = ("auto", "identity", "log")
SMALLEST_TARGET, LARGEST_TARGET = float(np.finfo(float).tiny), float(np.exp(LARGEST_LOG))
# The log is tried where the largest target is so many times the median.
WIDE = 4.0


@dataclass(frozen=True)
class LogScale:
    """log(y + shift), and the way back.

    Attributes
    ----------
    shift : float
        0, or where targets are 0 a small amount that is added to all.
    smear : float
        The mean of exp(error), by which exp(mean log) is too small.
    """

    shift: float = 0.0
    smear: float = 1.0

    @classmethod
    def fit(cls, y: Array) -> "LogScale":
        """The scale of targets that are 0 or more."""
        shift = 0.0
        if y.min() <= 0:
            whole = bool((y == np.round(y)).all())
            shift = 1.0 if whole else float(y[y > 0].min()) / 2
        return cls(shift)

    def with_errors(self, y: Array, predicted: NDArray, weights: Array | None) -> "LogScale":
        """The scale whose predictions have the right mean, by logs of unseen targets (n,)."""
        v = np.ones(len(y)) if weights is None else weights
        known = ~np.isnan(predicted) & (v > 0)
        factors = np.exp(self.forward(y[known]) - predicted[known])
        # One target that is a thousand times its prediction should not move all others.
        mean = np.average(np.minimum(factors, 50), weights=v[known])
        return replace(self, smear=float(np.clip(mean, 0.5, 2.0)))

    def has_log(self, y: Array) -> NDArray[np.bool_]:
        """Which targets (n,) have a log on this scale, or are NaN: not known."""
        large_enough = (y >= 0) if self.shift > 0 else (y > 0)
        return np.isnan(y) | (large_enough & (y <= LARGEST_TARGET))

    def check_has_log(self, y: Array) -> None:
        """Refuse targets (n,) that have no log: which row, and why."""
        wrong = np.flatnonzero(~self.has_log(y))
        if not len(wrong):
            return
        value = y[wrong[0]]
        found = f"that of row {wrong[0] + 1} is {value:g}"
        if value < 0:
            raise ValueError(
                f"the log of the target is modelled, so a target is never negative; {found}; leave "
                "such rows out"
            )
        if value > LARGEST_TARGET:
            raise ValueError(
                f"the log of the target is modelled, so a target is at most {LARGEST_TARGET:.2g}; "
                f"{found}; leave such rows out"
            )
        raise ValueError(
            "the log of the target is modelled, and all targets of the fit were above 0, but "
            f'{found}; leave such rows out, or fit again with them or with target="identity"'
        )

    def nearest(self, y: Array) -> Array:
        """The nearest targets (n,) that have a log; NaN stays NaN."""
        return np.clip(y, 0.0 if self.shift > 0 else SMALLEST_TARGET, LARGEST_TARGET)

    def forward(self, y: Array) -> Array:
        """The logs of targets."""
        return np.log(np.asarray(y, dtype=np.float64) + self.shift)

    def back(self, logs: Array) -> Array:
        """Predictions in units, of the mean, for predicted logs."""
        return np.maximum(0.0, self.smear * exponential(logs) - self.shift)

    def back_quantile(self, logs: Array) -> Array:
        """Quantiles in units, such as the ends of intervals, for those of logs; also targets."""
        return np.maximum(0.0, exponential(logs) - self.shift)

    def to_dict(self) -> dict[str, Any]:
        """The scale as plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "LogScale":
        """The scale whose `to_dict` is `state`."""
        scale = cls(**state)
        check_stored_types(scale)
        require(scale.shift >= 0 and 0.5 <= scale.smear <= 2.0, "its scale is no log")
        return scale


def in_units(scales: list[LogScale], predicted: Array) -> Array:
    """Predicted logs, (q,) or (q, m), in units; `scales` has one per target."""
    columns = zip(scales, predicted.reshape(len(predicted), -1).T, strict=True)
    return np.column_stack([s.back(c) for s, c in columns]).reshape(predicted.shape)


def to_logs(scales: list[LogScale], y: NDArray, weights: Array | None = None) -> Array:
    """Targets in units, (q,) or (q, m), as logs; NaN stays NaN, and others must have a log.

    Those of rows whose weight (q,) is 0 may have none.
    """
    numbers = np.asarray(y, dtype=np.float64)
    pairs = list(zip(scales, numbers.reshape(len(numbers), -1).T, strict=True))
    if weights is not None:
        pairs = [(s, np.where(weights > 0, column, s.nearest(column))) for s, column in pairs]
    for scale, column in pairs:
        scale.check_has_log(column)
    return np.column_stack([s.forward(c) for s, c in pairs]).reshape(numbers.shape)


def have_logs(scales: list[LogScale], y: Array) -> NDArray[np.bool_]:
    """Which targets, (q,) or (q, m), have a log or are NaN."""
    pairs = zip(scales, y.reshape(len(y), -1).T, strict=True)
    return np.column_stack([s.has_log(c) for s, c in pairs]).reshape(y.shape)


def to_units(scales: list[LogScale], why: LocalExplanation, means: Array) -> LocalExplanation:
    """An explanation of logs as one in units, whose parts sum to the prediction.

    The linear model is the tangent at each query. The layers are shares of the difference to the
    baseline, in proportion to the layers of logs: each part of the log times the logarithmic mean
    of both ends, which is exact for any number of parts. `scales` has one per target, and `means`
    (m,) are those of the targets in units.
    """
    smear = np.array([scale.smear for scale in scales])
    logs = why.contributions.sum(axis=1) + why.intercept
    growth = smear * exponential(logs)
    prediction = np.column_stack([s.back(logs[:, t]) for t, s in enumerate(scales)])
    tangent = {
        name: getattr(why, name) * growth[:, None]
        for name in ("coef", "contributions", "slopes", "anchor_part", "correction_part")
    }
    intercept = prediction - tangent["contributions"].sum(axis=1)
    # The tangent's constant is not that of the log times its growth; the correction takes it.
    tangent["correction_part"][:, -1] = intercept - tangent["anchor_part"][:, -1]
    mean_of_ends = _logarithmic_mean(growth, smear * exponential(why.baseline))
    differences = why.difference_parts * mean_of_ends[:, None]
    return replace(
        why,
        prediction=prediction[:, 0] if why.prediction.ndim == 1 else prediction,
        intercept=intercept,
        baseline=means,
        neighborhood_part=prediction - means - differences.sum(axis=1),
        difference_parts=differences,
        encoded=None if why.encoded is None else to_units(scales, why.encoded, means),
        log=why,
        growth=growth,
        **tangent,
    )


def _logarithmic_mean(a: Array, b: Array) -> Array:
    """(a − b) / log(a / b), which is a where both are equal."""
    ratio = np.log(a / b)
    near = np.abs(ratio) < 1e-9
    return np.where(near, a, (a - b) / np.where(near, 1.0, ratio))


def may_be_log(y: Array, weights: Array) -> bool:
    """Whether the log of a target is worth a try: not negative, and spread over magnitudes.

    `weights` (n,) are above 0.
    """
    if y.ndim > 1 or y.min() < 0 or np.average(y > 0, weights=weights) < 0.5:
        return False
    (median,) = weighted_quantiles(y, weights, np.array([0.5]))
    return bool(y.max() > WIDE * max(float(median), SMALLEST_TARGET))
