"""One explained prediction as lines of text, for a terminal."""

from textwrap import wrap

from .contribution_display import ContributionDisplay
from .how_sure import COVERAGE, DEVIATIONS
from .text import factor, number, per, plural, signed

MOST_NEIGHBORS = 5
WIDTH = 92
SLOPES = (
    "  A slope holds within the neighbours; where others come in, predictions change otherwise."
)


def row_lines(shown: ContributionDisplay) -> list[str]:
    """The layers of a prediction with how sure they are, and the samples behind it."""
    kind = "score of " if shown.is_score else ""
    lines = [f"{kind}{shown.target_name}: {number(shown.prediction, 4)}"]
    if shown.probability is not None:
        lines[0] += f", probability {shown.probability:.0%}"
    if shown.interval is not None:
        low, high = (number(end) for end in shown.interval)
        lines[0] += f", for {COVERAGE:.0%} of such rows between {low} and {high}"
    if shown.is_unlike_anything:
        lines.append("This row is unlike anything seen: trust neither prediction nor interval.")
    steps = _steps(shown)
    steps += ["", SLOPES] if any(" slope " in line for line in steps) else []
    return [*lines, "", *wrap(in_words(shown), WIDTH), "", *steps, "", *_samples(shown)]


def in_words(shown: ContributionDisplay, limit: int = 2) -> str:
    """The three layers as one sentence, with the columns that add most to each."""
    level = number(shown.baseline + shown.neighborhood_part)
    traits = f": {', '.join(shown.traits)}" if shown.traits else ""
    steps = shown.steps(limit)[1:]
    differences = [f"{_in_one_line(text)} {signed(size)}" for text, size, _ in steps]
    return (
        f"Rows in general {number(shown.baseline)}; those like this one {level}{traits}; this one "
        f"{number(shown.prediction, 4)}: {', '.join(differences)}."
    ).replace(r"\$", "$")


def _in_one_line(label: str) -> str:
    """The label of a bar, which may have several lines, for a terminal."""
    joined = label.replace("\n(", " (").replace("\n", ", ")
    return joined.replace(":,", ":").replace(r"\$", "$")


def _steps(shown: ContributionDisplay) -> list[str]:
    """One line per bar of the waterfall, with the slope of a feature."""
    first, *_, last = bars = shown.waterfall()
    steps = shown.steps()
    notes = ["", *(_slope(shown, j) for _, _, j in steps), ""]
    amounts = [signed(size) for _, _, size in bars]
    amounts[0], amounts[-1] = number(first[2], 4), number(last[2], 4)
    names = [_in_one_line(text) for text, *_ in bars]
    wide = max(map(len, names)), max(map(len, amounts))
    return [
        f"  {name.ljust(wide[0])}  {amount.rjust(wide[1])}  {note}".rstrip()
        for name, amount, note in zip(names, amounts, notes, strict=True)
    ]


def _slope(shown: ContributionDisplay, j: int | None) -> str:
    """The slope of a feature and its error; nothing for a step that is no number's.

    Where the log of the target was modelled, also what the feature multiplies the prediction by.
    """
    if j is None:
        return ""
    times = "" if shown.times is None else f" times {factor(shown.times[j])}"
    if shown.slopes is None or shown.slopes_std is None:
        return times
    error = DEVIATIONS * shown.slopes_std[j]
    if error != error:  # a column without a slope
        return times
    unit = shown.units[j] if shown.units else ""
    words = f" {per(unit)}" if unit else ""
    if shown.times_per_unit is not None:
        times = times + ";"
        words += f", times {factor(shown.times_per_unit[j])}" + ("" if unit else " per unit")
    zero = ", an interval that contains zero" if shown.may_be_zero(j) else ""
    return f"{times} slope {number(shown.slopes[j])} ± {number(error, 2)}{words}{zero}"


def _samples(shown: ContributionDisplay) -> list[str]:
    """The heaviest neighbours, with their pulls."""
    lines = []
    for k, sample in enumerate(shown.neighbors[:MOST_NEIGHBORS].tolist()):
        line = f"  training row {sample + 1}: weight {shown.neighbor_weights[k]:.0%}"
        if shown.neighbor_targets is not None and shown.is_score:
            line += f", {'' if shown.neighbor_targets[k] else 'not '}{shown.target_name}"
        elif shown.neighbor_targets is not None:
            line += f", target {number(shown.neighbor_targets[k])}"
        if shown.neighbor_pulls is not None:
            line += f", pulls {shown.pull(k)}"
        lines.append(line)
    left = len(shown.neighbors) - len(lines)
    return ["Made from:", *lines, *([f"  and {plural(left, 'more row')}"] if left else [])]
