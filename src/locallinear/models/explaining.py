"""The numbers of an explanation, from the neighbours of each query and their shares."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import at, cast, empty, namespace
from ..geometry.spaces import Space
from ..kernels.local.combine import averaged_models
from ..kernels.local.layers import layers
from ..runtime.chunks import row_chunks
from .samples import Samples

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def explained(
    X: Array,
    Z: Array,
    shares: Array,
    near: Rows,
    samples: Samples,
    space: Space,
    models: Array,
    alpha: float,
    constant: float,
    baseline: Array,
) -> dict[str, Any]:
    """What `LocalExplanation` holds of queries, as far as it is computed from their neighbours.

    Parameters
    ----------
    X, Z : (q, d) queries in units and in the feature space
    shares, near : (q, K) weights and rows of their neighbours among the samples
    models : (k, d + 1, m) of the anchors in the feature space
    alpha, constant : λ, and the value of the constant feature
    baseline : (m,) the mean of the targets
    """
    (q, d), m, xp = Z.shape, models.shape[2], namespace(Z)
    parts = empty((q, d + 1, m), Z), empty((q, d + 1, m), Z)
    levels, differences = empty((q, m), Z), empty((q, d, m), Z)
    for chunk in row_chunks(q, near.shape[1] * 2 * ((d + 1) * m + d) * 8, like=Z):
        neighbors = (at(samples[name], near[chunk, ...]) for name in ("Z", "residuals", "labels"))
        given = *neighbors, shares[chunk, ...], models, alpha, constant
        for part, found in zip(parts, averaged_models(*given), strict=True):
            part[chunk, ...] = found
        levels[chunk, ...], differences[chunk, ...] = layers(Z[chunk, ...], *given)
    anchor_part, correction = (space.models_to_units(part) for part in parts)
    model = anchor_part + correction
    coef, intercept = model[:, :-1, :], model[:, -1, :]
    regressors = space.regressors(X)
    contributions = coef * regressors[:, :, None]
    return {
        "prediction": xp.sum(contributions, axis=1) + intercept,
        "coef": coef,
        "intercept": intercept,
        "contributions": contributions,
        "anchor_part": anchor_part,
        "correction_part": correction,
        "baseline": baseline,
        "neighborhood_part": levels - baseline,
        "difference_parts": differences,
        "slopes": coef * space.slopes(X)[:, :, None],
        "neighbors": samples.numbers(near),
        "neighbor_weights": shares,
        "neighbor_labels": cast(at(samples["labels"], near), near),
        "ranks": None if space.has_units else regressors,
    }
