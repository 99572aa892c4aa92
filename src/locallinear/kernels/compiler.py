"""The compiler of the kernels: numba's `njit`, which also works where nothing can be written.

numba keeps compiled code in `NUMBA_CACHE_DIR`, beside the package, or in the user's cache folder.
Where none of them can be written it raises an error for `cache=True`; here the code then stays in
the memory of the process.
"""

import warnings
from collections.abc import Callable
from functools import cache as once
from typing import Any

import numba


def njit(*, cache: bool, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`, where `cache` means: keep the compiled code on disk if that is possible."""

    def compiled(function: Callable[..., Any]) -> Any:
        if cache:
            try:
                return numba.njit(cache=True, **options)(function)
            except RuntimeError as error:
                if "cannot cache" not in str(error):
                    raise
                _warn_that_nothing_is_kept()
        return numba.njit(**options)(function)

    return compiled


@once
def _warn_that_nothing_is_kept() -> None:
    warnings.warn(
        "compiled code cannot be kept: neither the folder of locallinear nor the cache folder of "
        "the user can be written, so each process compiles again, which takes some seconds; let "
        "NUMBA_CACHE_DIR name a folder that can be written",
        RuntimeWarning,
        stacklevel=3,
    )
