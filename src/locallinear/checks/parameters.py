"""Checks of the parameters of FALL: before a fit, after it and in a file."""

from numbers import Integral, Real
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)


class Numbers(Interval):
    """An interval of numbers; True is one in Python, but compiled code takes it for another."""

    def is_satisfied_by(self, value: object) -> bool:
        """Whether a value is a number of the interval."""
        return not isinstance(value, bool) and super().is_satisfied_by(value)


class Floats(Numbers):
    """An interval of real numbers; a whole number that is too large for a float is outside."""

    def __contains__(self, value: Real) -> bool:
        try:
            return super().__contains__(float(value))
        except OverflowError:
            return False


POSITIVE_COUNT = Numbers(Integral, 1, None, closed="left")

TIME_BUDGET: list = [None, Floats(Real, 0, None, closed="neither")]

# Numbers of threads, each of which begins; a negative number is counted from that of processors.
N_JOBS: list = [
    None,
    Numbers(Integral, 1, 1024, closed="both"),
    Numbers(Integral, -(2**31), -1, closed="both"),
]

FALL_PARAMETERS: dict[str, list] = {
    "n_anchors": [POSITIVE_COUNT],
    "anchor_selection": [StrOptions({"random", "kmeans"}), "array-like"],
    "anchor_models": [None, "array-like"],
    "n_anchor_neighbors": [POSITIVE_COUNT],
    "anchor_alpha": [Floats(Real, 0, None, closed="left")],
    "anchor_l1_ratio": [Floats(Real, 0, 1, closed="both")],
    "alpha": [Floats(Real, 0, None, closed="neither")],
    "n_neighbors": [POSITIVE_COUNT],
    "weights": [StrOptions({"distance", "uniform"}), callable],
    "fit_intercept": ["boolean"],
    "scaling": [None, StrOptions({"standard", "quantile"})],
    "neighborhood": [StrOptions({"euclidean", "learned", "forest", "boosted", "piecewise"})],
    "metric_iterations": [POSITIVE_COUNT],
    "neighborhood_features": [None, "array-like"],
    "indicators": [None, "array-like"],
    "assignment_neighbors": [POSITIVE_COUNT],
    "n_jobs": N_JOBS,
    "random_state": ["random_state"],
}

# The parameters that decide the feature space and the neighbours (see `geometry.nearness`).
GEOMETRY = ("scaling", "neighborhood", "metric_iterations", "neighborhood_features", "indicators")

# The parameters that can be set on a fitted model: they take effect at the next prediction, or when
# samples are assigned. With an infinite alpha, the end of a path of alphas, each local model is its
# anchor.
AFTER_FIT = {
    name: FALL_PARAMETERS[name]
    for name in ("n_neighbors", "weights", "assignment_neighbors", "n_jobs")
}
AFTER_FIT["alpha"] = [Floats(Real, 0, None, closed="right")]


def check_after_fit(estimator: BaseEstimator) -> None:
    """Refuse invalid values that were set after the fit."""
    given = {name: getattr(estimator, name) for name in AFTER_FIT}
    validate_parameter_constraints(AFTER_FIT, given, type(estimator).__name__)


def check_seed(random_state: Any, caller: str) -> None:
    """Refuse what is no `random_state` of a method."""
    allowed = {"random_state": ["random_state"]}
    validate_parameter_constraints(allowed, {"random_state": random_state}, caller)


def check_companion(n_regimes: Any, time_budget: Any, caller: str) -> None:
    """Refuse what is no number of regimes or no time budget of a companion."""
    # As many regimes as there can be samples in memory.
    allowed = {"n_regimes": [None, Numbers(Integral, 1, 2**31, closed="both")]}
    given = {"n_regimes": n_regimes, "time_budget": time_budget}
    validate_parameter_constraints(allowed | {"time_budget": TIME_BUDGET}, given, caller)


def check_stored_parameters(estimator: BaseEstimator) -> None:
    """Refuse parameters from a file that are invalid both before and after a fit."""
    if getattr(estimator, "_parameter_constraints", None) is not FALL_PARAMETERS:
        estimator._validate_params()  # for these, the same values are valid before and after a fit
        return
    given = estimator.get_params(deep=False)
    validate_parameter_constraints(FALL_PARAMETERS | AFTER_FIT, given, type(estimator).__name__)
