"""Network lasso: one linear model per sample, and a graph whose neighbours share models."""

import warnings
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning

from ..checks.inputs import check_queries, validated_targets
from ..checks.parameters import POSITIVE_COUNT, Floats
from ..checks.scores import ScoredNumbers
from ..geometry.neighbors import Neighbors
from ..kernels.local.combine import distance_weights
from ..kernels.network.geometric_median import geometric_median_weights
from ..runtime.chunks import row_chunks
from ..runtime.interrupts import interruptible
from ..runtime.threads import one_blas_thread
from .graph import merge_samples, neighbor_graph, order_nodes, sort_nodes
from .inputs import check_edge_penalties, check_query_graph, check_weighted_graph

if TYPE_CHECKING:
    from ..kernels.network.solver import Solution

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# An objective below this part of the targets' sum of squares counts as zero.
NEGLIGIBLE = 1e-6
# Models of more samples than this are larger than the cache: there the nodes' order matters.
SAMPLES_IN_CACHE = 5_000


class NetworkLassoRegressor(MultiOutputMixin, ScoredNumbers, BaseEstimator):
    """One linear model per sample; neighbours in a graph are pulled towards equal models.

    Minimises Σ_i ||y_i − W_iᵀ x_i||² + alpha Σ_(j,k) r_jk ||W_j − W_k||_F over models W_i that
    include the intercept when it is fitted, with each undirected edge counted once. The norms
    are not squared, so whole groups of neighbours get exactly one model: `labels_`.

    No edge connects the components of the graph. Where the samples of a component do not decide
    its models, as when they are fewer than the coefficients, the models are, of all optimal ones,
    nearest to the least-squares model of all samples.

    The fit depends on the features' units and, with an intercept, on their origin:
    standardise them unless their units are comparable.

    Parameters
    ----------
    alpha : float, default=1.0
        Pull between neighbours. 0 is not allowed: nothing would tie the models together.
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
        The samples' coefficients.
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

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "alpha": [Floats(Real, 0, None, closed="neither")],
        "n_neighbors": [POSITIVE_COUNT],
        "fit_intercept": ["boolean"],
        "max_iter": [POSITIVE_COUNT],
        "tol": [Floats(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        n_neighbors: int = 5,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, graph: Any = None) -> Self:
        """Fit a model to every sample.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,) or (n, m)
            Targets.
        graph : sparse matrix or array (n, n), optional
            Symmetric non-negative weights r_jk; the diagonal is ignored. By default each
            sample has edges to its `n_neighbors` nearest with weight 1/distance, and identical
            rows, whose weight would be infinite, share one model.

        Returns
        -------
        self
        """
        return self._fit(X, y, graph, exclusive_alpha=0.0)

    def _fit(self, X: ArrayLike, y: ArrayLike, graph: Any, exclusive_alpha: float) -> Self:
        # Compiled: not loaded before they are needed.
        from ..kernels.network.problem import make_problem
        from ..kernels.network.solver import solve
        from ..kernels.network.undecided import nearest_to_all_samples

        X, y = validated_targets(self, X, y)
        Y = y.reshape(len(y), -1).astype(np.float64)
        if graph is None:
            node, edges, weights = neighbor_graph(X, self.n_neighbors)
        else:
            node, edges, weights = sort_nodes(X, Y, *check_weighted_graph(graph, len(X)))
        if len(X) > SAMPLES_IN_CACHE:
            node, edges, weights = order_nodes(node, edges, weights)
        rows, targets, unavoidable = merge_samples(X, Y, node, self.fit_intercept)
        problem = make_problem(
            rows,
            targets,
            np.arange(len(rows)),
            edges,
            check_edge_penalties(self.alpha, weights),
            float(exclusive_alpha) * np.bincount(node),
            np.arange(rows.shape[1]) < X.shape[1],
        )
        start = self._previous_models(node, (len(X), X.shape[1] + 1, Y.shape[1]))
        with one_blas_thread(), interruptible():
            solution = solve(
                problem,
                self.tol,
                self.max_iter,
                _floor(Y),
                None if start is None else start[:, : rows.shape[1]],
            )
            models = solution.models
            if not exclusive_alpha:  # the exclusive norm decides: there is no other optimum
                models = nearest_to_all_samples(problem, models)
        if not solution.converged:
            self._warn(solution, unavoidable)
        self._models = np.zeros((len(X), X.shape[1] + 1, Y.shape[1]))
        self._models[:, : rows.shape[1]] = models[node]
        self._single_target = y.ndim == 1
        self.coef_, self.intercept_ = self._models[:, :-1], self._models[:, -1]
        self.labels_ = _number_by_appearance(solution.labels[node])
        self.objective_ = solution.objective + unavoidable
        self.duality_gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        self._neighbors = Neighbors(X)
        self._n_neighbors = min(self.n_neighbors, len(X))
        return self

    def _previous_models(self, node: Rows, shape: tuple[int, int, int]) -> Array | None:
        """Models of the last fit, one per node, if warm_start asks for them and shapes agree."""
        if not self.warm_start or not hasattr(self, "_models") or self._models.shape != shape:
            return None
        return self._models[np.unique(node, return_index=True)[1]]

    def _warn(self, solution: "Solution", unavoidable: float) -> None:
        out_of_steps = solution.n_iter >= self.max_iter
        warnings.warn(
            f"the duality gap must be at most tol={self.tol:g} times the objective, but is "
            f"{solution.gap:.3g} for an objective of {solution.objective + unavoidable:.6g} after "
            f"{solution.n_iter} steps{'' if out_of_steps else ', where rounding ends the progress'}"
            f"; increase {'max_iter or ' if out_of_steps else ''}tol, or standardise the features",
            ConvergenceWarning,
            stacklevel=5,  # where fit was called
        )

    def query_models(self, X: ArrayLike, graph: Any = None) -> Array:
        """The model that predicts each query.

        Parameters
        ----------
        X : array-like (q, d)
            Queries.
        graph : sparse matrix or array (q, n), optional
            Non-negative weights between queries and training samples. By default the
            `n_neighbors` nearest samples with weight 1/distance; identical rows take all the
            weight.

        Returns
        -------
        models : array (q, d + 1, m)
            The weighted geometric median of the neighbours' models, intercept last. A query
            without neighbours gets the mean of all models.
        """
        return self._query_models(check_queries(self, X), graph)

    def predict(self, X: ArrayLike, graph: Any = None) -> Array:
        """Predict with the models of `query_models`.

        Parameters
        ----------
        X : array-like (q, d)
            Queries.
        graph : sparse matrix or array (q, n), optional
            As in `query_models`.

        Returns
        -------
        predictions : array (q,) or (q, m)
        """
        X = check_queries(self, X)
        models = self._query_models(X, graph)
        prediction = np.einsum("qd,qdm->qm", X, models[:, :-1]) + models[:, -1]
        return prediction[:, 0] if self._single_target else prediction

    def _query_models(self, X: Array, graph: Any) -> Array:
        if graph is None:
            distances, neighbors = self._neighbors.query(X, self._n_neighbors)
            weights = distance_weights(distances, "distance")
        else:
            neighbors, weights = check_query_graph(graph, (len(X), len(self._models)))
        out = np.empty((len(X), *self._models.shape[1:]))
        K, size = neighbors.shape[1], self._models[0].size
        alone = ~weights.any(axis=1)
        weights[alone] = 1.0  # any median will do: it is replaced below
        for chunk in row_chunks(len(X), 8 * K * (6 * K + 2 * size)):
            models = self._models[neighbors[chunk]]
            shares = geometric_median_weights(models.reshape(-1, K, size), weights[chunk])
            out[chunk] = np.einsum("qk,qkdm->qdm", shares, models)
        out[alone] = self._models.mean(axis=0)
        return out


def _floor(Y: Array) -> float:
    """An objective that counts as zero for targets Y (n, m)."""
    spread = ((Y - Y.mean(axis=0)) ** 2).sum()
    return NEGLIGIBLE * spread + np.finfo(float).eps * (Y**2).sum()


def _number_by_appearance(labels: Rows) -> Rows:
    """The same groups; the first sample's is 0, and so on in the samples' order."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
