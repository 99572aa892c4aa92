"""The data of a report: everything that the page shows, as lists, numbers and text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import drivers, effects, rows, sections
from .interface import CompanionLike, Explanation
from .json_values import target_lists
from .neighbors import main_regimes
from .own_samples import count_equal, own_samples
from .selection import sampled, take_rows
from .view import ModelView, by_feature, view_of

# Effects are shown of the features that matter most.
MOST_EFFECTS = 12


def report_data(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    Xq: Any = None,
    yq: ArrayLike | None = None,
    title: str | None = None,
    row_names: Sequence[object] | None = None,
    max_rows: int = 1000,
    n_jobs: int | None = None,
    companion: CompanionLike | None = None,
) -> dict[str, Any]:
    """Everything that a report shows, as lists, numbers and text.

    Parameters
    ----------
    model : fitted FALLRegressor or FALLClassifier, a search over them, an ensemble or a TableModel
    X, y : optional
        The samples that the model was fitted on, in that order; by default as the model keeps them.
    Xq : array-like (q, d), optional
        Rows to explain; the samples themselves by default. A TableModel takes a raw table.
    yq : array-like, optional
        Their targets, where known. Rows that have the values and targets of samples are these
        samples: each is explained without itself, as by `explain_samples`.
    title : str, optional
    row_names : sequence of str, optional
        Names of the rows to explain; by default the frame's index, or numbers.
    max_rows : int, default=1000
        Of more rows, a sample is shown, and a smaller one where rows have very many numbers; the
        report says so.
    n_jobs : int, optional
        Threads of the neighbour search.
    companion : Companion, optional
        A model of few regimes on the same samples, from `search.companion.companion_of`: the
        report then shows its regimes, which people can read, in place of the model's own.

    Returns
    -------
    dict
        For each row in ``rows``, ``baseline``, ``level`` and ``differences`` (one list per target)
        add up to ``prediction``, to the ten digits that are kept, and so do ``contributions`` and
        ``intercept``. Columns of a raw table stand for all
        features that the model makes of them: ``choices`` has what a column of text can hold.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from locallinear import FALLRegressor
    >>> from locallinear.explain import report_data
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = FALLRegressor(n_anchors=10, random_state=0).fit(X[:200], y[:200])
    >>> data = report_data(model, X[:200], y[:200], Xq=X[200:210])
    >>> list(data)
    ['title', 'kind', 'model', 'features', 'choices', 'targets', 'space', 'scores', 'drivers',
     'effects', 'regimes', 'regime_model', 'rows', 'samples']
    """
    view = view_of(model)
    X, y = _samples(view, X, y)
    all_samples = Xq is None
    if all_samples:
        Xq, yq = X, (y if yq is None else yq)
    shown = sampled(len(Xq), rows.rows_that_fit(view, max_rows))
    some = take_rows(Xq, shown)
    if all_samples:
        why = _without_themselves(view, some, shown) or view.explain(some)
    else:
        why = explain_rows(view, some, None if yq is None else np.asarray(yq)[shown])
    about = _about_rows(shown, len(Xq), row_names, getattr(Xq, "index", None), yq)
    return _data(view, X, y, why, about, title, n_jobs, companion)


def data_of_explanation(
    explanation: Any,
    X: Any = None,
    y: Any = None,
    *,
    yq: ArrayLike | None = None,
    title: str | None = None,
    row_names: Sequence[object] | None = None,
    max_rows: int = 1000,
    n_jobs: int | None = None,
    companion: CompanionLike | None = None,
) -> dict[str, Any]:
    """The report on an explanation's model and queries; nothing is explained again.

    Parameters
    ----------
    explanation : LocalExplanation
    X, y, yq, title, row_names, max_rows, n_jobs, companion : as for `report_data`

    Returns
    -------
    dict
        As that of `report_data`.
    """
    if explanation.model is None or explanation.X is None:
        raise ValueError(
            "to_html needs the model and the queries, which this explanation does not hold; "
            "call explain of a fitted FALLRegressor or FALLClassifier, or use report_data"
        )
    view = view_of(explanation.model)
    q = len(explanation.contributions)
    shown = sampled(q, rows.rows_that_fit(view, max_rows))
    why = explanation.take(shown)
    _check_unchanged(view, why)
    X, y = _samples(view, X, y)
    about = _about_rows(shown, q, row_names, explanation.index, yq)
    return _data(view, X, y, why, about, title, n_jobs, companion)


def _samples(view: ModelView, X: Any, y: Any) -> tuple[Any, Any]:
    """The samples that the model was fitted on, and their targets."""
    if (X is None) != (y is None):
        raise ValueError("X and y must both be given, or neither: they are samples and targets")
    if X is None:
        return view.training_rows(), view.sample_targets
    if len(X) != view.estimator.n_samples_fit_:
        raise ValueError(
            f"X must be the {view.estimator.n_samples_fit_} samples that the model was fitted on, "
            f"but has {len(X)} rows; pass rows to explain as Xq"
        )
    return X, y


def explain_rows(view: ModelView, X: Any, y: NDArray | None) -> Explanation:
    """The explanation of rows; if they are samples of the model, of each without itself.

    Whether they are is known by their targets y: without these, rows are new ones.
    """
    own = None
    if y is not None:
        own = own_samples(view, np.asarray(view.encode(X), dtype=np.float64), y)
    return _without_themselves(view, X, own) or view.explain(X)


def _without_themselves(
    view: ModelView, X: Any, own: NDArray[np.intp] | None
) -> Explanation | None:
    """The explanation of samples without themselves, with their cells as the user has them.

    None where rows are no samples, and where a sample has too few others to be predicted from.
    """
    if own is None:
        return None
    try:
        why: Any = view.explain_samples(own)
    except ValueError:
        return None
    return why if view.table is None else replace(why, X=view.cells(X))


def _check_unchanged(view: ModelView, why: Explanation) -> None:
    """Refuse an explanation of a model that now predicts otherwise."""
    queries = by_feature(why)
    then = why.contributions.sum(axis=1) + why.intercept
    now = view.estimator.predict_checked(np.asarray(queries.X, dtype=np.float64), why.samples)
    if now.shape != then.shape or not np.allclose(now, then):
        raise ValueError(
            "the model has changed since it gave this explanation, and the report would mix the "
            "two; call explain again"
        )


def _about_rows(
    shown: NDArray[np.intp],
    q: int,
    names: Sequence[object] | None,
    index: Any,
    y: ArrayLike | None,
) -> dict[str, Any]:
    """The names and the true targets of the shown rows; names, index and y are those of all q."""
    if names is None:
        names = rows.names_from(index, q, "row")
    if len(names) != q:
        raise ValueError(f"row_names must name the {q} rows, but has {len(names)} names")
    return {
        "names": [str(names[i]) for i in shown],
        "n_total": q,
        "true": None if y is None else target_lists(np.asarray(y)[shown]),
    }


def _data(
    view: ModelView,
    X: Any,
    y: Any,
    why: Explanation,
    about_rows: dict[str, Any],
    title: str | None,
    n_jobs: int | None,
    companion: CompanionLike | None,
) -> dict[str, Any]:
    """The report on a model, its samples and the explanation of the rows that are shown."""
    inputs, labels = np.asarray(view.encode(X), dtype=np.float64), np.asarray(y)
    targets = _target_names(view, y)
    sample_names = rows.names_from(getattr(X, "index", None), len(X), "sample")
    readable = view if companion is None else replace(view, estimator=companion.model)
    of_rows = rows.rows_section(view, why) | _about_samples(view, why)
    if readable.estimator is not view.estimator:
        of_rows["regime"] = _regimes_of_rows(readable, why)
    driving = drivers.drivers_section(view, why)
    leading = np.argsort(-np.array(driving["importance"]).sum(axis=0), kind="stable")
    near = np.unique(np.concatenate(of_rows["neighbors"]))
    return {
        "title": str(title) if title is not None else _title(targets, view.is_classifier),
        "kind": "classification" if view.is_classifier else "regression",
        "model": sections.model_section(view, why),
        "features": view.names,
        "choices": [view.choices(j) for j in range(len(view.columns))],
        "targets": targets,
        "space": sections.space_section(view),
        "scores": sections.scores_section(view, inputs, labels, n_jobs),
        "drivers": driving,
        "effects": effects.effects_section(view, why, leading[:MOST_EFFECTS].tolist()),
        "regimes": sections.regimes_section(readable, targets),
        "regime_model": {
            "is_simpler": readable.estimator is not view.estimator,
            "explained": 1.0 if companion is None else companion.explained,
            "has_units": readable.space.has_units,
        },
        "rows": about_rows | of_rows,
        "samples": rows.samples_section(readable, inputs, labels, near, sample_names),
    }


def _regimes_of_rows(readable: ModelView, why: Explanation) -> list[int]:
    """The main regime of each explained row in a model of few regimes."""
    if why.samples is not None:
        there = readable.estimator.explain_samples(why.samples)
    else:
        there = readable.explain_inputs(np.asarray(by_feature(why).X, dtype=np.float64))
    return main_regimes(there.neighbor_labels, there.neighbor_weights).tolist()


def _about_samples(view: ModelView, why: Explanation) -> dict[str, Any]:
    """Whether rows are samples that were explained without themselves, or else equal to some."""
    own = why.samples is not None
    inputs = np.asarray(by_feature(why).X, dtype=np.float64)
    return {"without_themselves": own, "n_equal": 0 if own else count_equal(view, inputs)}


def _target_names(view: ModelView, y: Any) -> list[str]:
    """Names of targets or classes, with those of a frame where y is one."""
    if not view.is_classifier:
        if hasattr(y, "columns"):
            return [str(name) for name in y.columns]
        if getattr(y, "name", None) is not None:
            return [str(y.name)]
    return view.target_names


def _title(targets: list[str], classify: bool) -> str:
    """The title of a report that was given none."""
    named = targets if len(targets) <= 4 else [*targets[:3], f"{len(targets) - 3} more"]
    listed = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    return f"What tells {listed} apart" if classify else f"What drives {listed}"
