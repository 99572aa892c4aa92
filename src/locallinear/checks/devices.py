"""What arrays of other kinds than NumPy's may be used for, and the error messages for the rest."""

from typing import Any

from ..arrays import AnyArray, device_of, is_numpy, namespace


def place_of(x: AnyArray) -> str:
    """Where an array is, in words: its kind and its device.

    Examples
    --------
    >>> import numpy as np
    >>> place_of(np.ones(2))
    'a NumPy array'
    """
    if is_numpy(x):
        return "a NumPy array"
    kind = namespace(x).__name__.split(".")[-1]
    return f"an array of {kind} on {device_of(x)}"


def same_place(x: AnyArray, y: AnyArray) -> bool:
    """Whether two arrays are of one kind and on one device."""
    if is_numpy(x) or is_numpy(y):
        return is_numpy(x) and is_numpy(y)
    return namespace(x) is namespace(y) and device_of(x) == device_of(y)


def check_trees_on_processor(Z: AnyArray, neighborhood: str) -> None:
    """Refuse neighbourhoods by trees for arrays that are not NumPy's."""
    if not is_numpy(Z):
        raise ValueError(
            f'neighborhood "{neighborhood}" grows trees, which only NumPy arrays can, but X is '
            f'{place_of(Z)}; use neighborhood "euclidean" or "learned", or fit NumPy arrays'
        )


def check_on_processor(estimator: Any, like: AnyArray, what: str) -> None:
    """Refuse what is computed for NumPy arrays alone, where a model is elsewhere."""
    if not is_numpy(like):
        raise ValueError(
            f"{what} needs a model of NumPy arrays, but this {type(estimator).__name__} holds "
            f'{place_of(like)}; call model.to("cpu") first, and pass NumPy arrays'
        )
