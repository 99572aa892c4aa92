"""The pure functions: anchor models, the choice of an anchor, weights, the simplex projection."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression, Ridge

from locallinear.kernels.local import combine
from locallinear.kernels.local import models as local_models
from locallinear.kernels.local.anchors import elastic_net_path, fit_models, ridge_path
from locallinear.kernels.local.elastic_net import solve_path
from reference import certified_elastic_net

ALPHAS = np.array([1.0, 0.1, 0.01])


@st.composite
def neighborhoods(draw, max_features=6):
    """k neighbourhoods of K samples with weights, some of them zero."""
    k, K = draw(st.integers(1, 3)), draw(st.integers(2, 25))
    d, m = draw(st.integers(1, max_features)), draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    X = rng.normal(size=(k, K, d)) * 10.0 ** rng.integers(-1, 2, d) + 3 * rng.normal(size=d)
    Y = X[..., :1] + rng.normal(size=(k, K, m))
    weights = rng.uniform(0.2, 3, size=(k, K)) * (rng.uniform(size=(k, K)) < 0.8)
    weights[:, 0] = 1.0
    return X, Y, weights, draw(st.booleans())


@given(neighborhoods(), st.sampled_from([1e-3, 0.1, 5.0]))
def test_ridge_models_equal_scikit_learns(case, alpha):
    X, Y, weights, fit_intercept = case
    models = ridge_path(X, Y, weights, [alpha], fit_intercept)[0]
    for x, y, v, A in zip(X, Y, weights, models, strict=True):
        ridge = Ridge(alpha * v.sum(), fit_intercept=fit_intercept, solver="svd").fit(x, y, v)
        expected = np.vstack(
            [
                np.reshape(ridge.coef_, (y.shape[1], -1)).T,
                np.broadcast_to(ridge.intercept_, y.shape[1]),
            ]
        )
        assert_allclose(A, expected, rtol=1e-8, atol=1e-9)


@given(neighborhoods(), st.sampled_from([1e-9, 1e-5, 1e-2]))
def test_ridge_models_of_weak_and_strong_penalties_solve_the_normal_equations(case, alpha):
    X, Y, weights, fit_intercept = case
    models = ridge_path(X, Y, weights, [alpha], fit_intercept)[0]
    for x, y, v, A in zip(X, Y, weights, models, strict=True):
        x_mean = np.average(x, axis=0, weights=v) if fit_intercept else 0.0
        errors = y - x @ A[:-1] - A[-1]
        gradient = (x - x_mean).T @ (v[:, None] * errors) - alpha * v.sum() * A[:-1]
        assert_allclose(gradient, 0.0, atol=1e-9 * np.square(x).sum() * (1 + np.abs(A).max()))


def test_a_neighborhood_has_the_same_ridge_model_whatever_others_are_solved_with_it():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 15, 4)), rng.normal(size=(6, 15, 1))
    X[1::2] *= 1e4  # the penalty is weak there
    weights = np.ones((6, 15))
    together = ridge_path(X, Y, weights, [1e-2, 1.0], True)
    for i in range(6):
        one = slice(i, i + 1)
        assert_array_equal(
            ridge_path(X[one], Y[one], weights[one], [1e-2, 1.0], True), together[:, one]
        )


@given(neighborhoods(), st.sampled_from([0.01, 0.1, 1.0]), st.sampled_from([0.1, 0.5, 0.95, 1.0]))
def test_elastic_nets_equal_scikit_learns(case, alpha, l1_ratio):
    X, Y, weights, fit_intercept = case
    models = elastic_net_path(X, Y, weights, [alpha], l1_ratio, fit_intercept)[0]
    for x, y, v, A in zip(X, Y, weights, models, strict=True):
        on = v > 0
        for target in range(y.shape[1]):
            expected = certified_elastic_net(
                x[on], y[on, target], v[on], alpha, l1_ratio, fit_intercept
            )
            assert_allclose(A[:, target], expected, rtol=1e-8, atol=1e-9)


@given(
    neighborhoods(max_features=40),
    st.sampled_from([1e-4, 0.03, 1.0]),
    st.sampled_from([0.01, 0.5, 1.0]),
)
def test_elastic_nets_satisfy_the_optimality_conditions(case, alpha, l1_ratio):
    X, Y, weights, fit_intercept = case
    models = elastic_net_path(X, Y, weights, [alpha], l1_ratio, fit_intercept)[0]
    assert_optimal(X, Y, weights, fit_intercept, models, alpha, l1_ratio)


def assert_optimal(X, Y, weights, fit_intercept, models, alpha, l1_ratio, slack=1e-9):
    coef, share = models[:, :-1], weights / weights.sum(axis=1, keepdims=True)
    residuals = Y - X @ coef - models[:, -1:]
    if fit_intercept:
        assert np.abs(np.einsum("ks,ksm->km", share, residuals)).max() <= 1e-9 * np.abs(Y).max()
    else:
        assert_array_equal(models[:, -1], 0)
    gradient = np.einsum("ks,ksd,ksm->kdm", share, X, residuals) - alpha * (1 - l1_ratio) * coef
    scale = np.einsum("ks,ksd,ksm->kdm", share, np.abs(X), np.abs(Y)).max()
    bound = alpha * l1_ratio
    on = coef != 0
    assert np.abs(gradient - bound * np.sign(coef))[on].max(initial=0.0) <= slack * scale
    assert np.abs(gradient)[~on].max(initial=0.0) <= bound + slack * scale


@pytest.mark.parametrize("k", [1, 7, 9])
def test_problems_beside_a_hopeless_one_are_solved_as_if_alone(k):
    rng = np.random.default_rng(0)
    gram, moment = np.empty((k, 4, 4)), rng.normal(size=(k, 4, 1))
    for i in range(k):
        rows = rng.normal(size=(12, 4))
        gram[i] = rows.T @ rows
    alone = [solve_path(gram[i : i + 1], moment[i : i + 1], ALPHAS, 0.5) for i in range(k)]
    gram[0], moment[0] = np.inf, np.nan
    together = solve_path(gram, moment, ALPHAS, 0.5)
    for i in range(1, k):
        assert_array_equal(together[:, i], alone[i][:, 0])


def test_coefficients_whose_products_underflow():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 3))
    gram, moment = (rows.T @ rows)[None], (rows.T @ rows @ [1.0, -2.0, 0.5])[None, :, None]
    plain = solve_path(gram, moment, ALPHAS, 0.5)
    tiny = solve_path(gram * 2.0**600, moment * 2.0**50, ALPHAS * 2.0**50, 0.5)
    # The penalty of squares is then too small to be felt, that of absolute values is the same.
    assert_allclose(tiny[1:] * 2.0**550, plain[1:], rtol=0.5)
    assert (tiny != 0).any()


def test_a_lasso_of_equal_columns_is_optimal_though_not_unique():
    rng = np.random.default_rng(0)
    column = rng.normal(size=(1, 30, 1))
    X = np.concatenate([column, column, -column, rng.normal(size=(1, 30, 1))], axis=2)
    Y = 2 * column + 0.1 * rng.normal(size=(1, 30, 1))
    for alpha in [1e-3, 0.1]:
        models = elastic_net_path(X, Y, np.ones((1, 30)), [alpha], 1.0, True)[0]
        assert_optimal(X, Y, np.ones((1, 30)), True, models, alpha, 1.0)
        again = elastic_net_path(X, Y, np.ones((1, 30)), [10.0, alpha, 1e-4], 1.0, True)[1]
        assert_array_equal(again, models)


def test_no_penalty_gives_the_least_squares_model_of_smallest_norm():
    rng = np.random.default_rng(0)
    for K, d in [(30, 4), (3, 8)]:
        X, Y = rng.normal(size=(2, K, d)), rng.normal(size=(2, K, 2))
        models = fit_models(X, Y, np.ones((2, K)), 0.0, 0.7, True)
        for x, y, A in zip(X, Y, models, strict=True):
            plain = LinearRegression().fit(x, y)
            assert_allclose(A, np.vstack([plain.coef_.T, plain.intercept_]), atol=1e-9)


@given(st.integers(0, 2**31), st.integers(2, 12), st.integers(1, 3), st.integers(1, 4))
def test_without_a_penalty_slopes_along_which_samples_do_not_differ_are_zero(
    seed, K, d, n_distinct
):
    rng = np.random.default_rng(seed)
    exact = rng.integers(-30, 30, (n_distinct, d))[rng.integers(0, n_distinct, K)]
    X, Y = 0.1 * exact + 100 * rng.uniform(size=d), rng.normal(size=(K, 1))
    v = rng.uniform(0.3, 3, K)
    (model,) = fit_models(X[None], Y[None], v[None], 0.0, 0.0, True)
    root = np.sqrt(v)[:, None]
    x, y = (root * (z - np.average(z, axis=0, weights=v)) for z in (exact - exact[0], Y))
    assert_allclose(model[:-1], np.linalg.pinv(0.1 * x, rcond=1e-9) @ y, atol=1e-6)
    (moved,) = fit_models(X[None], Y[None] + 10, v[None], 0.0, 0.0, True)
    assert_allclose(moved[:-1], model[:-1], atol=1e-6)


def test_a_penalty_above_the_largest_gradient_leaves_the_mean():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(1, 20, 3)), rng.normal(size=(1, 20, 1))
    (model,) = fit_models(X, Y, np.ones((1, 20)), 1e6, 1.0, True)
    assert_array_equal(model[:-1], 0)
    assert_allclose(model[-1], Y.mean())
    assert_array_equal(fit_models(X, Y, np.ones((1, 20)), 1e6, 1.0, False), 0)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_models_at_extreme_magnitudes_are_those_of_plain_ones_with_other_penalties(scale, l1_ratio):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(1, 20, 3)), rng.normal(size=(1, 20, 1))
    for x_scale, y_scale in [(1.0, scale), (scale, 1.0), (scale, scale)]:
        models = fit_models(x_scale * X, y_scale * Y, np.ones((1, 20)), 0.1, l1_ratio, True)
        # The penalties of |w| and of w², with w in the units of the plain problem.
        absolute = 0.1 * l1_ratio / (x_scale * y_scale)
        squared = 0.1 * (1 - l1_ratio) / x_scale**2
        alpha = absolute + squared
        plain = fit_models(X, Y, np.ones((1, 20)), alpha, absolute / alpha, True)
        assert_allclose(models[:, :-1] * x_scale / y_scale, plain[:, :-1], rtol=1e-9, atol=1e-12)
        assert_allclose(models[:, -1] / y_scale, plain[:, -1], rtol=1e-9)


@given(neighborhoods(), st.sampled_from([0.0, 0.4]))
def test_a_model_does_not_depend_on_which_other_penalties_are_asked_for(case, l1_ratio):
    X, Y, weights, fit_intercept = case
    alphas = [0.05, 3.0, 0.4]

    def path(some):
        if l1_ratio == 0:
            return ridge_path(X, Y, weights, some, fit_intercept)
        return elastic_net_path(X, Y, weights, some, l1_ratio, fit_intercept)

    together = path(alphas)
    for models, alpha in zip(together, alphas, strict=True):
        assert_allclose(models, path([alpha])[0], rtol=1e-9, atol=1e-10)


@given(neighborhoods(), st.sampled_from([0.0, 0.5]))
def test_samples_of_weight_zero_and_the_size_of_all_weights_do_not_matter(case, l1_ratio):
    X, Y, weights, fit_intercept = case
    models = fit_models(X, Y, weights, 0.1, l1_ratio, fit_intercept)
    absurd = np.where(weights[:, :, None] > 0, X, 1e6)
    assert_allclose(
        fit_models(absurd, Y, 7 * weights, 0.1, l1_ratio, fit_intercept),
        models,
        rtol=1e-8,
        atol=1e-9,
    )


@st.composite
def errors_of_anchors(draw):
    """Squared errors (n, k), in some cases many of them equal up to rounding, and a floor (n,)."""
    n, k = draw(st.integers(1, 20)), draw(st.integers(1, 15))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    errors = rng.random((n, k))
    if draw(st.booleans()):
        errors = rng.integers(0, 3, (n, k)) * (1 + 1e-14 * rng.normal(size=(n, k)))
    return errors, np.full(n, 1e-12)


@given(st.integers(0, 2**31), st.integers(1, 8), st.sampled_from([0.0, 1e-12, 1e-6]))
def test_a_choice_is_that_of_one_anchor_after_the_other(seed, k, floor):
    rng = np.random.default_rng(seed)
    # Chains of near ties: each error is within rounding of the next, but not of the last.
    errors = (1 + rng.choice([0.4e-12, 0.9e-12, 1e-3]) * rng.integers(-6, 7, (9, k))) ** 2
    floors = np.full(len(errors), floor)
    best, labels = np.full(len(errors), np.inf), np.zeros(len(errors), dtype=np.intp)
    for i, anchor in np.ndindex(errors.shape):
        if np.sqrt(errors[i, anchor]) * (1 + local_models.TIE) + floor < np.sqrt(best[i]):
            best[i], labels[i] = errors[i, anchor], anchor
    assert_array_equal(local_models.best_anchors(errors, floors), labels)


@given(errors_of_anchors(), st.lists(st.integers(1, 14), max_size=4))
def test_a_choice_in_blocks_of_anchors_is_the_choice_among_the_first_so_many(case, counts):
    errors, floor = case
    n, k = errors.shape
    best, labels, first = np.full(n, np.inf), np.zeros(n, dtype=np.intp), 0
    for count in sorted({k, *(count for count in counts if count < k)}):
        local_models.choose_again(errors[:, first:count], floor, first, best, labels)
        first = count
        assert_array_equal(labels, local_models.best_anchors(errors[:, :count], floor))
        # The first of those that are smallest up to rounding.
        smallest = errors[:, :count].min(axis=1, keepdims=True)
        assert_array_equal(labels, (errors[:, :count] <= smallest + 1e-11).argmax(axis=1))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_choice_among_chains_of_near_ties_is_that_of_one_anchor_after_the_other(kind):
    rng = np.random.default_rng(0)
    tie = local_models.tie_of(np.zeros(1, kind))
    for steps in (0.3, 0.5, 1.0, 1.5):
        roots = rng.random((40, 1)) * (1 + steps * tie * rng.integers(-6, 7, (40, 12)))
        errors = (roots**2).astype(kind)
        floor = (rng.integers(0, 2, 40) * tie * roots[:, 0]).astype(kind)
        held = np.where(rng.random(40) < 0.5, np.inf, errors[:, 0] * (1 + tie)).astype(kind)
        best, labels = held.copy(), np.zeros(40, dtype=np.intp)
        local_models.choose_again(errors, floor, 1, best, labels)
        for i in range(40):
            wanted, now = 0, held[i]
            for anchor, error in enumerate(errors[i]):
                if np.sqrt(error) * (1 + tie) + floor[i] < np.sqrt(now):
                    wanted, now = anchor + 1, error
            assert (labels[i], best[i]) == (wanted, now)


@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(1, 4))
def test_errors_are_summed_over_the_near_samples(seed, n, n_near):
    rng = np.random.default_rng(seed)
    errors, near = rng.random((7, 3)), rng.integers(0, 7, (n, n_near))
    shares = rng.random((n, n_near))
    expected = np.einsum("na,nak->nk", shares, errors[near])
    assert_allclose(local_models.summed_errors(errors, near, shares), expected, rtol=1e-12)


@given(st.integers(0, 2**31), st.floats(0.1, 12))
def test_cut_weights_fill_the_neighbourhood_from_the_nearest(seed, total):
    weights = np.random.default_rng(seed).uniform(0, 3, size=(4, 6))
    cut = combine.cut_at(weights, total)
    assert (cut >= 0).all()
    assert (cut <= weights).all()
    assert_allclose(cut.sum(axis=1), np.minimum(weights.sum(axis=1), total))
    # Nobody gets anything before all nearer ones are full.
    full = np.cumprod(cut == weights, axis=1)
    assert (cut[:, 1:][full[:, :-1] == 0] <= 1e-12).all()


@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e160])
def test_distance_weights_are_inverse_distances_at_any_scale(scale):
    distances = scale * np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 1.0]])
    weights = combine.normalised(combine.distance_weights(distances, "distance"))
    assert_allclose(weights, [[4 / 7, 2 / 7, 1 / 7], [0.5, 0.5, 0.0]])
    assert_array_equal(combine.normalised(np.zeros((1, 4))), np.full((1, 4), 0.25))
