"""The sections of a report on the whole model, as lists, numbers and text that JSON can hold.

`rows` has the sections on single rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

from .equations import Term, short_parts
from .interface import Explanation
from .json_values import SAMPLE_DIGITS, parameter_values, rounded, target_lists
from .judging import Judged, baselines, fold_scores, folds_of, judge
from .regimes import distinguishing, regime_names, regimes_of
from .reliability import Split, probability_scores, reliability, unseen_probabilities
from .selection import sampled
from .view import ModelView

Array = NDArray[np.float64]

NAME = "FALL (this model)"
N_FOLDS = 5
MOST_SCORED = 3000
MOST_DRAWN = 1000
MOST_KNOTS = 129


def model_section(view: ModelView, why: Explanation) -> dict[str, Any]:
    """What kind of model it is, and which features decide in it which samples are near.

    ``feature_weights`` lists them, the heaviest first, and is None where all count alike; an
    ensemble has ``kinds`` of members, and a classifier a ``probability_map``: the ``n``, ``slope``
    and ``power`` by which probabilities follow from scores.
    """
    weights = why.feature_weights
    kinds = [
        {
            "n_members": kind["n_members"],
            "parameters": parameter_values(kind["params"] | {"max_features": kind["max_features"]}),
        }
        for kind in getattr(view.estimator, "kinds_", [])
        if kind["n_members"]
    ]
    return {
        "n_samples": view.estimator.n_samples_fit_,
        "n_members": sum(kind["n_members"] for kind in kinds) or None,
        "feature_weights": weights
        if weights is None
        else [
            {"feature": view.names[j], "weight": float(weights[j])}
            for j in np.argsort(-weights, kind="stable")
            if weights[j] > 0
        ],
        "kinds": kinds,
        "probability_map": getattr(view.estimator, "probability_map", None),
        "parameters": parameter_values(view.estimator.get_params(deep=False)),
    }


# --- How good is the model? ----------------------------------------------------------------------


def scores_section(view: ModelView, X: Array, y: NDArray, n_jobs: int | None) -> dict[str, Any]:
    """Scores on rows that the models had not seen; the reason where there are too few to split."""
    rows = sampled(len(X), MOST_SCORED)
    try:
        judged, splits = _judged(view, X, y, rows, n_jobs)
    except ValueError as error:
        return {"missing": str(error)}
    labels, y, classify = y, y[rows], view.is_classifier
    scores = [fold_scores(one, y, splits, classify=classify) for one in judged]
    drawn = sampled(len(rows), MOST_DRAWN)
    return {
        "probabilities": _probabilities(view, X, labels, rows, splits) if classify else None,
        "metrics": list(scores[0]),
        "models": [{"name": one.name} | s for one, s in zip(judged, scores, strict=True)],
        "n_folds": len(splits),
        "n_scored": len(rows),
        "true": target_lists(y[drawn]),
        "predicted": target_lists(judged[0].predicted[drawn]),
    }


def _judged(
    view: ModelView, X: Array, y: NDArray, rows: NDArray[np.intp], n_jobs: int | None
) -> tuple[list[Judged], list[tuple[NDArray[np.intp], NDArray[np.intp]]]]:
    """The model and the baselines on the same folds: those that the model had, if it had any."""
    X, y, classify = X[rows], y[rows], view.is_classifier
    known = _out_of_fold(view, rows)
    if known is None:
        splits = list(folds_of(y, N_FOLDS, classify=classify).split(X, y))
        models = {NAME: clone(view.estimator).set_params(n_jobs=n_jobs)}
    else:
        splits = list(PredefinedSplit(known[1]).split())
        models = {}
    models |= baselines(min(len(train) for train, _ in splits), classify=classify)
    judged = judge(models, X, y, splits, classify=classify)
    return judged if known is None else [Judged(NAME, known[0]), *judged], splits


def _probabilities(
    view: ModelView, X: Array, y: NDArray, rows: NDArray[np.intp], splits: list[Split]
) -> dict[str, Any]:
    """Errors of probabilities of unseen rows, and the reliability curve of each class."""
    estimator: Any = view.estimator
    if estimator.out_of_fold() is None:  # which is of all rows, whatever the splits
        X, y = X[rows], y[rows]
    said, tested = unseen_probabilities(estimator, X, y, splits)
    curves = [
        reliability(y[tested], said, estimator.classes_, t) for t in range(len(estimator.classes_))
    ]
    return {
        "errors": probability_scores(y[tested], said, estimator.classes_),
        "n_rows": len(tested),
        "curves": [
            {
                name: rounded(getattr(curve, name), SAMPLE_DIGITS)
                for name in ("predicted", "observed", "counts", "low", "high")
            }
            for curve in curves
        ],
    }


def _out_of_fold(
    view: ModelView, rows: NDArray[np.intp]
) -> tuple[NDArray, NDArray[np.intp]] | None:
    """The model's own predictions for rows that it had not seen, and each row's fold.

    None where it has none, and where a fold has a single row, on which R² is not defined.
    """
    known = view.out_of_fold()
    if known is None:
        return None
    predicted, folds = known[0][rows], known[1][rows]
    if np.unique(folds, return_counts=True)[1].min() < 2:
        return None
    return predicted if view.classes is None else view.classes[predicted.argmax(axis=1)], folds


# --- What regimes did it find? -------------------------------------------------------------------


def regimes_section(view: ModelView, targets: list[str]) -> list[dict[str, Any]]:
    """The regimes, largest first."""
    found = regimes_of(view)
    members = [view.samples[0][view.estimator.labels_ == label] for label in found.labels]
    names = regime_names(view, found)
    return [
        {
            "label": label,
            "name": names[r],
            "size": int(found.sizes[r]),
            "share": float(found.sizes[r] / found.sizes.sum()),
            "equations": [
                _equation(view, found.models[r, :, t], members[r], target)
                for t, target in enumerate(targets)
            ],
            "target_means": rounded(found.target_means[r]),
            "distinguishing": distinguishing(view, found, r, 3),
        }
        for r, label in enumerate(found.labels.tolist())
    ]


def _equation(view: ModelView, model: Array, inputs: Array, target: str) -> dict[str, Any]:
    """An equation in parts, so that a page can keep each name's direction of writing apart."""
    constant, terms, left_out = short_parts(view, model, inputs)
    return {
        "target": target,
        "constant": constant,
        "terms": [_term(term) for term in terms],
        "left_out": left_out,
    }


def _term(term: Term) -> dict[str, Any]:
    if term.coef is not None:
        return {"feature": term.feature, "coef": term.coef}
    effects = [{"category": category, "adds": adds} for category, adds in term.effects]
    return {"feature": term.feature, "effects": effects, "n_more": term.n_more}


# --- What do coefficients multiply? --------------------------------------------------------------


def space_section(view: ModelView) -> dict[str, Any]:
    """What coefficients multiply: the features, or in quantile space their ranks.

    The center of a column of text is the list of its choices' shares; it has no range.
    """
    space = view.space
    regressors = space.regressors(view.samples[0])
    low, high = regressors.min(axis=0), regressors.max(axis=0)
    knots = None
    if not space.has_units:
        at = np.linspace(low, high, MOST_KNOTS)
        units = space.from_regressors(at)
        knots = {"scaled": _of_numbers(view, at.T), "units": _of_numbers(view, units.T)}
    center = _of_numbers(view, view.center)
    for j, column in enumerate(view.columns):
        if column.texts:
            center[j] = rounded(view.shares(j))
    return {
        "has_units": space.has_units,
        "center": center,
        "spread": _of_numbers(view, view.spread),
        "low": _of_numbers(view, low),
        "high": _of_numbers(view, high),
        "knots": knots,
    }


def _of_numbers(view: ModelView, of_features: Array) -> list[Any]:
    """The entry (d, ..) of each column of numbers, and None for columns of text."""
    entries = rounded(of_features)
    return [
        None if column.texts else entries[view.features_of(j).start]
        for j, column in enumerate(view.columns)
    ]
