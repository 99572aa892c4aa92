"""FALL on the partitions of Dask collections.

`fit` takes the steps of a local fit, each where the samples are: only sums, distinct values,
anchors with their neighbourhoods and a bounded number of samples come here. The partitions of the
fitted samples stay on the workers as Dask objects that know how they were made, so that Dask makes
those of a lost worker again.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..checks import arguments as checks
from ..checks.parameters import FALL_PARAMETERS, GEOMETRY, check_after_fit
from ..geometry.metric import MAX_SAMPLES
from ..kernels.local.combine import cut_at
from ..models.anchor_samples import AnchorSamples
from ..models.anchors import Anchors, fit_neighborhoods, place_anchors
from ..models.fall import FALL
from ..models.moments import Moments
from ..runtime.threads import one_blas_thread
from .assignment import assign, assign_new, deciding_samples
from .cells import Cells
from .draw import first_of_permutation
from .gathering import Gathering
from .geometry import NEIGHBORHOODS, counted_samples, fit_geometry_of
from .graphs import Layer, bundles_of, settled, with_each_task
from .inputs import check_known_features, learn_features, partitions_of
from .neighbors import Places
from .order import order_of
from .partition import Part, boxes, locate
from .predictor import DaskPredictor
from .tables import Tables, gather, read_tables, starts

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class DaskFALL(Gathering, DaskPredictor, Moments):
    """What regression and classification on Dask share: everything but the meaning of targets."""

    _parameter_constraints: dict = FALL_PARAMETERS
    __init__ = FALL.__init__  # the same parameters with the same defaults

    _one_target: bool
    _anchor_samples: AnchorSamples | None
    classes_: NDArray
    _private_fitted: ClassVar[tuple[str, ...]] = (
        *("_parts", "_sizes", "_counts", "_total_weight", "_weighted", "_bundles", "_cells"),
        *("_geometry", "_models", "_constant", "_one_target", "_target_names"),
        *("_anchor_samples", "_mean_target"),
    )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_parts")

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the anchors, and each sample's model.

        Parameters
        ----------
        X : Dask array or frame (n, d)
        y : Dask array, series or frame
            Numbers (n,) or (n, m), or for a classifier labels (n,) of any type. With the partitions
            of X; arrays of known sizes are cut as X is.
        sample_weight : Dask array or series (n,), optional
            How often each sample counts.

        Returns
        -------
        self
        """
        with self.writing():
            fresh = self.unfitted()
            fresh.fit_tables(fresh.read(X, y, sample_weight))
            return self.become(fresh)

    def read(self, X: Any, y: Any, sample_weight: Any = None) -> Tables:
        """The samples for a fit, after all checks, kept on the workers."""
        raise NotImplementedError

    def fit_tables(self, tables: Tables) -> Self:
        """Fit samples that `read` has checked."""
        raise NotImplementedError

    def _read(
        self, X: Any, y: Any, sample_weight: Any, n_targets: int | None, *, reset: bool
    ) -> Tables:
        """The samples that a user gives, after all checks."""
        inputs = partitions_of(X, "X")
        if reset:
            learn_features(self, inputs)
        else:
            check_known_features(self._like(), inputs)
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
        rows, _ = order.samples(places)
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
        self._anchor_samples = AnchorSamples.of_fit(self, found.rows, counted)
        with one_blas_thread():
            return fit_neighborhoods(
                self, (*Z.shape, Y.shape[2]), lambda chunk: (Z[chunk], Y[chunk], counted[chunk])
            )

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
        with self.writing():
            now = self.at_this_moment()
            now._forget(indices)
            return self.become(now)

    def _forget(self, indices: ArrayLike) -> None:
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


def _points(part: Part) -> Array:
    return part.points


def _with_weights(part: Part) -> Part:
    return Part(part.columns | {"weights": np.ones(len(part))}, part.index)


def _left(part: Part) -> tuple[int, int, float, tuple[int, Array, Array]]:
    """Samples, samples with weight, their total weight, and cells."""
    weights = part.columns.get("weights")
    total = float(len(part) if weights is None else weights.sum())
    return len(part), part.n_searchable, total, boxes(part)
