"""How good is the model: cross-validated against what anyone would try first."""

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.metrics import (
    accuracy_score,
    mean_absolute_error,
    r2_score,
    recall_score,
    root_mean_squared_error,
)
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

PENALTIES = np.logspace(-3, 3, 7)
N_FOLDS = 5


def balanced_accuracy(true: NDArray, said: NDArray) -> float:
    """The mean recall of the classes that are there; others may be said of a small fold."""
    return recall_score(true, said, labels=np.unique(true), average="macro", zero_division=0)


REGRESSION = {"R²": r2_score, "RMSE": root_mean_squared_error, "MAE": mean_absolute_error}
CLASSIFICATION = {"accuracy": accuracy_score, "balanced accuracy": balanced_accuracy}


def cross_validated(
    model, X: NDArray, y: NDArray, known: tuple[NDArray, NDArray] | None = None
) -> dict:
    """Scores of a model and its rivals in the folds of one cross-validation.

    `known` is what the model said of rows that it had not seen, and the number of each row's
    fold, where that is known already.

    Returns
    -------
    dict
        ``metrics`` (names), ``models`` (each with its name and, a metric, mean and spread over
        the folds), ``predicted`` (what the model said of each row when it had not seen it) and
        ``n_folds``.
    """
    if known is not None and np.unique(known[1], return_counts=True)[1].min() < 2:
        known = None
    folds = _folds(model, y) if known is None else PredefinedSplit(known[1])
    metrics = CLASSIFICATION if is_classifier(model) else REGRESSION
    splits = list(folds.split(X, y))
    smallest = min(len(train) for train, _ in splits)
    rivals = {"FALL (this model)": clone(model), **_rivals(model, smallest)}
    predicted = np.empty(len(X), dtype=y.dtype) if y.ndim == 1 else np.empty(y.shape)
    models: list[dict] = []
    for name, rival in rivals.items():
        scores = []
        for train, test in splits:
            if known is not None and not models:
                said = known[0][test]
            else:
                said = rival.fit(X[train], y[train]).predict(X[test])
            scores.append([metric(y[test], said) for metric in metrics.values()])
            if not models:
                predicted[test] = said
        columns = zip(metrics, np.mean(scores, axis=0), np.std(scores, axis=0), strict=True)
        models.append({"name": name} | {m: {"mean": a, "spread": b} for m, a, b in columns})
    return {
        "metrics": list(metrics),
        "models": models,
        "predicted": predicted,
        "n_folds": len(splits),
    }


def _folds(model, y: NDArray):
    """Shuffled folds of two samples or more, with every class in each where that can be."""
    if len(y) < 4:
        raise ValueError(f"cross-validation needs 4 samples, but there are {len(y)}.")
    n_folds = min(N_FOLDS, len(y) // 2)
    if is_classifier(model):
        smallest = np.unique(y, return_counts=True)[1].min()
        if smallest >= 2:
            return StratifiedKFold(min(n_folds, smallest), shuffle=True, random_state=0)
    return KFold(n_folds, shuffle=True, random_state=0)


def _rivals(model, n_train: int) -> dict:
    """KNN and ridge with their one parameter chosen within the training folds, and the mean."""
    if is_classifier(model):
        return {
            "KNN": make_pipeline(StandardScaler(), _tuned(KNeighborsClassifier(), n_train)),
            "ridge": make_pipeline(StandardScaler(), RidgeClassifierCV(PENALTIES)),
            "most frequent class": DummyClassifier(),
        }
    return {
        "KNN": make_pipeline(StandardScaler(), _tuned(KNeighborsRegressor(), n_train)),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(PENALTIES)),
        "mean": DummyRegressor(),
    }


def _tuned(knn, n_train: int):
    """KNN with the number of neighbours chosen; one neighbour where nothing can be split."""
    sizes = [k for k in (3, 5, 10, 20) if k <= n_train // 2]
    if not sizes:
        return knn.set_params(n_neighbors=1)
    scoring = "accuracy" if is_classifier(knn) else "neg_mean_squared_error"
    return GridSearchCV(knn, {"n_neighbors": sizes}, cv=KFold(3), scoring=scoring)
