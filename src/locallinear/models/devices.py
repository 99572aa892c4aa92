"""Where a model can move."""

from typing import Any

import numpy as np

from ..arrays import AnyArray, precision
from ..checks.arguments import check_name
from ..runtime.extras import extra


def an_array_on(device: Any, dtype: str | None, like: AnyArray) -> AnyArray:
    """An empty array on a device, of the precision that `dtype` names, or else of `like`."""
    if dtype is not None:
        check_name(dtype, ("float32", "float64"), "dtype")
    if isinstance(device, str) and device == "cpu":
        return np.empty(0)
    dtype = dtype or ("float64" if precision(like) < 1e-10 else "float32")
    if isinstance(device, str) and device == "cupy":
        return extra("cupy", None, "Models in CuPy arrays").empty(0, dtype=dtype)
    torch = extra("torch", "gpu", "Models on a device")
    try:
        return torch.empty(0, dtype=getattr(torch, dtype), device=device)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise ValueError(
            f'device must be "cpu", "cupy" or a device that torch has here, such as "cuda", but '
            f"is {device!r}: {str(error).splitlines()[0]}"
        ) from error
