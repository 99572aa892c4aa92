"""How sure coefficients are: their standard deviations, from noise and from what differs nearby.

A coefficient is a weighted sum of the training targets (see `kernels.local.smoother`). So noise of
the targets, of the size that predictions without themselves show around each sample, makes a known
noise of the coefficient. But a coefficient is the mean over neighbours' models, and where the
function is curved or regimes meet, the slope at the query is not that mean: how far the models of
the neighbours differ is added. Members of an ensemble differ further, in who is near and in
anchors: so is their disagreement.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..runtime.chunks import row_chunks
from .influence import Member, smoother_rows

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def combination_errors(
    estimator: Any, X: Array, combinations: Array, without: Rows | None
) -> Array:
    """Standard deviations (q, p, m) of linear combinations of the coefficients of queries.

    Parameters
    ----------
    estimator : fitted
    X : (q, d) queries that are known to be valid
    combinations : (q, p, d) of coefficients as users see them; unit vectors for these themselves
    without : (q,) numbers of samples that are no neighbours of the query, or None
    """
    noise = estimator.conformal().noise
    members = estimator.members
    (q, p, d), m = combinations.shape, noise.shape[1]
    out = np.empty((q, p, m))
    for chunk in row_chunks(q, p * d * 8 * 16):
        left_out = None if without is None else without[chunk]
        total, means, spreads = csr_array((p * len(X[chunk]), len(noise))), [], []
        for member in members:
            Z = member.feature_space.transform(X[chunk])
            f = combinations[chunk] * unit_factors(member)
            f = np.concatenate([f, np.zeros((*f.shape[:2], 1))], axis=2)
            total = total + smoother_rows(member, Z, f, left_out, exact=False) / len(members)
            mean, spread = neighbor_spread(member, Z, f, left_out)
            means.append(mean)
            spreads.append(spread)
        by_noise = (total.power(2) @ noise**2).reshape(-1, p, m)
        out[chunk] = np.sqrt(by_noise + np.mean(spreads, axis=0) + np.var(means, axis=0))
    return out


def neighbor_spread(
    member: Member, Z: Array, functionals: Array, without: Rows | None
) -> tuple[Array, Array]:
    """Mean and variance (q, p, m) of functionals (q, p, d + 1) over the models of neighbours."""
    m = member.mean_target.size
    mean, variance = np.empty((2, *functionals.shape[:2], m))
    for chunk, shares, models in member.models_around(Z, without):
        values = np.einsum("qpd,qkdm->qkpm", functionals[chunk], models, optimize=True)
        mean[chunk] = np.einsum("qk,qkpm->qpm", shares, values)
        variance[chunk] = np.einsum("qk,qkpm->qpm", shares, (values - mean[chunk, None]) ** 2)
    return mean, variance


def unit_factors(member: Member) -> Array:
    """What coefficients in the feature space are multiplied by for users, (d,)."""
    space, d = member.feature_space, member.n_features_in_
    return space.models_to_units(np.ones((d + 1, 1)))[:-1, 0]
