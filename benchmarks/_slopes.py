"""Models that give slopes: ours, and others by finite differences or by local least squares."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks._functions import Problem
from benchmarks.accuracy import ebm, lightgbm
from locallinear import FALLEnsembleRegressor, FALLRegressorCV

Slopes = Callable[[NDArray], NDArray]

# Half the width of a finite difference, in standard deviations.
STEPS = (0.05, 0.1, 0.2, 0.4)


class LocalSlopes:
    """Gradients by least squares in the neighbourhood of each sample, as DNNR has them.

    A prediction is the mean over the nearest samples of their targets plus gradient times
    difference; its slope is the mean of their gradients. The numbers of neighbours are those with
    the smallest error on a third of the samples.
    """

    fitted = (10, 20, 40, 80)  # samples that a gradient is fitted on
    averaged = (3, 5, 10)  # samples that make a prediction

    def fit(self, X: NDArray, y: NDArray) -> "LocalSlopes":
        part = len(X) // 3
        errors = {}
        for sizes in product(self.fitted, self.averaged):
            predicted = self._set(X[part:], y[part:], *sizes).predict(X[:part])
            errors[sizes] = np.mean((predicted - y[:part]) ** 2)
        return self._set(X, y, *min(errors, key=lambda sizes: errors[sizes]))

    def _set(self, X: NDArray, y: NDArray, n_fitted: int, n_averaged: int) -> "LocalSlopes":
        self.scaler = StandardScaler().fit(X)
        self.Z, self.y = self.scaler.transform(X), y
        self.index = NearestNeighbors(n_neighbors=n_averaged).fit(self.Z)
        near = self.index.kneighbors(self.Z, n_fitted + 1, return_distance=False)
        offsets, rises = self.Z[near] - self.Z[:, None], y[near] - y[:, None]
        # The pseudo-inverse: the smallest gradient, where there are too few samples for all.
        self.gradients = np.einsum("ndk,nk->nd", np.linalg.pinv(offsets, rcond=1e-6), rises)
        return self

    def _near(self, X: NDArray) -> tuple[NDArray, NDArray]:
        Z = self.scaler.transform(X)
        return Z, self.index.kneighbors(Z, return_distance=False)

    def predict(self, X: NDArray) -> NDArray:
        Z, near = self._near(X)
        moved = ((Z[:, None] - self.Z[near]) * self.gradients[near]).sum(axis=2)
        return (self.y[near] + moved).mean(axis=1)

    def slopes(self, X: NDArray) -> NDArray:
        return self.gradients[self._near(X)[1]].mean(axis=1) / self.scaler.scale_


def fall(seed: int) -> Any:
    return FALLRegressorCV(n_jobs=-1, random_state=seed)


def fall_ensemble(seed: int) -> Any:
    return FALLEnsembleRegressor(n_jobs=-1, random_state=seed)


def boosted(seed: int) -> Any:
    return lightgbm().set_params(random_state=seed)


def additive(seed: int) -> Any:
    # Four of the default's 14 bags; on one thread, because its processes wait for each other.
    return ebm(n_jobs=1, outer_bags=4).set_params(random_state=seed)


def local(seed: int) -> Any:
    return LocalSlopes()


OURS: dict[str, Callable[[int], Any]] = {
    "FALLRegressorCV": fall,
    "FALLEnsembleRegressor": fall_ensemble,
}
OTHERS: dict[str, Callable[[int], Any]] = {
    "LightGBM, differences": boosted,
    "EBM, differences": additive,
    "local least squares": local,
}


def slopes_of(model: Any, problem: Problem) -> Iterator[NDArray]:
    """A fitted model's slopes at the queries, (q, s): one array per step of finite differences."""
    if hasattr(model, "explain"):
        yield model.explain(problem.queries).slopes[:, problem.sloped, 0]
    elif hasattr(model, "slopes"):
        yield model.slopes(problem.queries)[:, problem.sloped]
    else:
        for step in STEPS:
            yield differences(model.predict, problem, step)


def differences(predict: Slopes, problem: Problem, step: float) -> NDArray:
    """Central differences of predictions, (q, s), over twice a step in standard deviations."""
    columns = []
    for feature, scale in zip(problem.sloped, problem.scale, strict=True):
        ends = []
        for sign in (1, -1):
            moved = problem.queries.copy()
            moved[:, feature] += sign * step * scale
            ends.append(predict(moved))
        columns.append((ends[0] - ends[1]) / (2 * step * scale))
    return np.stack(columns, axis=1)
