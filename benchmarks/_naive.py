"""The paper's three algorithms as they are written: loops over samples, every W_i stored."""

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge


class NaiveFALL:
    """FALL with random anchors, ridge models, an intercept and weights 1/distance."""

    def __init__(
        self,
        n_anchors: int = 100,
        n_anchor_neighbors: int = 20,
        anchor_alpha: float = 1.0,
        alpha: float = 1.0,
        K: int = 5,
    ) -> None:
        self.n_anchors = n_anchors
        self.n_anchor_neighbors = n_anchor_neighbors
        self.anchor_alpha = anchor_alpha
        self.alpha = alpha
        self.K = K

    def fit(self, X: NDArray, y: NDArray) -> "NaiveFALL":
        self.X = X
        anchors = []
        for i in np.random.default_rng(0).permutation(len(X))[: self.n_anchors]:
            near = np.argsort(np.linalg.norm(X - X[i], axis=1))[: self.n_anchor_neighbors]
            ridge = Ridge(self.anchor_alpha * len(near)).fit(X[near], y[near])
            anchors.append(np.append(ridge.coef_, ridge.intercept_))
        self.W = []
        for x, target in zip(X, y, strict=True):
            x = np.append(x, 1.0)
            A = min(anchors, key=lambda A: abs(target - A @ x))
            self.W.append(x * (target - A @ x) / (self.alpha + x @ x) + A)
        return self

    def predict(self, X: NDArray) -> NDArray:
        return np.array([self._predict_one(x) for x in X])

    def _predict_one(self, x: NDArray) -> float:
        distances = np.linalg.norm(self.X - x, axis=1)
        near = np.argsort(distances)[: self.K]
        W_pred, S = 0.0, 0.0
        for j in near:
            if distances[j] == 0.0:
                return self.W[j] @ np.append(x, 1.0)
            W_pred = W_pred + self.W[j] / distances[j]
            S += 1 / distances[j]
        return float(W_pred / S @ np.append(x, 1.0))
