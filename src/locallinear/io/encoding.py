"""Values as JSON and arrays, and back: what files hold of estimators. No pickle, no code.

A value becomes JSON; its arrays go into a dict under names that the JSON refers to. Estimators are
described by their class, which must be registered, their parameters and their fitted state.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection

from ..checks.parameters import check_stored_parameters

# Splitters that a file can name, for what they are given is what they keep.
SPLITTERS = {"KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold", "TimeSeriesSplit"}
SPLITTERS |= {"ShuffleSplit", "StratifiedShuffleSplit", "GroupShuffleSplit", "PredefinedSplit"}
SPLITTERS |= {"LeaveOneOut", "LeaveOneGroupOut"}


# The classes that a file can hold, by name: each registers itself.
REGISTRY: dict[str, type] = {}


# The types of whole numbers that a file holds in fewer bytes where they fit.
WIDE = ("int32", "int64")


def register(estimator_class: type) -> type:
    """Let files hold estimators of a class, which has `fitted_state` and `restore`."""
    REGISTRY[estimator_class.__name__] = estimator_class
    return estimator_class


@dataclass(frozen=True, eq=False)
class ArrayInPieces:
    """An array that is not in memory as a whole; a file gets it piece by piece.

    Attributes
    ----------
    shape, dtype : of the whole
    pieces : returns the pieces along the first axis, in order
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    pieces: Callable[[], Iterator[NDArray]]

    def whole(self) -> NDArray:
        """The array in memory."""
        out = np.empty(self.shape, self.dtype)
        start = 0
        for piece in self.pieces():
            out[start : start + len(piece)] = piece
            start += len(piece)
        return out


class OtherVersionError(Exception):
    """Something in a whole file that only another version of the library knows."""


def describe(
    estimator: Any,
    name: str,
    arrays: dict[str, NDArray | ArrayInPieces],
    *,
    fitted: bool = True,
) -> dict[str, Any]:
    """What a page says of an estimator; `name` tells its arrays from those of others."""
    return {
        "class": type(estimator).__name__,
        "parameters": encode(estimator.get_params(deep=False), f"{name}parameter", arrays),
        "state": encode(estimator.fitted_state() if fitted else None, f"{name}state", arrays),
    }


def revive(page: dict[str, Any], arrays: dict[str, NDArray]) -> Any:
    """The estimator that `describe` described."""
    if page["class"] not in REGISTRY:
        raise OtherVersionError(f"it holds a {page['class']!r}, which this one does not know")
    kind, parameters = REGISTRY[page["class"]], decode(page["parameters"], arrays)
    unknown = sorted(set(parameters) - set(kind().get_params(deep=False)))
    if unknown:
        raise OtherVersionError(f"its {page['class']} has the parameter {unknown[0]!r}")
    estimator = kind(**parameters)
    check_stored_parameters(estimator)
    if page["state"] is not None:
        estimator.restore(decode(page["state"], arrays))
    return estimator


def encode(value: Any, name: str, arrays: dict[str, NDArray | ArrayInPieces]) -> Any:
    """JSON for a value; its arrays go into `arrays` under names that the JSON refers to."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {"dict": {str(k): encode(v, f"{name}-{k}", arrays) for k, v in value.items()}}
    if isinstance(value, list | tuple | range):
        return {"list": [encode(v, f"{name}-{i}", arrays) for i, v in enumerate(value)]}
    if type(value).__name__ in REGISTRY:
        fitted = value.__sklearn_is_fitted__() if hasattr(value, "__sklearn_is_fitted__") else True
        return {"estimator": describe(value, f"{name}-", arrays, fitted=fitted)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return {"objects": [encode(v, name, arrays) for v in value.tolist()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUSMm":
        arrays[name] = _narrowed(value)
        if arrays[name] is not value:
            return {"widened": [name, value.dtype.name]}
        return {"array": name}
    if isinstance(value, ArrayInPieces):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.random.RandomState):
        state = value.get_state(legacy=False)
        if state["bit_generator"] == "MT19937":
            return {"chance": encode(state, name, arrays)}
    if type(value).__name__ in SPLITTERS and type(value).__module__.startswith("sklearn."):
        names = inspect.signature(type(value)).parameters
        given = {n: encode(getattr(value, n), f"{name}-{n}", arrays) for n in names}
        return {"splitter": [type(value).__name__, given]}
    raise ValueError(
        f"a model file holds numbers, words and arrays, but {name} is a {type(value).__name__}; "
        "set it to one of those before saving, or keep the model with joblib or skops"
    )


def _narrowed(array: NDArray) -> NDArray:
    """Whole numbers in the fewest bytes that hold them; most of a model's are small."""
    if array.dtype.name not in WIDE or not array.size:
        return array
    limits = array.min(), array.max()
    for narrow in (np.int8, np.uint8, np.int16, np.uint16, np.int32):
        bounds = np.iinfo(narrow)
        if bounds.bits < 8 * array.itemsize and bounds.min <= limits[0] and limits[1] <= bounds.max:
            return array.astype(narrow)
    return array


def decode(value: Any, arrays: dict[str, NDArray]) -> Any:
    """The value that `encode` turned into JSON and arrays."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {name: decode(v, arrays) for name, v in content.items()}
    if kind == "list":
        return [decode(v, arrays) for v in content]
    if kind == "objects":
        return np.array([decode(v, arrays) for v in content], dtype=object)
    if kind == "widened":
        name, wide = content
        if wide not in WIDE or arrays[name].dtype.kind not in "iu":
            raise ValueError(f"its array {name} is of the type {wide!r}")
        return arrays[name].astype(wide)
    if kind == "estimator":
        return revive(content, arrays)
    if kind == "chance":
        return _generator(decode(content, arrays))
    if kind == "splitter":
        name, given = content
        if name not in SPLITTERS:
            raise OtherVersionError(f"it has the splitter {name!r}, which this one does not know")
        return getattr(model_selection, name)(**{n: decode(v, arrays) for n, v in given.items()})
    return arrays[content]


def _generator(state: dict[str, Any]) -> np.random.RandomState:
    if not 0 <= state["state"]["pos"] <= len(state["state"]["key"]):  # numpy would read beyond
        raise ValueError("its random numbers have no place to go on from")
    generator = np.random.RandomState()
    generator.set_state(state)
    return generator
