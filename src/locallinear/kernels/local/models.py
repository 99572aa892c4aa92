"""Which anchor a sample belongs to, and the sample's own model (the paper's Theorem 3).

Sample i chooses the anchor l_i that predicts it best, and its model is that anchor's plus a
correction along its own input:

    W_i = A_{l_i} + x̃_i r_iᵀ / (λ + s_i),   r_i = y_i − A_{l_i}ᵀ x̃_i,   s_i = ||x̃_i||².

Labels l_i and residuals r_i are all that has to be kept: O(n m) numbers, not n d m.
Models carry the intercept last; the constant feature of x̃ is `constant`, 1 or 0.
"""

import numpy as np

from ...arrays import AnyArray as Array
from ...arrays import at, einsum, is_numpy, moved, namespace, pick, precision, to_numpy

# Errors that differ by no more than this part are equal, or by this many times the precision of
# their numbers.
TIE, TIE_PRECISIONS = 1e-12, 8


def anchor_residuals(X: Array, Y: Array, models: Array) -> Array:
    """y_i − A_lᵀ x̃_i for all samples and anchors, (m, n, k): a matrix product per target."""
    if is_numpy(X):  # in place, since these tables are what an assignment costs
        out = np.empty((Y.shape[1], len(X), len(models)))
        for target, residuals in enumerate(out):
            np.matmul(X, models[:, :-1, target].T, out=residuals)
            residuals += models[:, -1, target]
            np.subtract(Y[:, target, None], residuals, out=residuals)
        return out
    predictions = [X @ models[:, :-1, t].T + models[:, -1, t] for t in range(Y.shape[1])]
    return namespace(X).stack([Y[:, t, None] - of_all for t, of_all in enumerate(predictions)])


def squared_errors(residuals: Array) -> Array:
    """||y_i − A_lᵀ x̃_i||² from the residuals (m, n, k), as (n, k)."""
    errors = residuals[0, ...] ** 2
    for target in range(1, residuals.shape[0]):
        errors += residuals[target, ...] ** 2
    return errors


def summed_errors(errors: Array, near: Array, shares: Array) -> Array:
    """Errors (u, k) of all anchors summed over the A samples near each of n, (n, k).

    `near` (n, A) are rows of the errors, and `shares` (n, A) how much each counts.
    """
    if not is_numpy(errors):
        return sum(shares[:, a, None] * at(errors, near[:, a]) for a in range(near.shape[1]))
    from .summing import summed_rows  # compiled: loaded when needed

    return summed_rows(*map(np.ascontiguousarray, (errors, near, shares)))


def best_anchors(errors: Array, floor: Array) -> Array:
    """The anchor with the smallest error (n, k) of each sample; of equal ones the first.

    Errors that differ by no more than rounding count as equal, so that the choice does not hang
    on the order in which sums were formed.
    """
    xp = namespace(errors)
    best = xp.full_like(errors[:, 0], xp.inf)
    labels = xp.zeros_like(best, dtype=xp.int64)
    choose_again(errors, floor, 0, best, labels)
    return labels


def choose_again(errors: Array, floor: Array, first: int, best: Array, labels: Array) -> None:
    """Go on from each sample's choice among earlier anchors with b more, in place.

    One anchor after the other takes a sample over if the root of its error is smaller by more than
    rounding: √e (1 + tie) + floor < √best, with the tie of `tie_of`.

    Parameters
    ----------
    errors : (n, b) of the anchors first to first + b
    floor : (n,) from `tie_floor`
    best, labels : (n,) the error of the chosen anchor, and which it is; both updated
    """
    xp, tie = namespace(errors), tie_of(errors)
    near = xp.argmin(errors, axis=1)
    smallest = pick(errors, near[:, None])[:, 0]
    takes = xp.sqrt(smallest) * (1 + tie) + floor < xp.sqrt(best)
    # When the smallest error comes, it takes the sample over, or what holds the sample is larger by
    # no more than rounding; later holders are smaller still. So where no other error is so close,
    # the smallest decides whatever came before it. Twice the tie, since the roots are rounded too.
    close = (xp.sqrt(smallest) * (1 + 2 * tie) + 2 * floor) ** 2
    is_close = errors <= close[:, None]
    tied = None
    if int(xp.count_nonzero(is_close)) > errors.shape[0]:
        tied = xp.count_nonzero(is_close, axis=1) > 1  # mostly, none is tied
        given = to_numpy(errors[tied]), to_numpy(floor[tied])
        held, kept = to_numpy(best[tied]), to_numpy(labels[tied])
    best[...] = xp.where(takes, smallest, best)
    labels[...] = xp.where(takes, first + near, labels)
    if tied is not None:
        _choose_in_turn(*given, held, kept, first, tie)
        best[tied], labels[tied] = moved(held, best), moved(kept, labels)


def _choose_in_turn(
    errors: Array, floor: Array, best: Array, labels: Array, first: int, tie: float
) -> None:
    """The rule of `choose_again`, one anchor after the other: for NumPy arrays of few samples.

    Only an error below all that came before it can take a sample over: what holds the sample is
    larger than the smallest of them by no more than rounding. Most anchors are passed over so.
    """
    smallest = np.minimum.accumulate(np.column_stack([best, errors]), axis=1)
    samples, anchors = np.nonzero(errors < smallest[:, :-1])
    turn = np.arange(len(samples)) - np.searchsorted(samples, samples)
    for now in range(turn.max(initial=-1) + 1):
        i, anchor = samples[turn == now], anchors[turn == now]
        e = errors[i, anchor]
        takes = np.sqrt(e) * (1 + tie) + floor[i] < np.sqrt(best[i])
        best[i[takes]], labels[i[takes]] = e[takes], first + anchor[takes]


def tie_of(errors: Array) -> float:
    """The part by which roots of errors may differ and still count as equal."""
    return max(TIE, TIE_PRECISIONS * precision(errors))


def tie_floor(Y: Array) -> Array:
    """Below this the root of a squared error is rounding: (n,) from the targets (n, m)."""
    return tie_of(Y) * namespace(Y).sqrt(einsum("nm,nm->n", Y, Y))


def own_residuals(residuals: Array, labels: Array) -> Array:
    """r_i (n, m): of all anchors' residuals (m, n, k), those of each sample's anchor."""
    if is_numpy(residuals):
        return residuals[:, np.arange(len(labels)), labels].T
    columns = [pick(residuals[t, ...], labels[:, None]) for t in range(residuals.shape[0])]
    return namespace(residuals).concat(columns, axis=1)


def stored_targets(X: Array, residuals: Array, labels: Array, models: Array) -> Array:
    """y_i (n, m) of samples that keep r_i and l_i: residual plus the anchor's model."""
    own = at(models, labels)
    fitted = einsum("nd,ndm->nm", X, own[:, :-1, :])
    return residuals + fitted + own[:, -1, :]


def sample_models(
    X: Array, residuals: Array, labels: Array, models: Array, alpha: float, constant: float
) -> Array:
    """W_i of each sample, (n, d + 1, m), from its r_i and l_i."""
    xp = namespace(X)
    x = xp.concat([X, xp.full_like(X[:, :1], constant)], axis=1)
    scale = alpha + einsum("nd,nd->n", x, x)
    return at(models, labels) + (x / scale[:, None])[:, :, None] * residuals[:, None, :]
