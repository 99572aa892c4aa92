"""Anchors: where they are, the samples that their models are fitted on, and the fit.

The estimators and the search place anchors and gather neighbourhoods by these functions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..arrays import at, doubles, from_device, moved, to_numpy
from ..checks.arguments import check_anchor_models, check_anchor_points
from ..geometry.distinct import distinct_rows
from ..geometry.nearness import Index
from ..geometry.spaces import Space
from ..kernels.local.anchors import fit_models
from ..kernels.local.combine import cut_at
from ..runtime.chunks import row_chunks

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Anchors:
    """Anchors before their models are fitted, or with models known beforehand.

    Attributes
    ----------
    points : array (k, d)
        Where they are in the feature space; NaN where their models were given.
    rows : array (k,) or None
        Which samples they are, where they are samples.
    models : array (k, d + 1, m) or None
        Their models in the feature space, where these were given.
    """

    points: Array
    rows: Rows | None = None
    models: Array | None = None

    def __len__(self) -> int:
        return len(self.points)


def place_anchors(
    selection: Any,
    models: Any,
    n_anchors: int,
    space: Space,
    Z: Array,
    n_targets: int,
    weights: Array | None,
    random_state: Any,
) -> Anchors:
    """The anchors that `anchor_selection`, `anchor_models` and `n_anchors` ask for.

    Z (n, d) are the samples in the feature space.
    """
    d = Z.shape[1]
    if models is not None:
        in_units = moved(check_anchor_models(from_device(models), d, n_targets), Z)
        unknown = moved(np.full((in_units.shape[0], d), np.nan), Z)
        return Anchors(unknown, models=space.models_from_units(in_units))
    if not isinstance(selection, str):
        points = check_anchor_points(from_device(selection), d)
        return Anchors(space.transform(moved(points, Z)))
    random = check_random_state(random_state)
    rows, mass = distinct_rows(Z, weights)
    k = min(n_anchors, rows.shape[0])
    if selection == "random":
        # Drawn for all points whatever k is, so that fewer anchors are the first of more.
        chosen = at(rows, random.permutation(rows.shape[0])[:k])
        return Anchors(at(Z, chosen), rows=chosen)
    from sklearn.cluster import KMeans  # takes long to import

    means = KMeans(k, init="k-means++", n_init=1, random_state=random)
    means.fit(doubles(at(Z, rows)), sample_weight=doubles(mass))
    return Anchors(moved(means.cluster_centers_, Z))


def rows_of_points(points: Array, neighbors: Index, n_jobs: int | None) -> Rows:
    """The sample that each anchor point is; an error names the first that is none."""
    distances, rows = neighbors.query(points, 1, n_jobs)
    away = np.flatnonzero(to_numpy(distances[:, 0]) > 0)
    if len(away):
        raise ValueError(
            f"graph gives the neighbours of samples, but anchor {away[0]} is no row of X with "
            'weight (k-means centres are none); use anchor_selection="random" or rows of X, or '
            "leave graph out"
        )
    return rows[:, 0]


def neighborhoods(
    Z: Array,
    Y: Array,
    weights: Array | None,
    near: Rows,
    total: float,
    padding: NDArray[np.bool_] | None = None,
) -> tuple[Array, Array, Array]:
    """Inputs (k, K, d), targets (k, K, m) and weights (k, K) of the samples around k anchors.

    They are NumPy arrays wherever the samples are: the models of few anchors are small problems,
    which the processor solves.

    Parameters
    ----------
    Z, Y, weights : all samples in the feature space, their targets, and weights or None
    near : (k, K) rows of the samples around each anchor, nearest first
    total : where the sum of a neighbourhood's sample weights ends
    padding : (k, K) marks rows that do not count, where neighbourhoods have unequal sizes
    """
    counted = neighborhood_weights(weights, near, total, padding)
    return doubles(at(Z, near)), doubles(at(Y, near)), counted


def neighborhood_weights(
    weights: Array | None, near: Rows, total: float, padding: NDArray[np.bool_] | None
) -> Array:
    """How much each of the samples around k anchors counts, (k, K); as for `neighborhoods`."""
    shares = np.ones(near.shape) if weights is None else doubles(cut_at(at(weights, near), total))
    if padding is not None:
        shares[padding] = 0.0
    return shares


def fit_neighborhoods(
    parameters: Any,
    shape: tuple[int, int, int, int],
    neighborhoods_of: Callable[[slice], tuple[Array, Array, Array]],
) -> Array:
    """The anchor models (k, d + 1, m), fitted for some anchors at a time.

    Parameters
    ----------
    parameters : of the estimator, of which the penalty and the intercept are read
    shape : k anchors, K samples around each, d features and m targets
    neighborhoods_of : returns inputs, targets and weights of these samples, for some of the anchors
    """
    k, K, d, m = shape
    p, models = parameters, np.empty((k, d + 1, m))
    for chunk in row_chunks(k, K * (d + m) * 8 * 4):
        models[chunk] = fit_models(
            *neighborhoods_of(chunk), p.anchor_alpha, p.anchor_l1_ratio, p.fit_intercept
        )
    return models
