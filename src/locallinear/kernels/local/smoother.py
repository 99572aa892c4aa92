"""How a query's model depends on the training targets: FALL as a linear smoother.

Given neighbours, shares, labels and ridge anchors A_l = M_l y_{S_l}, any linear functional f of a
query's model W_pred (its prediction has f = x̃, a coefficient a unit vector) is linear in the
targets. With c_j = x̃_jᵀ f / (λ + s_j),

    fᵀ W_pred = Σ_j a_j c_j y_j + Σ_l [Σ_{j: l_j = l} a_j (f − c_j x̃_j)]ᵀ M_l y_{S_l}.

The first sum is the pull of the neighbours' own targets, the second that of the samples which
shaped the anchors. Functionals have the entry of the intercept last.
"""

import numpy as np
from numpy.typing import NDArray

from .anchors import ridge_path
from .combine import correction_weights

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


def anchor_map(X: Array, weights: Array, alpha: float, fit_intercept: bool) -> Array:
    """M_l (d + 1, K): the ridge model of one neighbourhood as a linear map of its targets.

    X (K, d) and weights (K,) are those of the neighbourhood, alpha its penalty.
    """
    return ridge_path(X[None], np.eye(len(X))[None], weights[None], [alpha], fit_intercept)[0, 0]


def neighbor_gains(f: Array, x: Array, weights: Array, alpha: float, constant: float) -> Array:
    """a_j c_j for p functionals f (q, p, d + 1) of each query: (q, p, K).

    x (q, K, d) and weights (q, K) are the neighbours and their shares.
    """
    inner = np.einsum("qkd,qpd->qpk", x, f[:, :, :-1]) + constant * f[:, :, -1:]
    return inner * correction_weights(x, weights, alpha, constant)[:, None, :]


def anchor_loads(f: Array, x: Array, gains: Array, weights: Array, constant: float) -> Array:
    """a_j (f − c_j x̃_j) of each neighbour, (q, K, p, d + 1); `gains` from `neighbor_gains`."""
    loads = weights[:, :, None, None] * f[:, None]
    of_neighbors = gains.swapaxes(1, 2)[:, :, :, None]
    loads[..., :-1] -= of_neighbors * x[:, :, None, :]
    loads[..., -1:] -= of_neighbors * constant
    return loads


def without_oneself(X: Array, errors: Array, mapped: Array, loads: Array, constant: float) -> Array:
    """How predictions of an anchor's own samples move if the anchor is fitted without them.

    Ridge without one sample is A_l − M_l[:, i] e_i / (1 − h_i) with h_i = x̃_iᵀ M_l[:, i], at the
    same penalty. Where the rest does not determine the model, h_i is one up to rounding.

    Parameters
    ----------
    X, errors : (K, d), (K, m) the neighbourhood's inputs, and y_i − A_lᵀ x̃_i
    mapped : (d + 1, K) its M_l
    loads : (K, d + 1) what the prediction of each of them makes of the anchor, without itself

    Returns
    -------
    (K, m), to be added to the predictions
    """
    own = np.einsum("kd,dk->k", X, mapped[:-1]) + constant * mapped[-1]
    pull = np.einsum("kd,dk->k", loads, mapped)
    return -(pull / np.maximum(1.0 - own, 1e-6))[:, None] * errors
