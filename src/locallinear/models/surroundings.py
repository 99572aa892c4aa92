"""What a query's surroundings say: how wrong predictions are there, and how unusual it is.

Both compare a query with the samples near it. So a sample has surroundings too, without itself.
Axis letters: n samples, m targets, q queries, K neighbours.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.local.smoother import anchor_loads, neighbor_gains, without_oneself
from ..runtime.chunks import row_chunks
from .anchor_samples import AnchorMaps

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Member = Any  # a FALL model, whose module imports this one

# A single model looks at this many samples around a query at least, and each member of an ensemble
# at MEMBER_AROUND. Among fewer, a sample that is far from others counts much in the own distances
# of its neighbours, and so looks less unusual than a query in its place.
N_AROUND, MEMBER_AROUND = 16, 10
# Part of the mean distance that is added to all, so that repeated samples do not divide by zero.
SOFTENING = 0.1
# Beyond this, more is as unusual.
LARGEST_RATIO = 1e9


class View(NamedTuple):
    """What s members with the same neighbours see of q queries.

    predictions (s, q, m); error (q, m), the mean absolute error of the samples around; ratio (q,),
    the distance to them relative to their own distances.
    """

    predictions: Array
    error: Array
    ratio: Array


def view(
    group: list[Member],
    Z: Array,
    errors: Array,
    own: Array,
    n_near: int,
    without: Rows | None = None,
) -> View:
    """What siblings see around queries Z in their feature space.

    Parameters
    ----------
    errors : (n, m) absolute errors of the samples
    own : (n, 2) their own distances from `predict_samples`
    without : (n,) the numbers of all samples, where these are the queries, each without itself
    """
    samples = group[0].samples
    if without is None:
        shares, near = group[0].shares(Z, None, n_near)
    else:
        shares, near = group[0].sample_shares(without, n_near)
    predictions = _predictions(group, Z, shares, near[:, : shares.shape[1]])
    numbers = samples.numbers(near)
    error, distance, usual = np.empty(predictions.shape[1:]), np.empty(len(Z)), np.empty(len(Z))
    for chunk in row_chunks(len(Z), near.shape[1] * (Z.shape[1] + near.shape[1]) * 8):
        around = numbers[chunk]
        error[chunk] = errors[around].mean(axis=1)
        distances = distances_to(Z[chunk], samples["Z"][near[chunk]])
        distance[chunk] = distances.mean(axis=1)
        of_others = own[around, 0]
        if without is not None:
            # A sample that is one of its neighbour's neighbours has no part in what is usual there.
            mutual = (numbers[around] == without[chunk, None, None]).any(axis=2)
            of_others += mutual * (own[around, 1] - distances) / near.shape[1]
        usual[chunk] = of_others.mean(axis=1)
    soft = SOFTENING * np.average(own[:, 0], weights=group[0].training_weights())
    # All samples in one place are as usual as can be, and any other place is unusual.
    ratio = np.where(distance > 0, LARGEST_RATIO, 1.0)
    np.divide(distance + soft, usual + soft, out=ratio, where=usual + soft > 0)
    return View(predictions, error, np.minimum(ratio, LARGEST_RATIO))


def predict_samples(group: list[Member], n_near: int) -> tuple[Array, Array]:
    """Siblings' predictions (s, n, m) of samples without themselves, and the samples' distances.

    The distances (n, 2) are the mean distance to as many others as `view` looks at, and the
    distance to the next one. Anchors that a sample helped to fit are refitted without it, in
    closed form, where they are ridge models: `loo_prediction_` leaves them as they are, and so is
    a little too good.
    """
    first = group[0]
    samples, Z = first.samples, first.located_samples
    shares, near = first.sample_shares(np.arange(len(Z)), max(n_near, first.n_neighbors) + 1)
    near_used = near[:, : shares.shape[1]]
    predictions = _predictions(group, Z, shares, near_used)
    for member, prediction in zip(group, predictions, strict=True):
        if member.anchor_samples is not None:
            _leave_anchors(member, Z, shares, near_used, prediction)
    own = np.empty((len(Z), 2))
    for chunk in row_chunks(len(Z), near.shape[1] * Z.shape[1] * 8):
        distances = distances_to(Z[chunk], samples["Z"][near[chunk]])
        n_used = max(1, near.shape[1] - 1)
        own[chunk, 0], own[chunk, 1] = distances[:, :n_used].mean(axis=1), distances[:, -1]
    return predictions, own


def _predictions(group: list[Member], Z: Array, shares: Array, near: Rows) -> Array:
    """Siblings' predictions (s, q, m); those of a model alone are to the digit what it predicts."""
    first, *siblings = group
    if not siblings:
        return first.predict_from(Z, shares, near)[None]
    return first.predict_together_from(siblings, Z, shares, np.ascontiguousarray(near))


def _leave_anchors(member: Member, Z: Array, shares: Array, near: Rows, prediction: Array) -> None:
    """Take the samples out of the anchors that their predictions use, in place."""
    maps = AnchorMaps(member.anchor_samples, member.samples)
    labels = member.samples["labels"]
    for anchor in range(maps.n_anchors):
        if anchor in maps.lost:
            continue
        numbers = maps.shaped_by(anchor)
        uses = labels[near[numbers]] == anchor
        concerned = uses.any(axis=1)
        if not concerned.any():
            continue
        x, own_shares = member.samples["Z"][near[numbers]], np.where(uses, shares[numbers], 0.0)
        of_prediction = np.column_stack([Z[numbers], np.full(len(numbers), member.constant)])
        f = of_prediction[:, None]
        gains = neighbor_gains(f, x, own_shares, member.alpha, member.constant)
        loads = anchor_loads(f, x, gains, own_shares, member.constant).sum(axis=1)[:, 0]
        errors = member.targets(numbers) - member.anchor_prediction(Z[numbers], anchor)
        change = without_oneself(Z[numbers], errors, maps[anchor], loads, member.constant)
        prediction[numbers] += change


def distances_to(Z: Array, x: Array) -> Array:
    """Distances (q, K) of queries Z (q, d) to their neighbours x (q, K, d) in the feature space.

    It is that of the models, by whichever rule samples are near.
    """
    offset = x - Z[:, None]
    return np.sqrt(np.einsum("qkd,qkd->qk", offset, offset))
