"""All rows of a report in short: what each holds, its prediction, its interval and its layers.

A page cannot hold the neighbours and the linear models of 100,000 rows. It holds them of some,
which the pictures show, and of all others this: enough to find a row by its values and to see how
its prediction comes about. Axis letters as in `interface`.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .how_sure import UNSEEN, how_sure
from .interface import Explanation
from .packing import Packer
from .view import ModelView

Array = NDArray[np.float64]

# A page stays below 10 MB: plotly takes 2 of them, and the rows with all details 1.
MOST_CHARACTERS = 6_700_000


@dataclass(frozen=True, eq=False)
class ShortRows:
    """What is kept of r rows.

    Attributes
    ----------
    cells : list of r lists
        What the rows hold, by column.
    prediction : array (r, m)
    interval : array (r, m, 2) or None
    probability : array (r, m) or None
        Of classes.
    differences : array (r, c, m)
    unlike : array (r,) of bool or None
        Whether a row is unlike anything seen; None where that is not known.
    """

    cells: list[list[Any]]
    prediction: Array
    interval: Array | None
    probability: Array | None
    differences: Array
    unlike: NDArray[np.bool_] | None

    def take(self, rows: NDArray[np.intp]) -> "ShortRows":
        """Some of the rows."""
        return ShortRows(
            [self.cells[i] for i in rows],
            self.prediction[rows],
            None if self.interval is None else self.interval[rows],
            None if self.probability is None else self.probability[rows],
            self.differences[rows],
            None if self.unlike is None else self.unlike[rows],
        )


def short_rows(view: ModelView, blocks: Iterable[Explanation]) -> ShortRows:
    """What is kept of rows that are explained block by block."""
    cells: list[list[Any]] = []
    arrays: dict[str, list[Any]] = {"prediction": [], "differences": []}
    for why in blocks:
        cells += view.values(why)
        scores = why.contributions.sum(axis=1) + why.intercept
        arrays["prediction"].append(scores)
        arrays["differences"].append(why.difference_parts)
        if view.is_classifier:
            arrays.setdefault("probability", []).append(view.probabilities(scores))
        with suppress(ValueError):  # too few samples to know
            known = how_sure(view, why)
            arrays.setdefault("unlike", []).append(known.novelty > UNSEEN)
            if known.interval is not None:
                arrays.setdefault("interval", []).append(known.interval)
    joined = {name: np.concatenate(parts) for name, parts in arrays.items()}
    return ShortRows(
        cells,
        joined["prediction"],
        joined.get("interval"),
        joined.get("probability"),
        joined["differences"],
        joined.get("unlike"),
    )


def all_rows_section(
    rows: ShortRows, names: list[str], true: list[list[Any]] | None, detailed: NDArray[np.intp]
) -> dict[str, Any]:
    """Rows as a page unpacks them; ``detailed`` are the places of those with all details.

    The level of a row is what its prediction has beyond the baseline and the ``differences``, so
    that what is shown adds up, whatever was rounded. Intervals are held as distances from the
    prediction.
    """
    pack = Packer()
    c, m = rows.differences.shape[1:]
    columns = [pack.add_cells([line[j] for line in rows.cells]) for j in range(c)]
    interval = None
    if rows.interval is not None:
        away = rows.interval - rows.prediction[:, :, None]
        interval = [[pack.add_scaled(away[:, t, end]) for end in (0, 1)] for t in range(m)]
    section = {
        "n": len(rows.cells),
        "detailed": detailed.tolist(),
        "names": pack.add_texts(names),
        "columns": columns,
        "prediction": [pack.add(rows.prediction[:, t], "f4") for t in range(m)],
        "probability": None
        if rows.probability is None
        else [pack.add(rows.probability[:, t], "f4") for t in range(m)],
        "interval": interval,
        "unlike": None if rows.unlike is None else pack.add(rows.unlike, "u1"),
        "true": None
        if true is None
        else [pack.add_cells([line[t] for line in true]) for t in range(len(true[0]))],
        "differences": [
            [pack.add_scaled(rows.differences[:, j, t]) for j in range(c)] for t in range(m)
        ],
    }
    return section | {"packed": pack.text()}
