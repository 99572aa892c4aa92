"""The sections of a report, each as plain lists, numbers and text that JSON can hold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from .._explanation import LocalExplanation
from .._fall import FALL
from ..kernels.combine import nearest_probabilities
from ._model import center, main_regimes, spread, stored_samples
from ._regimes import regimes_of
from ._scores import cross_validated
from ._text import largest_terms

# A file stays below 8 MB, of which plotly takes 5. A number with its comma takes some characters
# more than its digits.
MOST_CHARACTERS = 2_800_000
MOST_NEIGHBORS = 6
MOST_SCORED = 3000
MOST_KNOTS = 129
DIGITS = 10
NEIGHBOR_DIGITS = 6


def rows_that_fit(model: FALL, max_rows: int) -> int:
    """How many rows the bound on a file's size allows."""
    d, m = model.n_features_in_, len(model._target_names)
    neighbors = min(model.n_neighbors, MOST_NEIGHBORS)
    a_row = d * (1 + 3 * m) * (DIGITS + 4.5) + neighbors * (d + m + 2) * (NEIGHBOR_DIGITS + 4)
    return max(1, min(max_rows, int(MOST_CHARACTERS / a_row)))


def sampled(n: int, most: int) -> NDArray[np.intp]:
    """All rows, or as many as may be at random, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def scores_section(model: FALL, X: NDArray, y: NDArray, n_jobs) -> dict[str, Any]:
    """Section 1; where the samples are too few to be split, the reason."""
    rows = sampled(len(X), MOST_SCORED)
    try:
        found = cross_validated(clone(model).set_params(n_jobs=n_jobs), X[rows], y[rows])
    except ValueError as error:
        return {"missing": str(error)}
    shown = sampled(len(rows), 1000)
    return {
        "metrics": found["metrics"],
        "models": [_floats(entry) for entry in found["models"]],
        "n_folds": found["n_folds"],
        "n_scored": len(rows),
        "true": plain_targets(y[rows][shown]),
        "predicted": plain_targets(found["predicted"][shown]),
    }


def regimes_section(model: FALL, targets: list[str]) -> list[dict[str, Any]]:
    """Section 2: the regimes, largest first."""
    found = regimes_of(model)
    names = [str(name) for name in model._feature_names()]
    out = []
    for r, label in enumerate(found.labels.tolist()):
        order = np.argsort(-np.abs(found.offsets[r]), kind="stable")[:3]
        out.append(
            {
                "label": label,
                "size": int(found.sizes[r]),
                "share": float(found.sizes[r] / found.sizes.sum()),
                "equations": [
                    _equation(names, found.models[r, :, t], found.spread, target)
                    for t, target in enumerate(targets)
                ],
                "target_means": _rounded(found.target_means[r]),
                "distinguishing": [
                    {
                        "feature": names[j],
                        "offset": float(found.offsets[r, j]),
                        "low": float(found.low[r, j]),
                        "high": float(found.high[r, j]),
                    }
                    for j in order
                    if abs(found.offsets[r, j]) >= 0.25
                ],
            }
        )
    return out


def _equation(names: list[str], model: NDArray, spread: NDArray, target: str) -> dict[str, Any]:
    """An equation in parts, so that a page can keep each name's direction of writing apart."""
    places, n_smaller = largest_terms(model, spread, 4)
    return {
        "target": target,
        "intercept": float(model[-1]),
        "terms": [{"feature": names[j], "coef": float(model[j])} for j in places],
        "n_smaller": n_smaller,
    }


def space_section(model: FALL) -> dict[str, Any]:
    """What coefficients multiply: the features, or in quantile space their ranks."""
    X, _ = stored_samples(model)
    Z = model._space.regressors(X)
    knots = None
    if not model._space.has_units:
        at = np.linspace(Z.min(axis=0), Z.max(axis=0), MOST_KNOTS)
        knots = {"scaled": _rounded(at.T), "units": _rounded(model._space.inverse(at).T)}
    return {
        "has_units": model._space.has_units,
        "center": _rounded(center(model)),
        "spread": _rounded(spread(model)),
        "low": _rounded(Z.min(axis=0)),
        "high": _rounded(Z.max(axis=0)),
        "knots": knots,
    }


def rows_section(model: FALL, explanation: LocalExplanation) -> dict[str, Any]:
    """Sections 3 and 4: the rows and their exact models, a list a target in each."""
    X = np.asarray(explanation.X)
    regressors = model._space.regressors(X)
    anchor = explanation.anchor_part
    scores = explanation.contributions.sum(axis=1) + explanation.intercept
    out = {
        "values": _rounded(X),
        "regressors": None if model._space.has_units else _rounded(regressors),
        "prediction": _rounded(scores),
        "intercept": _rounded(explanation.intercept),
        "coef": _rounded(explanation.coef.swapaxes(1, 2)),
        "contributions": _rounded(explanation.contributions.swapaxes(1, 2)),
        "anchor_intercept": _rounded(anchor[:, -1]),
        "anchor_contributions": _rounded((anchor[:, :-1] * regressors[:, :, None]).swapaxes(1, 2)),
        "regime": main_regimes(explanation.neighbor_labels, explanation.neighbor_weights).tolist(),
        "neighbors": explanation.neighbors[:, :MOST_NEIGHBORS].tolist(),
        "neighbor_weights": _rounded(explanation.neighbor_weights[:, :MOST_NEIGHBORS], 6),
        "n_neighbors": explanation.neighbors.shape[1],
    }
    if is_classifier(model):
        out["probability"] = _rounded(nearest_probabilities(scores))
    return out


def samples_section(explanation: LocalExplanation, X: NDArray, y: NDArray, names) -> dict[str, Any]:
    """The samples that are shown as neighbours, by number."""
    model = explanation.model
    shown = np.unique(explanation.neighbors[:, :MOST_NEIGHBORS])
    labels = model.labels_[shown].tolist()
    values = _rounded(X[shown], NEIGHBOR_DIGITS)
    targets = plain_targets(y[shown])
    return {
        str(i): {"name": names[i], "values": v, "true": t, "regime": r}
        for i, v, t, r in zip(shown.tolist(), values, targets, labels, strict=True)
    }


def names_of_targets(model: FALL, y) -> list[str]:
    """Names of targets or classes, with those of a frame where y is one."""
    if not is_classifier(model):
        if hasattr(y, "columns"):
            return [str(name) for name in y.columns]
        if getattr(y, "name", None) is not None:
            return [str(y.name)]
    return list(model._target_names)


def names_of_rows(X, names, word: str) -> list[str]:
    if names is not None:
        if len(names) != len(X):
            raise ValueError(f"row_names must name the {len(X)} rows, but has {len(names)} names")
        return [str(name) for name in names]
    index = getattr(X, "index", None)
    if index is not None and not callable(index):
        return [str(name) if isinstance(name, str) else f"{word} {name}" for name in index]
    return [f"{word} {i}" for i in range(len(X))]


def plain_targets(y: NDArray) -> list:
    """Targets as lists, a number a target; classes as text."""
    if y.ndim == 1 and y.dtype.kind not in "fiu":
        return [[str(label)] for label in y]
    return _rounded(y.reshape(len(y), -1).astype(np.float64), NEIGHBOR_DIGITS)


def plain_value(value) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value) if np.ndim(value) == 0 else f"array {np.shape(value)}"


def _floats(entry: dict) -> dict:
    return {
        name: value if isinstance(value, str) else {k: float(v) for k, v in value.items()}
        for name, value in entry.items()
    }


def _rounded(array, digits: int = DIGITS) -> list:
    """Nested lists of numbers to so many digits; JSON has no infinities."""
    array = np.asarray(array, dtype=np.float64)
    flat: list = [
        float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in array.ravel().tolist()
    ]
    for size in reversed(array.shape[1:]):
        flat = [flat[i : i + size] for i in range(0, len(flat), size)]
    return flat
