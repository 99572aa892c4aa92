"""The models that the command line compares on a table: FALL's search, and others beside it.

`explain.judging` has the folds, the baselines and the errors.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LassoCV, LogisticRegression, MultiTaskLassoCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .. import NetworkLassoRegressor
from ..explain.judging import folds_of
from ..search.estimators import FALLClassifierCV, FALLRegressorCV

# Matrices of all pairs of rows, one model per row, and trees on one thread are made up to here.
MAX_ROWS = 3000


def make_search(
    y: NDArray, classify: bool, seed: int, **options: Any
) -> FALLRegressorCV | FALLClassifierCV:
    """The search over FALL's configurations, on shuffled folds."""
    search = FALLClassifierCV if classify else FALLRegressorCV
    folds = folds_of(y, 3, classify=classify, seed=seed)
    return search(cv=folds, random_state=seed, **options)


def more_models(y: NDArray, classify: bool, n_train: int) -> tuple[dict[str, Any], list[str]]:
    """Models for a comparison beside the baselines, and a sentence on those that are left out."""
    scaled = StandardScaler()
    if classify:
        return {"logistic": make_pipeline(scaled, LogisticRegression(max_iter=2000))}, []
    lasso = LassoCV(max_iter=20_000) if y.ndim == 1 else MultiTaskLassoCV(max_iter=20_000)
    models: dict[str, Any] = {"lasso": make_pipeline(scaled, lasso)}
    if n_train > MAX_ROWS:
        return models, [
            "Kernel ridge, network lasso and boosted trees are left out: they take up to "
            f"{MAX_ROWS:,} rows."
        ]
    kernel = {"alpha": np.logspace(-3, 1, 5), "gamma": np.logspace(-3, 0, 7)}
    models["kernel ridge"] = _on_scaled(GridSearchCV(KernelRidge(kernel="rbf"), kernel, cv=3))
    folds = KFold(3, shuffle=True, random_state=0)
    network = GridSearchCV(NetworkLassoRegressor(), {"alpha": [0.3, 3.0, 30.0]}, cv=folds)
    models["network lasso"] = _on_scaled(network)
    # Not the histogram kind: its threads spin, and on a busy machine take twenty times as long.
    trees = GridSearchCV(GradientBoostingRegressor(random_state=0), {"max_depth": [3, 6]}, cv=folds)
    models["boosted trees"] = trees if y.ndim == 1 else MultiOutputRegressor(trees)
    return models, []


def _on_scaled(regressor: BaseEstimator) -> TransformedTargetRegressor:
    """A model of scaled inputs and targets: its penalties know no units."""
    return TransformedTargetRegressor(
        make_pipeline(StandardScaler(), regressor), transformer=StandardScaler()
    )


def compile_kernels() -> None:
    """Make the machine code that FALL and network lasso need on first use, which takes seconds."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    FALLRegressorCV({"n_neighbors": [2]}, random_state=0).fit(X, X[:, 0])
    NetworkLassoRegressor().fit(X, X[:, 0]).predict(X[:2])
