"""FALL on the partitions of Dask collections.

`fit` takes the steps of a local fit, each where the samples are: only sums, distinct values,
anchors with their neighbourhoods and a bounded number of samples come here. The partitions of the
fitted samples stay on the workers as Dask objects that know how they were made, so that Dask makes
those of a lost worker again.
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..checks import arguments as checks
from ..checks.parameters import FALL_PARAMETERS, GEOMETRY, check_after_fit
from ..geometry.metric import MAX_SAMPLES
from ..geometry.nearness import Geometry
from ..kernels.local.anchors import fit_models
from ..kernels.local.combine import cut_at
from ..models.anchor_samples import AnchorSamples
from ..models.anchors import Anchors, place_anchors
from ..models.fall import FALL
from ..runtime.chunks import row_chunks
from ..runtime.threads import one_blas_thread
from .assignment import assign, assign_new, deciding_samples
from .cells import Cells
from .draw import first_of_permutation
from .explanation import DaskExplanation
from .gathering import Gathering, column_of
from .geometry import NEIGHBORHOODS, counted_samples, fit_geometry_of
from .graphs import Layer, bundles_of, settled, with_each_task
from .inputs import check_rows, learn_features, partitions_of
from .neighbors import Places
from .order import order_of
from .partition import Part, boxes, locate
from .prediction import COLUMNS, Fitted, explain, predict
from .tables import Tables, gather, read_tables, starts

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
# Partitions of queries are put together up to so many queries.
GROUP_ROWS = 10_000


class DaskFALL(Gathering, BaseEstimator):
    """What regression and classification on Dask share: everything but the meaning of targets."""

    _parameter_constraints: dict = FALL_PARAMETERS
    __init__ = FALL.__init__  # the same parameters with the same defaults

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
    _one_target: bool
    _target_names: list[str]
    _anchor_samples: AnchorSamples | None
    _mean_target: Array | None
    classes_: NDArray

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_parts")

    @property
    def _flat(self) -> bool:
        """Whether predictions are (q,) and not (q, m); scores of classes never are."""
        return getattr(self, "_one_target", False)

    @property
    def _columns(self) -> tuple[str, ...]:
        """What a prediction needs of a neighbour."""
        return (*COLUMNS, "weights") if self._weighted else COLUMNS

    # --- Fitting ------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters that are invalid, or that no cluster can honour."""
        self._validate_params()
        if self.neighborhood not in NEIGHBORHOODS:
            raise ValueError(
                "Models on Dask find neighbours by distance, so neighborhood must be "
                f"{' or '.join(map(repr, NEIGHBORHOODS))}, but is {self.neighborhood!r}; trees "
                "have to see all samples in one place: fit a model of locallinear on a sample"
            )

    def _unfitted(self) -> Self:
        """An estimator with the same parameters, which a fit can fail on without harm to this."""
        fresh = copy(self)
        fresh.__dict__ = self.get_params(deep=False)
        return fresh

    def _become(self, fitted: Self) -> Self:
        """Take over all that another estimator has."""
        self.__dict__ = fitted.__dict__
        return self

    def _like(self) -> BaseEstimator:
        """An estimator that knows the features, for the checks of partitions."""
        like = clone(self)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(like, name, getattr(self, name))
        return like

    def _read(
        self, X: Any, y: Any, sample_weight: Any, n_targets: int | None, *, reset: bool
    ) -> Tables:
        """The samples that a user gives, after all checks."""
        inputs = partitions_of(X, "X")
        if reset:
            learn_features(self, inputs)
        return read_tables(inputs, y, sample_weight, self._like(), n_targets)

    def _fit(self, tables: Tables) -> None:
        """Algorithm 1 on partitions: anchors, then each sample's anchor and its residual."""
        tables.check_fit()
        checks.check_enough_samples(self.n_neighbors, sum(tables.counts))
        classes = self._known_classes()
        geometry = fit_geometry_of(
            tables, classes, **{name: getattr(self, name) for name in GEOMETRY}
        )
        self._geometry, self._constant = geometry, float(self.fit_intercept)
        if geometry.nearness.feature_weights is not None:
            self.feature_weights_ = geometry.nearness.feature_weights
        parts = self._located(tables, tables.weighted)
        cells = Cells(dask.compute(*(delayed(boxes)(part) for part in parts)))
        self._fit_anchors(tables, parts, cells)
        firsts, deciding = starts(tables.sizes), None
        if self.assignment_neighbors > 1:
            deciding = deciding_samples(parts, firsts, tables.counts)
        models = with_each_task(self._models, self._models.nbytes)
        assigned = [
            delayed(assign)(part, first, models, deciding, self.assignment_neighbors)
            for part, first in zip(parts, firsts, strict=True)
        ]
        self._weighted, self._total_weight = tables.weighted, tables.total_weight
        self._hold(assigned, tables.sizes, tables.counts, cells)

    def _located(self, tables: Tables, weighted: bool) -> list[Delayed]:
        """The samples in the feature space, kept on the workers."""
        classes, geometry = self._known_classes(), self._geometry
        n_bytes = sum(array.nbytes for array in geometry.space.arrays().values())
        given = classes, with_each_task(geometry, n_bytes), weighted
        return list(dask.persist(*(delayed(locate)(table, *given) for table in tables.partitions)))

    def _known_classes(self) -> NDArray | None:
        return getattr(self, "classes_", None)

    def _fit_anchors(self, tables: Tables, parts: list[Delayed], cells: Cells) -> None:
        """Algorithm 3: choose anchor points, and fit a model on each one's neighbourhood."""
        space = self._geometry.space
        anchors, in_units = self._place_anchors(tables, parts)
        self._anchor_samples = None
        if anchors.models is not None:
            self.anchor_points_, self._models = anchors.points, anchors.models
        else:
            self.anchor_points_ = space.inverse(anchors.points) if in_units is None else in_units
            self._models = self._models_around(anchors.points, tables, parts, cells)
        self.anchor_models_ = space.models_to_units(self._models)

    def _place_anchors(self, tables: Tables, parts: list[Delayed]) -> tuple[Anchors, Array | None]:
        """The anchors, and their points in units where these are known."""
        d, selection, m = len(tables.origin), self.anchor_selection, len(self._target_names)
        space, Z, weights = self._geometry.space, np.empty((0, d)), None
        if self.anchor_models is None and isinstance(selection, str):
            if selection == "random":
                return self._draw_anchors(tables, parts)
            if sum(tables.counts) > MAX_SAMPLES:
                raise ValueError(
                    'anchor_selection="kmeans" has to see all samples in one place, so there may '
                    f"be at most {MAX_SAMPLES:,}, but there are {sum(tables.counts):,}; choose "
                    '"random", or pass the centres of a k-means on a sample'
                )
            Z, _, weights = counted_samples(parts)
        given = None if isinstance(selection, str) else np.array(selection, dtype=np.float64)
        anchors = place_anchors(
            selection, self.anchor_models, self.n_anchors, space, Z, m, weights, self.random_state
        )
        return anchors, given

    def _draw_anchors(self, tables: Tables, parts: list[Delayed]) -> tuple[Anchors, Array | None]:
        """Samples drawn at random, as a local model draws them: from all distinct ones in order."""
        n_bytes = sum(tables.sizes) * len(tables.origin) * 8
        order = order_of(parts, starts(tables.sizes), None, n_bytes)
        random = check_random_state(self.random_state)
        before = random.get_state()
        # Drawn while the workers look for samples that two partitions have: mostly, none is.
        places = first_of_permutation(random, order.expected, self.n_anchors)
        if len(order) != order.expected:
            random.set_state(before)
            places = first_of_permutation(random, len(order), self.n_anchors)
        rows = order.numbers(places)
        (in_units,) = gather(tables.partitions, tables.sizes, rows, ("X",))
        return Anchors(self._geometry.space.transform(in_units), rows=rows), in_units

    def _models_around(
        self, points: Array, tables: Tables, parts: list[Delayed], cells: Cells
    ) -> Array:
        """The anchor models, fitted on the samples near each point, (k, d + 1, m)."""
        names = ("Z", "targets", "weights") if tables.weighted else ("Z", "targets")
        n_near = min(self.n_anchor_neighbors, sum(tables.counts))
        places = Places(parts, starts(tables.sizes), bundles_of(parts), cells)
        layer = Layer("anchors")
        located = delayed(self._geometry.nearness.points(points))
        (found,) = dask.compute(*layer.results(places.nearest(layer, [located], n_near, names)))
        Z, Y = found.columns["Z"], found.columns["targets"]
        counted = np.ones(found.rows.shape)
        if tables.weighted:
            counted = cut_at(found.columns["weights"], self.n_anchor_neighbors)
        if self.anchor_alpha == 0 or self.anchor_l1_ratio == 0:
            self._anchor_samples = AnchorSamples(
                found.rows.astype(np.int32),
                None if (counted == 1).all() else counted,
                float(self.anchor_alpha),
                bool(self.fit_intercept),
            )
        models = np.empty((len(points), Z.shape[2] + 1, Y.shape[2]))
        penalty = self.anchor_alpha, self.anchor_l1_ratio, self.fit_intercept
        with one_blas_thread():
            for chunk in row_chunks(len(points), n_near * (Z.shape[2] + Y.shape[2]) * 8 * 4):
                models[chunk] = fit_models(Z[chunk], Y[chunk], counted[chunk], *penalty)
        return models

    def _hold(
        self, parts: Sequence[Delayed], sizes: list[int], counts: list[int], cells: Cells
    ) -> None:
        """Keep the partitions on the workers as those of the model."""
        self._parts = settled(dask.persist(*parts))
        self._sizes, self._counts, self._cells = sizes, counts, cells
        self._bundles = bundles_of(self._parts)
        self._mean_target = None
        self.n_samples_fit_ = sum(sizes)

    def _append(self, tables: Tables) -> None:
        """Add partitions of samples: only they are assigned, the anchors and all others stay."""
        check_after_fit(self)
        old, weighted = self._parts, self._weighted or tables.weighted
        if weighted and not self._weighted:
            old = [delayed(_with_weights)(part) for part in old]
        new = self._located(tables, weighted)
        cells = self._cells.joined(dask.compute(*(delayed(boxes)(part) for part in new)))
        sizes, counts = self._sizes + tables.sizes, self._counts + tables.counts
        models = with_each_task(self._models, self._models.nbytes)
        total = self.assignment_neighbors
        n_near = min(total, sum(counts))
        if n_near > 1:
            names = ("Z", "targets", "weights") if weighted else ("Z", "targets")
            parts = [*old, *new]
            places = Places(parts, starts(sizes), bundles_of(parts), cells)
            layer = Layer("update")
            points = [layer.task(_points, part) for part in new]
            pairs = zip(new, places.nearest(layer, points, n_near, names, models), strict=True)
            assigned = layer.results(
                [layer.task(assign_new, part, models, near, total) for part, near in pairs]
            )
        else:
            assigned = [delayed(assign)(part, 0, models, None, 1) for part in new]
        self._weighted, self._total_weight = weighted, self._total_weight + tables.total_weight
        self._hold([*old, *assigned], sizes, counts, cells)

    def forget(self, indices: ArrayLike) -> Self:
        """Remove samples; what is left of the model stays as it is.

        Parameters
        ----------
        indices : array-like of int
            Which samples. Those after a removed one move up.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        numbers = np.unique(checks.check_indices(indices, self.n_samples_fit_))
        if len(numbers) == self.n_samples_fit_:
            raise ValueError(
                f"forget would remove all {len(numbers)} samples, and a model needs some; fit a "
                "new one instead"
            )
        firsts, parts = starts(self._sizes), list(self._parts)
        owners = np.searchsorted(firsts, numbers, side="right") - 1
        for p in np.unique(owners):
            parts[p] = delayed(Part.without)(parts[p], numbers[owners == p] - firsts[p])
        found = dask.compute(*(delayed(_left)(part) for part in parts))
        sizes, counts, weights, corners = map(list, zip(*found, strict=True))
        checks.check_enough_samples(self.n_neighbors, sum(counts))
        if self._anchor_samples is not None:
            self._anchor_samples = self._anchor_samples.without(numbers)
        self._total_weight = sum(weights)
        self._hold(parts, sizes, counts, Cells(corners))
        return self

    # --- Predicting ---------------------------------------------------------------------------

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
        layer = Layer(answer.__name__)
        blocks = [
            layer.task(check_rows, number, like, block)
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
    def feature_names(self) -> list[str]:
        """Names of the features: those of a frame, or x0, x1 and so on."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

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


def _points(part: Part) -> Array:
    return part.points


def _with_weights(part: Part) -> Part:
    return Part(part.columns | {"weights": np.ones(len(part))}, part.index)


def _left(part: Part) -> tuple[int, int, float, tuple[int, Array, Array]]:
    """Samples, samples with weight, their total weight, and cells."""
    weights = part.columns.get("weights")
    total = float(len(part) if weights is None else weights.sum())
    return len(part), part.n_searchable, total, boxes(part)


def _target_sum(part: Part, models: Array) -> Array:
    """The weighted sum of the targets, (m,)."""
    weights, total = part.columns.get("weights"), np.zeros(models.shape[2])
    for chunk in row_chunks(len(part), 2 * models[0].nbytes):
        targets = part.targets(chunk, models)
        total += (np.ones(len(targets)) if weights is None else weights[chunk]) @ targets
    return total
