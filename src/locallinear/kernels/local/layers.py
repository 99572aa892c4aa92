"""A prediction in layers: the level of its neighbours, and how the query differs from them.

With W_j = A_{l_j} + x̃_j r_jᵀ / (λ + s_j), the model of neighbour j,

    W_predᵀ x̃ = Σ_j a_j W_jᵀ x̃_j  +  Σ_f Σ_j a_j W_jf (x_f − x_jf).

The first sum is what the neighbours' models predict at the neighbours themselves. The second one
is what each feature f adds because the query is not where its neighbours are.
"""

import numpy as np
from numpy.typing import NDArray

from .combine import correction_weights

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


def layers(
    X: Array,
    x: Array,
    residuals: Array,
    labels: Labels,
    weights: Array,
    models: Array,
    alpha: float,
    constant: float,
) -> tuple[Array, Array]:
    """Levels (q, m) and differences (q, d, m); arguments as for `combine.predict`."""
    anchors = weights[:, :, None, None] * models[labels]
    # The inputs come before the residuals, as in `combine.averaged_models`.
    scale = correction_weights(x, weights, alpha, constant)[:, :, None]
    offsets = X[:, None, :] - x
    differences = np.einsum("qkd,qkdm->qdm", offsets, anchors[:, :, :-1])
    differences += (offsets * (x * scale)).swapaxes(1, 2) @ residuals
    levels = np.einsum("qkd,qkdm->qm", x, anchors[:, :, :-1]) + anchors[:, :, -1].sum(axis=1)
    squares = np.einsum("qkd,qkd->qk", x, x) + constant
    levels += ((squares[:, :, None] * scale) * residuals).sum(axis=1)
    return levels, differences
