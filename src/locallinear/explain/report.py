"""The report: what a fitted model found, as data, and the data as one HTML file.

`report_data` computes everything that the page shows and returns plain lists, numbers and text;
`write_report` puts them into an autoescaped template. The file holds the same data as JSON, in
the element with the id "data", for machines.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from .._explanation import LocalExplanation
from .._fall import FALL
from .._files import whole_file
from . import _sections as sections
from ._model import fall_of, stored_samples, take_rows
from ._text import number, shorten


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
    targets = sections.names_of_targets(fall, y)
    rows = sections.sampled(len(Xq), sections.rows_that_fit(fall, max_rows))
    explanation = fall.explain(take_rows(Xq, rows))
    sample_names = sections.names_of_rows(X, None, "sample")
    labels = np.asarray(y)
    return {
        "title": str(title) if title is not None else f"What drives {', '.join(targets)}",
        "kind": "classification" if is_classifier(fall) else "regression",
        "model": {
            "n_samples": len(inputs),
            "parameters": {name: sections.plain_value(v) for name, v in fall.get_params().items()},
        },
        "features": [str(name) for name in explanation.feature_names],
        "targets": targets,
        "space": sections.space_section(fall),
        "scores": sections.scores_section(fall, inputs, labels, n_jobs),
        "regimes": sections.regimes_section(fall, targets),
        "rows": {
            "names": [sections.names_of_rows(Xq, row_names, "row")[i] for i in rows],
            "n_total": len(Xq),
            "true": None if yq is None else sections.plain_targets(np.asarray(yq)[rows]),
            **sections.rows_section(fall, explanation),
        },
        "samples": sections.samples_section(explanation, inputs, labels, sample_names),
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
    with whole_file(path) as file:
        file.write(html.encode())


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


def _named(model: FALL, X: NDArray):
    """Rows as a frame where the model knows names."""
    if not hasattr(model, "feature_names_in_"):
        return X
    import pandas

    return pandas.DataFrame(X, columns=model.feature_names_in_)
