"""What a number is, and the refusal of values that numpy would take for one without a word.

The value behind a mask is no value, a date becomes nanoseconds since 1970, and the text "nan" a
missing number. `first_odd` says the same of arrays, lists, frames and single values. Where the
types alone say that all cells are numbers, as for arrays of floats, it looks at no cell.
"""

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

TIMES = (date, timedelta, np.datetime64, np.timedelta64)
COMPLEX = (complex, np.complexfloating)
TEXT = (str, bytes)
NUMBERS = (int, float, np.integer, np.floating, np.bool_)

Place = tuple[int, ...]


def check_numbers(values: Any, name: str, *, if_text: str = "turn it into numbers") -> None:
    """Refuse what is no number where numbers are expected; gaps are not looked for.

    `if_text` says in the error what to do with text.
    """
    odd = first_odd(values, name)
    if odd is not None:
        raise ValueError(_odd_message(values, name, *odd, if_text))


def check_even(values: Any, name: str) -> None:
    """Refuse lists of rows of different lengths."""
    if isinstance(values, list | tuple):
        _leaf_types(values, name)


def check_not_masked(values: Any, name: str) -> None:
    """Refuse masked entries, in an array or in a list of arrays."""
    place = _first_masked(values)
    if place is not None:
        raise ValueError(_masked_message(name, place))


def check_no_gaps(values: Any, name: str, what: str) -> None:
    """Refuse labels of samples of which one is missing; `what` is what each sample must have."""
    check_not_masked(values, name)
    check_even(values, name)
    # Text would swallow a NaN: np.asarray(["a", nan]) holds the text "nan".
    labels = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if labels.ndim != 1 or labels.dtype.kind not in "OfMmT":
        return
    for i, label in enumerate(labels) if labels.dtype.kind in "OT" else _not_equal(labels):
        if is_missing(label):
            raise ValueError(
                f"{name} must have {what} for every sample, but sample {i} has none ({label!r}); "
                "leave such samples out"
            )


def sortable(labels: Any, name: str) -> NDArray:
    """Labels as an array, refused unless they are of one kind that has an order."""
    check_even(labels, name)
    found = np.asarray(labels)
    if found.dtype.names is not None:
        raise TypeError(
            f"{name} must hold one label per sample, but holds records of "
            f"{', '.join(found.dtype.names)}; pass one of these fields"
        )
    try:
        np.unique(found)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in found.ravel()})
        raise TypeError(
            f"{name} must hold labels of one kind, all text or all numbers, but holds "
            f"{' and '.join(kinds)}; turn all labels into text with str"
        ) from None
    return found


def is_missing(cell: Any) -> bool:
    """Whether a cell stands for no value: None, NaN, NaT, the NA of pandas, or a masked one."""
    if cell is None or cell is np.ma.masked or type(cell).__name__ == "NAType":
        return True
    if isinstance(cell, Decimal):
        return cell.is_nan()  # a comparison of what decimal calls a signaling NaN fails
    differs = cell != cell  # as NaN and NaT do; an array answers with an array
    return isinstance(differs, bool | np.bool_) and bool(differs)


def is_number(cell: Any) -> bool:
    """Whether a cell is a real number, of any size, or text that reads as one.

    Examples
    --------
    >>> import datetime, numpy as np
    >>> [is_number(cell) for cell in (1, np.float32(2), "3", datetime.date(2020, 1, 1), 1j, "x")]
    [True, True, True, False, False, False]
    """
    if cell is np.ma.masked or isinstance(cell, (*TIMES, *COMPLEX, np.void, np.ndarray)):
        return False
    try:
        float(cell)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        return False
    return True


def first_odd(values: Any, name: str) -> tuple[Place, Any] | None:
    """The place and the value of the first cell that is masked, or neither a number nor missing.

    Refuses lists of rows of different lengths; `name` is for that error.
    """
    if _only_numbers(values, name):
        return None
    for place, cell in _cells(values):
        # NumPy has a number for the NaT of an array of times. A gap alone is no array of gaps.
        is_odd = cell is np.ma.masked or isinstance(cell, np.datetime64 | np.timedelta64)
        is_odd |= not place and cell is not None
        if not is_number(cell) and (is_odd or not is_missing(cell)):
            return place, cell.item() if isinstance(cell, np.str_ | np.bytes_) else cell
    return None


def _only_numbers(values: Any, name: str) -> bool:
    """Whether the types alone say that all cells are numbers."""
    if isinstance(values, list | tuple):
        types = _leaf_types(values, name)
        if all(map(_is_number_type, types)):
            return True
        return np.ndarray in types and all(_only_numbers(part, name) for part in values)
    if np.ma.isMaskedArray(values):
        return values.dtype.kind in tuple("fiub") and not np.ma.is_masked(values)
    dtypes = getattr(values, "dtypes", None)  # of the columns of a frame
    if hasattr(values, "columns") and isinstance(dtypes, Iterable):
        return all(map(is_number_dtype, dtypes))
    if hasattr(values, "dtype"):
        return is_number_dtype(values.dtype)
    return _is_number_type(type(values))


def _leaf_types(values: list | tuple, name: str) -> set[type]:
    """The types of the cells, or of the arrays, in lists, whose rows must be of one length."""
    types = set(map(type, values))
    while True:
        nested = {kind for kind in types if issubclass(kind, list | tuple | np.ndarray)}
        if not nested or type(np.ma.masked) in types:
            return types
        if nested != types:
            raise ValueError(f"{name} must have rows of one length, but has single values as well")
        are_lists = nested <= {list, tuple}
        lengths: set[Any] = set(map(len, values) if are_lists else map(np.shape, values))
        if len(lengths) > 1:
            found = " and of ".join(map(str, sorted(lengths)[:2]))
            raise ValueError(f"{name} must have rows of one length, but has rows of {found}")
        if not are_lists:
            return types
        types = set(map(type, chain.from_iterable(values)))
        if types & {list, tuple}:
            values = list(chain.from_iterable(values))


def _is_number_type(kind: type) -> bool:
    # To NumPy, a duration is a whole number.
    return issubclass(kind, NUMBERS) and not issubclass(kind, np.timedelta64)


def is_number_dtype(dtype: Any) -> bool:
    """Whether a type of NumPy, of pandas or of polars has real numbers and gaps alone."""
    if hasattr(dtype, "kind"):
        return dtype.kind in tuple("fiub")
    return hasattr(dtype, "is_numeric") and bool(dtype.is_numeric())


def _cells(values: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """The cells of an array, of a frame or of lists of these, with their places."""
    if isinstance(values, list | tuple):
        for i, part in enumerate(values):
            yield from _cells(part, (*place, i))
    elif np.ma.isMaskedArray(values):
        mask = np.ma.getmaskarray(values)
        for at, cell in np.ndenumerate(values.data):
            yield place + at, np.ma.masked if mask[at] else cell
    elif hasattr(values, "columns"):
        for at, cell in np.ndenumerate(np.asarray(values, dtype=object)):
            yield place + at, cell
    elif hasattr(values, "__array__") and not isinstance(values, np.generic):
        for at, cell in np.ndenumerate(np.asarray(values)):
            yield place + at, cell
    else:
        yield place, values


def _first_masked(values: Any) -> Place | None:
    if np.ma.isMaskedArray(values) and values.dtype.names is None:
        return tuple(np.argwhere(np.ma.getmaskarray(values))[0]) if values.mask.any() else None
    if not isinstance(values, list | tuple) or not _may_hold_masks(values):
        return None
    parts = ((i, _first_masked(part)) for i, part in enumerate(values))
    return next(((i, *place) for i, place in parts if place is not None), None)


def _may_hold_masks(values: list | tuple) -> bool:
    types = set(map(type, values))
    return any(issubclass(kind, list | tuple | np.ma.MaskedArray) for kind in types)


def _odd_message(values: Any, name: str, place: Place, cell: Any, if_text: str) -> str:
    if cell is np.ma.masked:
        return _masked_message(name, place)
    if isinstance(cell, TIMES):
        return (
            f"{name} must hold numbers, but holds times, such as {cell}; turn them into numbers, "
            "for example days since the first date"
        )
    if isinstance(cell, TEXT):
        return f"{name} must hold numbers, but holds text, such as {cell!r}; {if_text}"
    if isinstance(cell, COMPLEX):
        return (
            f"Complex data not supported: {name} must hold real numbers, but holds {cell}; use "
            "real and imaginary parts as numbers of their own"
        )
    if not place:
        return f"{name} must be an array, a list or a frame, but is a {type(values).__name__}"
    return (
        f"{name} must hold numbers, but entry {_entry(place)} is {cell!r}, of type "
        f"{type(cell).__name__}; turn such values into numbers"
    )


def _masked_message(name: str, place: Place) -> str:
    return (
        f"{name} must have a value in every place, but entry {_entry(place)} is masked; fill it "
        "with `filled`, or leave the sample out"
    )


def _entry(place: Place) -> int | Place:
    """A place as messages name it."""
    numbers = tuple(int(i) for i in place)
    return numbers[0] if len(numbers) == 1 else numbers


def _not_equal(labels: NDArray) -> list[tuple[int, Any]]:
    """The first label that is not equal to itself, with its number."""
    unequal = np.flatnonzero(labels != labels)[:1]
    return [(int(i), labels[i].item() if labels.dtype.kind == "f" else labels[i]) for i in unequal]
