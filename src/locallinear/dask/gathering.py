"""One model from all partitions: in memory, or in a file."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..geometry.nearness import Geometry
from ..io import ArrayInPieces, save
from ..models.anchor_samples import AnchorSamples
from ..models.fall import FALL, FITTED
from .partition import Part


class Gathering:
    """The methods of a model on Dask that make one local model of it."""

    _local: type[FALL]  # the model for data in memory
    _parts: list[Delayed]
    _sizes: list[int]
    _counts: list[int]
    _weighted: bool
    _geometry: Geometry
    _models: NDArray
    _anchor_samples: AnchorSamples | None

    def to_local(self) -> FALL:
        """The same model in the memory of this process, with everything that local models can do.

        Returns
        -------
        locallinear.FALLRegressor or locallinear.FALLClassifier
        """
        state = self.fitted_state()
        state["samples"] = {name: column.whole() for name, column in state["samples"].items()}
        model = self._local(**self.get_params(deep=False))  # type: ignore[attr-defined]
        model.restore(state)
        return model

    def save(self, path: str | Path) -> None:
        """Write one model of all partitions to a file that `locallinear.load` reads.

        One partition after the other is brought here and written. The loaded model is a local one.

        Parameters
        ----------
        path : str or Path
        """
        save(self, path)

    def fitted_state(self) -> dict[str, Any]:
        """What a file has to hold of the fitted model; columns of samples come in pieces."""
        check_is_fitted(self)
        state: dict[str, Any] = {
            "attributes": {name: getattr(self, name) for name in FITTED if hasattr(self, name)},
            "nearness": self._geometry.nearness.arrays(),
            "space": self._geometry.space.arrays(),
        }
        if self._anchor_samples is not None:
            state["anchor_samples"] = self._anchor_samples.arrays()
        n, d, m = sum(self._sizes), self._models.shape[1] - 1, self._models.shape[2]
        shapes: dict[str, tuple[tuple[int, ...], type]] = {
            "Z": ((n, d), np.float64),
            "residuals": ((n, m), np.float64),
            "labels": ((n,), np.int32),
        }
        if self._weighted:
            shapes["weights"] = (n,), np.float64
        if self._counts != self._sizes:
            shapes["searchable"] = (n,), np.bool_
        state["samples"] = {
            name: ArrayInPieces(shape, np.dtype(kind), partial(self._pieces, name))
            for name, (shape, kind) in shapes.items()
        }
        return state

    def _pieces(self, name: str) -> Iterator[NDArray]:
        """A column of the samples, one partition after the other."""
        for part in self._parts:
            (piece,) = dask.compute(delayed(column_of)(part, name))
            yield piece


def column_of(part: Part, name: str) -> NDArray:
    """A column of a partition; "searchable" says which samples have weight."""
    return part.columns["weights"] > 0 if name == "searchable" else part.columns[name]
