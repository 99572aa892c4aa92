"""Weighted sums of rows of a table, compiled: without Python's lock, unlike a sparse product."""

import numpy as np

from ..compiler import njit


@njit(cache=True, nogil=True)
def summed_rows(table, near, shares):
    """Σ_a shares_ia table[near_ia] for each i, (n, k).

    Parameters
    ----------
    table : (u, k)
    near, shares : (n, A) rows of the table, and how much each counts
    """
    n, A = near.shape
    k = table.shape[1]
    out = np.zeros((n, k), table.dtype)
    for i in range(n):
        for a in range(A):
            share, row = shares[i, a], table[near[i, a]]
            for anchor in range(k):
                out[i, anchor] += share * row[anchor]
    return out
