"""Standardised features: scikit-learn's values, and the precision of large numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from locallinear.geometry.spaces import WeightedSpace, fit_space, standardised


def inputs():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20_000, 3)) * [1.0, 1e-3, 1e3] + [0.0, 5.0, -1e4]


@pytest.mark.parametrize("weighted", [False, True])
def test_features_are_those_of_the_standard_scaler(weighted):
    X = inputs()
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)) * 1.0 if weighted else None
    expected = StandardScaler().fit(X, sample_weight=weights).transform(X)
    Z, scale = standardised(X, weights)
    space = fit_space("standard", X, weights)
    assert_allclose(Z, expected, atol=1e-9)
    assert_allclose(space.transform(X), expected, atol=1e-9)
    assert_array_equal(scale, space.scale)


def test_constant_columns_become_zero():
    X = np.column_stack([np.full(4, 7.0), [0.3, 0.3, 0.1 + 0.2, 0.3]])
    Z, scale = standardised(X, None)
    assert_allclose(Z, 0, atol=1e-15)
    assert_array_equal(scale, 1)


def test_a_large_offset_does_not_make_values_depend_on_the_order_of_the_rows():
    X = np.round(inputs(), 3) + 2.0**33
    order = np.random.default_rng(2).permutation(len(X))
    assert_allclose(standardised(X[order], None)[0], standardised(X, None)[0][order], rtol=1e-9)


def test_rows_without_weight_may_hold_anything():
    X = inputs()
    weights = np.r_[0.0, np.ones(len(X) - 1)]
    changed = np.vstack([np.full(3, 1e100), X[1:]])
    assert_allclose(standardised(changed, weights)[0][1:], standardised(X[1:], None)[0], rtol=1e-9)


@pytest.mark.parametrize("scaling", [None, "quantile"])
def test_values_of_many_decades_come_back(scaling):
    X = np.concatenate([[0.0], 10.0 ** np.arange(-30, 31, 2)])[:, None]
    space = fit_space(scaling, X, None)
    assert_array_equal(space.inverse(space.transform(X)), X)
    weighted = WeightedSpace(space, np.array([0.3]))
    assert_allclose(weighted.inverse(weighted.transform(X)), X, rtol=1e-12)


def test_zeros_come_back_from_standardised_values():
    X = np.random.default_rng(0).choice([0.0, 1.0, 7.0], (50, 3)) * [1.0, 1e9, 1e-9]
    space = fit_space("standard", X, None)
    again = space.inverse(space.transform(X))
    assert_array_equal(again == 0, X == 0)
    assert_allclose(again, X, rtol=1e-12)
