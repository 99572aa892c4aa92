"""How sure coefficients are: their standard deviations, from noise and from what differs nearby.

A coefficient is a weighted sum of the training targets (see `kernels.local.smoother`). So noise of
the targets, of the size that predictions without themselves show around each sample, makes a known
noise of the coefficient. Two more parts are added, as variances. Penalties make a linear function
flatter: by how much, the smoother says if it is applied to the linear model itself. And a
coefficient is a mean over the models of neighbours, of all members of an ensemble: where the
function is curved, these models differ by more than noise makes them differ, and each is wrong
about the slopes in its part.

Noise also moves who is near and which anchor a sample has, which the weighted sum takes as given.
In an ensemble these choices do not average out as the rest does. So its noise is taken as the mean
of that of its coefficient, choices given, and that of one member.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..kernels.local.smoother import anchor_loads, neighbor_gains
from ..kernels.local.spread import typical_spread
from ..runtime.chunks import row_chunks
from .anchor_samples import AnchorMaps
from .influence import Member, smoother_rows

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def combination_errors(
    estimator: Any, X: Array, combinations: Array, coef: Array, without: Rows | None
) -> Array:
    """Standard deviations (q, p, m) of linear combinations of the coefficients of queries.

    Parameters
    ----------
    estimator : fitted
    X : (q, d) queries that are known to be valid
    combinations : (q, p, d) of coefficients as users see them; unit vectors for these themselves
    coef : (q, d, m) these coefficients
    without : (q,) numbers of samples that are no neighbours of the query, or None
    """
    variances = estimator.conformal().noise ** 2
    members = estimator.members
    (q, p, d), m = combinations.shape, variances.shape[1]
    n_near = sum(member.n_neighbors for member in members)
    # Squares of the combinations stay finite in any units. Powers of two change no digit.
    sizes = np.abs(combinations * unit_factors(members[0])).max(axis=2, keepdims=True)
    sizes = np.ldexp(1.0, np.frexp(sizes)[1])
    combinations = combinations / sizes
    out = np.empty((q, p, m))
    for chunk in row_chunks(q, p * 8 * (16 * d + 4 * n_near * m)):
        left_out = None if without is None else without[chunk]
        total, around = csr_array((p * len(X[chunk]), len(variances))), []
        flattened, of_members = np.zeros((2, len(X[chunk]), p, m))
        for member in members:
            Z = member.feature_space.transform(X[chunk])
            factors = unit_factors(member)
            f = combinations[chunk] * factors
            f = np.concatenate([f, np.zeros((*f.shape[:2], 1))], axis=2)
            rows = smoother_rows(member, Z, f, left_out, exact=False)
            total = total + rows / len(members)
            of_members += (rows.power(2) @ variances).reshape(-1, p, m) / len(members)
            flattened += _flattened(member, rows, f, coef[chunk] / factors[:, None]) / len(members)
            around.append(models_around(member, Z, f, left_out, variances))
        values, shares, of_models = zip(*around, strict=True)
        of_mean = (total.power(2) @ variances).reshape(-1, p, m)
        # Models have more noise than their mean: by so much it makes them differ.
        by_noise = np.mean(of_models, axis=0) - of_mean
        of_all = np.concatenate(shares, axis=1) / len(members)
        spread = typical_spread(np.concatenate(values, axis=1), of_all)
        differ = np.maximum(spread**2 - by_noise, 0.0)
        out[chunk] = np.sqrt((of_mean + of_members) / 2 + flattened**2 + differ)
    return out * sizes


def _flattened(member: Member, rows: csr_array, functionals: Array, coef: Array) -> Array:
    """How far penalties move the functionals of a linear function with these coefficients.

    The smoother, with rows (q p, n), is applied to the function itself. `functionals`
    (q, p, d + 1) and `coef` (q, d, m) are those of the feature space. Returns (q, p, m): zeros
    where the part of the anchors is not known.

    A penalty makes no effect out of nothing. So what it takes from a value counts as half of the
    value at most, which alone does not put zero into an interval of 90 %.
    """
    (q, p, size), sets = functionals.shape, member.anchor_samples
    if sets is None or sets.lost.any():
        return np.zeros((q, p, coef.shape[2]))
    made = (rows @ member.located_samples).reshape(q, p, size - 1)
    f = functionals[:, :, :-1]
    value, change = (np.einsum("qpd,qdm->qpm", g, coef, optimize=True) for g in (f, made - f))
    return np.sign(value) * np.maximum(np.sign(value) * change, -np.abs(value) / 2)


def models_around(
    member: Member, Z: Array, functionals: Array, without: Rows | None, variances: Array
) -> tuple[Array, Array, Array]:
    """What the models of queries' neighbours are, and how much of it is noise.

    `functionals` are (q, p, d + 1), `variances` (n, m) those of the targets.

    Returns
    -------
    values : (q, K, p, m) the functionals of the neighbours' models
    shares : (q, K) of the neighbours
    noise : (q, p, m) the mean variance that these values have by the noise of the targets; that a
        neighbour's own target may be one of its anchor's is left out
    """
    shares, near = member.shares(Z, without)
    (q, p, size), m = functionals.shape, variances.shape[1]
    values, noise = np.empty((*near.shape, p, m)), np.empty((q, p, m))
    sets, samples = member.anchor_samples, member.samples
    maps = None if sets is None else AnchorMaps(sets, samples)
    for chunk in row_chunks(q, 4 * near.shape[1] * p * size * 8):
        f, rows, a = functionals[chunk], near[chunk], shares[chunk]
        x, labels = samples["Z"][rows], samples["labels"][rows].astype(np.intp)
        each = np.ones(rows.shape)
        gains = neighbor_gains(f, x, each, member.alpha, member.constant)
        own = gains.swapaxes(1, 2)[..., None]  # (c, K, p, 1)
        of_anchors = np.einsum("cpd,ckdm->ckpm", f, member.fitted.models[labels], optimize=True)
        values[chunk] = of_anchors + own * samples["residuals"][rows][:, :, None]
        found = own**2 * variances[samples.numbers(rows)][:, :, None]
        if maps is not None:
            loads = anchor_loads(f, x, gains, each, member.constant)
            found += _anchor_noise(maps, loads, labels, variances)
        noise[chunk] = np.einsum("ck,ckpm->cpm", a, found)
    return values, shares, noise


def _anchor_noise(maps: AnchorMaps, loads: Array, labels: Rows, variances: Array) -> Array:
    """Variances (c, K, p, m) of functionals `loads` (c, K, p, d + 1) of the anchors `labels`."""
    out = np.zeros((*loads.shape[:3], variances.shape[1]))
    for anchor in np.unique(labels):
        if anchor in maps.lost:
            continue
        here, mapped = labels == anchor, maps[anchor]
        for t, of_targets in enumerate(variances[maps.shaped_by(anchor)].T):
            covariance = (mapped * of_targets) @ mapped.T
            out[here, :, t] = np.einsum(
                "hpd,hpd->hp", loads[here] @ covariance, loads[here], optimize=True
            )
    return out


def unit_factors(member: Member) -> Array:
    """What coefficients in the feature space are multiplied by for users, (d,)."""
    space, d = member.feature_space, member.n_features_in_
    return space.models_to_units(np.ones((d + 1, 1)))[:-1, 0]
