"""What the neighbours of a query have in common: how many there are, and which regime leads."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def neighbor_counts(neighbors: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many neighbours each query has, (q,).

    An ensemble repeats the first one where a query has fewer neighbours than another.
    """
    new = np.ones(neighbors.shape, dtype=bool)
    new[:, 1:] = neighbors[:, 1:] != neighbors[:, :1]
    return new.sum(axis=1)


def main_regimes(neighbor_labels: NDArray[np.intp], neighbor_weights: Array) -> NDArray[np.intp]:
    """The regime with the most weight among each query's neighbours, (q,)."""
    labels, inverse = np.unique(neighbor_labels, return_inverse=True)
    inverse = inverse.reshape(neighbor_labels.shape)
    totals = np.zeros((len(neighbor_labels), len(labels)))
    np.add.at(totals, (np.arange(len(totals))[:, None], inverse), neighbor_weights)
    return labels[totals.argmax(axis=1)]
