"""What the parameters of FALL may be: before a fit, after it and in a file."""

from numbers import Integral, Real

from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

_POSITIVE_COUNT = Interval(Integral, 1, None, closed="left")

FALL_PARAMETERS: dict[str, list] = {
    "n_anchors": [_POSITIVE_COUNT],
    "anchor_selection": [StrOptions({"random", "kmeans"}), "array-like"],
    "anchor_models": [None, "array-like"],
    "n_anchor_neighbors": [_POSITIVE_COUNT],
    "anchor_alpha": [Interval(Real, 0, None, closed="left")],
    "anchor_l1_ratio": [Interval(Real, 0, 1, closed="both")],
    "alpha": [Interval(Real, 0, None, closed="neither")],
    "n_neighbors": [_POSITIVE_COUNT],
    "weights": [StrOptions({"distance", "uniform"}), callable],
    "fit_intercept": ["boolean"],
    "scaling": [None, StrOptions({"standard", "quantile"})],
    "neighborhood": [StrOptions({"euclidean", "learned", "forest", "boosted", "piecewise"})],
    "metric_iterations": [_POSITIVE_COUNT],
    "neighborhood_features": [None, "array-like"],
    "assignment_neighbors": [_POSITIVE_COUNT],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
}


# The parameters that shape a model's geometry (see `geometry.nearness.fit_geometry`): the feature
# space, and who is near in it.
GEOMETRY = ("scaling", "neighborhood", "metric_iterations", "neighborhood_features")

# What can be set on a fitted model, and takes effect at the next prediction. An infinite alpha
# leaves the anchors alone, as the end of a path of it.
AFTER_FIT = {name: FALL_PARAMETERS[name] for name in ("n_neighbors", "weights")}
AFTER_FIT["alpha"] = [Interval(Real, 0, None, closed="right")]


def check_after_fit(estimator) -> None:
    """Refuse values that were set after the fit, as `fit` would have."""
    given = {name: getattr(estimator, name) for name in AFTER_FIT}
    validate_parameter_constraints(AFTER_FIT, given, type(estimator).__name__)


def check_stored_parameters(estimator) -> None:
    """Refuse parameters from a file that could be set neither before nor after a fit."""
    if getattr(estimator, "_parameter_constraints", None) is not FALL_PARAMETERS:
        estimator._validate_params()  # nothing else can be set after a fit
        return
    given = estimator.get_params(deep=False)
    validate_parameter_constraints(FALL_PARAMETERS | AFTER_FIT, given, type(estimator).__name__)
