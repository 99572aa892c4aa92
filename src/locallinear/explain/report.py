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

from ..models.explanation import LocalExplanation
from ..runtime.extras import extra
from ..runtime.files import whole_file
from . import _sections as sections
from ._model import take_rows
from ._subject import Subject, subject_of
from ._text import number, plural, shorten, signed


def report_data(
    model,
    X=None,
    y=None,
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
    model : fitted FALLRegressor or FALLClassifier, a search over them, or a TableModel
    X, y : optional
        The samples that it was fitted on, in that order; by default as the model keeps them.
    Xq : array-like (q, d), optional
        Rows to explain; the samples themselves by default. A TableModel takes a raw table.
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
        ``prediction``, to the ten digits that are kept. Columns of a raw table stand for all that
        the model makes of them: ``choices`` has what a column of text can hold.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> from locallinear.explain import report_data
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = FALLRegressor(n_anchors=10, random_state=0).fit(X[:200], y[:200])
    >>> data = report_data(model, X[:200], y[:200], Xq=X[200:210])
    >>> list(data)
    ['title', 'kind', 'model', 'features', 'choices', 'targets', 'space', 'scores', 'regimes',
     'rows', 'samples']
    """
    subject = subject_of(model)
    if (X is None) != (y is None):
        raise ValueError("X and y must both be given, or neither: they are samples and targets")
    if X is None:
        X, y = _kept(subject)
    if Xq is None:
        Xq, yq = X, (y if yq is None else yq)
    inputs = np.asarray(subject.inputs(X), dtype=np.float64)
    if len(inputs) != subject.fall.n_samples_fit_:
        raise ValueError(
            f"X must be the {subject.fall.n_samples_fit_} samples that the model was fitted on, "
            f"but has {len(inputs)} rows; pass rows to explain as Xq"
        )
    targets = sections.names_of_targets(subject, y)
    shown = sections.sampled(len(Xq), sections.rows_that_fit(subject, max_rows))
    rows = sections.rows_section(subject, take_rows(Xq, shown))
    row_names = sections.names_of_rows(Xq, row_names, "row")
    sample_names = sections.names_of_rows(X, None, "sample")
    near = np.unique(np.concatenate(rows["neighbors"]))
    labels = np.asarray(y)
    fall = subject.fall
    return {
        "title": str(title) if title is not None else _title(targets, is_classifier(fall)),
        "kind": "classification" if is_classifier(fall) else "regression",
        "model": sections.model_section(subject),
        "features": subject.names,
        "choices": [subject.choices(place) for place in range(len(subject.columns))],
        "targets": targets,
        "space": sections.space_section(subject),
        "scores": sections.scores_section(fall, inputs, labels, n_jobs),
        "regimes": sections.regimes_section(subject, targets),
        "rows": {
            "names": [row_names[i] for i in shown],
            "n_total": len(Xq),
            "true": None if yq is None else sections.plain_targets(np.asarray(yq)[shown]),
            **rows,
        },
        "samples": sections.samples_section(subject, inputs, labels, near, sample_names),
    }


def _title(targets: list[str], classes: bool) -> str:
    """What a report is about, where nobody says."""
    named = targets if len(targets) <= 4 else [*targets[:3], f"{len(targets) - 3} more"]
    listed = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    return f"What tells {listed} apart" if classes else f"What drives {listed}"


def data_of_explanation(explanation: LocalExplanation, **options) -> dict[str, Any]:
    """The report on an explanation's model and queries; options are those of `report_data`."""
    model, X = explanation.model, explanation.X
    if model is None or X is None:
        raise ValueError(
            "to_html needs the model and the queries, which this explanation does not hold; "
            "call explain of a fitted FALLRegressor or FALLClassifier, or use report_data"
        )
    rows = _named(subject_of(model), X, explanation.index)
    now = model.explain(rows).prediction
    if now.shape != explanation.prediction.shape or not np.allclose(now, explanation.prediction):
        raise ValueError(
            "the model has changed since it gave this explanation, so that a report would show "
            "another one; call explain again"
        )
    return report_data(model, Xq=rows, **options)


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
    jinja = extra("jinja2", "report", "Reports")
    plotly = extra("plotly.offline", "report", "Reports")
    markup = extra("markupsafe", "report", "Reports").Markup
    environment = jinja.Environment(
        loader=jinja.PackageLoader("locallinear.explain"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "plural": plural,
        "shorten": shorten,
        "signed": signed,
    }
    source = environment.loader.get_source
    return environment.get_template("report.html").render(
        data=data,
        style=markup(source(environment, "report.css")[0]),
        script=markup(source(environment, "report.js")[0]),
        plotly=markup(plotly.get_plotlyjs()),
        json=markup(_script_json(data)),
    )


def _script_json(data: dict[str, Any]) -> str:
    """JSON that nothing in a value can end: no character of it starts a tag or an entity."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _kept(subject: Subject) -> tuple[Any, NDArray]:
    """The samples that a model keeps, as rows that it takes, and their targets."""
    X = subject.samples[0]
    if subject.table is None:
        return _named(subject, X), subject.labels()
    pandas = extra("pandas", "report", "Reports on tables")
    numbers = range(1, len(X) + 1)  # as the rows of a file are counted
    frame = pandas.DataFrame(subject.sample_values(X), columns=subject.names, index=numbers)
    return frame, subject.labels()


def _named(subject: Subject, X, index=None):
    """Rows as a frame where the model knows names."""
    if subject.table is not None:
        return X if index is None else X.set_axis(index, axis=0)
    if not hasattr(subject.fall, "feature_names_in_"):
        return X
    pandas = extra("pandas", "report", "Reports")
    return pandas.DataFrame(X, columns=subject.fall.feature_names_in_, index=index)
