"""What moves when a column does: one feature or several, and the values that rows have of them.

A column moves as a whole, but for dates: a date has a trend and its places in the year, the week
and the day. From one date to the next all of them change, so each is followed by itself. Axis
letters: q rows, d features, f features that move, g values.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .interface import Cyclic
from .view import ModelView

Array = NDArray[np.float64]

MOST_VALUES = 25


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a column that moves, with the values of some rows.

    Attributes
    ----------
    name, label : str
        Such as "time: time of year"; the label says what numbers count where cells do not.
    features : array (f,)
        Numbers of the features that move.
    rows : array (q,)
        The rows that have a value of it.
    grid : array (g,)
        Values that these rows have: ascending numbers, or texts.
    position : array (q,)
        The first number of the grid that is not below the row's, or the number of its text.
    values : array (q,)
        What the rows hold: numbers or texts.
    settings : array (g, f)
        The features of each value.
    is_cycle : bool
        Whether it is the place of a date in a cycle, whose texts have an order.
    """

    name: str
    label: str
    features: NDArray[np.intp]
    rows: NDArray[np.intp]
    grid: NDArray
    position: NDArray[np.intp]
    values: NDArray
    settings: Array
    is_cycle: bool = False


def parts_of(view: ModelView, inputs: Array, j: int) -> list[Part]:
    """The parts of a column that rows (q, d) can move: of a date its trend first, then cycles.

    A time of day has one part, its hours.
    """
    column, features = view.columns[j], np.arange(inputs.shape[1])[view.features_of(j)]
    every = np.arange(len(inputs))
    if view.choices(j) is not None:
        grid, position, settings = text_grid(view, inputs, j)
        values = grid[position]
        return [Part(column.name, column.name, features, every, grid, position, values, settings)]
    if not isinstance(column, Cyclic):
        grid, position, values = _of_numbers(inputs[:, features[0]])
        settings = number_settings(view, inputs, j, grid)
        label = view.label(j)
        return [Part(column.name, label, features, every, grid, position, values, settings)]
    known = np.flatnonzero(inputs[:, features[-1]] < 0.5) if column.has_gaps else every
    known = known if len(known) else every
    parts = []
    if column.has_trend:
        grid, position, values = _of_numbers(inputs[known, features[0]])
        name = f"{column.name}: trend" if column.cycles else column.name
        first = features[:1]
        parts = [Part(name, view.label(j), first, known, grid, position, values, grid[:, None])]
    for number, cycle in enumerate(column.cycles):
        own = features[1 + 2 * number : 3 + 2 * number]
        texts, position = column.places(number, inputs[known][:, features])
        sums = np.array(
            [inputs[known[position == k]][:, own].sum(axis=0) for k in range(len(texts))]
        )
        circle = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300)
        grid, name = np.array(texts), f"{column.name}: {cycle}" if parts else column.name
        parts.append(Part(name, name, own, known, grid, position, grid[position], circle, True))
    return parts


def _of_numbers(values: Array) -> tuple[Array, NDArray[np.intp], Array]:
    """The grid of some numbers, their positions in it, and the numbers."""
    grid = number_grid(values)
    # A row at the lowest value belongs to the first step.
    return grid, np.maximum(np.searchsorted(grid, values), min(1, len(grid) - 1)), values


def number_grid(values: Array) -> Array:
    """The different values, or the quantiles of many; each is the value of a row."""
    different = np.unique(values)
    if len(different) <= MOST_VALUES:
        return different
    shares = np.linspace(0, 1, MOST_VALUES)
    return np.unique(np.quantile(values, shares, method="inverted_cdf"))


def number_settings(view: ModelView, inputs: Array, j: int, grid: Array) -> Array:
    """The features (g, f) of a column at values of a grid: those of a row that has the value."""
    own = inputs[:, view.features_of(j)]
    if own.shape[1] == 1:
        return grid[:, None]
    order = np.argsort(own[:, 0], kind="stable")
    return own[order[np.searchsorted(own[order, 0], grid)]]


def text_grid(view: ModelView, inputs: Array, j: int) -> tuple[NDArray, NDArray[np.intp], Array]:
    """The texts that rows hold, the number of each row's, and the features (g, .) of each text.

    Neighbours in this order have rows that are alike in the other columns, as accumulated effects
    need: it is the order of their means along the direction in which these differ most.
    """
    features, choices = view.features_of(j), np.array(view.choices(j))
    held, position = np.unique(view.positions(inputs)[:, j].astype(np.intp), return_inverse=True)
    others = np.delete(inputs, features, axis=1)
    scale = others.std(axis=0)
    others = (others - others.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    means = np.array([others[position == k].mean(axis=0) for k in range(len(held))])
    along = np.zeros(len(held))
    if means.shape[1]:
        centred = means - means.mean(axis=0)
        along = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    order = np.argsort(along, kind="stable")
    settings = view.columns[j].settings[held[order]]
    return choices[held[order]], np.argsort(order)[position], settings
