"""The sections of a report on the whole model, as lists, numbers and text that JSON can hold.

`rows` has the sections on single rows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import confusion_matrix

from .equations import Term, short_parts
from .interface import Explanation
from .json_values import SAMPLE_DIGITS, parameter_values, rounded, target_lists, whole
from .judging import (
    Judged,
    UnseenRows,
    baselines,
    error_change,
    folds_of,
    judge,
    later_sentence,
    pooled_scores,
    resampled_errors,
    row_errors,
    tuning_sentence,
)
from .regimes import distinguishing, regime_names, regimes_of
from .reliability import probability_scores, reliability, unseen_probabilities
from .selection import sampled
from .view import ModelView, Samples

Array = NDArray[np.float64]

NAME = "FALL (this model)"
N_FOLDS = 5
MOST_SCORED = 3000
# A model's own judgement of more folds is not shown: the baselines would have to be fitted in all.
MOST_FOLDS = 15
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
        "n_samples": whole(view.n_samples),
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


@dataclass(frozen=True, eq=False)
class _Judgement:
    """Predictions of rows that the models had not seen, this model's first, in units.

    Attributes
    ----------
    models : list of Judged
    y : array (t,) or (t, m)
        The true targets or classes of these rows.
    rows : array (t,)
        Which samples they are.
    n_folds : int
    is_own : bool
        Whether this model brought its predictions along: those by which its maker judges it.
    probabilities : array (t, m) or None
        This model's, of classes.
    """

    models: list[Judged]
    y: NDArray
    rows: NDArray[np.intp]
    n_folds: int
    is_own: bool
    probabilities: Array | None


def scores_section(view: ModelView, X: Array, y: NDArray, n_jobs: int | None) -> dict[str, Any]:
    """Scores on rows that the models had not seen; the reason where there are too few to split.

    Where the model has predictions of unseen rows, they are scored, all of them: the page then says
    what the command line and `cv_score_` say.
    """
    classify, of_samples = view.is_classifier, view.estimator.regime_model.training_weights()
    try:
        found = _own_judgement(view, X, y, of_samples)
        if found is None:
            found = _new_judgement(view, X, y, of_samples, n_jobs)
    except ValueError as error:
        return {"missing": str(error)}
    weights = None if of_samples is None else of_samples[found.rows]
    scores = [
        pooled_scores(one, found.y, classify=classify, weights=weights) for one in found.models
    ]
    drawn = sampled(len(found.rows), MOST_DRAWN)
    return {
        "probabilities": None
        if found.probabilities is None
        else _probabilities(view, found.y, found.probabilities, weights),
        "metrics": list(scores[0]),
        "models": [{"name": one.name} | s for one, s in zip(found.models, scores, strict=True)],
        "is_own": found.is_own,
        "tuning": tuning_sentence(is_ensemble=bool(getattr(view.estimator, "kinds_", [])))
        if found.is_own
        else None,
        "later": later_sentence(view.columns),
        "against_ridge": _against_ridge(found, scores, classify, weights),
        "n_folds": found.n_folds,
        "n_scored": whole(view.samples.weights[found.rows].sum()),
        "confusion": _confusion(view, found, weights) if classify else None,
        "is_drawn": not classify and len(drawn) < len(found.rows),
        "true": None if classify else target_lists(found.y[drawn]),
        "predicted": None if classify else target_lists(found.models[0].predicted[drawn]),
    }


def _confusion(
    view: ModelView, found: _Judgement, weights: Array | None
) -> list[list[int | float]]:
    """How many rows of each class, a line per class, this model predicts to be of each class."""
    assert view.classes is not None
    counts = confusion_matrix(
        found.y, found.models[0].predicted, labels=view.classes, sample_weight=weights
    )
    return [[whole(count) for count in line] for line in counts.tolist()]


def _against_ridge(
    found: _Judgement, scores: list[dict[str, Any]], classify: bool, weights: Array | None
) -> str:
    """Whether the model is "better" than one linear model for all rows, by more than chance.

    Otherwise it is "unclear" where the model's score is higher, and else ridge is "as good".
    """
    ridge = next(i for i, one in enumerate(found.models) if one.name == "ridge")
    errors = [row_errors(found.models[i], found.y, classify=classify) for i in (0, ridge)]
    with np.errstate(divide="ignore", invalid="ignore"):  # ridge may be exact
        draws = resampled_errors(errors, classify=classify, weights=weights)
        if error_change(draws, 0, 1, classify=classify)[1] < 0:
            return "better"
    first = next(iter(scores[0]))
    return "unclear" if scores[0][first]["value"] > scores[ridge][first]["value"] else "as good"


def _own_judgement(
    view: ModelView, X: Array, y: NDArray, weights: Array | None
) -> _Judgement | None:
    """The model's own predictions, beside the baselines on the same folds, as far as judged.

    None where it has none, and where so many folds would take the baselines too long.
    """
    known = view.out_of_fold()
    if known is None:
        return None
    predictions, unseen = known[0], UnseenRows.of(*known)
    if unseen.n_folds > MOST_FOLDS:
        return None
    chosen = predictions if view.classes is None else view.classes[predictions.argmax(axis=1)]
    own, classify = Judged(NAME, chosen), view.is_classifier
    y = view.targets_in_units(y)
    models = baselines(unseen.n_train, classify=classify, table=view.table)
    return _Judgement(
        unseen.judge(own, models, X, y, classify=classify, weights=weights),
        y[unseen.rows],
        unseen.rows,
        unseen.n_folds,
        True,
        None if view.classes is None else predictions[unseen.rows],
    )


def _new_judgement(
    view: ModelView, X: Array, y: NDArray, weights: Array | None, n_jobs: int | None
) -> _Judgement:
    """The model with its parameters, and the baselines, fitted again on folds of a sample."""
    counted, classify = view.counted, view.is_classifier
    rows = counted[sampled(len(counted), MOST_SCORED)]
    X, y, v = X[rows], y[rows], None if weights is None else weights[rows]
    splits = list(folds_of(y, N_FOLDS, classify=classify).split(X, y))
    this = {NAME: clone(view.estimator).set_params(n_jobs=n_jobs)}
    (ours,) = judge(this, X, y, splits, classify=classify, weights=v)
    true = view.targets_in_units(y)
    n_train = min(len(train) for train, _ in splits)
    models = baselines(n_train, classify=classify, table=view.table)
    return _Judgement(
        [
            replace(ours, predicted=view.predictions_in_units(ours.predicted)),
            *judge(models, X, true, splits, classify=classify, weights=v),
        ],
        true,
        rows,
        len(splits),
        False,
        unseen_probabilities(view.estimator, X, y, splits, v) if classify else None,
    )


def _probabilities(
    view: ModelView, y: NDArray, said: Array, weights: Array | None
) -> dict[str, Any]:
    """Errors of probabilities (t, m) of unseen rows, and the reliability curve of each class."""
    classes = view.classes
    assert classes is not None
    curves = [reliability(y, said, classes, t, sample_weight=weights) for t in range(len(classes))]
    return {
        "errors": probability_scores(y, said, classes, weights),
        "n_rows": len(said) if weights is None else whole(weights.sum()),
        "curves": [
            {
                name: rounded(getattr(curve, name), SAMPLE_DIGITS)
                for name in ("predicted", "observed", "counts", "low", "high")
            }
            for curve in curves
        ],
    }


# --- What regimes did it find? -------------------------------------------------------------------


def regimes_section(view: ModelView, targets: list[str]) -> list[dict[str, Any]]:
    """The regimes, largest first."""
    found = regimes_of(view)
    names = regime_names(view, found)
    return [
        {
            "label": label,
            "name": names[r],
            "size": whole(found.sizes[r]),
            "share": float(found.sizes[r] / found.sizes.sum()),
            "equations": [
                _equation(
                    view,
                    found.models[r, :, t],
                    view.of_regime(label),
                    target,
                    float(found.errors[r, t]),
                )
                | ({} if view.is_classifier else {"error": float(found.errors[r, t])})
                for t, target in enumerate(targets)
            ],
            "target_means": rounded(found.target_means[r]),
            "distinguishing": distinguishing(view, found, r, 3),
        }
        for r, label in enumerate(found.labels.tolist())
    ]


def _equation(
    view: ModelView, model: Array, samples: Samples, target: str, error: float
) -> dict[str, Any]:
    """An equation in parts, so that a page can keep each name's direction of writing apart."""
    inputs, _, weights = samples
    constant, terms, left_out = short_parts(view, model, inputs, error=error, weights=weights)
    return {
        "target": target,
        "constant": constant,
        "terms": [_term(term) for term in terms],
        "left_out": left_out,
    }


def _term(term: Term) -> dict[str, Any]:
    if term.coef is not None:
        return {"feature": term.feature, "coef": term.coef, "unit": term.unit}
    effects = [{"category": category, "adds": adds} for category, adds in term.effects]
    return {"feature": term.feature, "effects": effects, "n_more": term.n_more}


# --- What do coefficients multiply? --------------------------------------------------------------


def space_section(view: ModelView) -> dict[str, Any]:
    """What coefficients multiply: the features, or in quantile space their ranks.

    The center of a column of text is the list of its choices' shares; it has no range.
    """
    space = view.space
    regressors = space.regressors(view.samples.inputs[view.counted])
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
