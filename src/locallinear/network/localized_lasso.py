"""Localized lasso: a network lasso whose models are sparse."""

from numbers import Real
from typing import ClassVar

from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from .network_lasso import NetworkLassoRegressor


class LocalizedLassoRegressor(NetworkLassoRegressor):
    """A network lasso whose models are sparse, each with features of its own.

    Adds exclusive_alpha Σᵢ Σ_t ||w_it||₁² to the objective of `NetworkLassoRegressor`, over
    samples i and targets t, intercepts left out. The squared l1 norm of each model makes
    features compete within a model, not between models: every model keeps a few.

    Parameters
    ----------
    alpha : float, default=1.0
        Pull between neighbours.
    exclusive_alpha : float, default=0.01
        Weight of the squared l1 norms; 0 is the network lasso.
    n_neighbors, fit_intercept, max_iter, tol, warm_start
        As in `NetworkLassoRegressor`.

    Attributes
    ----------
    coef_, intercept_, labels_, objective_, duality_gap_, n_iter_
        As in `NetworkLassoRegressor`. Coefficients that the norm removes are exactly zero.

    Examples
    --------
    >>> import numpy as np
    >>> from locallinear import LocalizedLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = 3 * X[:, 1]
    >>> model = LocalizedLassoRegressor(alpha=1.0, exclusive_alpha=0.01).fit(X, y)
    >>> np.flatnonzero(model.coef_.any(axis=(0, 2)))
    array([1])
    """

    _parameter_constraints: ClassVar[dict] = {
        **NetworkLassoRegressor._parameter_constraints,
        "exclusive_alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        alpha=1.0,
        exclusive_alpha=0.01,
        *,
        n_neighbors=5,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
    ):
        super().__init__(
            alpha,
            n_neighbors=n_neighbors,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
        )
        self.exclusive_alpha = exclusive_alpha

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, graph=None):
        """Fit a sparse model to every sample; parameters as in `NetworkLassoRegressor.fit`."""
        return self._fit(X, y, graph, self.exclusive_alpha)
