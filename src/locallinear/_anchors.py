"""Anchors: which points they are, and the models of their neighbourhoods."""

import numpy as np
from numpy.typing import NDArray

from ._chunks import row_chunks
from ._neighborhoods import Neighbors
from .kernels.anchors import fit_models
from .kernels.combine import cut_at

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def distinct_rows(Z: Array, weights: Array | None) -> tuple[Rows, Array]:
    """One row of each distinct point that has weight, in lexicographic order, and their weights.

    The order depends on the points alone, so that what is drawn from them depends neither on the
    order of the samples nor on whether one is repeated or weighs more.
    """
    weighed = None if weights is None else np.flatnonzero(weights > 0)
    first = Z[:, 0].copy() if weighed is None else Z[weighed, 0]
    rows = np.argsort(first, kind="stable")
    first = first[rows]
    # The first feature orders nearly all points of continuous data; only its ties need the rest.
    tied = np.concatenate([[False], first[1:] == first[:-1]])
    del first  # of a million samples, arrays that are not needed any more are worth freeing
    tied |= np.concatenate([tied[1:], [False]])
    if weighed is not None:
        rows = weighed[rows]
    if tied.any():
        among = rows[tied]
        rows[tied] = among[np.lexsort(Z[among].T[::-1])]
    new = np.ones(len(rows), dtype=bool)
    candidates = np.flatnonzero(tied[1:]) + 1
    new[candidates] = (Z[rows[candidates]] != Z[rows[candidates - 1]]).any(axis=1)
    mass = np.ones(len(rows)) if weights is None else weights[rows]
    if new.all():
        return rows, mass
    return rows[new], np.add.reduceat(mass, np.flatnonzero(new))


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
