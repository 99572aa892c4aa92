"""Nodes of the network lasso that share a model become one node."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .blocks import PseudoInverses, apply_blocks, pseudo_inverses
from .edges import add_samples, differences, norms, predict_samples, sum_by
from .problem import Problem, State, make_problem, objective

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

SHORTEST = 1e-150  # of an edge, so that its stiffness is finite


def contract(
    problem: Problem, state: State, closed: Mask, zero: Mask
) -> tuple[Problem, State, Rows]:
    """Join the ends of closed edges (E,) and fix coefficients (G, m, p) at zero.

    Returns the smaller problem, its state, and the new node of each old one.
    """
    G = problem.shape[0]
    heads, tails = problem.heads[closed], problem.tails[closed]
    links = coo_array((np.ones(len(heads)), (heads, tails)), shape=(G, G))
    n_groups, groups = connected_components(links, directed=False)
    groups = groups.astype(np.intp)  # pairs of 32-bit numbers would overflow below
    heads, tails = groups[problem.heads], groups[problem.tails]
    outer = np.flatnonzero(heads != tails)
    swapped = np.where(heads > tails, -1.0, 1.0)[outer]
    low, high = np.minimum(heads, tails)[outer], np.maximum(heads, tails)[outer]
    pairs, edge = np.unique(low * n_groups + high, return_inverse=True)
    U = sum_by(edge, state.U[outer] * swapped[:, None, None], len(pairs))
    contracted = make_problem(
        problem.X,
        problem.Y,
        groups[problem.node],
        (pairs // n_groups, pairs % n_groups),
        np.bincount(edge, problem.limits[outer], len(pairs)),
        np.bincount(groups, problem.exclusive),
        problem.penalised,
    )
    signs = state.signs
    if problem.localized:
        free = ~zero if problem.free is None else problem.free & ~zero
        # A coefficient of a group is fixed at zero only if it is in all of its nodes.
        free = sum_by(groups, free.astype(float), n_groups) > 0
        contracted = contracted._replace(free=free)
        signs = _means(signs, groups)
    W = _joint_models(problem, state.W, groups, contracted)
    # The bound stays: the contracted problem has the same objective on fewer models.
    state = state._replace(W=W, U=U, signs=signs, objective=objective(contracted, W))
    return contracted, state, groups


def _means(values: Array, groups: Rows) -> Array:
    counts = np.bincount(groups)
    return sum_by(groups, values, len(counts)) / counts[:, None, None]


def _joint_models(problem: Problem, W: Array, groups: Rows, contracted: Problem) -> Array:
    """Models near the groups' means that keep the samples' predictions, as far as edges allow.

    A mean alone would not do: with large features its predictions are far off although it is
    within the smoothing of every member. Nor would exact predictions: near-duplicates with
    different predictions would need a model far from its neighbours.
    """
    order = np.argsort(groups[problem.node], kind="stable")
    wanted = predict_samples(problem.X, problem.node, W)[order]
    means = _means(W, groups)
    correction = np.zeros_like(means)
    error = wanted - predict_samples(contracted.X, contracted.node, means)
    add_samples(contracted.X, contracted.node, error, correction)
    means += apply_blocks(_blocks_with_edges(contracted, means), correction)
    return means if contracted.free is None else np.where(contracted.free, means, 0)


def _blocks_with_edges(problem: Problem, W: Array) -> PseudoInverses:
    """Inverses of the nodes' XᵀX plus the stiffness of their edges at their present length."""
    lengths = norms(differences(W, problem.heads, problem.tails))
    stiffness = problem.limits / (2 * np.maximum(lengths, SHORTEST))
    ends = np.concatenate([problem.heads, problem.tails])
    added = np.bincount(ends, np.tile(stiffness, 2), len(W))
    factor, start = pseudo_inverses(problem.X, problem.start)
    # A row of the factor has the length 1/σ of a singular value: 1/σ² becomes 1/(σ² + added).
    lengths = np.sqrt(np.einsum("kc,kc->k", factor, factor))
    shrink = np.hypot(1, np.sqrt(np.repeat(added, np.diff(start))) * lengths)
    return PseudoInverses(factor / shrink[:, None], start)
