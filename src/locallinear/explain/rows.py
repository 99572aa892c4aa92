"""The sections of a report on single rows and on the samples that are their neighbours."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .how_sure import MOST_PULLERS
from .interface import Explanation
from .json_values import DIGITS, SAMPLE_DIGITS, rounded, rounded_cells, target_lists
from .neighbors import main_regimes, neighbor_counts
from .traits import common_traits, neighbor_texts
from .view import NOISE, ModelView, by_feature

Array = NDArray[np.float64]

# The rows with all details take at most this part of a file. A number with its comma takes some
# characters more than its digits.
MOST_CHARACTERS = 2_000_000
# Beside so many rows in short, they take less: a page should hold all of those.
MANY, MOST_CHARACTERS_OF_MANY = 20_000, 1_000_000
MOST_DETAILED = 1000
MOST_NEIGHBORS = 6
TRAITS = 120


def rows_that_fit(view: ModelView, most: int) -> int:
    """How many rows may have all details, by the bound on a file's size."""
    c, d, m = len(view.columns), len(view.column_numbers), len(view.target_names)
    has_slopes = not view.space.has_units
    numbers = c * (1 + 2 * m) + (d if d == c else d + c) * m
    neighbors = min(view.estimator.regime_model.n_neighbors, MOST_NEIGHBORS)
    cells = (neighbors + MOST_PULLERS) * (c + 2 * m + 2) + c * (1 + m + has_slopes * m) + 2 * m + 1
    per_row = numbers * (DIGITS + 4.5) + cells * (SAMPLE_DIGITS + 4) + TRAITS * m
    characters = MOST_CHARACTERS if most <= MANY else MOST_CHARACTERS_OF_MANY
    return max(1, min(most, MOST_DETAILED, int(characters / per_row)))


def rows_section(view: ModelView, why: Explanation) -> dict[str, Any]:
    """The explained rows, the layers of their predictions and their models, by target in each.

    ``baseline`` plus a row's ``level`` and its ``differences`` is its ``prediction``, and so is its
    ``intercept`` plus its ``contributions``. ``slopes`` are in units; where they are None, they are
    the coefficients. The coefficient of a column of text is a list: what each of its choices adds.
    A position is what a coefficient multiplies, or the number of the choice. What rounding leaves
    of zeros is zero.
    """
    encoded = by_feature(why)
    inputs = np.asarray(encoded.X, dtype=np.float64)
    scores = why.contributions.sum(axis=1) + why.intercept
    counting = view.counting(why)
    coef = np.where(counting[:, view.column_numbers], encoded.coef, 0.0)
    size = np.abs(scores) + np.abs(why.baseline)
    is_part = np.abs(why.difference_parts) > NOISE * size[:, None]
    differences = np.where(is_part, why.difference_parts, 0.0)
    values_are_positions = view.table is None and view.space.has_units
    sizes = neighbor_counts(why.neighbors)
    shown = np.minimum(sizes, MOST_NEIGHBORS)
    weights = rounded(why.neighbor_weights, SAMPLE_DIGITS)
    out = {
        "values": rounded_cells(view.values(why)),
        "positions": None if values_are_positions else rounded(view.positions(inputs)),
        "prediction": rounded(scores),
        "baseline": rounded(why.baseline),
        "level": rounded(why.neighborhood_part),
        "differences": rounded(differences.swapaxes(1, 2)),
        "slopes": None if view.space.has_units else _slopes(view, why),
        "traits": [
            [[str(trait) for trait in of_target] for of_target in of_row]
            for of_row in common_traits(view, why)
        ],
        "neighbor_texts": neighbor_texts(view, why),
        "intercept": rounded(why.intercept),
        "coef": _coefficients(view, coef),
        "contributions": rounded(np.where(counting, why.contributions, 0.0).swapaxes(1, 2)),
        "regime": main_regimes(why.neighbor_labels, why.neighbor_weights).tolist(),
        "neighbors": [near[:n].tolist() for near, n in zip(why.neighbors, shown, strict=True)],
        "neighbor_weights": [near[:n] for near, n in zip(weights, shown, strict=True)],
        "n_neighbors": sizes.tolist(),
    }
    if view.is_classifier:
        out["probability"] = rounded(view.probabilities(scores))
    return out


def _coefficients(view: ModelView, coef: Array) -> list[list[list[Any]]]:
    """Coefficients (q, d, m) as lists by row, target and column."""
    columns = [
        rounded(view.effects(coef, j).transpose(0, 2, 1))
        if column.texts
        else rounded(coef[:, view.features_of(j).start])
        for j, column in enumerate(view.columns)
    ]
    return [[list(line) for line in zip(*row, strict=True)] for row in zip(*columns, strict=True)]


def _slopes(view: ModelView, why: Explanation) -> list[list[list[Any]]]:
    """Slopes in units, by row, target and column; None for columns that have none."""
    has_slope = np.array([view.has_slope(j) for j in range(len(view.columns))])
    slopes = np.where(has_slope[:, None], why.slopes, np.nan)
    return rounded(slopes.swapaxes(1, 2), SAMPLE_DIGITS)


def has_all_samples(readable: ModelView, view: ModelView) -> bool:
    """Whether a model of few regimes has the samples of the other one, and not a part of them."""
    return readable.estimator.n_samples_fit_ == view.estimator.n_samples_fit_


def samples_section(
    view: ModelView,
    readable: ModelView,
    inputs: Array,
    y: NDArray,
    shown: NDArray[np.intp],
    names: list[str],
) -> dict[str, Any]:
    """The samples that are shown as neighbours, by number; regimes are those of `readable`.

    Where that has a part of the samples, the regimes are those of rows with their values.
    """
    if has_all_samples(readable, view):
        labels = readable.estimator.labels_[shown].tolist()
    else:
        there = readable.explain_inputs(inputs[shown])
        labels = main_regimes(there.neighbor_labels, there.neighbor_weights).tolist()
    values = rounded_cells(view.sample_values(inputs[shown]), SAMPLE_DIGITS)
    targets = target_lists(y[shown])
    return {
        str(i): {"name": names[i], "values": v, "true": t, "regime": r}
        for i, v, t, r in zip(shown.tolist(), values, targets, labels, strict=True)
    }


def names_from(index: Any, n: int, word: str) -> list[str]:
    """Names of n rows: those of a frame's index, or the word and a number."""
    if index is None or callable(index):  # a list has a method of that name
        index = range(n)
    return [name if isinstance(name, str) else f"{word} {name}" for name in index]
