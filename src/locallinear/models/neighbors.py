"""How much the neighbours of a query count: the weights of their models in a prediction."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..arrays import moved, namespace
from ..checks.arguments import check_neighbor_weights
from ..kernels.local.combine import cut_at, distance_weights

Array = NDArray[np.float64]

Rule = str | Callable[[Array], Array]


def neighbor_weights(distances: Array, rule: Rule, sample_weights: Array | None) -> Array:
    """Relative weights of K neighbours at these distances, both (q, K), nearest first.

    Parameters
    ----------
    rule : the parameter `weights` of FALL
    sample_weights : (q, K) of the neighbours, or None
        A neighbourhood of K ends where the sample weights add up to K.
    """
    if callable(rule):
        try:
            # A copy, for a user's function may write into what it is given.
            found = rule(namespace(distances).asarray(distances, copy=True))
        except Exception as error:  # a user's function can fail in any way
            error.add_note(
                "The function that was passed as `weights` failed. It is called with an array of "
                f"distances, here of shape {distances.shape}, and returns one weight for each."
            )
            raise
        weights = moved(check_neighbor_weights(found, distances.shape), distances)
    else:
        weights = distance_weights(distances, rule)
    if sample_weights is None:
        return weights
    return weights * cut_at(sample_weights, distances.shape[1])
