"""Functions that the array standard lacks: on any kind of array what they are on NumPy's."""

import array_api_strict
import numpy as np
import pytest

from locallinear.arrays import (
    cumulative_sum,
    device_of,
    einsum,
    from_device,
    interpolate,
    moved,
    smallest,
    to_numpy,
)

RNG = np.random.default_rng(0)


@pytest.fixture(params=["array-api-strict", "torch"])
def asarray(request):
    if request.param == "torch":
        return pytest.importorskip("torch", reason="torch is not installed").as_tensor
    return array_api_strict.asarray


@pytest.mark.parametrize(
    "rule", ["qkd,qd->qk", "qk,qkdm->qdm", "qkd,qkdm->qm", "nd,ndm->nm", "q->q"]
)
def test_a_sum_of_products_is_that_of_numpy(rule, asarray):
    sizes = dict(zip("qkdmn", (2, 3, 4, 5, 6), strict=True))
    names = rule.split("->")[0].split(",")
    arrays = [RNG.normal(size=[sizes[letter] for letter in letters]) for letters in names]
    found = einsum(rule, *map(asarray, arrays))
    np.testing.assert_allclose(to_numpy(found), np.einsum(rule, *arrays), rtol=1e-12)


def test_interpolation_is_that_of_numpy_to_the_last_digit(asarray):
    knots, heights = np.sort(RNG.normal(size=30)), np.sort(RNG.normal(size=30))
    x = np.concatenate([RNG.normal(size=100), knots, [-9.0, 9.0]])
    found = interpolate(*map(asarray, (x, knots, heights)))
    np.testing.assert_array_equal(to_numpy(found), np.interp(x, knots, heights))
    one = interpolate(*map(asarray, (x, knots[:1], heights[:1])))
    np.testing.assert_array_equal(to_numpy(one), np.interp(x, knots[:1], heights[:1]))


@pytest.mark.parametrize("k", [1, 4, 9])
def test_the_smallest_entries_come_in_order(k, asarray):
    table = RNG.permuted(np.tile(np.arange(9.0), (5, 1)), axis=1)
    values, columns = map(to_numpy, smallest(asarray(table), k))
    np.testing.assert_array_equal(values, np.tile(np.arange(k), (5, 1)))
    np.testing.assert_array_equal(np.take_along_axis(table, columns, axis=1), values)


def test_sums_along_an_axis_are_those_of_numpy(asarray):
    x = RNG.normal(size=(3, 4))
    np.testing.assert_allclose(to_numpy(cumulative_sum(asarray(x), axis=1)), np.cumsum(x, axis=1))


def test_values_move_with_the_precision_of_the_place(asarray):
    like = asarray(np.zeros(1, dtype=np.float32))
    there = moved(np.arange(3.0), like)
    assert to_numpy(there).dtype == np.float32
    assert device_of(there) == device_of(like)
    assert to_numpy(moved(np.arange(3), like)).dtype == np.int64
    np.testing.assert_array_equal(moved(there, np.zeros(1)), np.arange(3.0))


def test_what_is_no_array_of_a_device_stays_as_it_is():
    given = [1.0, 2.0]
    assert from_device(given) is given
