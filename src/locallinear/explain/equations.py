"""Linear models as equations in the columns that a user knows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels.quantiles import weighted_quantiles
from .text import number, shorten, signed
from .view import ModelView

Array = NDArray[np.float64]

# Terms that are smaller than this part of the largest one are what rounding leaves of zeros.
NOISE = 1e-9
MOST_CATEGORIES = 3
# The part of the rows in which a short equation is as near as it says.
NEARLY_ALL = 0.95
# A short equation takes no more terms when all rows are within this part of the equation's range.
ENOUGH = 0.01
# It takes at most this many times as many columns as usual.
MOST_TIMES = 2
# The words behind what a short equation differs by at most.
LEFT_OUT = " left out"


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
    unit : str
        What the number counts, where cells do not say it.
    """

    feature: str
    coef: float | None = None
    effects: tuple[tuple[str, float], ...] = ()
    n_more: int = 0
    unit: str = ""


def terms_of(view: ModelView, model: Array) -> list[Term]:
    """The terms of a linear model (d + 1,), those that usually move it most first."""
    coef = model[:-1, None]
    sizes = view.sizes(coef)[:, 0]
    noise = NOISE * max(sizes.max(), abs(model[-1]))
    order = [int(j) for j in np.argsort(-sizes, kind="stable") if sizes[j] > noise]
    return [term for j in order for term in _terms(view, coef, j, noise)]


def _terms(view: ModelView, coef: Array, j: int, noise: float) -> list[Term]:
    """What a column adds: one term, or for a date one per feature."""
    column, choices = view.columns[j], view.choices(j)
    if choices is None:
        features = view.features_of(j)
        counts = np.abs(coef[features, 0]) * view.spread[features] > noise
        units = [column.unit, *[""] * (len(counts) - 1)]
        parts = zip(column.feature_names, coef[features, 0].tolist(), units, counts, strict=True)
        return [
            Term(name, coef=c, unit=unit)
            for name, c, unit, does in parts
            if does or len(counts) == 1
        ]
    effects = view.effects(coef, j)[:-1, 0]
    order = np.argsort(-np.abs(effects), kind="stable")
    order = order[np.abs(effects[order]) > noise]
    named = order[:MOST_CATEGORIES]
    named_effects = tuple((choices[k], float(effects[k])) for k in named)
    return [Term(column.name, effects=named_effects, n_more=len(order) - len(named))]


@dataclass(frozen=True, eq=False)
class ShortModel:
    """A linear model of a few columns in place of one of many, for some rows.

    Attributes
    ----------
    model : array (d + 1,)
        Its coefficients, 0 for columns that are left out; intercept last.
    left_out : float
        In 19 of 20 of the rows, the two models differ by at most this.
    """

    model: Array
    left_out: float


def short_model(
    view: ModelView,
    model: Array,
    inputs: Array,
    limit: int = 4,
    error: float = np.inf,
    weights: Array | None = None,
) -> ShortModel:
    """The linear model of at most `limit` columns that is nearest to a model (d + 1,) on rows.

    It has up to `MOST_TIMES` as many where it would leave out more than the `error` of the model:
    what is left out would then matter more than what no equation says.

    Columns are taken one by one, each time the one that brings the two models nearest, and the
    coefficients of all columns taken are fitted again. So what collinear columns add together, or
    what is left of them where they cancel, goes into the one that is kept. `inputs` (n, d) are
    the rows of a regime, in units, and `weights` (n,) say how often each counts.
    """
    v = np.ones(len(inputs)) if weights is None else weights
    regressors = view.space.regressors(inputs)
    exact = regressors @ model[:-1]
    center, middle = np.average(regressors, axis=0, weights=v), np.average(exact, weights=v)
    Z, wanted = regressors - center, exact - middle
    coef, rest = np.zeros(len(model) - 1), wanted
    taken: list[int] = []
    while np.ptp(rest) > ENOUGH * np.ptp(wanted):
        if len(taken) >= (limit if _left_out(rest, v) <= error else MOST_TIMES * limit):
            break
        fits = {
            j: _fit_columns(view, Z, wanted, [*taken, j], v)
            for j in range(len(view.columns))
            if j not in taken
        }
        if not fits:
            break
        best = min(fits, key=lambda j: float((v * (wanted - Z @ fits[j]) ** 2).sum()))
        taken.append(best)
        coef, rest = fits[best], wanted - Z @ fits[best]
    constant = model[-1] + middle - center @ coef
    return ShortModel(np.append(coef, constant), _left_out(rest, v))


def _left_out(rest: Array, weights: Array) -> float:
    """What 19 of 20 of the differences (n,) are at most."""
    (size,) = weighted_quantiles(np.abs(rest), weights, np.array([NEARLY_ALL]))
    return float(size)


def _fit_columns(
    view: ModelView, Z: Array, wanted: Array, columns: list[int], weights: Array
) -> Array:
    """Coefficients (d,) of these columns alone that make centred rows (n, d) nearest to wanted."""
    features = np.flatnonzero(np.isin(view.column_numbers, columns))
    coef, root = np.zeros(Z.shape[1]), np.sqrt(weights)
    coef[features] = np.linalg.lstsq(Z[:, features] * root[:, None], wanted * root, rcond=1e-9)[0]
    return coef


def short_parts(
    view: ModelView,
    model: Array,
    inputs: Array,
    limit: int = 4,
    error: float = np.inf,
    weights: Array | None = None,
) -> tuple[float, list[Term], float]:
    """The constant and the terms of a regime's short equation, and a bound on what is left out.

    The bound holds in 19 of 20 of the rows `inputs` (n, d); 0 where only rounding is left out.
    """
    short = short_model(view, model, inputs, limit, error, weights)
    terms = terms_of(view, short.model)
    scale = np.abs(view.space.regressors(inputs) @ model[:-1] + model[-1]).max()
    left_out = short.left_out if short.left_out > NOISE * scale else 0.0
    return float(short.model[-1]), terms, left_out


def short_equation(
    view: ModelView,
    model: Array,
    inputs: Array,
    target: str,
    limit: int = 4,
    length: int = 28,
    error: float = np.inf,
    weights: Array | None = None,
) -> str:
    """A regime's equation of few terms, with a bound on what is left out, as a line of text."""
    constant, terms, left_out = short_parts(view, model, inputs, limit, error, weights)
    text = f"{shorten(target, length)} = {number(constant)}"
    text += "".join(_term_text(term, length) for term in terms)
    return text + (f" ± {number(left_out, 2)}{LEFT_OUT}" if left_out else "")


def _term_text(term: Term, length: int) -> str:
    name = shorten(term.feature, length)
    if term.coef is not None:
        unit = f" ({term.unit})" if term.unit else ""
        return f" {'+' if term.coef > 0 else '−'} {number(abs(term.coef))} · {name}{unit}"
    effects = [f"{shorten(category, length)} {signed(adds)}" for category, adds in term.effects]
    effects += ["…"] if term.n_more else []
    return f" + {name} ({', '.join(effects)})"
