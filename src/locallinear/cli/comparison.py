"""The models that the command line compares with FALL on a table, in the same features.

`explain.judging` has the folds, the baselines and the errors.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LassoCV, LogisticRegression, MultiTaskLassoCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .. import NetworkLassoRegressor
from ..search.estimators import FALLRegressorCV

# Matrices of all pairs of rows, and one model per row, are made up to here.
MAX_ROWS = 3000

Packages = dict[str, tuple[str, str, str, dict[str, Any]]]

# Packages of boosted trees and similar models: module, regressor, classifier, and options.
PACKAGES: Packages = {
    "LightGBM": ("lightgbm", "LGBMRegressor", "LGBMClassifier", {"verbose": -1}),
    "CatBoost": (
        "catboost",
        "CatBoostRegressor",
        "CatBoostClassifier",
        {"verbose": 0, "allow_writing_files": False},
    ),
    "EBM": (
        "interpret.glassbox",
        "ExplainableBoostingRegressor",
        "ExplainableBoostingClassifier",
        {},
    ),
}


def more_models(
    y: NDArray, classify: bool, n_train: int, jobs: int, seed: int, packages: bool = True
) -> tuple[dict[str, Any], list[str]]:
    """Models for a comparison beside the baselines, and a sentence on those that are left out.

    `packages` says whether those of other packages are among them; some take minutes.
    """
    scaled = StandardScaler()
    trees = _boosted(classify, jobs, seed, PACKAGES if packages else {})
    if y.ndim > 1:
        trees = {name: MultiOutputRegressor(model) for name, model in trees.items()}
    absent = [name for name in PACKAGES if name not in trees] if packages else []
    notes = [f"Not installed, and so left out: {', '.join(absent)}."] if absent else []
    if classify:
        return {"logistic": make_pipeline(scaled, LogisticRegression(max_iter=2000))} | trees, notes
    lasso = LassoCV(max_iter=20_000) if y.ndim == 1 else MultiTaskLassoCV(max_iter=20_000)
    models: dict[str, Any] = {"lasso": make_pipeline(scaled, lasso)} | trees
    if n_train > MAX_ROWS:
        left_out = "Kernel ridge and network lasso are left out: they take up to "
        return models, [f"{left_out}{MAX_ROWS:,} rows.", *notes]
    kernel = {"alpha": np.logspace(-3, 1, 5), "gamma": np.logspace(-3, 0, 7)}
    models["kernel ridge"] = _on_scaled(GridSearchCV(KernelRidge(kernel="rbf"), kernel, cv=3))
    folds = KFold(3, shuffle=True, random_state=0)
    network = GridSearchCV(NetworkLassoRegressor(), {"alpha": [0.3, 3.0, 30.0]}, cv=folds)
    models["network lasso"] = _on_scaled(network)
    return models, notes


def _boosted(classify: bool, jobs: int, seed: int, packages: Packages) -> dict[str, Any]:
    """Boosted trees of scikit-learn, and those of packages that are installed, at their defaults.

    The kind of scikit-learn is tuned in the depth of its trees.
    """
    hist: Any = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    folds = KFold(3, shuffle=True, random_state=0)
    depths = {"max_leaf_nodes": [7, 31]}
    found: dict[str, Any] = {
        "boosted trees": GridSearchCV(hist(random_state=seed), depths, cv=folds)
    }
    for name, (package, of_values, of_classes, options) in packages.items():
        if find_spec(package.split(".")[0]) is None:
            continue
        kind = getattr(import_module(package), of_classes if classify else of_values)
        threads = {"thread_count" if name == "CatBoost" else "n_jobs": jobs}
        found[name] = kind(random_state=seed, **options, **threads)
    return found


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
