"""Which anchor a sample belongs to, and the sample's own model (the paper's Theorem 3).

Sample i chooses the anchor l_i that predicts it best, and its model is that anchor's plus a
correction along its own input:

    W_i = A_{l_i} + x̃_i r_iᵀ / (λ + s_i),   r_i = y_i − A_{l_i}ᵀ x̃_i,   s_i = ||x̃_i||².

Labels l_i and residuals r_i are all that has to be kept: O(n m) numbers, not n d m.
Models carry the intercept last; the constant feature of x̃ is `constant`, 1 or 0.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

TIE = 1e-12


def anchor_residuals(X: Array, Y: Array, models: Array) -> Array:
    """y_i − A_lᵀ x̃_i for all samples and anchors, (m, n, k): a matrix product per target."""
    out = np.empty((Y.shape[1], len(X), len(models)))
    for target, residuals in enumerate(out):
        np.matmul(X, models[:, :-1, target].T, out=residuals)
        residuals += models[:, -1, target]
        np.subtract(Y[:, target, None], residuals, out=residuals)
    return out


def squared_errors(residuals: Array) -> Array:
    """||y_i − A_lᵀ x̃_i||² from the residuals (m, n, k), as (n, k)."""
    errors = residuals[0] ** 2
    for more in residuals[1:]:
        errors += more**2
    return errors


def summed_errors(errors: Array, near: NDArray[np.integer], shares: Array) -> Array:
    """Errors (u, k) of all anchors summed over the A samples near each of n, (n, k).

    `near` (n, A) are rows of the errors, and `shares` (n, A) how much each counts.
    """
    n, A = near.shape
    table = csr_array((shares.ravel(), near.ravel(), np.arange(0, n * A + 1, A)), (n, len(errors)))
    return table @ errors


def best_anchors(errors: Array, floor: Array) -> Labels:
    """The anchor with the smallest error (n, k) of each sample; of equal ones the first.

    Errors that differ by no more than rounding count as equal, so that the choice does not hang
    on the order in which sums were formed.
    """
    labels = np.zeros(len(errors), dtype=np.intp)
    choose_again(errors, floor, 0, np.full(len(errors), np.inf), labels)
    return labels


def choose_again(errors: Array, floor: Array, first: int, best: Array, labels: Labels) -> None:
    """Go on from each sample's choice among earlier anchors with b more, in place.

    One anchor after the other takes a sample over if the root of its error is smaller by more than
    rounding: √e (1 + TIE) + floor < √best.

    Parameters
    ----------
    errors : (n, b) of the anchors first to first + b
    floor : (n,) from `tie_floor`
    best, labels : (n,) the error of the chosen anchor, and which it is; both updated
    """
    near = errors.argmin(axis=1)
    smallest = np.take_along_axis(errors, near[:, None], axis=1)[:, 0]
    takes = np.sqrt(smallest) * (1 + TIE) + floor < np.sqrt(best)
    # Where no other error is near the smallest, that one decides whatever came before it.
    reach = 2 * errors.shape[1]
    close = (np.sqrt(smallest) * (1 + reach * TIE) + reach * floor) ** 2
    is_close = errors <= close[:, None]
    tied = np.empty(0, dtype=np.intp)
    if np.count_nonzero(is_close) > np.count_nonzero(smallest <= close):  # mostly, none is tied
        tied = np.flatnonzero(np.count_nonzero(is_close, axis=1) > 1)
    held, kept = best[tied], labels[tied]
    np.copyto(best, smallest, where=takes)
    np.copyto(labels, first + near, where=takes, casting="same_kind")
    for anchor in range(errors.shape[1] if len(tied) else 0):
        e = errors[tied, anchor]
        smaller = np.sqrt(e) * (1 + TIE) + floor[tied] < np.sqrt(held)
        np.copyto(held, e, where=smaller)
        np.copyto(kept, first + anchor, where=smaller)
    best[tied], labels[tied] = held, kept


def tie_floor(Y: Array) -> Array:
    """Below this the root of a squared error is rounding: (n,) from the targets (n, m)."""
    return TIE * np.sqrt(np.einsum("nm,nm->n", Y, Y))


def own_residuals(residuals: Array, labels: Labels) -> Array:
    """r_i (n, m): of all anchors' residuals (m, n, k), those of each sample's anchor."""
    return residuals[:, np.arange(len(labels)), labels].T


def stored_targets(X: Array, residuals: Array, labels: Labels, models: Array) -> Array:
    """y_i (n, m) of samples that keep r_i and l_i: residual plus the anchor's model."""
    own = models[labels]
    fitted = np.einsum("nd,ndm->nm", X, own[:, :-1])
    return residuals + fitted + own[:, -1]


def sample_models(
    X: Array, residuals: Array, labels: Labels, models: Array, alpha: float, constant: float
) -> Array:
    """W_i of each sample, (n, d + 1, m), from its r_i and l_i."""
    x = np.column_stack([X, np.full(len(X), constant)])
    scale = alpha + np.einsum("nd,nd->n", x, x)
    return models[labels] + (x / scale[:, None])[:, :, None] * residuals[:, None, :]
