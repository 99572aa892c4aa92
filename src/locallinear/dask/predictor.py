"""Answers of a fitted model on Dask to queries, as graphs of tasks that nobody has computed yet."""

from collections.abc import Callable, Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from ..checks import arguments as checks
from ..checks.parameters import check_after_fit
from ..geometry.nearness import Geometry
from ..models.names import Named
from ..runtime.chunks import row_chunks
from .cells import Cells
from .explanation import DaskExplanation
from .gathering import column_of
from .graphs import Layer
from .inputs import check_known_features, check_rows, partitions_of
from .neighbors import Places
from .partition import Part
from .prediction import COLUMNS, Fitted, explain, predict
from .tables import starts

Array = NDArray[np.float64]

# Partitions of queries are put together up to so many queries.
GROUP_ROWS = 10_000


class DaskPredictor(Named):
    """The methods of a fitted model on Dask that ask it."""

    n_neighbors: int
    alpha: float
    weights: Any
    _parts: list[Delayed]  # of a `Part` each, kept on the workers
    _sizes: list[int]  # samples per partition
    _counts: list[int]  # samples with weight per partition
    _total_weight: float
    _weighted: bool
    _bundles: list[list[int]]  # partitions that one thread of a worker has at hand
    _cells: Cells
    _geometry: Geometry
    _models: Array
    _constant: float
    _target_names: list[str]
    _mean_target: Array | None

    @property
    def _flat(self) -> bool:
        """Whether predictions are (q,) and not (q, m); scores of classes never are."""
        return getattr(self, "_one_target", False)

    @property
    def _columns(self) -> tuple[str, ...]:
        """What a prediction needs of a neighbour."""
        return (*COLUMNS, "weights") if self._weighted else COLUMNS

    def _like(self) -> BaseEstimator:
        """An estimator that knows the features, for the checks of partitions."""
        like = clone(self)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(like, name, getattr(self, name))
        return like

    def _fitted(self) -> Fitted:
        return Fitted(self._geometry, self._models, self._constant, self.alpha, self.weights)

    def _each_group(self, X: Any, answer: Callable, *given: Any) -> tuple[list[Delayed], list]:
        """What a function of the model and of X, Z and neighbours returns for groups of queries.

        A group is one partition or several small ones. The list has the sizes of the groups,
        NaN where these are unknown.
        """
        check_is_fitted(self)
        check_after_fit(self)
        checks.check_enough_samples(self.n_neighbors, sum(self._counts))
        queries, fitted, like = partitions_of(X, "X"), delayed(self._fitted()), self._like()
        check_known_features(like, queries)
        layer = Layer(answer.__name__)
        blocks = [
            layer.task(check_rows, number, like, queries.numbers, block)
            for number, block in enumerate(queries.partitions)
        ]
        groups, sizes = _grouped(layer, blocks, queries.sizes)
        located = [layer.entries(layer.task(_located, fitted, rows), 2) for rows in groups]
        places = Places(self._parts, starts(self._sizes), self._bundles, self._cells)
        points = [where for _, where in located]
        found = places.nearest(layer, points, self.n_neighbors, self._columns)
        answers = [
            layer.task(answer, fitted, rows, Z, near, *given)
            for rows, (Z, _), near in zip(groups, located, found, strict=True)
        ]
        return layer.results(answers), sizes

    def predict_numeric(self, X: Any) -> da.Array:
        """Predictions (q, m) whatever the shape of y was; for a classifier the classes' scores."""
        groups, sizes = self._each_group(X, predict)
        m = self._models.shape[2]
        blocks = [
            da.from_delayed(group, (size, m), dtype=np.float64)
            for group, size in zip(groups, sizes, strict=True)
        ]
        return da.concatenate(blocks)

    def explain(self, X: Any) -> DaskExplanation:
        """The exact linear model of each prediction, and the samples that it comes from.

        Parameters
        ----------
        X : Dask array or frame (q, d)

        Returns
        -------
        DaskExplanation
            Its fields are Dask arrays; `compute` returns a `LocalExplanation`.
        """
        blocks, sizes = self._each_group(X, explain, self.mean_target, self._flat)
        about = {
            "baseline": self.mean_target,
            "feature_weights": getattr(self, "feature_weights_", None),
            "feature_names": self.feature_names,
            "target_names": list(self._target_names),
        }
        has_ranks = not self._geometry.space.has_units
        shape = self.n_features_in_, self._models.shape[2], self.n_neighbors
        return DaskExplanation(blocks, sizes, shape, self._flat, has_ranks, about)

    @property
    def mean_target(self) -> Array:
        """The weighted mean of the samples' numeric targets, (m,); of classes their shares."""
        check_is_fitted(self)
        if self._mean_target is None:
            models = delayed(self._models)
            sums = dask.compute(*(delayed(_target_sum)(part, models) for part in self._parts))
            self._mean_target = np.sum(sums, axis=0) / self._total_weight
        return self._mean_target.copy()

    @property
    def labels_(self) -> da.Array:
        """The anchor of each sample, (n,): a Dask array."""
        check_is_fitted(self)
        blocks = [
            da.from_delayed(delayed(column_of)(part, "labels"), (size,), dtype=np.int32)
            for part, size in zip(self._parts, self._sizes, strict=True)
        ]
        return da.concatenate(blocks).astype(np.intp)


def _grouped(
    layer: Layer, blocks: list[str], sizes: Sequence[int] | None
) -> tuple[list[str], list[float]]:
    """Partitions of queries, small ones put together, and how many queries each has."""
    if sizes is None:
        return blocks, [np.nan] * len(blocks)
    groups: list[list[str]] = []
    totals: list[float] = []
    for block, size in zip(blocks, sizes, strict=True):
        if groups and totals[-1] + size <= GROUP_ROWS:
            groups[-1].append(block)
            totals[-1] += size
        else:
            groups.append([block])
            totals.append(size)
    joined = [group[0] if len(group) == 1 else layer.task(_stacked, *group) for group in groups]
    return joined, totals


def _stacked(*blocks: Array) -> Array:
    return np.concatenate(blocks)


def _located(fitted: Fitted, X: Array) -> tuple[Array, Array]:
    return fitted.geometry.locate(X)


def _target_sum(part: Part, models: Array) -> Array:
    """The weighted sum of the targets, (m,)."""
    weights, total = part.columns.get("weights"), np.zeros(models.shape[2])
    for chunk in row_chunks(len(part), 2 * models[0].nbytes):
        targets = part.targets(chunk, models)
        total += (np.ones(len(targets)) if weights is None else weights[chunk]) @ targets
    return total
