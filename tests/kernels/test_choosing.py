"""The compiled choice of anchors against tables of all errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from locallinear.models import choice
from locallinear.models.choice import Votes, choose


def problem(seed, *, n=60, d=3, k=7, m=2, voters=None):
    """Samples, anchor models, and votes of near samples, some of them with no weight."""
    rng = np.random.default_rng(seed)
    Z, Y = rng.normal(size=(n, d)), rng.normal(size=(n, m))
    models = rng.normal(size=(k, d + 1, m))
    models[k // 2] = models[0]  # equal errors: the first anchor is taken
    if voters is None:
        return Z, Y, models, None
    u = n if voters == "everyone" else n // 2
    near = rng.integers(0, u, (n, 4)).astype(np.int32)
    shares = rng.integers(0, 3, (n, 4)).astype(float)
    own = None if voters == "everyone" else rng.integers(0, 2, n).astype(float)
    return Z, Y, models, Votes(Z[:u], Y[:u], near, shares, own)


def by_tables(Z, Y, models, votes):
    return choice._choose_by_tables(Z, Y, models, votes)


@pytest.mark.parametrize("voters", [None, "everyone", "some"])
@given(st.integers(0, 2**31), st.integers(1, 3))
def test_many_samples_choose_as_few_do(voters, seed, m):
    given_samples = problem(seed, m=m, voters=voters)
    labels, residuals = by_tables(*given_samples)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "FEW_ERRORS", 0)
        found = choose(*given_samples)
    assert_array_equal(found[0], labels)
    assert_allclose(found[1], residuals, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("voters", [None, "everyone", "some"])
def test_parts_of_samples_and_of_anchors_do_not_matter(voters, monkeypatch):
    given_samples = problem(0, n=500, k=30, voters=voters)
    monkeypatch.setattr(choice, "FEW_ERRORS", 0)
    labels, residuals = choose(*given_samples)
    monkeypatch.setattr(choice, "CACHE_BYTES", 2_000)  # a few anchors at a time
    for n_threads in (1, 3):
        others = choose(*given_samples, n_threads)
        assert_array_equal(others[0], labels)
        assert_array_equal(others[1], residuals)
