"""Linear models as equations in the columns that a user knows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._subject import Subject
from ._text import largest, number, plural, shorten, signed

Array = NDArray[np.float64]

# Terms that are smaller than this part of the largest one are what rounding leaves of zeros.
NOISE = 1e-9
MOST_CATEGORIES = 3


@dataclass(frozen=True)
class Term:
    """What a column adds: a coefficient times its number, or an amount a category.

    Attributes
    ----------
    feature : str
    coef : float or None
        Of a column of numbers.
    effects : list of (category, amount)
        Of a column of text, the categories that add most.
    n_more : int
        Further categories.
    """

    feature: str
    coef: float | None = None
    effects: tuple[tuple[str, float], ...] = ()
    n_more: int = 0


def parts_of(subject: Subject, model: Array, limit: int) -> tuple[float, list[Term], int]:
    """Of a linear model (d + 1,; intercept last) the constant, the main terms, and how many more.

    The constant holds what the others add at the average sample: at zero, where a year or a
    pressure never is, they may add more than the prediction.
    """
    coef = model[:-1, None]
    sizes = subject.sizes(coef)[:, 0]
    noise = NOISE * max(sizes.max(), abs(model[-1]))
    # A column that is the same in all samples has no spread, and yet may have a term.
    average = subject.at_average(coef[None])[0, :, 0]
    real = np.flatnonzero(np.maximum(sizes, np.abs(average)) > noise)
    named, rest = largest(sizes[real], limit)
    terms = [_term(subject, coef, int(real[i]), noise) for i in named]
    return float(model[-1] + average[real[rest]].sum()), terms, len(rest)


def _term(subject: Subject, coef: Array, place: int, noise: float) -> Term:
    name, choices = subject.names[place], subject.choices(place)
    if choices is None:
        return Term(name, coef=float(coef[subject.part(place).start, 0]))
    effects = subject.effects(coef, place)[:-1, 0]
    order = np.argsort(-np.abs(effects), kind="stable")
    order = order[np.abs(effects[order]) > noise]
    told = order[:MOST_CATEGORIES]
    effects_told = tuple((choices[k], float(effects[k])) for k in told)
    return Term(name, effects=effects_told, n_more=len(order) - len(told))


def equation(subject: Subject, model: Array, target: str, limit: int = 4, length: int = 28) -> str:
    """A linear model (d + 1,; intercept last) as a line of text, the terms that matter first."""
    constant, named, n_smaller = parts_of(subject, model, limit)
    text = f"{shorten(target, length)} = {number(constant)}"
    for term in named:
        text += _term_text(term, length)
    return text + (f" + {plural(n_smaller, 'smaller term')}" if n_smaller else "")


def _term_text(term: Term, length: int) -> str:
    name = shorten(term.feature, length)
    if term.coef is not None:
        return f" {'+' if term.coef > 0 else '−'} {number(abs(term.coef))} · {name}"
    said = [f"{shorten(category, length)} {signed(by)}" for category, by in term.effects]
    said += ["…"] if term.n_more else []
    return f" + {name} ({', '.join(said)})"
