"""What the command line prints about a model: lines of text, from numbers of other modules."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from ..explain.equations import LEFT_OUT, short_equation
from ..explain.judging import Judged, error_change, resampled_errors, row_errors, typical_error
from ..explain.regimes import LITTLE, Regimes, distinguishing, regime_names, regimes_of
from ..explain.text import number, plural, shorten
from ..explain.view import ModelView, deviations, view_of
from ..search.companion import Companion
from ..tables.encoding import Encoding
from ..tables.estimators import TableClassifier, TableRegressor
from ..tables.model import EncodedModel
from ..tables.table import Table, shortened

Array = NDArray[np.float64]

# A number of regimes is judged where time was enough for this share of its models.
ENOUGH_TRIED = 0.5
# An error so many times the one that was expected is said.
CLEARLY = 1.1
UNFINISHED = "Time ran out before all models of few regimes were tried: better ones may exist"
MORE_TIME = "A longer --time-budget tries more."
NO_REASONS = "the equations are no reasons for its predictions"

# What each searched parameter means, for readers who do not know the algorithm; in the order in
# which a summary shows the parameters.
MEANING = {
    "n_anchors": "anchor models: linear models that the rows choose from",
    "anchor_selection": "how the points around which anchor models are fitted were chosen",
    "n_anchor_neighbors": "rows that each anchor model was fitted on, at most",
    "anchor_alpha": "penalty on the coefficients of the anchor models",
    "anchor_l1_ratio": "0: small coefficients in the anchor models, 1: many exactly zero",
    "fit_intercept": "whether the equations have a constant term",
    "alpha": "pull of each row's own model towards the anchor model of the row",
    "n_neighbors": "nearest rows whose models make a prediction",
    "weights": "how much each of the nearest rows counts",
    "assignment_neighbors": "rows that decide together which anchor model a row chooses",
    "scaling": "how columns are made comparable",
    "neighborhood": "how nearness is measured",
    "metric_iterations": "rounds of learning what is near",
}


def data_lines(
    name: str, table: Table, y: NDArray, targets: Sequence[str], classify: bool
) -> list[str]:
    """What was read, and what is to be learnt."""
    columns = plural(len(table.columns), "column")
    lines = [f"{name}: {plural(len(table), 'row')}, {columns} beside the target."]
    if classify:
        classes, counts = np.unique(y, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:5]
        shares = [f"{shortened(classes[i], 20)} ({counts[i] / len(y):.0%})" for i in order]
        more = f" and {len(classes) - 5} more" if len(classes) > 5 else ""
        return [*lines, f"Target: {targets[0]}, a class: {', '.join(shares)}{more}."]
    for target, values in zip(targets, y.reshape(len(y), -1).T, strict=True):
        lines.append(
            f"Target: {target}, from {number(values.min())} to {number(values.max())}, "
            f"on average {number(values.mean())}."
        )
    return lines


def encoding_lines(encoding: Encoding, limit: int = 40) -> list[str]:
    """What became of each column, as a table; `--types` corrects it."""
    rows = []
    for line in encoding.to_frame().itertuples():
        outcome = f"left out: {line.reason}" if line.kind == "skip" else line.encoding
        rows.append(f"  {shorten(line.column, 28):<28}  {line.kind:<8}  {outcome}")
    more = [f"  and {len(rows) - limit} more columns"] if len(rows) > limit else []
    end = "Where this is wrong, --types COLUMN=KIND corrects it."
    return ["", "What the columns are:", "", *rows[:limit], *more, "", end, ""]


def score_lines(
    judged: list[Judged],
    y: NDArray,
    targets: Sequence[str],
    classify: bool,
    times: bool = False,
) -> list[str]:
    """A table of errors on unseen rows, best first, and a sentence on FALL's."""
    errors = [row_errors(one, y, classify=classify) for one in judged]
    draws = resampled_errors(errors, classify=classify)
    typical = np.array([typical_error(of_model, classify=classify) for of_model in errors])
    half = np.ptp(np.quantile(draws, [0.025, 0.975], axis=1), axis=0) / 2
    heads = ["error"] if len(targets) == 1 else [f"error of {shortened(t, 24)}" for t in targets]
    r2 = None if classify else [r2_score(y, one.predicted) for one in judged]
    # One order for all targets: by the mean of errors relative to the best of each.
    relative = typical / np.maximum(typical.min(axis=0), 1e-300)
    order = np.argsort(relative.mean(axis=1), kind="stable")
    rows = []
    for i in order:
        cells = [_with_spread(*pair, classify) for pair in zip(typical[i], half[i], strict=True)]
        if r2 is not None:
            cells.append(f"{r2[i]:z.3f}")
        if times:
            cells.append(f"{judged[i].seconds:.2f} s")
        rows.append([judged[i].name, *cells])
    heads += ([] if classify else ["R²"]) + (["time per fold"] if times else [])
    names = [one.name for one in judged]
    return [*columns_of(["", *heads], rows), "", _in_words(names, draws, order, classify)]


def _with_spread(value: float, half: float, classify: bool) -> str:
    """A value and half of its interval, both to the second digit of the latter."""
    if classify:
        return f"{100 * value:.1f} ± {100 * half:.1f} %"
    decimals = max(0, 1 - int(np.floor(np.log10(half)))) if half > 0 else 3
    if decimals > 6 or value >= 1e7:
        return f"{number(value)} ± {number(half, 2)}"
    return f"{value:,.{decimals}f} ± {half:,.{decimals}f}"


def columns_of(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table: the first column left, the others right."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = []
    for row in [heads, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  " + "   ".join([row[0].ljust(widths[0]), *cells]).rstrip())
    return lines


def typical_deviation(view: ModelView) -> float:
    """The root mean square of what a regressor's predictions miss in its own samples."""
    X, targets, weights = view.samples
    missed = view.estimator.predict(view.named_inputs(X)).reshape(targets.shape) - targets
    return float(np.sqrt(np.average(missed**2, axis=0, weights=weights)[0]))


def _in_words(names: list[str], draws: Array, order: NDArray[np.intp], classify: bool) -> str:
    """FALL against the best of the others, with the interval over resamples of the rows."""
    fall = names.index("FALL")
    other = next(i for i in order if i != fall)
    low, high = (100 * end for end in error_change(draws, fall, other, classify=classify))
    unit = "points" if classify else "%"
    if low <= 0 <= high:
        return (
            f"FALL and {names[other]} cannot be told apart by these rows: FALL's error is between "
            f"{-low:.1f} {unit} smaller and {high:.1f} {unit} larger."
        )
    ends, word = sorted((abs(low), abs(high))), "smaller" if high < 0 else "larger"
    return (
        f"FALL's error is {ends[0]:.1f} to {ends[1]:.1f} {unit} {word} than that of "
        f"{names[other]}, the best of the others."
    )


def parameter_lines(params: dict[str, Any]) -> list[str]:
    """The chosen parameters, and what they mean."""
    names = [*(n for n in MEANING if n in params), *sorted(params.keys() - MEANING)]
    rows = [(name, str(params[name]), MEANING.get(name, "")) for name in names]
    wide = max(len(name) for name, _, _ in rows), max(len(value) for _, value, _ in rows)
    return [f"  {n.ljust(wide[0])}  {v.ljust(wide[1])}  {text}" for n, v, text in rows]


def simplicity_lines(model: TableRegressor | TableClassifier, companion: Companion) -> list[str]:
    """The price of simplicity: the error in cross-validation for each number of regimes.

    Of a number of regimes, but the companion's own, nothing is said where time ran out before half
    of its models were tried.
    """
    if companion.simplicity is None:
        return []
    view = _companion_view(model, companion)
    curve, (_, targets, weights) = companion.simplicity, view.samples
    own_number = len(companion.model.anchor_models_)
    known = (curve["tried"] >= ENOUGH_TRIED) | (curve["n_anchors"] == own_number)
    heads = ["wrong"] if view.is_classifier else ["error", "R²"][targets.shape[1] > 1 :]

    def cells(score: float, error: float) -> list[str]:
        if view.is_classifier:
            return [_with_spread(1 - score, error, True)]
        size = number(np.sqrt(max(0.0, 1 - score)) * deviations(targets, weights)[0])
        return [size, f"{score:.3f} ± {error:.3f}"][-len(heads) :]

    rows = []
    shown = (curve[name][known] for name in ("n_anchors", "score", "standard_error"))
    for count, score, error in zip(*shown, strict=True):
        mark = " *" if count == own_number else ""
        rows.append([f"{count}{mark}", *cells(score, error)])
    assert companion.own_score is not None
    own = ", ".join(
        f"{head} {cell}" for head, cell in zip(heads, cells(*companion.own_score), strict=True)
    )
    stronger = "" if companion.own_score[0] in curve["score"] else ", with stronger penalties"
    of = "" if model.table_model.units is None else f", for the {view.target_names[0]}"
    many = len(np.unique(companion.model.labels_[view.counted])) > 1
    notes = (
        "Each number is the best of many such models in these folds"
        + (f", by {companion.n_scored:,} rows drawn at random" if companion.is_thinned else "")
        + ", so that it is a little too good beside the errors above."
        + (f" {UNFINISHED}. {MORE_TIME}" if companion.is_unfinished else "")
    )
    if targets.shape[1] == 1 and not view.is_classifier:
        expected = np.sqrt(max(0.0, 1 - companion.own_score[0])) * deviations(targets, weights)[0]
        here = typical_deviation(view)
        if here > CLEARLY * expected:
            notes += (
                f" In all rows, the equations below have an error of {number(here)}, more than in "
                "these folds: their anchors were drawn less luckily."
            )
    return [
        f"What few regimes cost, in cross-validation{of} (± is the standard error of the folds):",
        "",
        *columns_of(["regimes", *heads], _without_repeats(rows)),
        "",
        f"  * the equation{'s' if many else ''} below{stronger}: {own}.",
        "  fit --regimes N chooses another number.",
        "",
        *wrap(notes, 92),
        "",
    ]


def _without_repeats(rows: list[list[str]]) -> list[list[str]]:
    """Rows of a table with equal cells after each other as one, "2 to 12"; a mark stays alone.

    Where all rows are one neighbourhood, all numbers of regimes are the same model.
    """
    kept: list[list[str]] = []
    for row in rows:
        last = kept[-1] if kept else None
        if last is not None and last[1:] == row[1:] and not ("*" in last[0] or "*" in row[0]):
            kept[-1] = [f"{last[0].split(' ')[0]} to {row[0]}", *row[1:]]
        else:
            kept.append(row)
    return kept


def regime_lines(
    model: TableRegressor | TableClassifier, companion: Companion, n_shown: int = 12
) -> list[str]:
    """The regimes, largest first: name, number of rows, and an equation of few terms."""
    view = _companion_view(model, companion)
    regimes = regimes_of(view)
    names = regime_names(view, regimes)
    total, count = view.n_samples, len(regimes.sizes)
    shown, allowed = min(n_shown, count), len(view.estimator.regime_model.anchor_models_)
    if companion.is_own:
        lines = [f"The rows form {plural(count, 'regime')}, each with its own linear equation:"]
        if count == 1:
            only = f" (no row chooses another of {allowed} anchor models)" if allowed > 1 else ""
            lines = [f"All rows form one regime, with one linear equation{only}:"]
    else:
        kind = (
            f"A model of {count} regimes that"
            if count > 1
            else "One linear model of all rows, which"
        )
        lines = wrap(
            f"{kind} is simple enough to read. It explains "
            f"{max(0.0, companion.explained):.0%} of the variance in what the model that predicts "
            "says of rows that neither of them had seen"
            + ("." if companion.explained >= LITTLE else f", which is little: {NO_REASONS}.")
            + " Of columns that depend on each other it may take others than that model.",
            92,
        )
        if count < allowed:
            others = "another" if count == 1 else "the others"
            lines.append(f"{allowed} equations were fitted, but no row chooses {others}.")
    if total < view_of(model).n_samples:
        lines.append(f"It is fitted to {plural(total, 'row')}, drawn at random.")
    is_short = False
    for r in range(shown):
        size = regimes.sizes[r]
        head = f"{r + 1}. {names[r]}: {plural(size, 'row')} ({size / total:.0%})"
        head += _ranges(view, regimes, r)
        lines += ["", *wrap(head, 92, initial_indent="  ", subsequent_indent=" " * 5)]
        for text in _equations(view, regimes, r):
            is_short |= LEFT_OUT in text
            lines += wrap(text, 92, initial_indent=" " * 5, subsequent_indent=" " * 7)
    if shown < count:
        rest = regimes.sizes[shown:].sum()
        lines += [
            "",
            f"  and {plural(count - shown, 'smaller regime')} with {plural(rest, 'row')}.",
        ]
    notes = []
    if is_short:
        notes.append("What is left out is at most that in 19 of 20 rows of the regime.")
    if not view.is_classifier:
        notes.append("The error is that of the whole equation in the rows of the regime.")
    return lines + (["", *(f"  {note}" for note in notes)] if notes else [])


def _companion_view(model: TableRegressor | TableClassifier, companion: Companion) -> ModelView:
    """The companion in the columns of the table."""
    encoded = model.table_model
    return view_of(
        EncodedModel(encoded.encoding, companion.model, encoded.target_names, encoded.true_targets)
    )


def _equations(view: ModelView, regimes: Regimes, r: int) -> list[str]:
    """The equation of each target; for classes only that of the most frequent one."""
    targets = list(range(regimes.models.shape[2]))
    if view.is_classifier:
        targets = [int(regimes.target_means[r].argmax())]
    inputs, _, weights = view.of_regime(regimes.labels[r])
    prefix = "score of " if view.is_classifier else ""
    texts = [
        short_equation(
            view,
            regimes.models[r, :, t],
            inputs,
            prefix + view.target_names[t],
            error=float(regimes.errors[r, t]),
            weights=weights,
        )
        for t in targets
    ]
    if view.is_classifier:
        return texts
    errors = [number(error, 2) for error in regimes.errors[r]]
    return [f"{text} (error {error})" for text, error in zip(texts, errors, strict=True)]


def _ranges(view: ModelView, regimes: Regimes, r: int) -> str:
    """Where most rows of a regime are, in the columns of its name."""
    texts = []
    for found in distinguishing(view, regimes, r, 2):
        name = shorten(found["feature"])
        if "category" in found:
            category = shorten(found["category"], 20)
            texts.append(
                f"{category}: {found['share']:.0%} here, {found['overall']:.0%} of all rows"
            )
        elif found["side"] != "mostly":  # else the name says it
            texts.append(f"{name} mostly {found['range']}")
    return "".join(f"; {text}" for text in texts)
