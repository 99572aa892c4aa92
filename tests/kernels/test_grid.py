"""The compiled functions of a search, against what they say in numpy, for shapes of all kinds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from locallinear.kernels.grid import grid
from locallinear.runtime.chunks import LANES, whole_lanes

TOLERANCE = {"rtol": 1e-9, "atol": 1e-11}


class Problem:
    """p sets of k models of m targets, n samples that choose among them, and q queries."""

    def __init__(self, seed, n, d, m, p, k, q, n_alphas):
        rng = np.random.default_rng(seed)
        self.X, self.Y = rng.normal(size=(n, d)), rng.normal(size=(n, m))
        self.models = rng.normal(size=(p, m, k, d + 1))
        self.counts = np.unique(rng.integers(1, k + 1, 4))
        n_near = int(rng.integers(1, n + 1))
        self.near = np.array([rng.permutation(n)[:n_near] for _ in range(q)])
        self.weights = rng.random((q, n_near)) + 0.1
        self.levels = np.unique(rng.integers(1, n_near + 1, 3))
        self.factors = rng.normal(size=(q, n_near, n_alphas))
        self.queries = np.column_stack([rng.normal(size=(q, d)), np.ones(q)])
        self.y, self.y_counts = rng.normal(size=q), rng.integers(0, 3, q).astype(float)
        self.target = int(rng.integers(m))

    @property
    def n_choices(self):
        return len(self.models) * len(self.counts)

    def expected_choices(self):
        """Labels (n, C) and residuals (m, n, C)."""
        wide = np.column_stack([self.X, np.ones(len(self.X))])
        labels, own = [], []
        for i, models in enumerate(self.models):
            residuals = self.Y.T[:, :, None] - np.einsum("mkd,nd->mnk", models, wide)
            for count in self.counts:
                chosen = (residuals[..., :count] ** 2).sum(axis=0).argmin(axis=1)
                labels.append(i * models.shape[1] + chosen)
                own.append(residuals[:, np.arange(len(wide)), chosen])
        return np.stack(labels, axis=-1), np.stack(own, axis=-1)

    def choices(self):
        """Labels (g, n, 8) and residuals (m, g, n, 8), as the compiled function chooses."""
        n, m = self.Y.shape
        X, Y = np.zeros((self.X.shape[1] + 1, whole_lanes(n))), np.zeros((m, whole_lanes(n)))
        X[:-1, :n], X[-1, :n], Y[:, :n] = self.X.T, 1.0, self.Y.T
        shape = whole_lanes(self.n_choices) // LANES, n, LANES
        labels, own = np.full(shape, 2**30, dtype=np.int32), np.full((m, *shape), np.nan)
        grid.best_at_levels(X, Y, np.zeros(X.shape[1]), self.models, self.counts, labels, own)
        return labels, own

    def given(self, labels, own):
        """What the functions that predict take, for one target."""
        models = self.models[:, self.target].reshape(-1, self.queries.shape[1])
        by_anchor = np.full((len(self.queries), whole_lanes(len(models))), np.nan)
        padded = np.zeros((models.shape[1], by_anchor.shape[1]))
        padded[:, : len(models)] = models.T
        grid.fit_queries(self.queries, padded, 0, len(self.queries), by_anchor)
        assert_allclose(by_anchor, self.queries @ padded, **TOLERANCE)
        scales = 1 / self.weights.cumsum(axis=1).take(self.levels - 1, axis=1)
        places = self.near, self.weights, self.factors, self.levels, scales
        return *places, by_anchor, labels, own[self.target]


def predictions(near, weights, factors, levels, scales, by_anchor, labels, own):
    """(q, g, levels, L, 8), as `predict_levels` says."""
    shape = len(near), len(labels), len(levels), factors.shape[2], LANES
    out = np.empty(shape)
    for i, g, at in np.ndindex(shape[:3]):
        rows = near[i, : levels[at]]
        chosen = weights[i, : len(rows)] @ by_anchor[i, labels[g, rows]]
        out[i, g, at] = (chosen + factors[i, : len(rows)].T @ own[g, rows]) * scales[i, at]
    return out


LARGEST = {"n": 30, "d": 4, "m": 3, "p": 4, "k": 12, "q": 5, "n_alphas": 16}
problems = st.builds(
    Problem,
    seed=st.integers(0, 10**6),
    **{name: st.integers(1, most) for name, most in LARGEST.items()},
)


@given(problems)
def test_each_sample_chooses_the_anchor_with_the_smallest_error(problem):
    labels, own = problem.choices()
    expected_labels, expected_own = problem.expected_choices()
    flat_labels = labels.transpose(1, 0, 2).reshape(len(problem.X), -1)
    flat_own = own.transpose(0, 2, 1, 3).reshape(*expected_own.shape[:2], -1)
    assert_array_equal(flat_labels[:, : problem.n_choices], expected_labels)
    assert_allclose(flat_own[..., : problem.n_choices], expected_own, **TOLERANCE)
    # What is looked up, but is no choice, is an anchor too.
    assert not flat_labels[:, problem.n_choices :].any()
    assert not flat_own[..., problem.n_choices :].any()


@given(problems)
def test_predictions_and_sums_of_their_errors_are_those_of_numpy(problem):
    given_all = problem.given(*problem.choices())
    expected = predictions(*given_all)
    out = np.full(expected.shape, np.nan)
    grid.predict_levels(*given_all, out)
    assert_allclose(out, expected, **TOLERANCE)
    errors = np.abs(expected - problem.y[:, None, None, None, None])
    for squared in (True, False):
        sums = np.full(expected.shape[1:], 0.5)
        grid.add_errors(*given_all, problem.y, problem.y_counts, squared, sums)
        of_queries = np.tensordot(problem.y_counts, errors**2 if squared else errors, axes=1)
        assert_allclose(sums, 0.5 + of_queries, **TOLERANCE)
