"""Probabilities from scores: the projection, the smoothing, and the fitted map."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.metrics import log_loss

from locallinear.kernels.local.probabilities import (
    MOST_POWER,
    MOST_SLOPE,
    class_probabilities,
    fit_probability_map,
    nearest_probabilities,
    smoothed,
)


def nearest_of_many(scores, candidates):
    return ((candidates - scores) ** 2).sum(axis=1).min()


@given(st.integers(0, 2**31), st.integers(1, 6), st.sampled_from([1e-3, 1.0, 50.0]))
def test_projection_is_nearer_than_any_other_point_of_the_simplex(seed, m, spread):
    rng = np.random.default_rng(seed)
    scores = spread * rng.normal(size=(1, m))
    projected = nearest_probabilities(scores)
    assert_allclose(projected.sum(), 1)
    assert (projected >= 0).all()
    others = np.vstack([rng.dirichlet(np.full(m, 0.3), size=200), np.eye(m)])
    others = np.vstack([others, 0.99 * projected + 0.01 * others])
    distance = ((projected - scores) ** 2).sum()
    assert nearest_of_many(scores[0], others) >= distance * (1 - 1e-9)


def test_projection_keeps_probabilities_and_ignores_a_common_shift():
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=10)
    assert_allclose(nearest_probabilities(p), p, atol=1e-12)
    assert_allclose(nearest_probabilities(p + 5), p, atol=1e-12)


@pytest.mark.parametrize("size", [1e15, 1e17, 1e300])
def test_projection_of_huge_scores_is_the_vertex_or_the_tie(size):
    scores = size * np.array([[1.0, 1.0, 1.0], [1.0, 0.9, 0.0], [-1.0, -1.0, -2.0]])
    expected = [[1 / 3, 1 / 3, 1 / 3], [1, 0, 0], [0.5, 0.5, 0]]
    assert_allclose(nearest_probabilities(scores), expected)


def noisy(seed, n=300, m=3, noise=0.5):
    rng = np.random.default_rng(seed)
    Y = np.eye(m)[rng.integers(0, m, n)]
    return Y + noise * rng.normal(size=Y.shape), Y, rng


def loss(scores, Y, weights, n, slope, power):
    p = class_probabilities(scores, n, slope, power)
    targets = smoothed(Y, n)
    return -weights @ (targets * np.log(p)).sum(axis=1)


@pytest.mark.parametrize("noise", [0.1, 0.5, 3.0])
@pytest.mark.parametrize(("seed", "m"), [(0, 2), (1, 3), (2, 5)])
def test_no_other_map_makes_the_smoothed_targets_likelier(seed, m, noise):
    scores, Y, rng = noisy(seed, 60, m, noise)
    weights = rng.uniform(0.5, 2, 60)
    n, slope, power = fit_probability_map(scores, Y, weights)
    assert n == weights.sum()
    found = minimize(
        lambda t: loss(scores, Y, weights, n, *t),
        [1.0, 0.9],
        method="Nelder-Mead",
        bounds=[(0, MOST_SLOPE), (0, MOST_POWER)],
        options={"xatol": 1e-6, "fatol": 1e-8},
    )
    assert loss(scores, Y, weights, n, slope, power) <= found.fun * (1 + 1e-5)


def test_probabilities_by_the_map_are_its_formula():
    scores, *_ = noisy(0)
    n, slope, power = 50.0, 2.0, 0.4
    parts = np.exp(slope * scores) * ((n * nearest_probabilities(scores) + 1) / (n + 3)) ** power
    near = np.ptp(scores, axis=1) < 1  # classes that are behind by more count as behind by 1
    expected = parts / parts.sum(axis=1, keepdims=True)
    assert near.any()
    assert_allclose(class_probabilities(scores, n, slope, power)[near], expected[near], atol=1e-9)


def test_the_default_map_adds_one_sample_of_each_class():
    scores, *_ = noisy(0)
    expected = (20 * nearest_probabilities(scores) + 1) / 23
    assert_allclose(class_probabilities(scores, 20.0), expected)


@given(
    seed=st.integers(0, 2**31),
    n=st.sampled_from([1.0, 100.0, 1e5, 1e12]),
    slope=st.sampled_from([0.0, 3.0, MOST_SLOPE]),
    power=st.sampled_from([0.0, 0.3, MOST_POWER]),
    far=st.sampled_from([1.0, 1e9, 1e300]),
)
def test_probabilities_are_never_exactly_0_or_1_and_keep_the_order(seed, n, slope, power, far):
    scores, *_ = noisy(seed, 20)
    p = class_probabilities(far * scores, n, slope, power)
    assert (p > 0).all()
    assert (p < 1).all()
    assert_allclose(p.sum(axis=1), 1)
    order = np.argsort(-scores, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(p, order, axis=1), axis=1) <= 1e-15).all()


def test_classes_with_equal_scores_have_equal_probabilities_whatever_rounding_left():
    scores = np.array([[0.1 + 0.2, 0.3, 0.0]])
    p = class_probabilities(scores, 100.0, 5.0, 0.3)
    assert p[0, 0] == p[0, 1]


def test_scores_of_separated_classes_give_a_finite_map():
    Y = np.eye(2)[np.arange(40) % 2]
    _, slope, power = fit_probability_map(Y, Y, np.ones(40))
    p = class_probabilities(Y, 40.0, slope, power)
    # One more sample of each class: nobody can be surer of 40 samples.
    assert_allclose(p.max(axis=1), 41 / 42, atol=1e-3)


def test_scores_that_say_nothing_give_even_probabilities():
    rng = np.random.default_rng(0)
    Y = np.eye(2)[rng.integers(0, 2, 4000)]
    scores = rng.normal(size=Y.shape)
    p = class_probabilities(scores, *fit_probability_map(scores, Y, np.ones(len(Y))))
    assert log_loss(Y, p) < np.log(2) + 2e-3


def test_weights_count_samples():
    scores, Y, rng = noisy(3)
    counts = rng.integers(0, 4, len(Y))
    repeated = np.repeat(np.arange(len(Y)), counts)
    by_weight = fit_probability_map(scores, Y, counts.astype(float))
    by_rows = fit_probability_map(scores[repeated], Y[repeated], np.ones(len(repeated)))
    assert_allclose(by_weight, by_rows, rtol=1e-3)
    assert_array_equal(by_weight[0], by_rows[0])
