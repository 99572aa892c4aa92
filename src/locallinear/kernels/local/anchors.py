"""One linear model per anchor, fitted on the anchor's neighbourhood (the paper's Algorithm 3).

A neighbourhood is K samples with weights; a weight of zero pads neighbourhoods of unequal size.
All anchors are solved at once. The objective is scikit-learn's ElasticNet with sample weights,

    1 / (2 Σ_j v_j) Σ_j v_j (y_j − wᵀx_j − b)² + α R ||w||₁ + α (1 − R) / 2 ||w||²,

for each target on its own, with b = 0 where there is no intercept.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Weaker penalties, as a part of the inputs' sum of squares, need a singular value decomposition:
# the normal equations lose as many digits as the inverse has.
WEAKEST = 1e-6


def fit_models(
    X: Array, Y: Array, weights: Array, alpha: float, l1_ratio: float, fit_intercept: bool
) -> Array:
    """Elastic net models of k neighbourhoods.

    Parameters
    ----------
    X : (k, K, d) inputs, Y : (k, K, m) targets, weights : (k, K), not all zero in a row
    alpha, l1_ratio : the penalty α and its share R of the absolute values
    fit_intercept : whether the models have a constant term

    Returns
    -------
    models : (k, d + 1, m), the intercept last
    """
    if alpha == 0 or l1_ratio == 0:
        return ridge_path(X, Y, weights, [alpha], fit_intercept)[0]
    return elastic_net_path(X, Y, weights, [alpha], l1_ratio, fit_intercept)[0]


def ridge_path(
    X: Array, Y: Array, weights: Array, alphas: list[float] | Array, fit_intercept: bool
) -> Array:
    """Ridge models of k neighbourhoods for several penalties, (len(alphas), k, d + 1, m).

    A penalty of zero gives the least squares model of smallest norm.
    """
    centred = _Centred(X, Y, weights, fit_intercept)
    coefs = np.empty((len(alphas), X.shape[0], X.shape[2], Y.shape[2]))
    penalties = np.asarray(alphas, dtype=float)[:, None] * centred.total
    with np.errstate(over="ignore"):
        size = np.square(centred.X).sum(axis=(1, 2))
    # The condition number is at most 1 + size / penalty. Each neighbourhood decides on its own.
    strong = penalties > np.maximum(size * WEAKEST, np.finfo(float).tiny)
    for coef, penalty, solvable in zip(coefs, penalties, strong, strict=True):
        at = np.flatnonzero(solvable)
        coef[at] = _solve_normal_equations(centred.X[at], centred.Y[at], penalty[at])
    rest = np.flatnonzero(~strong.all(axis=0))
    if len(rest):
        inputs = centred.X[rest], centred.Y[rest], centred.magnitude[rest]
        decomposed = _decompose(*inputs, penalties[:, rest])
        coefs[:, rest] = np.where(strong[:, rest, None, None], coefs[:, rest], decomposed)
    return _with_intercept(coefs, centred.x_mean, centred.y_mean)


def _solve_normal_equations(X: Array, Y: Array, penalties: Array) -> Array:
    """Minimisers (k, d, m) of ||Y − XW||² + penalty ||W||², for penalties (k,), none weak."""
    Xt = X.swapaxes(1, 2)
    if X.shape[1] < X.shape[2]:  # as many equations as samples
        return Xt @ _solve_ridge(X @ Xt, Y, penalties)
    return _solve_ridge(Xt @ X, Xt @ Y, penalties)


def _solve_ridge(gram: Array, Y: Array, penalties: Array) -> Array:
    """Solutions Z of (G + penalty I) Z = Y for each Gram matrix, which the penalty is added to."""
    diagonal = np.arange(gram.shape[1])
    gram[:, diagonal, diagonal] += penalties[:, None]
    solution: Array = np.linalg.solve(gram, Y).astype(np.float64, copy=False)
    return solution


def _decompose(X: Array, Y: Array, magnitude: Array, penalties: Array) -> Array:
    """Minimisers (p, k, d, m) of the same for any penalties (p, k).

    One singular value decomposition serves all penalties; unlike the normal equations it keeps
    its precision when features differ by many orders of magnitude. `magnitude` (k,) is that of
    the inputs before their mean was removed: where samples coincide, all that is left is rounding.
    """
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    UtY = U.swapaxes(1, 2) @ Y
    largest = np.maximum(s[:, :1], magnitude[:, None])
    negligible = s <= largest * max(X.shape[1:]) * np.finfo(float).eps
    s = np.where(negligible, 1.0, s)
    # s / (s² + c), written so that s² cannot overflow; where c / s does, the gain is zero.
    with np.errstate(over="ignore"):
        shrunk = s + penalties[:, :, None] / s
    gains = np.where(negligible, 0.0, 1.0 / shrunk)
    return Vt.swapaxes(1, 2) @ (gains[..., None] * UtY)


def elastic_net_path(
    X: Array,
    Y: Array,
    weights: Array,
    alphas: list[float] | Array,
    l1_ratio: float,
    fit_intercept: bool,
) -> Array:
    """Elastic net models of k neighbourhoods for several penalties, (len(alphas), k, d + 1, m).

    The problems are solved to machine precision on their d x d Gram matrices, so that the result
    does not depend on which other penalties are asked for.
    """
    return Moments(X, Y, weights, fit_intercept).elastic_net_path(alphas, l1_ratio)


class Moments:
    """Gram matrices and moments of k neighbourhoods: all that elastic nets need of the samples."""

    def __init__(self, X: Array, Y: Array, weights: Array, fit_intercept: bool):
        centred = _Centred(X, Y, weights, fit_intercept)
        scale = centred.total[:, None, None]
        self.gram = centred.X.swapaxes(1, 2) @ centred.X / scale
        self.moment = centred.X.swapaxes(1, 2) @ centred.Y / scale
        self.x_mean, self.y_mean = centred.x_mean, centred.y_mean

    def elastic_net_path(self, alphas: list[float] | Array, l1_ratio: float) -> Array:
        """Models for several penalties, (len(alphas), k, d + 1, m)."""
        from .elastic_net import solve_path  # compiled: not loaded before it is needed

        alphas = np.asarray(alphas, dtype=float)
        largest_first = np.argsort(-alphas)
        coefs = np.empty((len(alphas), *self.moment.shape))
        coefs[largest_first] = solve_path(
            self.gram, self.moment, alphas[largest_first], float(l1_ratio)
        )
        return _with_intercept(coefs, self.x_mean, self.y_mean)


class _Centred:
    """Neighbourhoods with the weights multiplied in and, with an intercept, the means removed."""

    def __init__(self, X: Array, Y: Array, weights: Array, fit_intercept: bool):
        self.total = weights.sum(axis=1)
        share = (weights / self.total[:, None])[:, None, :]
        self.x_mean = share @ X if fit_intercept else np.zeros((len(X), 1, X.shape[2]))
        self.y_mean = share @ Y if fit_intercept else np.zeros((len(X), 1, Y.shape[2]))
        root = np.sqrt(weights)[:, :, None]
        self.magnitude = np.abs(root * X).max(axis=(1, 2))
        self.X = root * (X - self.x_mean)
        self.Y = root * (Y - self.y_mean)


def _with_intercept(coefs: Array, x_mean: Array, y_mean: Array) -> Array:
    """Models (..., k, d + 1, m) of coefficients (..., k, d, m)."""
    return np.concatenate([coefs, y_mean - x_mean @ coefs], axis=-2)
