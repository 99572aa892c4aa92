"""Localized lasso: a network lasso whose models are sparse."""

from numbers import Real
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from ..checks.parameters import Floats
from .network_lasso import NetworkLassoRegressor


class LocalizedLassoRegressor(NetworkLassoRegressor):
    """A network lasso whose models are sparse, each with features of its own.

    Adds exclusive_alpha Σ_i Σ_t ||w_it||₁² to the objective of `NetworkLassoRegressor`, over
    samples i and targets t, intercepts left out. The squared l1 norm of each model makes
    features compete within a model, not between models: every model keeps a few. The norm compares
    coefficients of different features, so the features should be standardised.

    Parameters
    ----------
    alpha : float, default=1.0
        Pull between neighbours. 0 is not allowed: nothing would tie the models together.
    exclusive_alpha : float, default=0.01
        Weight of the squared l1 norms; 0 is the network lasso.
    n_neighbors : int, default=5
        Neighbours that make the graph when `fit` gets none, and that make a prediction. More than
        there are samples count as all of them.
    fit_intercept : bool, default=True
        Whether the models have a constant term.
    max_iter : int, default=1000
        Newton steps at most; a few dozen are usual.
    tol : float, default=1e-4
        The fit stops when objective − optimum is proved to be at most `tol` times the objective.
        The objective counts without the part that cannot be avoided: identical rows may have
        different targets. It counts as at least 1e-6 of the targets' sum of squares around their
        mean, so that the fit stops where the objective is nearly zero.
    warm_start : bool, default=False
        Start from the models of the previous fit, for a path of `alpha` on the same data.

    Attributes
    ----------
    coef_ : array (n, d, m)
        The samples' coefficients. Those that the norm removes are exactly zero.
    intercept_ : array (n, m)
        The samples' intercepts.
    labels_ : array (n,)
        Samples with equal labels have equal models, to the last bit, and are connected in the
        graph. Labels are numbered in the order of the first samples that have them.
    objective_ : float
        The value that was minimised.
    duality_gap_ : float
        Upper bound on `objective_` − optimum.
    n_iter_ : int
        Newton steps taken.
    n_features_in_ : int
        Number of features d.
    feature_names_in_ : array (d,)
        Names of the features, where X had them.

    Examples
    --------
    >>> import numpy as np
    >>> from locallinear import LocalizedLassoRegressor
    >>> X = np.random.default_rng(0).standard_normal((80, 6))
    >>> group = np.repeat([0, 1], 40)
    >>> y = np.where(group == 0, 2 * X[:, 0], -X[:, 1])
    >>> graph = group[:, None] == group
    >>> model = LocalizedLassoRegressor(alpha=0.1, exclusive_alpha=0.05).fit(X, y, graph)
    >>> model.coef_[[0, -1], :, 0].round(2)
    array([[ 1.91,  0.  ,  0.  ,  0.  ,  0.  ,  0.  ],
           [ 0.  , -0.95,  0.  ,  0.  ,  0.  ,  0.  ]])
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        **NetworkLassoRegressor._parameter_constraints,
        "exclusive_alpha": [Floats(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        exclusive_alpha: float = 0.01,
        *,
        n_neighbors: int = 5,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
    ) -> None:
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
    def fit(self, X: ArrayLike, y: ArrayLike, graph: Any = None) -> Self:
        """Fit a sparse model to every sample.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,) or (n, m)
            Targets.
        graph : sparse matrix or array (n, n), optional
            As in `NetworkLassoRegressor.fit`.

        Returns
        -------
        self
        """
        return self._fit(X, y, graph, self.exclusive_alpha)
