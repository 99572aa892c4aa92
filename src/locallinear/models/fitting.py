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
from ..kernels.local.anchors import fit_models
from ..runtime.chunks import row_chunks
from ..runtime.threads import one_blas_thread
from .anchor_samples import AnchorSamples
from .anchors import neighborhood_weights, neighborhoods, place_anchors, rows_of_points
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
        neighbors.build()
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
    p, space, weights = parameters, geometry.space, samples.get("weights")
    anchors = place_anchors(
        p.anchor_selection,
        p.anchor_models,
        p.n_anchors,
        space,
        samples["Z"],
        Y.shape[1],
        weights,
        p.random_state,
    )
    xp = namespace(Y)
    labels = xp.empty_like(Y[:, 0], dtype=xp.int32)
    own = samples.beside(residuals=xp.empty_like(Y), labels=labels)
    given = geometry, own, neighbors
    if anchors.models is not None:
        in_units = space.models_to_units(anchors.models)
        constant = float(p.fit_intercept)
        return Fitted(*given, anchors.models, constant, anchors.points, in_units, None)
    points, rows = anchors.points, anchors.rows
    if rows is not None:
        where = at(X, rows)
    elif isinstance(p.anchor_selection, str):
        where = space.inverse(points)
    else:
        where = moved(np.array(from_device(p.anchor_selection), dtype=np.float64), X)
    near, total, padding = _around(p, geometry, samples, neighbors, points, rows, graph, n_jobs)
    shaped_by = None
    if p.anchor_alpha == 0 or p.anchor_l1_ratio == 0:
        counted = neighborhood_weights(weights, near, total, padding)
        shaped_by = AnchorSamples(
            to_numpy(near).astype(np.int32),
            None if (counted == 1).all() else counted,
            float(p.anchor_alpha),
            bool(p.fit_intercept),
        )
    Z = samples["Z"]
    models = np.empty((points.shape[0], Z.shape[1] + 1, Y.shape[1]))
    for chunk in row_chunks(points.shape[0], near.shape[1] * (Z.shape[1] + Y.shape[1]) * 8 * 4):
        unused = None if padding is None else padding[chunk]
        models[chunk] = fit_models(
            *neighborhoods(Z, Y, weights, near[chunk, ...], total, unused),
            p.anchor_alpha,
            p.anchor_l1_ratio,
            p.fit_intercept,
        )
    models = moved(models, Z)
    in_units = space.models_to_units(models)
    return Fitted(*given, models, float(p.fit_intercept), where, in_units, shaped_by)


def _around(
    parameters: Parameters,
    geometry: Geometry,
    samples: Samples,
    neighbors: Index,
    points: Array,
    rows: Rows | None,
    graph: csr_array | None,
    n_jobs: int | None,
) -> tuple[Rows, float, NDArray[np.bool_] | None]:
    """The samples around anchors, what their weights may add up to, and which do not count."""
    if graph is None:
        n_near = min(parameters.n_anchor_neighbors, samples.n_searchable)
        near = neighbors.query(geometry.nearness.points(points), n_near, n_jobs)[1]
        return near, parameters.n_anchor_neighbors, None
    if rows is None:
        rows = rows_of_points(points, make_neighbors(samples["Z"], samples.searchable), n_jobs)
    mask = None if samples.searchable is None else to_numpy(samples.searchable)
    near, padding = neighbor_sets(graph, to_numpy(rows), mask)
    return near, np.inf, padding


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
