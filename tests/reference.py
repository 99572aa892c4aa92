"""FALL transcribed from the paper as plainly as possible: the oracle of the tests.

Loops over samples, anchors and queries; every local model W_i is stored; anchor models come from
scikit-learn. Nothing here is fast, and nothing is shared with the library.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, LinearRegression, Ridge
from sklearn.preprocessing import StandardScaler


class Raw:
    """The features as they are: the paper."""

    def __init__(self, X, weights):
        self.shift, self.scale = np.zeros(X.shape[1]), np.ones(X.shape[1])

    def __call__(self, X):
        return (X - self.shift) / self.scale

    def to_units(self, W):
        coef = W[:-1] / self.scale[:, None]
        return np.vstack([coef, W[-1] - self.shift @ coef])


class Standard(Raw):
    """Mean 0 and variance 1, from scikit-learn."""

    def __init__(self, X, weights):
        scaler = StandardScaler().fit(X[weights > 0], sample_weight=weights[weights > 0])
        self.shift, self.scale = scaler.mean_, scaler.scale_


class Quantile:
    """Each value's mid-rank, made uniform with variance 1.

    Continued linearly outside: over the outermost quarter of the ranks, at most as steep as on
    average.
    """

    def __init__(self, X, weights):
        self.X, self.weights = X, weights

    def __call__(self, X):
        return np.array([[self._rank(x, j) for j, x in enumerate(row)] for row in X])

    def to_units(self, W):
        return W

    def _rank(self, x, j):
        values = sorted(set(self.X[self.weights > 0, j]))
        heights = [self._height(v, j) for v in values]
        low, high = values[0], values[-1]
        if low == high:
            return heights[0]
        quarter = (heights[-1] - heights[0]) / 4
        average = 4 * quarter / (high - low)
        if x < low:
            inner = np.interp(heights[0] + quarter, heights, values)
            return heights[0] + min(average, quarter / (inner - low)) * (x - low)
        if x > high:
            inner = np.interp(heights[-1] - quarter, heights, values)
            return heights[-1] + min(average, quarter / (high - inner)) * (x - high)
        return np.interp(x, values, heights)

    def _height(self, value, j):
        below = self.weights[self.X[:, j] < value].sum()
        here = self.weights[self.X[:, j] == value].sum()
        return np.sqrt(3) * (2 * (below + here / 2) / self.weights.sum() - 1)


SPACES = {None: Raw, "standard": Standard, "quantile": Quantile}


class ReferenceFALL:
    """The paper's algorithms for given anchor points (in the units of X).

    Attributes: `space`, `Z`, `anchors` (list of A_l, intercept last), `errors` (n, k) that decide
    the assignment, and after `make_models(labels)` every W_i in `models` and C_i in `corrections`.
    """

    def __init__(
        self,
        *,
        anchor_points=None,
        anchor_models=None,
        n_anchor_neighbors=20,
        anchor_alpha=1.0,
        anchor_l1_ratio=0.0,
        alpha=1.0,
        n_neighbors=5,
        weights="distance",
        fit_intercept=True,
        scaling="standard",
        assignment_neighbors=1,
    ):
        self.__dict__.update(locals())

    def fit(self, X, Y, sample_weight=None, graph=None):
        self.v = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        self.space = SPACES[self.scaling](X, self.v)
        self.Z, self.Y = self.space(X), Y
        if self.anchor_models is not None:
            self.anchors = [self._from_units(A) for A in self.anchor_models]
        else:
            self.anchors = [self._anchor(a, graph) for a in self.space(self.anchor_points)]
        self.errors = np.array([self._errors(i) for i in range(len(X))])
        return self.make_models(self.errors.argmin(axis=1))

    def make_models(self, labels):
        """Algorithm 1's loop, for labels that minimise `errors`."""
        self.labels, self.models, self.corrections = labels, [], []
        for i, label in enumerate(labels):
            x, A = self._extended(self.Z[i]), self.anchors[label]
            residual = self.Y[i] - self._apply(A, self.Z[i])
            C = np.outer(x, residual) / (self.alpha + x @ x)
            self.corrections.append(C)
            self.models.append(A + C)
        return self

    def predict_one(self, query):
        """Algorithm 2: prediction, W_pred, R_pred, C_pred, neighbours and their weights."""
        z = self.space(query[None])[0]
        near = self.nearest(z, self.n_neighbors)
        a = np.array(self._relative_weights(z, near))
        a = a * self._counts(near, self.n_neighbors)
        a = a / a.sum()
        R = sum(aj * self.anchors[self.labels[j]] for aj, j in zip(a, near, strict=True))
        C = sum(aj * self.corrections[j] for aj, j in zip(a, near, strict=True))
        W = sum(aj * self.models[j] for aj, j in zip(a, near, strict=True))
        return self._apply(W, z), W, R, C, near, a

    def nearest(self, z, count):
        """Rows of the nearest samples that have weight; equal distances by the lower row."""
        rows = [i for i in range(len(self.Z)) if self.v[i] > 0]
        return sorted(rows, key=lambda i: (self._distance(z, i), i))[:count]

    def _distance(self, z, i):
        return np.sqrt(((self.Z[i] - z) ** 2).sum())

    def _relative_weights(self, z, near):
        distances = np.array([self._distance(z, j) for j in near])
        if self.weights == "uniform":
            return np.ones(len(near))
        if callable(self.weights):
            return self.weights(distances[None])[0]
        if (distances == 0).any():
            return (distances == 0).astype(float)
        return 1 / distances

    def _counts(self, near, limit):
        """How much of each sample's weight fits into a neighbourhood of this many samples."""
        counts, room = [], limit
        for j in near:
            counts.append(min(self.v[j], room))
            room -= counts[-1]
        return np.array(counts)

    def _anchor(self, point, graph):
        """Algorithm 3 for one anchor."""
        if graph is None:
            near = self.nearest(point, self.n_anchor_neighbors)
            counts = self._counts(near, self.n_anchor_neighbors)
        else:
            (i,) = self.nearest(point, 1)
            near = [j for j in np.flatnonzero(graph.toarray()[i]) if self.v[j] > 0] or [i]
            counts = self.v[near]
        return fit_anchor(
            self.Z[near],
            self.Y[near],
            counts,
            self.anchor_alpha,
            self.anchor_l1_ratio,
            self.fit_intercept,
        )

    def _errors(self, i):
        near, counts = [i], [1.0]
        if self.assignment_neighbors > 1:
            near = self.nearest(self.Z[i], self.assignment_neighbors)
            counts = self._counts(near, self.assignment_neighbors)
        return [
            sum(
                c * ((self.Y[j] - self._apply(A, self.Z[j])) ** 2).sum()
                for c, j in zip(counts, near, strict=True)
            )
            for A in self.anchors
        ]

    def _extended(self, z):
        return np.append(z, float(self.fit_intercept))

    def _apply(self, A, z):
        return A[:-1].T @ z + A[-1]

    def _from_units(self, A):
        if self.scaling == "quantile":
            return A
        return np.vstack([A[:-1] * self.space.scale[:, None], A[-1] + self.space.shift @ A[:-1]])


def fit_anchor(X, Y, v, alpha, l1_ratio, fit_intercept):
    """One elastic net by scikit-learn, (d + 1, m), the intercept last."""
    keep = v > 0
    X, Y, v = X[keep], Y[keep], v[keep]
    if alpha == 0:
        model = LinearRegression(fit_intercept=fit_intercept)
    elif l1_ratio == 0:
        model = Ridge(alpha * v.sum(), fit_intercept=fit_intercept, solver="svd")
    else:
        columns = [certified_elastic_net(X, y, v, alpha, l1_ratio, fit_intercept) for y in Y.T]
        return np.array(columns).T
    model.fit(X, Y, sample_weight=v)
    m = Y.shape[1]
    coef = np.reshape(model.coef_, (m, -1)).T
    return np.vstack([coef, np.broadcast_to(model.intercept_, m)])


def certified_elastic_net(X, y, v, alpha, l1_ratio, fit_intercept):
    """scikit-learn's signs, their exact solution, and proof that it is the optimum, (d + 1,)."""
    share = v / v.sum()
    x_mean, y_mean = (share @ X, share @ y) if fit_intercept else (np.zeros(X.shape[1]), 0.0)
    Xc, yc = X - x_mean, y - y_mean
    G, c = (Xc.T * share) @ Xc, (Xc.T * share) @ yc
    l1, l2 = alpha * l1_ratio, alpha * (1 - l1_ratio)
    model = ElasticNet(
        alpha,
        l1_ratio=l1_ratio,
        fit_intercept=fit_intercept,
        tol=0.0,
        max_iter=1000,
        warm_start=True,
    )
    for _ in range(200):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y, sample_weight=v)
        on = np.flatnonzero(model.coef_)
        signs, w = np.sign(model.coef_), np.zeros(X.shape[1])
        H = G[np.ix_(on, on)] + l2 * np.eye(len(on))
        w[on] = np.linalg.lstsq(H, c[on] - l1 * signs[on], rcond=None)[0]
        gradient = c - G @ w - l2 * w
        slack = 1e-10 * max(np.abs(c).max(), l1)
        optimal = np.abs(gradient - l1 * signs)[on].max(initial=0.0) <= slack
        if optimal and (np.sign(w) == signs).all() and (np.abs(gradient) <= l1 + slack).all():
            return np.append(w, y_mean - x_mean @ w)
    raise AssertionError("scikit-learn did not find the signs of the optimum")
