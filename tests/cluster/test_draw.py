"""The beginning of a permutation is that of numpy's."""

import numpy as np
import pytest

pytest.importorskip("dask")
from locallinear.dask import draw


@pytest.mark.parametrize("n", [2, 3, 64, 65, 1000, 4097])
@pytest.mark.parametrize("k", [1, 7, 5000])
@pytest.mark.parametrize("kept", [0, 10_000])
def test_the_first_of_a_permutation_and_what_is_drawn_next_are_those_of_numpy(
    n, k, kept, monkeypatch
):
    monkeypatch.setattr(draw, "WHOLE", 0)
    monkeypatch.setattr(draw, "KEPT", kept)
    monkeypatch.setattr(draw, "BLOCK", 512)
    for seed in range(3):
        random, same = np.random.RandomState(seed), np.random.RandomState(seed)
        np.testing.assert_array_equal(
            draw.first_of_permutation(random, n, k), same.permutation(n)[:k]
        )
        assert random.randint(10**6) == same.randint(10**6)
