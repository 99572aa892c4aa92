"""Targets that are numbers: whether they or their logs are modelled, and the way back to units."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from ..models.explanation import LocalExplanation
from .learning import TableEstimator
from .procedure import Task, quick_error
from .scale import LARGEST_TARGET, LogScale, in_units, may_be_log, to_logs, to_units
from .targets import numeric_targets

Array = NDArray[np.float64]

# The log is taken where its error in units is below this part of that without.
CLEARLY_BETTER = 0.97
# Seconds of a time budget below which both are not compared.
LEAST_BUDGET = 10.0


class NumericTargets(TableEstimator):
    """A model of raw tables whose targets are numbers, modelled as they are or as logs."""

    target: str

    @property
    def is_log_(self) -> bool:
        """Whether the log of the target is modelled."""
        check_is_fitted(self)
        return self._scales is not None

    def _read_targets(self, y: Any) -> tuple[Array, list[str]]:
        return numeric_targets(y, type(self).__name__)

    def _choose_scale(self, task: Task) -> None:
        _, y, weights = task.take(task.counted)
        v = np.ones(len(y)) if weights is None else weights
        self._scales = None
        if self.target == "identity" or (self.target == "auto" and not may_be_log(y, v)):
            return
        columns = _columns(y)
        _check_log(columns)
        scales = [LogScale.fit(column) for column in columns]
        if self.target == "log" or self._log_is_better(task, scales[0]):
            self._scales = scales

    def _log_is_better(self, task: Task, scale: LogScale) -> bool:
        """Whether a small search says so; not asked where the time is short."""
        if task.budget.seconds < LEAST_BUDGET:
            return False
        return quick_error(task, scale) < CLEARLY_BETTER**2 * quick_error(task)

    def to_model_scale(self, y: Array, weights: Array | None = None) -> Array:
        """Targets as `table_model` has them: logs, or as they are."""
        return y if self._scales is None else to_logs(self._scales, y, weights)

    def _set_judgement(self, y: Array, unseen: NDArray, weights: Array | None) -> None:
        if self._scales is not None:
            columns = zip(self._scales, _columns(y), _columns(unseen), strict=True)
            self._scales = [scale.with_errors(own, said, weights) for scale, own, said in columns]
        self.cv_prediction_ = self._back(unseen)
        known = ~np.isnan(unseen.reshape(len(y), -1)).any(axis=1)
        v = None if weights is None else weights[known]
        self.cv_score_ = float(r2_score(y[known], self.cv_prediction_[known], sample_weight=v))

    def _back(self, predicted: NDArray) -> NDArray:
        """What the model says, in units."""
        return predicted if self._scales is None else in_units(self._scales, predicted)

    def quantiles_in_units(self, found: Array) -> Array:
        """Quantiles of the model's scale, (q, .) or (q, m, .), such as intervals, in units."""
        if self._scales is None:
            return found
        if len(self._scales) == 1:
            return self._scales[0].back_quantile(found)
        parts = [s.back_quantile(found[:, t]) for t, s in enumerate(self._scales)]
        return np.stack(parts, axis=1)

    def in_units(self, why: LocalExplanation) -> LocalExplanation:
        """An explanation by `table_model` as `explain` returns it."""
        if self._scales is not None:
            why = to_units(self._scales, why, self._mean_in_units())
        return self._of_this(why)

    def _mean_in_units(self) -> Array:
        """The mean of the rows' targets in units, by their weights, (m,): computed once."""
        model = self.estimator_.regime_model
        kept = self._known.get("mean")
        if kept is None or kept[0] is not model.fitted:
            targets = self.quantiles_in_units(model.targets()[:, :, None])[:, :, 0]
            mean = np.average(targets, axis=0, weights=model.training_weights())
            self._known["mean"] = kept = model.fitted, mean
        return kept[1]

    def _extra_state(self) -> dict[str, Any]:
        scales = None if self._scales is None else [scale.to_dict() for scale in self._scales]
        return {"scales": scales}

    def _restore_extra(self, state: dict[str, Any]) -> None:
        scales = state["scales"]
        self._scales = None if scales is None else [LogScale.from_dict(s) for s in scales]

    @property
    def _page_targets(self) -> list[str]:
        if self._scales is None:
            return self.target_names_
        return [f"log of {name}" for name in self.target_names_]


def _check_log(columns: NDArray) -> None:
    """Refuse targets that have no logarithm on the scale of the model."""
    if columns.min() < 0:
        raise ValueError(
            f"target='log' needs targets of 0 or more, but one is {columns.min():g}; use "
            "'identity', or subtract the smallest"
        )
    if columns.max() > LARGEST_TARGET:
        raise ValueError(
            f"target='log' needs targets of at most {LARGEST_TARGET:.2g}, but one is "
            f"{columns.max():.3g}; divide them by a power of ten first"
        )


def _columns(values: NDArray) -> NDArray:
    """Targets (n,) or (n, m) one after the other, (m, n)."""
    return values.reshape(len(values), -1).T
