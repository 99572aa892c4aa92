"""Predictions and explanations of one partition of queries, from the neighbours found for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.nearness import Geometry
from ..kernels.local import combine
from ..models.explaining import explained
from ..models.neighbors import Rule, neighbor_weights
from ..models.samples import Samples
from ..runtime.chunks import row_chunks
from ..runtime.threads import one_blas_thread_for
from .neighbors import Found

Array = NDArray[np.float64]

# What a prediction needs of a neighbour, beside its weight if samples have weights.
COLUMNS = ("Z", "residuals", "labels")


@dataclass(frozen=True, eq=False)
class Fitted:
    """What all tasks have to know of a fitted model: all but its samples.

    Attributes
    ----------
    geometry : Geometry
    models : array (k, d + 1, m)
        Of the anchors, in the feature space.
    constant : float
        The constant feature of every input.
    alpha, weights : the parameters of FALL
    """

    geometry: Geometry
    models: Array
    constant: float
    alpha: float
    weights: Rule

    def shares(self, found: Found) -> Array:
        """The weights of each query's neighbours, (q, K), which sum to one."""
        given = found.columns.get("weights")
        return combine.normalised(neighbor_weights(found.distances, self.weights, given))


def predict(fitted: Fitted, X: Array, Z: Array, found: Found) -> Array:
    """Algorithm 2 for queries X, which are Z in the feature space: (q, m)."""
    shares, columns = fitted.shares(found), found.columns
    out = np.empty((len(Z), fitted.models.shape[2]))
    row_bytes = (shares.shape[1] * Z.shape[1] + len(fitted.models)) * 8
    with one_blas_thread_for(len(Z)):
        for chunk in row_chunks(len(Z), row_bytes):
            out[chunk] = combine.predict(
                Z[chunk],
                columns["Z"][chunk],
                columns["residuals"][chunk],
                columns["labels"][chunk],
                shares[chunk],
                fitted.models,
                fitted.alpha,
                fitted.constant,
            )
    return out


def explain(
    fitted: Fitted, X: Array, Z: Array, found: Found, baseline: Array, one_target: bool
) -> dict[str, Any]:
    """The arrays of a `LocalExplanation` of queries X, which are Z in the feature space."""
    q, K = found.rows.shape
    flat = {
        name: found.columns[name].reshape(q * K, *found.columns[name].shape[2:]) for name in COLUMNS
    }
    near = np.arange(q * K).reshape(q, K)
    out = explained(
        X,
        Z,
        fitted.shares(found),
        near,
        Samples.from_arrays(**flat),
        fitted.geometry.space,
        fitted.models,
        fitted.alpha,
        fitted.constant,
        baseline,
    )
    out["neighbors"], out["X"] = found.rows, X
    if one_target:
        out["prediction"] = out["prediction"][:, 0]
    return out
