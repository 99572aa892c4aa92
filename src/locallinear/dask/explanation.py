"""Explanations of predictions that Dask has still to compute."""

from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed

from ..models.explanation import ARRAYS, LocalExplanation

# Fields that are not of floating point numbers.
WHOLE = {"neighbors": np.intp, "neighbor_labels": np.intp}


class DaskExplanation:
    """The exact linear models behind q predictions, as Dask arrays.

    The fields are those of `LocalExplanation`: those with one entry per query are Dask arrays, and
    `baseline`, `feature_weights`, `feature_names` and `target_names` are known already.

    Parameters
    ----------
    blocks : list of Delayed
        The arrays of each partition of queries, by name.
    sizes : sequence of float
        Queries per partition, NaN where unknown.
    shape : d, m, K
    one_target : bool
        Whether predictions are (q,) and not (q, m).
    has_ranks : bool
        Whether coefficients multiply ranks.
    about : the fields that are known already
    """

    def __init__(
        self,
        blocks: Sequence[Delayed],
        sizes: Sequence[float],
        shape: tuple[int, int, int],
        one_target: bool,
        has_ranks: bool,
        about: dict[str, Any],
    ):
        self._blocks, self._sizes, self._about = list(blocks), list(sizes), about
        d, m, K = shape
        self._shapes: dict[str, tuple[int, ...]] = {
            "prediction": () if one_target else (m,),
            "coef": (d, m),
            "intercept": (m,),
            "contributions": (d, m),
            "anchor_part": (d + 1, m),
            "correction_part": (d + 1, m),
            "neighborhood_part": (m,),
            "difference_parts": (d, m),
            "slopes": (d, m),
            "neighbors": (K,),
            "neighbor_weights": (K,),
            "neighbor_labels": (K,),
            "X": (d,),
        }
        if has_ranks:
            self._shapes["ranks"] = (d,)

    def __getattr__(self, name: str) -> Any:
        # Fields are made when they are asked for: each is a Dask array over all partitions.
        about = self.__dict__.get("_about", {})
        if name in about:
            return about[name]
        if name not in self.__dict__.get("_shapes", {}):
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        shape, kind = self._shapes[name], WHOLE.get(name, np.float64)
        blocks = [
            da.from_delayed(delayed(_field)(block, name), (size, *shape), dtype=kind)
            for block, size in zip(self._blocks, self._sizes, strict=True)
        ]
        return da.concatenate(blocks)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._shapes, *self._about]

    def __repr__(self) -> str:
        return (
            f"DaskExplanation of {len(self._blocks)} partitions: {', '.join(ARRAYS)}; compute() "
            "returns a LocalExplanation"
        )

    def compute(self) -> LocalExplanation:
        """The explanations of all queries, in memory; take few queries."""
        found = dask.compute(*self._blocks)
        fields: dict[str, Any] = {
            name: np.concatenate([block[name] for block in found]) for name in self._shapes
        }
        return LocalExplanation(**fields, **self._about)


def _field(block: dict[str, Any], name: str) -> Any:
    return block[name]
