"""What the command line says about a model: lines of text, from numbers that others computed."""

from textwrap import wrap

import numpy as np
from numpy.typing import NDArray

from ..explain._equations import equation
from ..explain._regimes import Regimes, distinguishing, regimes_of
from ..explain._subject import Subject, subject_of
from ..explain._text import number, plural, shorten, signed
from ..tables.table import shortened
from .comparison import Judged, resampled, typical

Array = NDArray[np.float64]

# What each searched parameter means, for readers who do not know the algorithm.
MEANING = {
    "n_anchors": "linear models that the rows choose from",
    "anchor_selection": "how their places were chosen",
    "n_anchor_neighbors": "rows that each of them was fitted on",
    "anchor_alpha": "penalty that keeps their coefficients small",
    "anchor_l1_ratio": "0: all coefficients small, 1: many exactly zero",
    "fit_intercept": "whether the equations have a constant term",
    "alpha": "pull of each row's own model towards the one it chose",
    "n_neighbors": "nearest rows whose models make a prediction",
    "weights": "how these neighbours count",
    "assignment_neighbors": "rows that decide together which model to choose",
    "scaling": "how columns are made comparable",
    "neighborhood": "how nearness is measured",
    "metric_iterations": "rounds of learning what is near",
}


def data_lines(name: str, n_rows: int, encoding, y: NDArray) -> list[str]:
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
    judged: list[Judged], y: NDArray, targets: tuple[str, ...], classify: bool, times: bool = False
) -> list[str]:
    """A table of errors on unseen rows, best first, and what it says in a sentence."""
    draws = resampled(judged, classify)
    error = np.array([typical(one.errors, classify) for one in judged])
    spread = np.quantile(draws, [0.025, 0.975], axis=1)
    half = (spread[1] - spread[0]) / 2
    heads = ["error"] if len(targets) == 1 else [f"error of {shortened(t, 24)}" for t in targets]
    shares = None if classify else 1 - _total(error, y)
    # One order for all targets: by the mean of errors relative to the best of each.
    order = np.argsort((error / np.maximum(error.min(axis=0), 1e-300)).mean(axis=1), kind="stable")
    rows = []
    for i in order:
        cells = [_with_spread(*pair, classify) for pair in zip(error[i], half[i], strict=True)]
        if shares is not None:
            cells.append(f"{shares[i]:.3f}")
        if times:
            cells.append(f"{judged[i].seconds:.2f} s")
        rows.append([judged[i].name, *cells])
    heads += ([] if classify else ["R²"]) + (["time a fold"] if times else [])
    return [*columns_of(["", *heads], rows), "", _in_words(judged, draws, order, classify)]


def _with_spread(value: float, half: float, classify: bool) -> str:
    """A value and half of its interval, both to the second digit of the latter."""
    if classify:
        return f"{100 * value:.1f} ± {100 * half:.1f} %"
    decimals = max(0, 1 - int(np.floor(np.log10(half)))) if half > 0 else 3
    if decimals > 6 or value >= 1e7:
        return f"{number(value)} ± {number(half, 2)}"
    return f"{value:,.{decimals}f} ± {half:,.{decimals}f}"


def _total(error: Array, y: NDArray) -> Array:
    """Mean over targets of squared error in parts of the target's variance, a model."""
    variance = y.reshape(len(y), -1).var(axis=0)
    return (error**2 / variance).mean(axis=1)


def columns_of(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table: the first column left, the others right."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = []
    for row in [heads, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  " + "   ".join([row[0].ljust(widths[0]), *cells]).rstrip())
    return lines


def _in_words(judged: list[Judged], draws: Array, order: NDArray, classify: bool) -> str:
    """FALL against the best of the others, with the interval over resamples of the rows."""
    names = [one.name for one in judged]
    place = names.index("FALL")
    other = next(i for i in order if i != place)
    # Shares of wrong rows may be zero: points, not ratios.
    change = draws[place] - draws[other] if classify else draws[place] / draws[other] - 1
    low, high = 100 * np.quantile(change.mean(axis=1), [0.025, 0.975])
    unit = "points" if classify else "%"
    rival = names[other]
    if low <= 0 <= high:
        return (
            f"FALL and {rival} cannot be told apart by these rows: FALL's error is between "
            f"{-low:.1f} {unit} smaller and {high:.1f} {unit} larger."
        )
    ends, word = sorted((abs(low), abs(high))), "smaller" if high < 0 else "larger"
    return (
        f"FALL's error is {ends[0]:.1f} to {ends[1]:.1f} {unit} {word} than that of {rival}, "
        "the best of the others."
    )


def parameter_lines(params: dict) -> list[str]:
    """The chosen parameters, and what they mean."""
    rows = [(name, str(value), MEANING.get(name, "")) for name, value in sorted(params.items())]
    wide = max(len(name) for name, _, _ in rows), max(len(value) for _, value, _ in rows)
    return [f"  {n.ljust(wide[0])}  {v.ljust(wide[1])}  {text}" for n, v, text in rows]


def regime_lines(model, n_shown: int = 4) -> list[str]:
    """The largest regimes of a TableModel: how many rows, where they live, their equation."""
    subject = subject_of(model)
    regimes, has_units = regimes_of(subject), subject.fall.regime_model.feature_space.has_units
    total = int(regimes.sizes.sum())
    shown = min(n_shown, len(regimes.sizes))
    lines = [
        f"The rows follow {plural(len(regimes.sizes), 'linear equation')}"
        + (f"; the {shown} with most rows:" if shown < len(regimes.sizes) else ":")
    ]
    equations: list[str] = []
    for r in range(shown):
        size = int(regimes.sizes[r])
        head = f"{r + 1}. {plural(size, 'row')} ({size / total:.0%}){_where(subject, regimes, r)}"
        lines += ["", *wrap(head, 92, initial_indent="  ", subsequent_indent=" " * 5)]
        for t in _told(regimes, r, model.encoding.classify):
            name = model.target_names[t]
            name = f"score of {name}" if model.encoding.classify else name
            linear = regimes.models[r, :, t]
            if has_units:
                text = equation(subject, linear, name)
                equations.append(text)
            else:
                text = _changes(subject, regimes, r, linear, name)
            lines += wrap(text, 92, initial_indent=" " * 5, subsequent_indent=" " * 7)
    if any("smaller term" in text for text in equations):
        lines += ["", "  Constants hold what the smaller terms add in an average row."]
    if not has_units:
        lines += [
            "",
            "  Columns count by their rank here (scaling quantile): there is no equation in units;",
            "  --scaling standard finds one, perhaps with a larger error.",
        ]
    return lines


def _told(regimes: Regimes, r: int, classify: bool) -> list[int]:
    """Which targets' equations to write: all, but of classes only the one that leads."""
    if classify:
        return [int(regimes.target_means[r].argmax())]
    return list(range(regimes.models.shape[2]))


def _changes(subject: Subject, regimes: Regimes, r: int, model: Array, target: str) -> str:
    """What the columns change in a regime: from the low to the high end of its rows.

    Of a column of text, from the value that adds least to the one that adds most.
    """
    low, high = regimes.low[r], regimes.high[r]
    ends = subject.fall.regime_model.feature_space.regressors(np.array([low, high]))
    changes: list[tuple[float, str]] = []
    for place, name in enumerate(subject.names):
        j, choices = subject.part(place).start, subject.choices(place)
        if choices is None:
            change = float(model[j] * (ends[1, j] - ends[0, j]))
            first, last = number(low[j]), number(high[j])
        else:
            effects = subject.effects(model[:-1, None], place)[:-1, 0]
            change = float(np.ptp(effects))
            first, last = (shorten(choices[k], 20) for k in (effects.argmin(), effects.argmax()))
        changes.append((change, f"as {shorten(name)} goes from {first} to {last}"))
    changes.sort(key=lambda pair: -abs(pair[0]))
    noise = max(1e-3 * abs(changes[0][0]), 1e-9 * abs(model[-1]))
    effects_told = [pair for pair in changes if abs(pair[0]) > noise]
    if not effects_told:
        return f"{shorten(target)} = {number(model[-1])}"
    said = [f"{signed(change)} {text}" for change, text in effects_told[:4]]
    rest = len(effects_told) - len(said)
    more = f", and {plural(rest, 'smaller effect')}" if rest else ""
    return f"{shorten(target)}: {', '.join(said)}{more}"


def _where(subject: Subject, regimes: Regimes, r: int) -> str:
    """The two columns that tell a regime's rows most from the others."""
    said = []
    for found in distinguishing(subject, regimes, r, 2):
        name, more = shorten(found["feature"]), found["offset"] > 0
        if "category" in found:
            often = "more" if more else "less"
            said.append(f"{name} {often} often {shorten(found['category'], 20)}")
        else:
            low, high = number(found["low"]), number(found["high"])
            said.append(f"{'high' if more else 'low'} {name} (mostly {low} to {high})")
    return ", with " + " and ".join(said) if said else ", spread over all of the data"
