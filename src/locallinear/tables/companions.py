"""The simple companion of a table's model in the model's file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ..checks.stored import require
from ..models.fall import FALL
from ..search.companion import Companion

PARTS = {"model", "explained", "simplicity", "own_score"}
CURVE = {"n_anchors", "score", "standard_error", "index", "tried"}


def described(companion: Companion) -> dict[str, Any]:
    """Plain values that describe a companion; a model that is its own is not repeated."""
    return {
        "model": None if companion.is_own else companion.model,
        "explained": companion.explained,
        "simplicity": companion.simplicity,
        "own_score": None if companion.own_score is None else list(companion.own_score),
    }


def revived(state: Any, estimator: Any) -> Companion:
    """The companion that `described` described; refused where it cannot be the estimator's."""
    require(isinstance(state, dict) and set(state) == PARTS, "its companion has other parts")
    model, explained, curve = state["model"], state["explained"], state["simplicity"]
    shares = isinstance(explained, float) and -np.inf < explained <= 1
    require(shares, "what its companion explains is no share")
    if model is None:
        alone = estimator is estimator.regime_model and curve is None and explained == 1
        require(alone, "its companion has no model")
        return Companion(estimator, 1.0, None)
    _check_model(model, estimator)
    _check_curve(curve, len(model.anchor_models_))
    own = state["own_score"]
    scores = isinstance(own, list) and len(own) == 2 and all(isinstance(x, float) for x in own)
    require(scores and bool(np.isfinite(own).all()), "the score of its companion is no number")
    return Companion(model, explained, curve, (own[0], own[1]))


def _check_model(model: Any, estimator: Any) -> None:
    """Refuse a model that is not of few regimes in the features and targets of another one."""
    wrong, accurate = "its companion is of another table", estimator.regime_model
    same_kind = isinstance(model, FALL) and is_classifier(model) == is_classifier(estimator)
    require(same_kind, wrong)
    require(model.__sklearn_is_fitted__(), "its companion is not fitted")
    require(model.feature_names == accurate.feature_names, wrong)
    require(model.target_names == accurate.target_names, wrong)
    require(model.n_samples_fit_ <= accurate.n_samples_fit_, wrong)
    require(model.one_target == accurate.one_target, wrong)
    if is_classifier(estimator):
        require(np.array_equal(model.classes_, estimator.classes_), wrong)


def _check_curve(curve: Any, n_regimes: int) -> None:
    """Refuse what is no price of simplicity, or says nothing of this number of regimes."""
    wrong = "the price of simplicity has other parts"
    require(isinstance(curve, dict) and set(curve) == CURVE, wrong)
    columns: list[NDArray] = list(curve.values())
    require(all(isinstance(c, np.ndarray) and c.ndim == 1 for c in columns), wrong)
    require(len({len(c) for c in columns}) == 1, wrong)
    require(curve["n_anchors"].dtype.kind == curve["index"].dtype.kind == "i", wrong)
    scores = curve["score"], curve["standard_error"], curve["tried"]
    require(all(c.dtype == np.float64 and np.isfinite(c).all() for c in scores), wrong)
    require(((curve["tried"] >= 0) & (curve["tried"] <= 1)).all(), wrong)
    require((np.diff(curve["n_anchors"]) > 0).all() and curve["n_anchors"].min() >= 1, wrong)
    require(n_regimes <= curve["n_anchors"].max(), wrong)
