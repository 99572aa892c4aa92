"""The sections of a report, each as plain lists, numbers and text that JSON can hold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from ..kernels.local.combine import nearest_probabilities
from ..tables.encoding import by_column
from ._equations import Term, parts_of
from ._model import held_out, main_regimes, neighbor_counts
from ._regimes import distinguishing, regimes_of
from ._scores import cross_validated
from ._subject import NOISE, Subject

# A file stays below 8 MB, of which plotly takes 5. A number with its comma takes some characters
# more than its digits.
MOST_CHARACTERS = 2_800_000
MOST_NEIGHBORS = 6
MOST_SCORED = 3000
MOST_KNOTS = 129
DIGITS = 10
NEIGHBOR_DIGITS = 6


def rows_that_fit(subject: Subject, max_rows: int) -> int:
    """How many rows the bound on a file's size allows."""
    c, d, m = len(subject.columns), len(subject.owners), len(subject.targets)
    numbers = c * (1 + 2 * m) + (d if d == c else d + c) * m
    neighbors = min(subject.fall.regime_model.n_neighbors, MOST_NEIGHBORS)
    a_row = numbers * (DIGITS + 4.5) + neighbors * (c + m + 2) * (NEIGHBOR_DIGITS + 4)
    return max(1, min(max_rows, int(MOST_CHARACTERS / a_row)))


def sampled(n: int, most: int) -> NDArray[np.intp]:
    """All rows, or as many as may be at random, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def model_section(subject: Subject) -> dict[str, Any]:
    """What kind of model it is, and what decides in it who is similar to whom.

    ``similarity`` lists what each feature counts for there, the most first, and is None where all
    count alike; an ensemble has ``kinds`` of members.
    """
    fall = subject.fall
    weights = getattr(fall, "feature_weights_", None)
    similarity = None
    if weights is not None:
        weights = by_column(weights[None, :, None], subject.owners).ravel()
        similarity = [
            {"feature": subject.names[place], "weight": float(weights[place])}
            for place in np.argsort(-weights, kind="stable")
            if weights[place] > 0
        ]
    kinds = [
        {
            "n_members": kind["n_members"],
            "parameters": _plain_values(kind["params"] | {"max_features": kind["max_features"]}),
        }
        for kind in getattr(fall, "kinds_", [])
        if kind["n_members"]
    ]
    return {
        "n_samples": fall.n_samples_fit_,
        "n_members": sum(kind["n_members"] for kind in kinds) or None,
        "similarity": similarity,
        "kinds": kinds,
        "parameters": _plain_values(fall.get_params(deep=False)),
    }


def _plain_values(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: plain_value(value) for name, value in parameters.items()}


def scores_section(model, X: NDArray, y: NDArray, n_jobs) -> dict[str, Any]:
    """Section 1; where the samples are too few to be split, the reason."""
    rows = sampled(len(X), MOST_SCORED)
    try:
        fresh = clone(model).set_params(n_jobs=n_jobs)
        known = held_out(model)
        if known is not None:
            known = known[0][rows], known[1][rows]
        found = cross_validated(fresh, X[rows], y[rows], known)
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


def regimes_section(subject: Subject, targets: list[str]) -> list[dict[str, Any]]:
    """Section 2: the regimes, largest first."""
    found = regimes_of(subject)
    return [
        {
            "label": label,
            "size": int(found.sizes[r]),
            "share": float(found.sizes[r] / found.sizes.sum()),
            "equations": [
                _equation(subject, found.models[r, :, t], target)
                for t, target in enumerate(targets)
            ],
            "target_means": _rounded(found.target_means[r]),
            "distinguishing": distinguishing(subject, found, r, 3),
        }
        for r, label in enumerate(found.labels.tolist())
    ]


def _equation(subject: Subject, model: NDArray, target: str) -> dict[str, Any]:
    """An equation in parts, so that a page can keep each name's direction of writing apart."""
    constant, terms, n_smaller = parts_of(subject, model, 4)
    return {
        "target": target,
        "constant": constant,
        "terms": [_plain_term(term) for term in terms],
        "n_smaller": n_smaller,
    }


def _plain_term(term: Term) -> dict[str, Any]:
    if term.coef is not None:
        return {"feature": term.feature, "coef": term.coef}
    effects = [{"category": category, "adds": by} for category, by in term.effects]
    return {"feature": term.feature, "effects": effects, "n_more": term.n_more}


def space_section(subject: Subject) -> dict[str, Any]:
    """What coefficients multiply: the features, or in quantile space their ranks.

    A column of text has a list of its categories' shares for its center, and no place between.
    """
    space, X = subject.fall.regime_model.feature_space, subject.samples[0]
    Z = space.regressors(X)
    low, high = Z.min(axis=0), Z.max(axis=0)
    knots = None
    if not space.has_units:
        at = np.linspace(low, high, MOST_KNOTS)
        units = _by_place(subject, _rounded(space.from_regressors(at).T))
        knots = {"scaled": _by_place(subject, _rounded(at.T)), "units": units}
    center: list = _by_place(subject, _rounded(subject.center))
    for place, column in enumerate(subject.columns):
        if column.is_text:
            center[place] = _rounded(subject.shares(place))
    return {
        "has_units": space.has_units,
        "center": center,
        "spread": _by_place(subject, _rounded(subject.spread)),
        "low": _by_place(subject, _rounded(low)),
        "high": _by_place(subject, _rounded(high)),
        "knots": knots,
    }


def _by_place(subject: Subject, of_features: list) -> list:
    """What belongs to the feature of each column of numbers, and None for columns of text."""
    return [
        None if column.is_text else of_features[subject.part(place).start]
        for place, column in enumerate(subject.columns)
    ]


def rows_section(subject: Subject, X) -> dict[str, Any]:
    """Sections 3 and 4: the rows and their exact models, a list a target in each.

    A coefficient of a column of text is a list: what each of its choices adds. A position is what
    a coefficient multiplies, or the number of the choice. What rounding leaves of zeros is zero.
    """
    given = subject.inputs(X)
    inputs = np.asarray(given, dtype=np.float64)
    told = subject.fall.explain(given)
    contributions = by_column(told.contributions, subject.owners)
    scores = contributions.sum(axis=1) + told.intercept
    size = np.abs(scores) + np.abs(told.intercept)
    counts = subject.counts(told.coef, contributions, size)
    contributions = np.where(counts, contributions, 0.0)
    coef = np.where(counts[:, subject.owners], told.coef, 0.0)
    regressors = subject.fall.regime_model.feature_space.regressors(inputs)[:, :, None]
    anchor = told.anchor_part
    by_anchor = by_column(anchor[:, :-1] * regressors, subject.owners)
    by_anchor = np.where(np.abs(by_anchor) > NOISE * size[:, None], by_anchor, 0.0)
    plain = subject.table is None and subject.fall.regime_model.feature_space.has_units
    sizes = neighbor_counts(told.neighbors)
    shown = np.minimum(sizes, MOST_NEIGHBORS)
    out = {
        "values": _rounded_values(subject.values(X)),
        "positions": None if plain else _rounded(subject.positions(inputs)),
        "prediction": _rounded(scores),
        "intercept": _rounded(told.intercept),
        "coef": _coefficients(subject, coef),
        "contributions": _rounded(contributions.swapaxes(1, 2)),
        "anchor_intercept": _rounded(anchor[:, -1]),
        "anchor_contributions": _rounded(by_anchor.swapaxes(1, 2)),
        "regime": main_regimes(told.neighbor_labels, told.neighbor_weights).tolist(),
        "neighbors": [near[:n].tolist() for near, n in zip(told.neighbors, shown, strict=True)],
        "neighbor_weights": [
            line[:n] for line, n in zip(_rounded(told.neighbor_weights, 6), shown, strict=True)
        ],
        "n_neighbors": sizes.tolist(),
    }
    if is_classifier(subject.fall):
        out["probability"] = _rounded(nearest_probabilities(scores))
    return out


def _coefficients(subject: Subject, coef: NDArray) -> list:
    """Coefficients (q, d, m) as lists by row, target and column."""
    columns = [
        _rounded(subject.effects(coef, place).transpose(0, 2, 1))
        if column.is_text
        else _rounded(coef[:, subject.part(place).start])
        for place, column in enumerate(subject.columns)
    ]
    return [[list(line) for line in zip(*row, strict=True)] for row in zip(*columns, strict=True)]


def samples_section(subject: Subject, inputs: NDArray, y: NDArray, shown, names) -> dict[str, Any]:
    """The samples that are shown as neighbours, by number."""
    labels = subject.fall.labels_[shown].tolist()
    values = _rounded_values(subject.sample_values(inputs[shown]), NEIGHBOR_DIGITS)
    targets = plain_targets(y[shown])
    return {
        str(i): {"name": names[i], "values": v, "true": t, "regime": r}
        for i, v, t, r in zip(shown.tolist(), values, targets, labels, strict=True)
    }


def names_of_targets(subject: Subject, y) -> list[str]:
    """Names of targets or classes, with those of a frame where y is one."""
    if not is_classifier(subject.fall):
        if hasattr(y, "columns"):
            return [str(name) for name in y.columns]
        if getattr(y, "name", None) is not None:
            return [str(y.name)]
    return subject.targets


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
    if isinstance(value, list | tuple):  # of folds, say, which need not have one length
        return f"list of {len(value)}"
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


def _rounded_values(lines: list[list], digits: int = DIGITS) -> list[list]:
    """Values of rows: numbers to so many digits, texts as they are."""
    return [
        [float(f"{v:.{digits}g}") if isinstance(v, float) else v for v in line] for line in lines
    ]
