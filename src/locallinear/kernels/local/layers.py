"""A prediction in layers: the level of its neighbours, and how the query differs from them.

With W_j = A_{l_j} + x̃_j r_jᵀ / (λ + s_j), the model of neighbour j,

    W_predᵀ x̃ = Σ_j a_j W_jᵀ x̃_j  +  Σ_f Σ_j a_j W_jf (x_f − x_jf).

The first sum is what the neighbours' models predict at the neighbours themselves. The second one
is what each feature f adds because the query is not where its neighbours are.
"""

from ...arrays import AnyArray as Array
from ...arrays import at, einsum, namespace
from .combine import correction_weights


def layers(
    X: Array,
    x: Array,
    residuals: Array,
    labels: Array,
    weights: Array,
    models: Array,
    alpha: float,
    constant: float,
) -> tuple[Array, Array]:
    """Levels (q, m) and differences (q, d, m); arguments as for `combine.predict`."""
    xp = namespace(X)
    anchors = weights[:, :, None, None] * at(models, labels)
    # The inputs come before the residuals, as in `combine.averaged_models`.
    scale = correction_weights(x, weights, alpha, constant)[:, :, None]
    offsets = X[:, None, :] - x
    differences = einsum("qkd,qkdm->qdm", offsets, anchors[:, :, :-1, :])
    differences += xp.matrix_transpose(offsets * (x * scale)) @ residuals
    levels = einsum("qkd,qkdm->qm", x, anchors[:, :, :-1, :])
    levels = levels + xp.sum(anchors[:, :, -1, :], axis=1)
    squares = einsum("qkd,qkd->qk", x, x) + constant
    levels += xp.sum((squares[:, :, None] * scale) * residuals, axis=1)
    return levels, differences
