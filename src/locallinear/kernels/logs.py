"""The way back from logs, which is finite for all of them."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Predicted logs count as within it: far from the samples they grow without bound.
LARGEST_LOG = 300.0


def exponential(logs: Array) -> Array:
    """Exp of logs of any shape, which is finite and not 0."""
    return np.exp(np.clip(logs, -LARGEST_LOG, LARGEST_LOG))
