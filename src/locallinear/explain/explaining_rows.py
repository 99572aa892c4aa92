"""Rows explained for people: samples of the model without themselves, other rows as they are."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .interface import Explanation
from .own_samples import own_samples
from .selection import take_rows
from .view import ModelView

Numbers = NDArray[np.intp]

# Rows that are explained at once.
BLOCK = 4096


def numbers_of_samples(view: ModelView, X: Any, y: ArrayLike | None) -> Numbers | None:
    """The numbers of the samples that rows are, (q,), -1 for new rows; None where all are new.

    Whether they are is known by their targets y, in units: without these, rows are new ones.
    """
    if y is None:
        return None
    inputs = np.asarray(view.encode(X), dtype=np.float64)
    own = own_samples(view, inputs, np.asarray(view.on_model_scale(y)))
    return own if (own >= 0).any() else None


def explain_rows(view: ModelView, X: Any, own: Numbers | None) -> Explanation:
    """The explanation of rows; of those that are samples of the model, each without itself.

    Where a sample has too few others to be predicted from, all rows are explained as new ones.
    """
    if own is None:
        return view.explain(X)
    try:
        return view.explain_without(X, own)
    except ValueError:
        return view.explain(X)


def explained_blocks(
    view: ModelView, X: Any, own: Numbers | None, rows: Numbers
) -> Iterator[Explanation]:
    """Explanations of some rows, block by block, so that memory stays small."""
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        yield explain_rows(view, take_rows(X, block), None if own is None else own[block])
