"""The fit of FALL: reads as the paper's Algorithms 1 and 3.

Anchors first, each fitted on its neighbourhood, then each sample's anchor and its residual from
that. docs/math.md maps symbols to names.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..arrays import at, from_device, moved, namespace, to_numpy
from ..checks import arguments as checks
from ..checks.parameters import GEOMETRY
from ..geometry.device_neighbors import make_neighbors
from ..geometry.nearness import Geometry, Index, fit_geometry
from ..geometry.neighbors import neighbor_sets
from ..geometry.spaces import Space
from ..runtime.threads import one_blas_thread
from .anchor_samples import AnchorSamples
from .anchors import (
    Anchors,
    fit_neighborhoods,
    neighborhood_weights,
    neighborhoods,
    place_anchors,
    rows_of_points,
)
from .assignment import assign_all, deciding_index
from .fitted import Fitted
from .samples import Samples, weights_above_zero

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Parameters = Any  # an estimator, of which only the parameters of FALL are read


def fit_together(
    siblings: Sequence[Parameters], X: Array, Y: Array, sample_weight: Any, graph: Any
) -> list[Fitted]:
    """Algorithm 1: anchors, then each sample's anchor and its residual from it.

    Parameters
    ----------
    siblings : estimators whose parameters differ by `random_state` alone
        They have one geometry, which is the first one's, and each has anchors of its own in it.
    X, Y : (n, d) inputs in units, (n, m) numeric targets
    sample_weight, graph : as users pass them to `fit`
    """
    first = siblings[0]
    weights = checks.check_sample_weights(sample_weight, X.shape[0])
    checks.check_some_weight(weights)
    if weights is not None:
        weights = moved(weights, X)
    if graph is not None:
        graph = checks.check_graph(graph, X.shape[0])
    geometry, Z = fit_geometry(
        X,
        Y,
        weights,
        **{name: getattr(first, name) for name in GEOMETRY},
        random_state=first.random_state,
        n_jobs=first.n_jobs,
    )
    # What is written into X later must not reach the model.
    columns: dict[str, NDArray] = {"Z": namespace(X).asarray(Z, copy=True) if Z is X else Z}
    if weights is not None:
        columns["weights"] = weights
    samples = Samples.located(geometry, weights_above_zero(weights), **columns)
    checks.check_enough_samples(first.n_neighbors, samples.n_searchable)
    neighbors = geometry.index(samples.points, samples.searchable)
    with one_blas_thread():
        neighbors.build(first.n_jobs)
        # Siblings side by side, or threads in the search of the only one.
        given = geometry, samples, neighbors, X, Y, graph, 1 if len(siblings) > 1 else first.n_jobs
        parallel = Parallel(first.n_jobs, require="sharedmem")
        fitted = parallel(delayed(fit_anchors)(each, *given) for each in siblings)
        _assign_all(first, fitted, Y)
    return fitted


def fit_anchors(
    parameters: Parameters,
    geometry: Geometry,
    samples: Samples,
    neighbors: Index,
    X: Array,
    Y: Array,
    graph: csr_array | None,
    n_jobs: int | None,
) -> Fitted:
    """Algorithm 3: choose anchor points, and fit a model on each one's neighbourhood.

    The samples of the model that is returned have no labels and residuals yet.
    """
    p, space, xp = parameters, geometry.space, namespace(Y)
    anchors = place_anchors(
        p.anchor_selection,
        p.anchor_models,
        p.n_anchors,
        space,
        samples["Z"],
        Y.shape[1],
        samples.get("weights"),
        p.random_state,
    )
    points, models, shaped_by = anchors.points, anchors.models, None
    if models is None:
        points = _points_in_units(p.anchor_selection, anchors, space, X)
        around = _around(p, geometry, samples, neighbors, anchors, graph, n_jobs)
        models, shaped_by = _fit_around(p, samples, Y, *around)
    labels = xp.empty_like(Y[:, 0], dtype=xp.int32)
    own = samples.beside(residuals=xp.empty_like(Y), labels=labels)
    in_units = space.models_to_units(models)
    return Fitted(
        geometry, own, neighbors, models, float(p.fit_intercept), points, in_units, shaped_by
    )


def _points_in_units(selection: Any, anchors: Anchors, space: Space, X: Array) -> Array:
    """Where the anchors are in the units of the inputs X, as far as known without rounding."""
    if anchors.rows is not None:
        return at(X, anchors.rows)
    if isinstance(selection, str):
        return space.inverse(anchors.points)
    return moved(np.array(from_device(selection), dtype=np.float64), X)


def _around(
    parameters: Parameters,
    geometry: Geometry,
    samples: Samples,
    neighbors: Index,
    anchors: Anchors,
    graph: csr_array | None,
    n_jobs: int | None,
) -> tuple[Rows, float, NDArray[np.bool_] | None]:
    """The samples around anchors, what their weights may add up to, and which do not count."""
    points, rows = anchors.points, anchors.rows
    if graph is None:
        n_near = min(parameters.n_anchor_neighbors, samples.n_searchable)
        near = neighbors.query(geometry.nearness.points(points), n_near, n_jobs)[1]
        return near, parameters.n_anchor_neighbors, None
    if rows is None:
        rows = rows_of_points(points, make_neighbors(samples["Z"], samples.searchable), n_jobs)
    mask = None if samples.searchable is None else to_numpy(samples.searchable)
    near, padding = neighbor_sets(graph, to_numpy(rows), mask)
    return near, np.inf, padding


def _fit_around(
    parameters: Parameters,
    samples: Samples,
    Y: Array,
    near: Rows,
    total: float,
    padding: NDArray[np.bool_] | None,
) -> tuple[Array, AnchorSamples | None]:
    """The anchors' models, fitted on the samples around them, and what is noted of these samples.

    The last arguments are from `_around`.
    """
    Z, weights = samples["Z"], samples.get("weights")

    def neighborhoods_of(chunk: slice) -> tuple[Array, Array, Array]:
        unused = None if padding is None else padding[chunk]
        return neighborhoods(Z, Y, weights, near[chunk, ...], total, unused)

    models = fit_neighborhoods(parameters, (*near.shape, Z.shape[1], Y.shape[1]), neighborhoods_of)
    counted = neighborhood_weights(weights, near, total, padding)
    shaped_by = AnchorSamples.of_fit(parameters, to_numpy(near), counted)
    return moved(models, Z), shaped_by


def _assign_all(parameters: Parameters, siblings: Sequence[Fitted], Y: Array) -> None:
    """Theorem 3: the anchors of the samples, whose targets are Y, in all these models."""
    first = siblings[0]
    samples, neighbors = first.samples, first.neighbors
    total = parameters.assignment_neighbors
    deciding = None
    if total > 1:
        neighbors, deciding = deciding_index(first.geometry, samples, neighbors)
    assigned = [(fitted.samples, fitted.models) for fitted in siblings]
    assign_all(assigned, neighbors, deciding, Y, total, parameters.n_jobs)
