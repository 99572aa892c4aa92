"""Arrays of NumPy, torch, CuPy and others: what their common standard lacks or does differently.

Mathematics is written once, in the array API standard. `namespace` gives the functions for arrays
of a kind: for NumPy it is `numpy` itself. The functions below are those that the standard lacks, or
that NumPy has in another form; on NumPy arrays they are NumPy's own, to the last digit.
"""

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Any array of the array API standard, with functions that `namespace` gives.
AnyArray = Any
NUMPY = (np.ndarray, np.generic)


def is_numpy(x: Any) -> bool:
    """Whether an array is one of NumPy's."""
    return isinstance(x, NUMPY)


def namespace(x: AnyArray) -> Any:
    """The functions of the array API standard for arrays of this kind.

    Examples
    --------
    >>> namespace(np.ones(2)) is np
    True
    """
    return np if is_numpy(x) else compatibility().array_namespace(x)


@cache
def compatibility() -> ModuleType:
    """The package array-api-compat, which scikit-learn brings from version 1.7 on."""
    try:
        return import_module("sklearn.externals.array_api_compat")
    except ImportError:  # scikit-learn 1.6 wants it installed, before it dispatches
        return import_module("array_api_compat")


def device_of(x: AnyArray) -> Any:
    """Where an array is."""
    return "cpu" if is_numpy(x) else compatibility().device(x)


def to_numpy(x: AnyArray) -> NDArray:
    """An array of any kind as one of NumPy's, copied from its device where there is one."""
    if is_numpy(x):
        return x
    if hasattr(x, "detach"):  # torch
        return x.detach().cpu().numpy()
    if hasattr(x, "get"):  # CuPy
        return x.get()
    # A device that only the standard knows, such as those of array-api-strict.
    return np.from_dlpack(compatibility().to_device(x, _cpu(x)))


def _cpu(x: AnyArray) -> Any:
    """The device of the processor, as the kind of an array names it."""
    xp = namespace(x)
    return xp.Device("CPU_DEVICE") if hasattr(xp, "Device") else "cpu"


def from_device(x: Any) -> Any:
    """What a user passed, with an array of another kind than NumPy's turned into one of NumPy's."""
    if is_numpy(x) or not compatibility().is_array_api_obj(x):
        return x
    return to_numpy(x)


def moved(values: AnyArray, like: AnyArray) -> AnyArray:
    """Values as an array of the kind of `like` and on its device; floats in its precision.

    Examples
    --------
    >>> moved(np.arange(2), np.ones(1))
    array([0, 1])
    """
    if is_numpy(like) and is_numpy(values):
        return values
    xp = namespace(like)
    same_kind = not is_numpy(values) and namespace(values) is xp
    if same_kind and device_of(values) == device_of(like):
        out = values
    else:
        # Copied: memory that two kinds share would be written by one behind the other's back.
        out = xp.asarray(np.array(to_numpy(values)), device=device_of(like))
    if xp.isdtype(out.dtype, "real floating") and xp.isdtype(like.dtype, "real floating"):
        out = xp.astype(out, like.dtype, copy=False)
    return out


def einsum(subscripts: str, *arrays: AnyArray) -> AnyArray:
    """NumPy's sum of products by Einstein's convention, for any kind of array.

    Examples
    --------
    >>> einsum("nd,nd->n", np.ones((2, 3)), np.ones((2, 3)))
    array([3., 3.])
    """
    xp = namespace(arrays[0])
    own = getattr(xp, "einsum", None)
    if own is not None:
        return own(subscripts, *arrays)
    inputs, output = subscripts.split("->")
    summed = sorted(set(inputs) - set(output) - {","})
    axes = list(output) + summed
    product = None
    for letters, x in zip(inputs.split(","), arrays, strict=True):
        ordered = [letter for letter in axes if letter in letters]
        x = xp.permute_dims(x, tuple(letters.index(letter) for letter in ordered))
        sizes = iter(x.shape)
        x = xp.reshape(x, tuple(next(sizes) if letter in letters else 1 for letter in axes))
        product = x if product is None else product * x
    return xp.sum(product, axis=tuple(range(len(output), len(axes)))) if summed else product


def cumulative_sum(x: AnyArray, axis: int) -> AnyArray:
    """Sums along an axis, up to each entry."""
    return np.cumsum(x, axis=axis) if is_numpy(x) else namespace(x).cumulative_sum(x, axis=axis)


def at(x: AnyArray, rows: AnyArray) -> AnyArray:
    """The rows of x with these numbers, which may be an array of any shape."""
    if is_numpy(x):
        return x[rows]
    xp, rows = namespace(x), moved(rows, x)
    taken = xp.take(x, xp.reshape(rows, (-1,)), axis=0)
    return xp.reshape(taken, (*rows.shape, *x.shape[1:]))


def pick(table: AnyArray, columns: AnyArray) -> AnyArray:
    """The entries of each row of a table (q, k) in these columns (q, K)."""
    xp = namespace(table)
    if not is_numpy(table):
        columns = xp.astype(columns, xp.int64, copy=False)
    return xp.take_along_axis(table, columns, axis=1)


def cast(x: AnyArray, like: AnyArray) -> AnyArray:
    """An array with the type of numbers that another has."""
    if is_numpy(x):
        return x.astype(like.dtype, copy=False)
    return namespace(x).astype(x, like.dtype, copy=False)


def empty(shape: tuple[int, ...], like: AnyArray) -> AnyArray:
    """An array of this shape, not filled yet: of the kind and type of `like`, on its device."""
    if is_numpy(like):
        return np.empty(shape, dtype=like.dtype)
    return namespace(like).empty(shape, dtype=like.dtype, device=device_of(like))


def doubles(x: AnyArray) -> NDArray[np.float64]:
    """An array of any kind as one of NumPy's, in double precision."""
    return np.asarray(to_numpy(x), dtype=np.float64)


def precision(x: AnyArray) -> float:
    """The distance from 1 to the next larger number of an array's type."""
    return float(namespace(x).finfo(x.dtype).eps)


def flat_nonzero(mask: AnyArray) -> AnyArray:
    """The positions (r,) at which a mask (n,) is true."""
    return namespace(mask).nonzero(mask)[0]


def interpolate(x: AnyArray, knots: AnyArray, heights: AnyArray) -> AnyArray:
    """The piecewise linear function through the knots at x, constant outside them."""
    if is_numpy(x):
        return np.interp(x, knots, heights)
    xp = namespace(x)
    if knots.shape[0] == 1:
        return xp.zeros_like(x) + heights[0]
    x = x.contiguous() if hasattr(x, "contiguous") else x  # torch warns of a column of a table
    # As NumPy does it: exact at the knots.
    right = xp.clip(xp.searchsorted(knots, x, side="right"), 1, knots.shape[0] - 1)
    x0, x1 = xp.take(knots, right - 1), xp.take(knots, right)
    y0, y1 = xp.take(heights, right - 1), xp.take(heights, right)
    inside = (y1 - y0) / (x1 - x0) * (x - x0) + y0
    inside = xp.where(x >= knots[-1], heights[-1], inside)
    return xp.where(x <= knots[0], heights[0], inside)


def smallest(x: AnyArray, k: int) -> tuple[AnyArray, AnyArray]:
    """The k smallest entries of each row of x (q, n), in ascending order, and their columns."""
    xp = namespace(x)
    if hasattr(x, "topk"):  # torch
        found = x.topk(k, dim=1, largest=False)
        return found.values, found.indices
    if k < x.shape[1] and hasattr(xp, "argpartition"):
        columns = xp.argpartition(x, k - 1, axis=1)[:, :k]
        values = xp.take_along_axis(x, columns, axis=1)
        order = xp.argsort(values, axis=1)
        return xp.take_along_axis(values, order, axis=1), xp.take_along_axis(columns, order, axis=1)
    columns = xp.argsort(x, axis=1)[:, :k]
    return xp.take_along_axis(x, columns, axis=1), columns
