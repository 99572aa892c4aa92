"""Network lasso: a linear model a sample, tied along a graph."""

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval

from ..checks.inputs import check_queries, validated, validated_targets
from ..kernels.network.geometric_median import geometric_median_weights
from ..runtime.threads import one_blas_thread
from .graph import (
    check_graph,
    check_query_graph,
    check_ties,
    inverse_distances,
    merge_samples,
    neighbor_graph,
    order_nodes,
    sort_nodes,
)

# An objective below this part of the targets' variance is as good as none.
_NOTHING = 1e-6
_SAMPLES_IN_CACHE = 5_000  # beyond, the order of the nodes decides how long memory takes
_BATCH_BYTES = 2**27  # of memory for the medians of a batch of queries


class NetworkLassoRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """One linear model a sample, with neighbours in a graph pulled to share theirs.

    Minimises Σᵢ ||yᵢ - Wᵢᵀ xᵢ||² + alpha Σ_(j,k) r_jk ||W_j - W_k||_F over models Wᵢ that
    include the intercept when it is fitted, with each undirected edge counted once. The norms
    are not squared, so whole groups of neighbours get exactly one model: `labels_`.

    The fit depends on the features' units and, with an intercept, on their origin:
    standardise them unless their units are comparable.

    Parameters
    ----------
    alpha : float, default=1.0
        Pull between neighbours. 0 is not allowed: every sample would be alone.
    n_neighbors : int, default=5
        Neighbours that make the graph when `fit` gets none, and that make a prediction.
    fit_intercept : bool, default=True
        Whether models have a constant term.
    max_iter : int, default=1000
        Newton steps at most; a few dozen are usual.
    tol : float, default=1e-4
        The fit stops when objective - optimum is proved to be at most `tol` times the
        objective, or 1e-6 of the targets' sum of squares around their mean if that is more.
        The objective counts without the part that identical rows with different targets make
        unavoidable.
    warm_start : bool, default=False
        Start from the models of the previous fit, for a path of `alpha` on the same data.

    Attributes
    ----------
    coef_ : array (n, d, m)
        The samples' coefficients.
    intercept_ : array (n, m)
        The samples' intercepts.
    labels_ : array (n,)
        Samples with equal labels have equal models, to the last bit, and are connected in the
        graph. Numbered in the order in which the samples show them.
    objective_ : float
        The value that was minimised.
    duality_gap_ : float
        Upper bound on `objective_` - optimum.
    n_iter_ : int
        Newton steps taken.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from locallinear import NetworkLassoRegressor
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> group = np.repeat([0, 1], 30)
    >>> y = np.where(group == 0, 2 * X[:, 0], -X[:, 1])
    >>> graph = group[:, None] == group
    >>> model = NetworkLassoRegressor(alpha=0.1).fit(X, y, graph)
    >>> np.unique(model.labels_).size
    2
    >>> np.abs(model.coef_[[0, -1], :, 0]).round(2)
    array([[2., 0., 0.],
           [0., 1., 0.]])
    """

    _parameter_constraints: ClassVar[dict] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        n_neighbors=5,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
    ):
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, graph=None):
        """Fit a model to every sample.

        Parameters
        ----------
        X : array (n, d)
        y : array (n,) or (n, m)
        graph : sparse array (n, n), optional
            Symmetric non-negative weights r_jk; the diagonal is ignored. By default each
            sample is tied to its `n_neighbors` nearest with weight 1/distance, and identical
            rows, whose weight would be infinite, share one model.

        Returns
        -------
        self
        """
        return self._fit(X, y, graph, exclusive_alpha=0.0)

    def _fit(self, X, y, graph, exclusive_alpha):
        # These import numba.
        from ..kernels.network.problem import make_problem
        from ..kernels.network.solver import solve

        X, y = validated_targets(self, X, y)
        targets = y.reshape(len(y), -1).astype(np.float64)
        if graph is None:
            node, edges, weights = neighbor_graph(X, self.n_neighbors)
        else:
            node, edges, weights = sort_nodes(X, targets, *check_graph(graph, len(X)))
        if len(X) > _SAMPLES_IN_CACHE:
            node, edges, weights = order_nodes(node, edges, weights)
        ties = check_ties(self.alpha, weights)
        rows, values, unavoidable = merge_samples(X, targets, node, self.fit_intercept)
        n_rows = np.bincount(node).astype(float)
        penalised = np.arange(rows.shape[1]) < X.shape[1]
        problem = make_problem(
            rows,
            values,
            np.arange(len(rows)),
            edges,
            ties,
            exclusive_alpha * n_rows,
            penalised,
        )
        start = self._previous_models(node, problem)
        floor = _NOTHING * ((targets - targets.mean(axis=0)) ** 2).sum()
        floor += np.finfo(float).eps * (targets**2).sum()
        with one_blas_thread():
            solution = solve(problem, self.tol, self.max_iter, floor, start)
        if not solution.converged:
            self._warn(solution, unavoidable)
        self._store(solution.W[node], y.ndim)
        self.labels_ = _number_by_appearance(solution.labels[node])
        self.objective_ = solution.objective + unavoidable
        self.duality_gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        self._fit_X = X
        self._neighbors = NearestNeighbors(n_neighbors=min(self.n_neighbors, len(X))).fit(X)
        return self

    def _previous_models(self, node, problem):
        """Models of the last fit, one a node, if warm_start asks for them and they fit."""
        if not self.warm_start or not hasattr(self, "_models"):
            return None
        first = np.unique(node, return_index=True)[1]
        if len(self._models) != len(node) or self._models.shape[1:] != problem.shape[1:]:
            return None
        return self._models[first]

    def _warn(self, solution, unavoidable):
        out_of_steps = solution.n_iter >= self.max_iter
        warnings.warn(
            f"Expected a duality gap of at most tol={self.tol:g} times the objective, reached "
            f"{solution.gap:.3g} for an objective of {solution.objective + unavoidable:.6g} after "
            f"{solution.n_iter} steps{'' if out_of_steps else ', where rounding ends the progress'}"
            f". Increase {'max_iter or ' if out_of_steps else ''}tol, or standardise the features.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _store(self, models, y_ndim):
        """Keep the models (n, m, p) and show them as coefficients and intercepts."""
        d = self.n_features_in_
        self._models = models
        self._single_target = y_ndim == 1
        self.coef_ = models[:, :, :d].transpose(0, 2, 1)
        self.intercept_ = models[:, :, d] if self.fit_intercept else np.zeros(models.shape[:2])

    def query_models(self, X, graph=None):
        """The model that predicts each query.

        Parameters
        ----------
        X : array (q, d)
        graph : sparse array (q, n), optional
            Non-negative weights between queries and training samples. By default the
            `n_neighbors` nearest samples with weight 1/distance; identical rows take all the
            weight.

        Returns
        -------
        array (q, d + 1, m)
            The weighted geometric median of the neighbours' models, intercept last. A query
            without neighbours gets the mean of all models.
        """
        X = check_queries(self, X)
        if graph is None:
            distances, neighbors = self._neighbors.kneighbors(X)
            weights = inverse_distances(distances)
        else:
            neighbors, weights = check_query_graph(graph, (len(X), len(self._models)))
        models = self._median_models(neighbors, weights)
        if models.shape[2] == X.shape[1]:  # without intercepts
            models = np.concatenate([models, np.zeros((*models.shape[:2], 1))], axis=2)
        return models.transpose(0, 2, 1)

    def _median_models(self, neighbors, weights):
        q, n_neighbors = neighbors.shape
        m, p = self._models.shape[1:]
        out = np.empty((q, m, p))
        size = max(1, _BATCH_BYTES // (8 * n_neighbors * (6 * n_neighbors + 2 * m * p)))
        alone = ~weights.any(axis=1)
        weights = np.where(alone[:, None], 1.0, weights)  # any median will do: replaced below
        for batch in gen_batches(q, size):
            models = self._models[neighbors[batch]]
            part = geometric_median_weights(
                models.reshape(len(models), n_neighbors, m * p), weights[batch]
            )
            out[batch] = np.einsum("qk,qkmp->qmp", part, models)
        out[alone] = self._models.mean(axis=0)
        return out

    def predict(self, X, graph=None):
        """Predict with the models of `query_models`.

        Parameters
        ----------
        X : array (q, d)
        graph : sparse array (q, n), optional
            As in `query_models`.

        Returns
        -------
        array (q,) or (q, m)
        """
        models = self.query_models(X, graph)
        X = validated(self, X, reset=False)
        prediction = np.einsum("qd,qdm->qm", X, models[:, :-1]) + models[:, -1]
        return prediction[:, 0] if self._single_target else prediction


def _number_by_appearance(labels):
    """The same groups, the first sample's being 0."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
