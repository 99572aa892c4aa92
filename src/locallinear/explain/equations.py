"""Linear models as equations in the columns that a user knows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .text import largest, number, plural, shorten, signed
from .view import ModelView

Array = NDArray[np.float64]

# Terms that are smaller than this part of the largest one are what rounding leaves of zeros.
NOISE = 1e-9
MOST_CATEGORIES = 3


@dataclass(frozen=True)
class Term:
    """What a column adds: a coefficient times its number, or an amount per category.

    Attributes
    ----------
    feature : str
    coef : float or None
        For a column of numbers.
    effects : tuple of (category, amount)
        For a column of text, the categories that add most.
    n_more : int
        How many further categories there are.
    """

    feature: str
    coef: float | None = None
    effects: tuple[tuple[str, float], ...] = ()
    n_more: int = 0


def equation_parts(view: ModelView, model: Array, limit: int) -> tuple[float, list[Term], int]:
    """The constant and the main terms of a linear model (d + 1,), and how many more there are.

    The constant holds what the others add at the average sample: at zero, where a year or a
    pressure never is, they may add more than the prediction.
    """
    coef = model[:-1, None]
    sizes = view.sizes(coef)[:, 0]
    noise = NOISE * max(sizes.max(), abs(model[-1]))
    # A column that is the same in all samples has no spread, and yet may have a term.
    average = view.at_average(coef[None])[0, :, 0]
    real = np.flatnonzero(np.maximum(sizes, np.abs(average)) > noise)
    named, rest = largest(sizes[real], limit)
    terms = [_term(view, coef, int(real[i]), noise) for i in named]
    return float(model[-1] + average[real[rest]].sum()), terms, len(rest)


def _term(view: ModelView, coef: Array, j: int, noise: float) -> Term:
    name, choices = view.names[j], view.choices(j)
    if choices is None:
        return Term(name, coef=float(coef[view.features_of(j).start, 0]))
    effects = view.effects(coef, j)[:-1, 0]
    order = np.argsort(-np.abs(effects), kind="stable")
    order = order[np.abs(effects[order]) > noise]
    named = order[:MOST_CATEGORIES]
    named_effects = tuple((choices[k], float(effects[k])) for k in named)
    return Term(name, effects=named_effects, n_more=len(order) - len(named))


def equation(view: ModelView, model: Array, target: str, limit: int = 4, length: int = 28) -> str:
    """A linear model (d + 1,; intercept last) as a line of text, the terms that matter first."""
    constant, terms, n_smaller = equation_parts(view, model, limit)
    text = f"{shorten(target, length)} = {number(constant)}"
    text += "".join(_term_text(term, length) for term in terms)
    return text + (f" + {plural(n_smaller, 'smaller term')}" if n_smaller else "")


def _term_text(term: Term, length: int) -> str:
    name = shorten(term.feature, length)
    if term.coef is not None:
        return f" {'+' if term.coef > 0 else '−'} {number(abs(term.coef))} · {name}"
    effects = [f"{shorten(category, length)} {signed(adds)}" for category, adds in term.effects]
    effects += ["…"] if term.n_more else []
    return f" + {name} ({', '.join(effects)})"
