"""Each sample's choice of its anchor (the paper's Theorem 3), compiled.

The errors of all anchors are made for one sample at a time, so that no table of them is written and
read again, and Python's lock is free meanwhile. A `factor` is 1 plus the part by which roots of
errors may differ and still count as equal, `floor` (n,) what rounding adds to them. Anchor models
are (m, d + 1, k) here: the errors of neighbouring anchors are computed side by side.
"""

import numpy as np

from ..compiler import njit


@njit(cache=True, nogil=True)
def choose_alone(X, Y, models, floor, factor, labels):
    """Write to `labels` (n,) the anchor of each sample of X (n, d), Y (n, m) by its own error."""
    k = models.shape[2]
    fitted, errors = np.empty(k), np.empty(k)
    for i in range(len(X)):
        _errors_of_sample(X[i], Y[i], models, fitted, errors)
        labels[i] = _choose(errors, floor[i], 0, factor, np.inf, 0)[1]


@njit(cache=True, nogil=True)
def choose_by_votes(table, near, shares, own, X, Y, models, floor, first, factor, best, labels):
    """Go on from each sample's choice with b more anchors, in place, by errors of near samples.

    Parameters
    ----------
    table : (u, b) errors of the anchors first to first + b, of the samples that decide
    near, shares : (n, A) which of these are near each sample, and how much each counts
    own : (n,) how much the sample itself counts, where it is not among them
    X, Y, models : (n, d), (n, m) and (m, d + 1, b)
    best, labels : (n,) the error of the chosen anchor, and which it is; both updated
    """
    b = models.shape[2]
    fitted, errors, summed = np.empty(b), np.empty(b), np.empty(b)
    for i in range(len(X)):
        summed[:] = 0.0
        if own[i] > 0:
            _errors_of_sample(X[i], Y[i], models, fitted, errors)
            for anchor in range(b):
                summed[anchor] = own[i] * errors[anchor]
        for a in range(near.shape[1]):
            share, row = shares[i, a], table[near[i, a]]
            for anchor in range(b):
                summed[anchor] += share * row[anchor]
        best[i], labels[i] = _choose(summed, floor[i], first, factor, best[i], labels[i])


@njit(cache=True, nogil=True)
def write_errors(X, Y, models, out):
    """Write to `out` (n, k) the squared errors of all samples and anchors."""
    fitted = np.empty(models.shape[2])
    for i in range(len(X)):
        _errors_of_sample(X[i], Y[i], models, fitted, out[i])


@njit(cache=True, nogil=True)
def write_residuals(X, Y, models, labels, out):
    """Write to `out` (n, m) the residuals of the samples from their anchors' models."""
    m, d = models.shape[0], X.shape[1]
    for i in range(len(X)):
        for t in range(m):
            fitted = models[t, d, labels[i]]
            for f in range(d):
                fitted += X[i, f] * models[t, f, labels[i]]
            out[i, t] = Y[i, t] - fitted


@njit(cache=True, nogil=True)
def _errors_of_sample(x, y, models, fitted, errors):
    """Write the squared errors (k,) of one sample; `fitted` (k,) is room to compute in."""
    m, d, k = models.shape[0], len(x), models.shape[2]
    errors[:] = 0.0
    for t in range(m):
        fitted[:] = models[t, d]
        for f in range(d):
            value, row = x[f], models[t, f]
            for anchor in range(k):
                fitted[anchor] += value * row[anchor]
        for anchor in range(k):
            errors[anchor] += (y[t] - fitted[anchor]) ** 2


@njit(cache=True, nogil=True)
def _choose(errors, floor, first, factor, best, label):
    """One anchor after the other takes the sample over if factor √e + floor < √best."""
    for anchor in range(len(errors)):
        error = errors[anchor]
        if error < best and np.sqrt(error) * factor + floor < np.sqrt(best):
            best, label = error, first + anchor
    return best, label
