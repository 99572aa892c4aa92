"""The paper's three algorithms as they are written: a loop a sample, every W_i stored."""

import numpy as np
from sklearn.linear_model import Ridge


class NaiveFALL:
    """FALL with random anchors, ridge models, an intercept and weights 1/distance."""

    def __init__(self, n_anchors=100, n_anchor_neighbors=20, anchor_alpha=1.0, alpha=1.0, K=5):
        self.n_anchors = n_anchors
        self.n_anchor_neighbors = n_anchor_neighbors
        self.anchor_alpha = anchor_alpha
        self.alpha = alpha
        self.K = K

    def fit(self, X, y):
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

    def predict(self, X):
        return np.array([self._predict_one(x) for x in X])

    def _predict_one(self, x):
        distances = np.linalg.norm(self.X - x, axis=1)
        near = np.argsort(distances)[: self.K]
        W_pred, S = 0.0, 0.0
        for j in near:
            if distances[j] == 0.0:
                return self.W[j] @ np.append(x, 1.0)
            W_pred = W_pred + self.W[j] / distances[j]
            S += 1 / distances[j]
        return W_pred / S @ np.append(x, 1.0)
