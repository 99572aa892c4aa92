"""What the command line prints about a model: lines of text, from numbers of other modules."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..explain.equations import equation
from ..explain.judging import Judged, resampled_errors, row_errors, typical_error
from ..explain.regimes import Regimes, distinguishing, regimes_of
from ..explain.text import number, plural, shorten, signed
from ..explain.view import ModelView, view_of
from ..tables.encoding import Encoding
from ..tables.model import TableModel
from ..tables.table import shortened

Array = NDArray[np.float64]

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


def data_lines(name: str, n_rows: int, encoding: Encoding, y: NDArray) -> list[str]:
    """What was read, and what is to be learnt."""
    n_text = sum(column.is_text for column in encoding.columns)
    kinds = f", {n_text} of them text" if n_text else ""
    columns = plural(len(encoding.columns), "column")
    lines = [f"{name}: {plural(n_rows, 'row')}, {columns} to learn from{kinds}."]
    if encoding.classify:
        classes, counts = np.unique(y, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:5]
        shares = [f"{shortened(classes[i], 20)} ({counts[i] / len(y):.0%})" for i in order]
        more = f" and {len(classes) - 5} more" if len(classes) > 5 else ""
        lines.append(f"Target: {encoding.targets[0]}, a class: {', '.join(shares)}{more}.")
    else:
        for target, values in zip(encoding.targets, y.reshape(len(y), -1).T, strict=True):
            lines.append(
                f"Target: {target}, from {number(values.min())} to {number(values.max())}, "
                f"on average {number(values.mean())}."
            )
    return lines


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
    r2 = None if classify else 1 - _variance_left(typical, y)
    # One order for all targets: by the mean of errors relative to the best of each.
    relative = typical / np.maximum(typical.min(axis=0), 1e-300)
    order = np.argsort(relative.mean(axis=1), kind="stable")
    rows = []
    for i in order:
        cells = [_with_spread(*pair, classify) for pair in zip(typical[i], half[i], strict=True)]
        if r2 is not None:
            cells.append(f"{r2[i]:.3f}")
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


def _variance_left(typical: Array, y: NDArray) -> Array:
    """Squared errors as parts of the targets' variance, the mean over targets: one per model."""
    variance = y.reshape(len(y), -1).var(axis=0)
    return (typical**2 / variance).mean(axis=1)


def columns_of(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table: the first column left, the others right."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = []
    for row in [heads, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  " + "   ".join([row[0].ljust(widths[0]), *cells]).rstrip())
    return lines


def _in_words(names: list[str], draws: Array, order: NDArray[np.intp], classify: bool) -> str:
    """FALL against the best of the others, with the interval over resamples of the rows."""
    fall = names.index("FALL")
    other = next(i for i in order if i != fall)
    # Shares of wrong rows may be zero: points, not ratios.
    change = draws[fall] - draws[other] if classify else draws[fall] / draws[other] - 1
    low, high = 100 * np.quantile(change.mean(axis=1), [0.025, 0.975])
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


def regime_lines(model: TableModel, n_shown: int = 4) -> list[str]:
    """The largest regimes: how many rows they have, what sets them apart, and their equation."""
    view = view_of(model)
    regimes = regimes_of(view)
    total = int(regimes.sizes.sum())
    shown = min(n_shown, len(regimes.sizes))
    if len(regimes.sizes) == 1:
        lines = ["All rows form one regime, with one linear equation:"]
    else:
        lines = [
            f"The rows form {len(regimes.sizes):,} regimes, each with its own linear equation"
            + (f"; the {shown} with most rows:" if shown < len(regimes.sizes) else ":")
        ]
    equations: list[str] = []
    for r in range(shown):
        size = int(regimes.sizes[r])
        head = f"{r + 1}. {plural(size, 'row')} ({size / total:.0%}){_set_apart(view, regimes, r)}"
        lines += ["", *wrap(head, 92, initial_indent="  ", subsequent_indent=" " * 5)]
        for text in _equations(view, regimes, r):
            lines += wrap(text, 92, initial_indent=" " * 5, subsequent_indent=" " * 7)
            equations.append(text)
    if not view.space.has_units:
        lines += [
            "",
            "  Columns count by their rank here (scaling quantile): there is no equation in units;",
            "  --scaling standard finds one, perhaps with a larger error.",
        ]
    elif any("smaller term" in text for text in equations):
        lines += ["", "  Constants hold what the smaller terms add in an average row."]
    return lines


def _equations(view: ModelView, regimes: Regimes, r: int) -> list[str]:
    """The equation of each target; for classes only that of the most frequent one."""
    targets = list(range(regimes.models.shape[2]))
    if view.is_classifier:
        targets = [int(regimes.target_means[r].argmax())]
    texts = []
    for t in targets:
        name = ("score of " if view.is_classifier else "") + view.target_names[t]
        model = regimes.models[r, :, t]
        if view.space.has_units:
            texts.append(equation(view, model, name))
        else:
            texts.append(_changes(view, regimes, r, model, name))
    return texts


def _changes(view: ModelView, regimes: Regimes, r: int, model: Array, target: str) -> str:
    """What the columns change in a regime: from the low to the high end of its rows.

    For a column of text, from the value that adds least to the one that adds most.
    """
    low, high = regimes.low[r], regimes.high[r]
    ends = view.space.regressors(np.array([low, high]))
    changes: list[tuple[float, str]] = []
    for j, name in enumerate(view.names):
        feature, choices = view.features_of(j).start, view.choices(j)
        if choices is None:
            change = float(model[feature] * (ends[1, feature] - ends[0, feature]))
            first, last = number(low[feature]), number(high[feature])
        else:
            effects = view.effects(model[:-1, None], j)[:-1, 0]
            change = float(np.ptp(effects))
            first, last = (shorten(choices[k], 20) for k in (effects.argmin(), effects.argmax()))
        changes.append((change, f"as {shorten(name)} goes from {first} to {last}"))
    changes.sort(key=lambda pair: -abs(pair[0]))
    noise = max(1e-3 * abs(changes[0][0]), 1e-9 * abs(model[-1]))
    texts = [f"{signed(change)} {text}" for change, text in changes if abs(change) > noise]
    if not texts:
        return f"{shorten(target)} = {number(model[-1])}"
    rest = len(texts[4:])
    more = f", and {plural(rest, 'smaller effect')}" if rest else ""
    return f"{shorten(target)}: {', '.join(texts[:4])}{more}"


def _set_apart(view: ModelView, regimes: Regimes, r: int) -> str:
    """The two columns that tell a regime's rows most from the others."""
    texts = []
    for found in distinguishing(view, regimes, r, 2):
        name, more = shorten(found["feature"]), found["offset"] > 0
        if "category" in found:
            often = "more" if more else "less"
            texts.append(f"{name} {often} often {shorten(found['category'], 20)}")
        else:
            low, high = number(found["low"]), number(found["high"])
            values = low if low == high else f"{low} to {high}"
            texts.append(f"{'high' if more else 'low'} {name} (mostly {values})")
    return ", with " + " and ".join(texts) if texts else ", spread over all of the data"
