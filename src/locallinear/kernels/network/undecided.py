"""The network lasso's models where the data of a component do not decide them.

Let N be a change with x_iᵀ N = 0 for every sample of a component. Added to all models of the
component, it changes neither their predictions of these samples nor their differences, so the
objective stays as it is. Such changes exist wherever a component has fewer samples than
coefficients. Of the models that they connect, the one that is nearest to the model of all samples
is the most sensible one for new samples.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .problem import Problem

Array = NDArray[np.float64]


def nearest_to_all_samples(problem: Problem, models: Array) -> Array:
    """The models (G, p, m) of a network lasso, moved towards that of all samples.

    Every component moves by the N of the module's text for which Σ_g ||W_g + N − W||² over its
    nodes g is least, where W (p, m) is the least-squares model of all samples (the shortest one if
    there are several).
    """
    G, _, p = problem.shape
    edges = (np.ones(len(problem.heads)), (problem.heads, problem.tails))
    n_components, component = connected_components(coo_array(edges, shape=(G, G)), directed=False)
    if n_components == 1:
        return models
    of_all = np.linalg.lstsq(problem.X, problem.Y, rcond=None)[0]
    models = models.copy()
    rows, nodes = _by_group(component[problem.node]), _by_group(component)
    for own_rows, own_nodes in zip(rows, nodes, strict=True):
        span = _row_space(problem.X[own_rows])
        if len(span) < p:
            difference = of_all - models[own_nodes].mean(axis=0)
            models[own_nodes] += difference - span.T @ (span @ difference)
    return models


def _by_group(groups: NDArray) -> list[NDArray]:
    """The positions of each group 0, 1, ... in `groups`."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.cumsum(np.bincount(groups))[:-1])


def _row_space(rows: Array) -> Array:
    """An orthonormal basis (rank, p) of what the rows span, up to rounding."""
    if len(rows) > rows.shape[1]:
        rows = np.linalg.qr(rows)[1]
    _, values, vectors = np.linalg.svd(rows, full_matrices=False)
    smallest = np.finfo(float).eps * max(rows.shape) * values[0]
    return vectors[values > smallest]
