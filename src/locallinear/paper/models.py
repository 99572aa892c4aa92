"""The six models of the paper's comparison and their search spaces.

Adding a model is adding an entry to :data:`MODELS`: how it is made, the space that is searched,
and, where a plain loop over the grid would be too slow, a search of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, Ridge
from sklearn.neighbors import KNeighborsRegressor

from ..runtime.threads import one_blas_thread
from .tuning import Search, search_fall, search_grid, search_neighbors

PENALTIES = [10.0**exponent for exponent in range(-3, 4)]
NEIGHBORS = list(range(5, 51, 5))
LASSO_MAX_ITER = 100_000


@dataclass(frozen=True)
class Model:
    """An entry of the comparison.

    Attributes
    ----------
    name, title : str
        In commands and the store; in tables.
    make : callable (params, X) → estimator
        X is what the estimator is going to be fitted to.
    spaces : tuple of dict
        Grids whose union is searched, as in scikit-learn's ParameterGrid.
    exhaustive : callable or None
        How the whole space is searched; None where it is too large, and Optuna is used.
    fixed : dict
        Parameters of the tuner "fixed".
    """

    name: str
    title: str
    make: Callable[[dict[str, Any], Any], Any]
    spaces: tuple[dict[str, list], ...]
    exhaustive: Search | None = search_grid
    fixed: dict[str, Any] = field(default_factory=dict)

    @property
    def n_configurations(self) -> int:
        """Size of the search space."""
        return sum(prod(len(values) for values in space.values()) for space in self.spaces)


def make_fall(params, X):
    """The paper's FALL: raw features, and the first training samples as its random anchors.

    The splits are shuffled already, so the first k rows are as random as any.
    """
    from .. import FALLRegressor

    return FALLRegressor(**params, scaling=None, anchor_selection=X[: params["n_anchors"]])


def make_network_lasso(params, X):
    """Network lasso on the graph of five nearest neighbours."""
    from .. import NetworkLassoRegressor

    return NetworkLassoRegressor(**params, n_neighbors=5)


class OneThreadKernelRidge(KernelRidge):
    """Kernel ridge that solves on one thread.

    With two, the solver of scipy 1.17's OpenBLAS crashes on the 19,136 samples of
    Superconductivity, and takes the whole process with it.
    """

    def fit(self, X, y=None, sample_weight=None):
        """Fit as KernelRidge does."""
        with one_blas_thread():
            return super().fit(X, y, sample_weight)


def make_lasso(params, X):
    """Lasso on the Gram matrix, where a sweep costs d² and not n d: it can run to convergence.

    The paper's lasso on Superconductivity stopped after 1,000 sweeps, far from the minimum.
    """
    return Lasso(**params, precompute=True, max_iter=LASSO_MAX_ITER)


MODELS = {
    model.name: model
    for model in (
        Model(
            name="fall",
            title="FALL",
            make=make_fall,
            spaces=(
                {
                    "n_anchors": list(range(20, 201, 20)),
                    "n_anchor_neighbors": NEIGHBORS,
                    "fit_intercept": [True, False],
                    "anchor_alpha": PENALTIES,
                    "anchor_l1_ratio": [tenths / 10 for tenths in range(11)],
                    "alpha": PENALTIES,
                    "n_neighbors": NEIGHBORS,
                },
            ),
            exhaustive=search_fall,
            fixed={
                "n_anchors": 100,
                "n_anchor_neighbors": 20,
                "fit_intercept": True,
                "anchor_alpha": 1.0,
                "anchor_l1_ratio": 0.0,
                "alpha": 1.0,
                "n_neighbors": 5,
            },
        ),
        Model(
            name="network_lasso",
            title="Network lasso",
            make=make_network_lasso,
            spaces=({"alpha": PENALTIES, "fit_intercept": [True, False]},),
            fixed={"alpha": 1.0, "fit_intercept": True},
        ),
        Model(
            name="knn",
            title="KNN",
            make=lambda params, X: KNeighborsRegressor(**params),
            spaces=({"n_neighbors": NEIGHBORS, "weights": ["uniform", "distance"]},),
            exhaustive=search_neighbors,
            fixed={"n_neighbors": 5, "weights": "distance"},
        ),
        Model(
            name="kernel_ridge",
            title="KRR",
            make=lambda params, X: OneThreadKernelRidge(**params),
            spaces=(
                {"kernel": ["rbf"], "alpha": PENALTIES, "gamma": PENALTIES},
                {
                    "kernel": ["poly"],
                    "alpha": PENALTIES,
                    "degree": list(range(1, 11)),
                    "coef0": PENALTIES,
                },
            ),
            exhaustive=None,
            fixed={"kernel": "poly", "alpha": 1.0, "degree": 1, "coef0": 1.0},
        ),
        # The paper lists a number of neighbours for these two as well, which neither has.
        Model(
            name="ridge",
            title="Ridge",
            make=lambda params, X: Ridge(**params),
            spaces=({"alpha": PENALTIES, "fit_intercept": [True, False]},),
            fixed={"alpha": 1.0, "fit_intercept": True},
        ),
        Model(
            name="lasso",
            title="Lasso",
            make=make_lasso,
            spaces=({"alpha": PENALTIES, "fit_intercept": [True, False]},),
            fixed={"alpha": 1.0, "fit_intercept": True},
        ),
    )
}
