"""Arrays and parameters as values that JSON can hold, with no more digits than a page needs."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

DIGITS = 10
TARGET_DIGITS = 6  # of true targets
SAMPLE_DIGITS = 5  # of the neighbours' values and weights, and of curves


def rounded(array: ArrayLike, digits: int = DIGITS) -> list[Any]:
    """Nested lists of numbers with this many digits; None for infinities and NaN."""
    array = np.asarray(array, dtype=np.float64)
    flat: list[Any] = [
        float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in array.ravel().tolist()
    ]
    for size in reversed(array.shape[1:]):
        flat = [flat[i : i + size] for i in range(0, len(flat), size)]
    return flat


def whole(total: float) -> int | float:
    """A sum of weights, as a whole number where it is one."""
    return int(total) if total == int(total) else float(total)


def rounded_cells(rows: list[list[Any]], digits: int = DIGITS) -> list[list[Any]]:
    """Rows of numbers and texts: numbers with this many digits, texts as they are."""
    return [[float(f"{v:.{digits}g}") if isinstance(v, float) else v for v in row] for row in rows]


def target_lists(y: NDArray) -> list[list[Any]]:
    """The targets of each row as a list: one number per target, or a class as text; or None."""
    if y.ndim == 1 and y.dtype.kind not in "fiu":
        return [[None if label is None else str(label)] for label in y]
    return rounded(y.reshape(len(y), -1), TARGET_DIGITS)


def parameter_values(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a model, where lists and arrays are described by their sizes."""
    return {name: _parameter_value(value) for name, value in parameters.items()}


def _parameter_value(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):  # of folds, say, which need not have one length
        return f"list of {len(value)}"
    return str(value) if np.ndim(value) == 0 else f"array {np.shape(value)}"
