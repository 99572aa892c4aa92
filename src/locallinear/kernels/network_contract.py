"""Nodes of the network lasso that share a model become one.

Importing this module imports numba; import it where it is used.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from locallinear.kernels.blocks import apply_blocks, pseudo_inverses
from locallinear.kernels.edges import add_samples, predict_samples, sum_by
from locallinear.kernels.network_problem import make_problem, objective


def contract(problem, state, closed, zero):
    """The problem in which closed edges' ends are one node and zero coefficients are held."""
    n = problem.shape[0]
    heads, tails = problem.heads[closed], problem.tails[closed]
    links = coo_array((np.ones(len(heads)), (heads, tails)), shape=(n, n))
    n_groups, groups = connected_components(links, directed=False)
    groups = groups.astype(np.intp)  # pairs of 32-bit numbers would overflow below
    heads, tails = groups[problem.heads], groups[problem.tails]
    outer = np.flatnonzero(heads != tails)
    swapped = np.where(heads > tails, -1.0, 1.0)[outer]
    low, high = np.minimum(heads, tails)[outer], np.maximum(heads, tails)[outer]
    pairs, where = np.unique(low * n_groups + high, return_inverse=True)
    U = sum_by(where, state.U[outer] * swapped[:, None, None], len(pairs))
    contracted = make_problem(
        problem.X,
        problem.y,
        groups[problem.node],
        (pairs // n_groups, pairs % n_groups),
        np.bincount(where, problem.limits[outer], len(pairs)),
        np.bincount(groups, problem.exclusive),
        problem.penalised,
    )
    signs = state.signs
    if problem.exclusive.any():
        free = ~zero if problem.free is None else problem.free & ~zero
        # A coefficient is held at zero in a group only if it is in all of its nodes.
        free = sum_by(groups, free.astype(float), n_groups) > 0
        contracted = contracted._replace(free=free)
        signs = sum_by(groups, signs, n_groups) / np.bincount(groups)[:, None, None]
    W = _joint_models(problem, state.W, groups, contracted)
    value = objective(contracted, W)
    # The bound stays: contraction only takes choices away.
    return contracted, state._replace(W=W, U=U, signs=signs, objective=value), groups


def _joint_models(problem, W, groups, contracted):
    """The models nearest to the groups' means that keep the samples' predictions.

    A mean alone would not do: with large features its predictions are far off although it is
    within the smoothing of every member.
    """
    order = np.argsort(groups[problem.node], kind="stable")
    wanted = predict_samples(problem.X, problem.node, W)[order]
    means = sum_by(groups, W, contracted.shape[0]) / np.bincount(groups)[:, None, None]
    blocks = pseudo_inverses(contracted.X, contracted.start)
    for _ in range(3):  # refinement: the blocks square the condition of the samples
        correction = np.zeros_like(means)
        error = wanted - predict_samples(contracted.X, contracted.node, means)
        add_samples(contracted.X, contracted.node, error, correction)
        means += apply_blocks(blocks, correction)
    return means if contracted.free is None else np.where(contracted.free, means, 0)
