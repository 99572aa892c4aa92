"""The six models of the paper's comparison and their search spaces.

Adding a model is adding an entry to :data:`MODELS`: how it is made, the space that is searched,
and how: by a loop over the grid, by a faster search of its own, or by Optuna.
"""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, Ridge
from sklearn.neighbors import KNeighborsRegressor

from .. import FALLRegressor, NetworkLassoRegressor
from ..grids import PAPER
from ..runtime.threads import one_blas_thread
from .tuning import Array, Model, Params, search_fall, search_grid, search_neighbors

PENALTIES, NEIGHBORS = PAPER["alpha"], PAPER["n_neighbors"]
LASSO_MAX_ITER = 100_000


def make_fall(params: Params, X: Array) -> FALLRegressor:
    """Make the paper's FALL: raw features, and the first training samples as its random anchors.

    The splits are shuffled already, so the first k rows are as random as any.
    """
    return FALLRegressor(**params, scaling=None, anchor_selection=X[: params["n_anchors"]])


def make_network_lasso(params: Params, X: Array) -> NetworkLassoRegressor:
    """Make a network lasso on the graph of five nearest neighbours."""
    return NetworkLassoRegressor(**params, n_neighbors=5)


class OneThreadKernelRidge(KernelRidge):
    """Kernel ridge that solves on one thread.

    With two threads, the solver of scipy 1.17's OpenBLAS crashes on the 19,136 samples of
    Superconductivity, and ends the whole process.
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Fit as KernelRidge does."""
        with one_blas_thread():
            return super().fit(X, y, sample_weight)


def make_lasso(params: Params, X: Array) -> Lasso:
    """Make a lasso on the Gram matrix: a sweep costs d², not n d, so that it can converge.

    The paper's lasso on Superconductivity stopped after 1,000 sweeps, far from the minimum.
    """
    return Lasso(**params, precompute=True, max_iter=LASSO_MAX_ITER)


ONE_PENALTY: dict[str, Any] = {
    "spaces": ({"alpha": PENALTIES, "fit_intercept": [True, False]},),
    "exhaustive": search_grid,
    "fixed": {"alpha": 1.0, "fit_intercept": True},
}

MODELS = {
    model.name: model
    for model in (
        Model(
            name="fall",
            title="FALL",
            make=make_fall,
            # `make_fall` sets the scaling.
            spaces=({name: values for name, values in PAPER.items() if name != "scaling"},),
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
            **ONE_PENALTY,
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
        # The paper lists a number of neighbours for these two as well, but neither has one.
        Model(
            name="ridge",
            title="Ridge",
            make=lambda params, X: Ridge(**params),
            **ONE_PENALTY,
        ),
        Model(
            name="lasso",
            title="Lasso",
            make=make_lasso,
            **ONE_PENALTY,
        ),
    )
}
