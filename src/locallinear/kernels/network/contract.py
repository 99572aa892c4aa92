"""Nodes of the network lasso that share a model become one.

Importing this module imports numba; import it where it is used.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .blocks import PseudoInverses, apply_blocks, pseudo_inverses
from .edges import add_samples, differences, norms, predict_samples, sum_by
from .problem import make_problem, objective

_SHORTEST = 1e-150  # of an edge, so that its stiffness is finite


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
    """Models near the groups' means that keep the samples' predictions, as far as edges allow.

    A mean alone would not do: with large features its predictions are far off although it is
    within the smoothing of every member. Nor would exact predictions: near-duplicates with
    different ones would tear the model away from its neighbours.
    """
    order = np.argsort(groups[problem.node], kind="stable")
    wanted = predict_samples(problem.X, problem.node, W)[order]
    means = sum_by(groups, W, contracted.shape[0]) / np.bincount(groups)[:, None, None]
    correction = np.zeros_like(means)
    error = wanted - predict_samples(contracted.X, contracted.node, means)
    add_samples(contracted.X, contracted.node, error, correction)
    means += apply_blocks(_held_blocks(contracted, means), correction)
    return means if contracted.free is None else np.where(contracted.free, means, 0)


def _held_blocks(problem, W):
    """Inverses of the nodes' XᵀX with the springs that edges of their present length are."""
    lengths = norms(differences(W, problem.heads, problem.tails))
    springs = problem.limits / (2 * np.maximum(lengths, _SHORTEST))
    n = len(W)
    held = np.bincount(problem.heads, springs, n) + np.bincount(problem.tails, springs, n)
    factor, start = pseudo_inverses(problem.X, problem.start)
    # A row of the factor has the length 1/σ of a singular value: 1/σ² becomes 1/(σ² + held).
    reach = np.sqrt(np.einsum("kc,kc->k", factor, factor))
    shrink = np.hypot(1, np.sqrt(np.repeat(held, np.diff(start))) * reach)
    return PseudoInverses(factor / shrink[:, None], start)
