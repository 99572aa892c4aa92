"""The compiled functions of a search, against what they say in numpy, for shapes of all kinds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from locallinear.kernels.grid import predictions

TOLERANCE = {"rtol": 1e-9, "atol": 1e-11}


class Problem:
    """C choices of n samples among k anchors, and the neighbours of q queries."""

    def __init__(self, seed, n, k, q, n_alphas, n_choices):
        rng = np.random.default_rng(seed)
        n_near = int(rng.integers(1, n + 1))
        self.near = np.array([rng.permutation(n)[:n_near] for _ in range(q)])
        self.weights = rng.random((q, n_near)) + 0.1
        self.factors = rng.normal(size=(q, n_near, n_alphas))
        self.neighbor_counts = np.unique(rng.integers(1, n_near + 1, 3))
        self.scales = 1 / self.weights.cumsum(axis=1).take(self.neighbor_counts - 1, axis=1)
        self.by_anchor = rng.normal(size=(q, k))
        self.labels = rng.integers(0, k, (n, n_choices)).astype(np.int32)
        self.own = rng.normal(size=(n, n_choices))
        self.y, self.y_counts = rng.normal(size=q), rng.integers(0, 3, q).astype(float)

    @property
    def given(self):
        """What the compiled functions take."""
        neighbors = self.near, self.weights, self.factors, self.neighbor_counts, self.scales
        return *neighbors, self.by_anchor, self.labels, self.own

    def expected(self):
        """Predictions (v, q, L, C)."""
        shape = len(self.neighbor_counts), len(self.near)
        out = np.empty((*shape, self.factors.shape[2], self.labels.shape[1]))
        for v, i in np.ndindex(shape):
            rows = self.near[i, : self.neighbor_counts[v]]
            chosen = self.weights[i, : len(rows)] @ self.by_anchor[i, self.labels[rows]]
            corrections = self.factors[i, : len(rows)].T @ self.own[rows]
            out[v, i] = (chosen + corrections) * self.scales[i, v]
        return out


LARGEST = {"n": 30, "k": 12, "q": 5, "n_alphas": 16, "n_choices": 40}
problems = st.builds(
    Problem,
    seed=st.integers(0, 10**6),
    **{name: st.integers(1, most) for name, most in LARGEST.items()},
)


@given(problems)
def test_predictions_and_sums_of_their_errors_are_those_of_numpy(problem):
    expected = problem.expected()
    out = np.full(expected.shape, np.nan)
    predictions.predict(*problem.given, out)
    assert_allclose(out, expected, **TOLERANCE)
    errors = np.abs(expected - problem.y[:, None, None])
    for squared in (True, False):
        sums = np.full((len(expected), *expected.shape[2:]), 0.5)
        predictions.add_errors(*problem.given, problem.y, problem.y_counts, squared, sums)
        of_queries = np.einsum("q,vqlc->vlc", problem.y_counts, errors**2 if squared else errors)
        assert_allclose(sums, 0.5 + of_queries, **TOLERANCE)
