"""The report: what a fitted model found, as data, and the data as one HTML file.

`report_data` computes everything that the page shows and returns plain lists, numbers and text;
`write_report` puts them into an autoescaped template. The file holds the same data as JSON, in
the element with the id "data", for machines.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from .._explanation import LocalExplanation
from .._fall import FALL
from ..kernels.combine import nearest_probabilities
from ._model import center, fall_of, main_regimes, spread, stored_samples, take_rows
from ._regimes import regimes_of
from ._scores import cross_validated
from ._text import largest_terms, number, shorten

# A file stays below 8 MB, of which plotly takes 5: so many numbers, of some ten characters each.
MOST_NUMBERS = 240_000
MOST_NEIGHBORS = 6
MOST_SCORED = 3000
MOST_KNOTS = 129
DIGITS = 10
NEIGHBOR_DIGITS = 6


def report_data(
    model,
    X,
    y,
    *,
    Xq=None,
    yq=None,
    title=None,
    row_names=None,
    max_rows=1000,
    n_jobs=None,
) -> dict[str, Any]:
    """Everything that a report shows, as plain lists, numbers and text.

    Parameters
    ----------
    model : fitted FALLRegressor or FALLClassifier, or a search over them
    X, y : the samples that it was fitted on, in that order
    Xq : array-like (q, d), optional
        Rows to explain; the samples themselves by default.
    yq : array-like, optional
        Their targets, where known.
    title : str, optional
    row_names : sequence of str, optional
        Names of the rows to explain; by default the frame's index, or numbers.
    max_rows : int, default=1000
        More rows are sampled, and so are fewer where a row has very many numbers; the report
        says so.
    n_jobs : int, optional
        Threads of the neighbour search.

    Returns
    -------
    dict
        For each row in ``rows``, ``contributions`` (a list a target) plus ``intercept`` equal
        ``prediction``, to the ten digits that are kept.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> from locallinear.explain import report_data
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = FALLRegressor(n_anchors=10, random_state=0).fit(X[:200], y[:200])
    >>> data = report_data(model, X[:200], y[:200], Xq=X[200:210])
    >>> list(data)
    ['title', 'kind', 'model', 'features', 'targets', 'space', 'scores', 'regimes', 'rows',
     'samples']
    """
    fall = fall_of(model)
    inputs = np.asarray(X, dtype=np.float64)
    if len(inputs) != fall.n_samples_fit_:
        raise ValueError(
            f"X must be the {fall.n_samples_fit_} samples that the model was fitted on, but has "
            f"{len(inputs)} rows; pass rows to explain as Xq"
        )
    if Xq is None:
        Xq, yq = X, (y if yq is None else yq)
    targets = _target_names(fall, y)
    rows = _sampled(len(Xq), _rows_that_fit(fall, max_rows))
    explanation = fall.explain(take_rows(Xq, rows))
    sample_names = _row_names(X, None, "sample")
    labels = np.asarray(y)
    return {
        "title": str(title) if title is not None else f"What drives {', '.join(targets)}",
        "kind": "classification" if is_classifier(fall) else "regression",
        "model": {
            "n_samples": len(inputs),
            "parameters": {name: _plain(v) for name, v in fall.get_params().items()},
        },
        "features": [str(name) for name in explanation.feature_names],
        "targets": targets,
        "space": _space(fall),
        "scores": _scores(fall, inputs, labels, n_jobs),
        "regimes": _regimes(fall, targets),
        "rows": {
            "names": [_row_names(Xq, row_names, "row")[i] for i in rows],
            "n_total": len(Xq),
            "true": None if yq is None else _targets(np.asarray(yq)[rows]),
            **_rows(fall, explanation),
        },
        "samples": _samples(explanation, inputs, labels, sample_names),
    }


def data_of_explanation(explanation: LocalExplanation, **options) -> dict[str, Any]:
    """The report on an explanation's model and queries; options are those of `report_data`."""
    model, X = explanation.model, explanation.X
    if model is None or X is None:
        raise ValueError(
            "to_html needs the model and the queries, which this explanation does not hold; "
            "call explain of a fitted FALLRegressor or FALLClassifier, or use report_data"
        )
    now = model.explain(_named(model, X)).prediction
    if now.shape != explanation.prediction.shape or not np.allclose(now, explanation.prediction):
        raise ValueError(
            "the model has changed since it gave this explanation, so that a report would show "
            "another one; call explain again"
        )
    inputs, Y = stored_samples(model)
    y = model.classes_[Y.argmax(axis=1)] if is_classifier(model) else Y
    y = y[:, 0] if not is_classifier(model) and model._one_target else y
    return report_data(model, _named(model, inputs), y, Xq=_named(model, X), **options)


def write_report(path: str | Path, data: dict[str, Any]) -> None:
    """Write the data of `report_data` as one HTML file that needs nothing else.

    The file is written whole or not at all. Needs jinja2 and plotly.

    Parameters
    ----------
    path : str or Path
    data : dict
    """
    html = render(data)
    path = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(html)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def render(data: dict[str, Any]) -> str:
    """The page of a report's data."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=PackageLoader("locallinear.explain"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "shorten": shorten}
    source = environment.loader.get_source  # type: ignore[union-attr]
    return environment.get_template("report.html").render(
        data=data,
        style=Markup(source(environment, "report.css")[0]),
        script=Markup(source(environment, "report.js")[0]),
        plotly=Markup(get_plotlyjs()),
        json=Markup(_script_json(data)),
    )


def _script_json(data: dict[str, Any]) -> str:
    """JSON that nothing in a value can end: no character of it starts a tag or an entity."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _rows_that_fit(model: FALL, max_rows: int) -> int:
    """How many rows the bound on a file's size allows."""
    d, m = model.n_features_in_, len(model._target_names)
    neighbors = min(model.n_neighbors, MOST_NEIGHBORS)
    a_row = d * (1 + 3 * m) + neighbors * (d + m + 2)
    return max(1, min(max_rows, MOST_NUMBERS // a_row))


def _sampled(n: int, most: int) -> NDArray[np.intp]:
    """All rows, or as many as may be at random, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def _scores(model: FALL, X: NDArray, y: NDArray, n_jobs) -> dict[str, Any]:
    """Section 1; where the samples are too few to be split, the reason."""
    rows = _sampled(len(X), MOST_SCORED)
    try:
        found = cross_validated(_unfitted(model, n_jobs), X[rows], y[rows])
    except ValueError as error:
        return {"missing": str(error)}
    shown = _sampled(len(rows), 1000)
    return {
        "metrics": found["metrics"],
        "models": [_floats(entry) for entry in found["models"]],
        "n_folds": found["n_folds"],
        "n_scored": len(rows),
        "true": _targets(y[rows][shown]),
        "predicted": _targets(found["predicted"][shown]),
    }


def _unfitted(model: FALL, n_jobs) -> FALL:
    from sklearn.base import clone

    return clone(model).set_params(n_jobs=n_jobs)


def _regimes(model: FALL, targets: list[str]) -> list[dict[str, Any]]:
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


def _space(model: FALL) -> dict[str, Any]:
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


def _rows(model: FALL, explanation: LocalExplanation) -> dict[str, Any]:
    """Sections 3 and 4: the rows and their exact models, a list a target in each."""
    X = explanation.X
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


def _samples(explanation: LocalExplanation, X: NDArray, y: NDArray, names) -> dict[str, Any]:
    """The samples that are shown as neighbours, by number."""
    model = explanation.model
    shown = np.unique(explanation.neighbors[:, :MOST_NEIGHBORS])
    labels = model.labels_[shown].tolist()
    values = _rounded(X[shown], NEIGHBOR_DIGITS)
    targets = _targets(y[shown])
    return {
        str(i): {"name": names[i], "values": v, "true": t, "regime": r}
        for i, v, t, r in zip(shown.tolist(), values, targets, labels, strict=True)
    }


def _target_names(model: FALL, y) -> list[str]:
    """Names of targets or classes, with those of a frame where y is one."""
    if not is_classifier(model):
        if hasattr(y, "columns"):
            return [str(name) for name in y.columns]
        if getattr(y, "name", None) is not None:
            return [str(y.name)]
    return list(model._target_names)


def _row_names(X, names, word: str) -> list[str]:
    if names is not None:
        if len(names) != len(X):
            raise ValueError(f"row_names must name the {len(X)} rows, but has {len(names)} names")
        return [str(name) for name in names]
    index = getattr(X, "index", None)
    if index is not None and not callable(index):
        return [str(name) if isinstance(name, str) else f"{word} {name}" for name in index]
    return [f"{word} {i}" for i in range(len(X))]


def _named(model: FALL, X: NDArray):
    """Rows as a frame where the model knows names."""
    if not hasattr(model, "feature_names_in_"):
        return X
    import pandas

    return pandas.DataFrame(X, columns=model.feature_names_in_)


def _targets(y: NDArray) -> list:
    """Targets as lists, a number a target; classes as text."""
    if y.ndim == 1 and y.dtype.kind not in "fiu":
        return [[str(label)] for label in y]
    return _rounded(y.reshape(len(y), -1).astype(np.float64), NEIGHBOR_DIGITS)


def _plain(value) -> Any:
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
    flat = [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in array.ravel().tolist()]
    for size in reversed(array.shape[1:]):
        flat = [flat[i : i + size] for i in range(0, len(flat), size)]
    return flat
