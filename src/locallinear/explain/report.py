"""The data of a report: everything that the page shows, as lists, numbers and text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import drivers, effects, rows, sections
from .all_rows import MOST_CHARACTERS, ShortRows, all_rows_section, short_rows
from .coverage import coverage_section
from .explaining_rows import explain_rows, explained_blocks, numbers_of_samples
from .how_sure import sure_section
from .interface import CompanionLike, Explanation
from .json_values import target_lists, whole
from .neighbors import main_regimes
from .own_samples import count_equal
from .regimes import LITTLE
from .selection import sampled, take_rows
from .text import per
from .view import ModelView, by_feature, view_of

Array = NDArray[np.float64]

# Rows that a report holds, by default.
MOST_ROWS = 100_000
# What is added to the name of a sample on a page that has other rows as well.
TRAINING_ROW = " (training row)"
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
    max_rows: int = MOST_ROWS,
    n_jobs: int | None = None,
    companion: CompanionLike | None = None,
) -> dict[str, Any]:
    """Everything that a report shows, as lists, numbers and text.

    Parameters
    ----------
    model : fitted FALLRegressor or FALLClassifier, a search over them, an ensemble or a table model
    X, y : optional
        The samples that the model was fitted on, in that order; by default as the model keeps them.
    Xq : array-like (q, d), optional
        Rows to explain; by default the samples themselves that have weight. A `TableRegressor`
        takes a raw table.
    yq : array-like, optional
        Their targets, NaN (of classes: None) where unknown. Rows that have the values and targets
        of samples are these samples: each is explained without itself, as by `explain_samples`,
        and the others as new rows. Of a table model, targets are in units, as for `fit`.
    title : str, optional
    row_names : sequence of str, optional
        Names of the rows to explain, or of all samples; by default the frame's index, or numbers.
    max_rows : int, default=100,000
        Of more rows, a sample is held. Of many rows, pictures show a sample of up to a thousand,
        which have all details; all others can be found by their values, and have their prediction,
        interval and layers. A file stays below 10 MB; where rows have very many numbers it holds
        fewer of them, and says so.
    n_jobs : int, optional
        Threads of the neighbour search.
    companion : Companion, optional
        A model of few regimes on the same samples, from `search.companion.companion_of`: the
        report then shows its regimes, which people can read, in place of the model's own. By
        default that of a table model, `TableRegressor.companion`.

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
    ['title', 'kind', 'model', 'features', 'labels', 'per', 'choices', 'kinds', 'decimals',
     'has_slope', 'targets', 'units', 'space', 'scores', 'coverage', 'drivers', 'effects',
     'regimes', 'regime_model', 'rows', 'all_rows', 'sure', 'samples']
    """
    view = view_of(model)
    X, y = _samples(view, X, y)
    counted = view.counted
    own = counted if Xq is None else numbers_of_samples(view, Xq, yq)
    yq = None if yq is None else view.on_model_scale(yq)
    if Xq is None:
        if row_names is not None and len(row_names) == len(X):
            row_names = [row_names[i] for i in counted]
        Xq, yq = take_rows(X, counted), take_rows(y if yq is None else yq, counted)
    q = len(Xq)
    held, detailed = _selected(view, q, max_rows)
    why = explain_rows(view, take_rows(Xq, detailed), None if own is None else own[detailed])
    about = _AboutRows(
        q, row_names, getattr(Xq, "index", None), yq, own if why.samples is not None else None
    )
    data = _data(view, X, y, why, about.of(detailed), title, n_jobs, companion)
    if len(held) > len(detailed):
        short = short_rows(view, explained_blocks(view, Xq, own, held))
        data["all_rows"] = _all_rows(short, about, held, detailed)
    return data


def data_of_explanation(
    explanation: Any,
    X: Any = None,
    y: Any = None,
    *,
    yq: ArrayLike | None = None,
    title: str | None = None,
    row_names: Sequence[object] | None = None,
    max_rows: int = MOST_ROWS,
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
    held, detailed = _selected(view, q, max_rows)
    why = explanation.take(detailed)
    _check_unchanged(view, why)
    X, y = _samples(view, X, y)
    yq = None if yq is None else view.on_model_scale(yq)
    about = _AboutRows(q, row_names, explanation.index, yq, explanation.samples)
    data = _data(view, X, y, why, about.of(detailed), title, n_jobs, companion)
    if len(held) > len(detailed):
        short = short_rows(view, [explanation.take(held)])
        data["all_rows"] = _all_rows(short, about, held, detailed)
    return data


def _selected(view: ModelView, q: int, max_rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which of q rows a page holds, and which of these with all details."""
    held = sampled(q, max_rows)
    return held, held[sampled(len(held), rows.rows_that_fit(view, len(held)))]


def _all_rows(
    short: ShortRows, about: "_AboutRows", held: NDArray[np.intp], detailed: NDArray[np.intp]
) -> dict[str, Any]:
    """The rows in short, as many as the bound on a file's size allows; the detailed are kept."""
    while True:
        of_held = about.of(held)
        places = np.flatnonzero(np.isin(held, detailed))
        section = all_rows_section(short, of_held["names"], of_held["true"], places)
        size = len(section["packed"])
        if size <= MOST_CHARACTERS:
            return section
        fewer = sampled(len(held), int(0.95 * len(held) * MOST_CHARACTERS / size))
        kept = np.union1d(fewer, places)
        held, short = held[kept], short.take(kept)


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
    return X, view.on_model_scale(y)


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


class _AboutRows:
    """The names and the true targets of q rows."""

    def __init__(
        self,
        q: int,
        names: Sequence[object] | None,
        index: Any,
        y: ArrayLike | None,
        own: NDArray[np.intp] | None,
    ) -> None:
        names = rows.names_from(index, q, "row") if names is None else names
        if len(names) != q:
            raise ValueError(f"row_names must name the {q} rows, but has {len(names)} names")
        if own is not None and (own < 0).any():  # among new rows, samples are called so
            pairs = zip(names, own.tolist(), strict=True)
            names = [f"{name}{TRAINING_ROW if number >= 0 else ''}" for name, number in pairs]
        self.names, self.targets = names, None if y is None else np.asarray(y)
        self.n_own = 0 if own is None else int((own >= 0).sum())

    def of(self, shown: NDArray[np.intp]) -> dict[str, Any]:
        """Of some of the rows, as a page holds them."""
        return {
            "names": [str(self.names[i]) for i in shown],
            "n_total": len(self.names),
            "n_own": self.n_own,
            "true": None if self.targets is None else target_lists(self.targets[shown]),
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
    if companion is None and view.table is not None:
        companion = view.table.companion()
    readable = view if companion is None else replace(view, estimator=companion.model)
    return {
        **_model_and_columns(view, why, targets, title),
        "scores": sections.scores_section(view, inputs, labels, n_jobs),
        "coverage": coverage_section(view, *_held_out(view, why, about_rows["true"])),
        **_drivers_and_effects(view, why),
        "regimes": sections.regimes_section(readable, targets),
        "regime_model": _regime_model_section(view, readable, companion),
        **_rows_and_samples(view, readable, why, about_rows, inputs, labels, sample_names),
    }


def _model_and_columns(
    view: ModelView, why: Explanation, targets: list[str], title: str | None
) -> dict[str, Any]:
    """What the model is, and of what."""
    columns = range(len(view.columns))
    return {
        "title": str(title) if title is not None else _title(targets, view.is_classifier),
        "kind": "classification" if view.is_classifier else "regression",
        "model": sections.model_section(view, why),
        "features": view.names,
        "labels": [view.label(j) for j in columns],
        "per": [per(column.unit) for column in view.columns],
        "choices": [view.choices(j) for j in columns],
        "kinds": [column.kind for column in view.columns],
        "decimals": [getattr(column, "decimal", "") for column in view.columns],
        "has_slope": [view.has_slope(j) for j in columns],
        "targets": targets,
        "units": None if view.table is None else view.table.units,
        "space": sections.space_section(view),
    }


def _drivers_and_effects(view: ModelView, why: Explanation) -> dict[str, Any]:
    """What drives predictions, and how they move with the columns that matter most."""
    driving = drivers.drivers_section(view, why)
    leading = np.argsort(-np.array(driving["importance"]).sum(axis=0), kind="stable")
    moving = effects.effects_section(view, why, leading[:MOST_EFFECTS].tolist())
    return {"drivers": driving, "effects": moving}


def _regime_model_section(
    view: ModelView, readable: ModelView, companion: CompanionLike | None
) -> dict[str, Any]:
    """The model whose regimes the page shows, beside the one that predicts."""
    return {
        "is_simpler": readable.estimator is not view.estimator,
        "explained": 1.0 if companion is None else companion.explained,
        "is_unfinished": companion is not None and companion.is_unfinished,
        "explains_little": companion is not None and companion.explained < LITTLE,
        "has_units": readable.space.has_units,
        "n_samples": whole(readable.n_samples),
    }


def _rows_and_samples(
    view: ModelView,
    readable: ModelView,
    why: Explanation,
    about_rows: dict[str, Any],
    inputs: Array,
    labels: NDArray,
    sample_names: list[str],
) -> dict[str, Any]:
    """The explained rows, how sure each is, and the samples that stand behind them."""
    of_rows = rows.rows_section(view, why) | _about_samples(view, why)
    if readable.estimator is not view.estimator:
        of_rows["regime"] = _regimes_of_rows(view, readable, why)
    sure = sure_section(view, why, of_rows["neighbors"])
    behind = of_rows["neighbors"] + sure.get("pullers", [])
    near = np.unique(np.concatenate(behind)).astype(np.intp)
    return {
        "rows": about_rows | of_rows,
        "all_rows": None,
        "sure": sure,
        "samples": rows.samples_section(view, readable, inputs, labels, near, sample_names),
    }


def _regimes_of_rows(view: ModelView, readable: ModelView, why: Explanation) -> list[int]:
    """The main regime of each explained row in a model of few regimes."""
    inputs = np.asarray(by_feature(why).X, dtype=np.float64)
    if why.samples is not None and rows.has_all_samples(readable, view):
        there = readable.estimator.explain_checked(inputs, why.samples)
    else:
        there = readable.explain_inputs(inputs)
    return main_regimes(there.neighbor_labels, there.neighbor_weights).tolist()


def _about_samples(view: ModelView, why: Explanation) -> dict[str, Any]:
    """How many rows have the values of samples, but were not explained without them."""
    inputs = np.asarray(by_feature(why).X, dtype=np.float64)
    return {"n_equal": count_equal(view, inputs[_new_rows(why)])}


def _new_rows(why: Explanation) -> NDArray[np.intp]:
    """Which rows are no samples that were explained without themselves."""
    return np.flatnonzero(
        np.ones(len(why.contributions)) if why.samples is None else why.samples < 0
    )


def _held_out(
    view: ModelView, why: Explanation, true: list[list[Any]] | None
) -> tuple[Explanation, list[list[Any]]]:
    """The rows that the model has not seen and whose targets are known, and these targets."""
    new = _new_rows(why)
    if true is None or _about_samples(view, why)["n_equal"]:
        return why, []
    known = np.array([i for i in new if None not in true[i]], dtype=np.intp)
    return why.take(known), [true[i] for i in known]


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
