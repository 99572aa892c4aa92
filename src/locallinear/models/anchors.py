"""Anchors: which points they are, and the models of their neighbourhoods."""

import numpy as np
from numpy.typing import NDArray

from ..geometry.distinct import distinct_rows
from ..geometry.neighbors import Neighbors
from ..kernels.local.anchors import fit_models
from ..kernels.local.combine import cut_at
from ..runtime.chunks import row_chunks

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def select_points(
    selection: str, n_anchors: int, Z: Array, weights: Array | None, random_state
) -> tuple[Array, Rows | None]:
    """Anchor points (k, d), and the rows that they are where they are samples."""
    rows, mass = distinct_rows(Z, weights)
    k = min(n_anchors, len(rows))
    if selection == "random":
        # Drawn for all points whatever k is, so that fewer anchors are the first of more.
        chosen = rows[random_state.permutation(len(rows))[:k]]
        return Z[chosen], chosen
    from sklearn.cluster import KMeans  # takes long to import

    means = KMeans(k, init="k-means++", n_init=1, random_state=random_state)
    return means.fit(Z[rows], sample_weight=mass).cluster_centers_, None


def rows_of_points(points: Array, neighbors: Neighbors) -> Rows:
    """The sample that each anchor point is; an error names the first that is none."""
    distances, rows = neighbors.query(points, 1)
    away = np.flatnonzero(distances[:, 0] > 0)
    if len(away):
        raise ValueError(
            f"graph gives the neighbours of samples, but anchor {away[0]} is no row of X with "
            'weight (k-means centres are none); use anchor_selection="random" or rows of X, or '
            "leave graph out"
        )
    return rows[:, 0]


def fit_anchor_models(
    Z: Array,
    Y: Array,
    weights: Array | None,
    rows: Rows,
    padding: NDArray[np.bool_] | None,
    total: float,
    penalty: tuple[float, float],
    fit_intercept: bool,
) -> Array:
    """Models (k, d + 1, m) of the neighbourhoods given by their rows (k, K).

    `total` bounds the sum of a neighbourhood's sample weights; `padding` marks rows that are none.
    """
    v = np.ones(rows.shape) if weights is None else cut_at(weights[rows], total)
    if padding is not None:
        v[padding] = 0.0
    models = np.empty((len(rows), Z.shape[1] + 1, Y.shape[1]))
    for chunk in row_chunks(len(rows), rows.shape[1] * (Z.shape[1] + Y.shape[1]) * 8 * 4):
        near = rows[chunk]
        models[chunk] = fit_models(Z[near], Y[near], v[chunk], *penalty, fit_intercept)
    return models
