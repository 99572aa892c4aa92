"""The seed of everything that one fit draws at random."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state


def fixed_seed(random_state: int | np.random.RandomState | None) -> int:
    """One seed for all configurations, so that they differ only by their parameters."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
