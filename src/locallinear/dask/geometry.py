"""The geometry of samples in many partitions: feature space, and how near is measured in it."""

from collections.abc import Sequence
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from ..checks.arguments import check_features
from ..geometry.metric import MAX_SAMPLES, learn_metric
from ..geometry.nearness import Geometry, learned_geometry, plain_geometry
from .graphs import with_each_task
from .order import order_of
from .partition import Part, locate
from .spaces import fit_space_of
from .tables import Tables, gather, starts

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

NEIGHBORHOODS = ("euclidean", "learned")


def fit_geometry_of(
    tables: Tables,
    classes: NDArray | None,
    *,
    scaling: str | None,
    neighborhood: str,
    metric_iterations: int,
    neighborhood_features: Any,
    indicators: Any,
) -> Geometry:
    """The geometry that a local model would have; the keywords are parameters of FALL."""
    d = len(tables.origin)
    features = check_features(neighborhood_features, d)
    unscaled = check_features(indicators, d, "indicators", "use None if there are none")
    space = fit_space_of(
        scaling, tables.partitions, tables.counts, tables.origin, tables.total_weight, unscaled
    )
    plain = plain_geometry(space, features, d)
    if neighborhood == "euclidean":
        return plain
    n_bytes = sum(array.nbytes for array in space.arrays().values())
    everywhere = with_each_task(plain_geometry(space, None, d), n_bytes)
    parts = [
        delayed(locate)(table, classes, everywhere, tables.weighted, indexed=False)
        for table in tables.partitions
    ]
    parts = list(dask.persist(*parts))

    def learn(part: Rows | None) -> tuple[Array, Array]:
        Z, Y, weights = metric_samples(parts, tables, part)
        Z = Z if part is None else Z[:, part]
        return learn_metric(Z, Y, weights, metric_iterations)

    is_standard = scaling == "standard" and unscaled is None
    return learned_geometry(space, is_standard, features, d, learn)[1]


def metric_samples(
    parts: Sequence[Delayed], tables: Tables, features: Rows | None
) -> tuple[Array, Array, Array | None]:
    """The samples that feature weights are learned from: all with weight, or `MAX_SAMPLES`.

    These are the same that `learn_metric` would choose from all, and count as often.
    """
    if sum(tables.counts) <= MAX_SAMPLES:
        return counted_samples(parts)
    n_bytes = sum(tables.sizes) * len(tables.origin) * 8
    order = order_of(parts, starts(tables.sizes), features, n_bytes, with_targets=True)
    places = np.arange(0, len(order), -(-len(order) // MAX_SAMPLES))
    numbers, counts = order.samples(places)
    Z, Y = gather(parts, tables.sizes, numbers, ("Z", "targets"))
    assert Z is not None
    assert Y is not None
    assert counts is not None
    return Z, Y, None if (counts == 1).all() else counts


def counted_samples(parts: Sequence[Delayed]) -> tuple[Array, Array, Array | None]:
    """Inputs, targets and weights of all samples with weight, which must be few."""
    found = dask.compute(*(delayed(_counted)(part) for part in parts))
    Z, Y, weights = zip(*found, strict=True)
    given = None if weights[0] is None else np.concatenate(weights)
    return np.concatenate(Z), np.concatenate(Y), given


def _counted(part: Part) -> tuple[Array, Array, Array | None]:
    rows, weights = part.searchable, part.columns.get("weights")
    rows = slice(None) if rows is None else rows  # type: ignore[assignment]
    Z, Y = part.columns["Z"][rows], part.columns["targets"][rows]
    return Z, Y, None if weights is None else weights[rows]
