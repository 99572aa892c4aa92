"""A lower bound on the network lasso's optimum from any flows on its edges.

For flows U with ||U_e|| <= λ_e and vectors v_i with (Bᵀ U)_g + T_g = Σ_{i in g} v_i x_iᵀ at every
node g, the optimum is at least Σ_i (v_i·y_i − ||v_i||²/4) − Σ_{g,t} ||T_gt||²_∞ / (4 b_g), where T
is zero for the network lasso and for columns outside the exclusive norm. Approximate flows are
repaired exactly: what is missing at the nodes is routed along a tree of strong edges (or becomes
T), and all is scaled down, component by component, until no edge is above its limit.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import njit
from .blocks import PseudoInverses, apply_blocks, pseudo_inverses
from .edges import add_samples, divergence, predict_samples
from .problem import Problem

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Routes(NamedTuple):
    """A spanning forest: edge parent_edge[g] leads from node g to parent[g], -1 at the roots.

    order (G,) are the nodes, parents before children. component (G,) numbers the components;
    blocks and node_blocks hold the pseudo-inverses of Σ x xᵀ over each component and each node.
    """

    order: Rows
    parent: Rows
    parent_edge: Rows
    component: Rows
    n_components: int
    blocks: PseudoInverses
    node_blocks: PseudoInverses


def make_routes(problem: Problem) -> Routes:
    """Forest of the strongest edges, and least squares in every component."""
    heads, tails, n_nodes = problem.heads, problem.tails, problem.shape[0]
    strongest = np.argsort(-problem.limits, kind="stable")
    edges = _spanning_edges(heads, tails, strongest, n_nodes)
    order, parent, parent_edge, component, n_components = _breadth_first(
        heads, tails, edges, n_nodes
    )
    owner = component[problem.node]
    rows = problem.X[np.argsort(owner, kind="stable")]
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n_components))])
    blocks = pseudo_inverses(rows, start)
    node_blocks = pseudo_inverses(problem.X, problem.start)
    return Routes(order, parent, parent_edge, component, n_components, blocks, node_blocks)


def lower_bound(problem: Problem, routes: Routes, flows: Array, duals: Array) -> float:
    """The bound of the module's text from flows U (E, m, p) and duals v (n, m)."""
    node, component = problem.node, routes.component
    if problem.localized:
        flows, duals, cost = _repair_with_norm(problem, flows, duals)
    else:
        flows, duals = _repair_with_routes(problem, routes, flows, duals)
        cost = np.zeros(len(component))
    gain = np.bincount(component[node], (duals * problem.Y).sum(axis=1), routes.n_components)
    loss = np.bincount(component[node], (duals**2).sum(axis=1) / 4, routes.n_components)
    loss += np.bincount(component, cost, routes.n_components)
    excess = _excess(flows, problem.limits, problem.heads, component, routes.n_components)
    best = np.divide(gain, 2 * loss, out=np.zeros_like(gain), where=loss > 0)
    shrink = np.clip(best, 0, 1 / excess)
    return (shrink * gain - shrink**2 * loss).sum()


def _repair_with_routes(
    problem: Problem, routes: Routes, flows: Array, duals: Array
) -> tuple[Array, Array]:
    """Balance nodes and components by least squares and route what is left.

    The nodes come first: residuals of large features carry rounding errors that, times the
    feature, exceed the edges' limits, while the flows are exact to their own size.
    """
    X, node, component = problem.X, problem.node, routes.component
    outflow = divergence(flows, problem.heads, problem.tails, problem.shape[0])
    excess = -outflow
    add_samples(X, node, duals, excess)
    duals = duals - predict_samples(X, node, apply_blocks(routes.node_blocks, excess))
    sums = np.zeros((routes.n_components, *problem.shape[1:]))
    add_samples(X, component[node], duals, sums)
    duals -= predict_samples(X, component[node], apply_blocks(routes.blocks, sums))
    missing = -outflow
    add_samples(X, node, duals, missing)
    flows = flows.copy()
    _route(routes.order, routes.parent, routes.parent_edge, problem.heads, missing, flows)
    return flows, duals


def _repair_with_norm(problem: Problem, flows: Array, duals: Array) -> tuple[Array, Array, Array]:
    """Balance the columns outside the norm by duals; the norm's own dual T takes the rest.

    Also returns what T costs at each node, (G,).
    """
    X, node, n_nodes = problem.X, problem.node, problem.shape[0]
    missing = -divergence(flows, problem.heads, problem.tails, n_nodes)
    add_samples(X, node, duals, missing)
    for c in np.flatnonzero(~problem.penalised):
        squares = np.bincount(node, X[:, c] ** 2, n_nodes)
        change = missing[:, :, c] / np.where(squares > 0, squares, 1)[:, None]
        change = -X[:, c, None] * change[node]
        duals = duals + change
        add_samples(X, node, change, missing)
    inside = problem.penalised if problem.free is None else problem.free & problem.penalised
    largest = np.where(inside, np.abs(missing), 0).max(axis=2, initial=0)
    return flows, duals, (largest**2).sum(axis=1) / (4 * problem.exclusive)


@njit(cache=True, nogil=True)
def _excess(flows, limits, heads, component, n_components):
    """The largest ratio of a flow to its limit in each component, at least 1."""
    excess = np.ones(n_components)
    for e in range(len(flows)):
        square = 0.0
        for t in range(flows.shape[1]):
            for c in range(flows.shape[2]):
                square += flows[e, t, c] ** 2
        own = component[heads[e]]
        excess[own] = max(excess[own], np.sqrt(square) / limits[e])
    return excess


@njit(cache=True, nogil=True)
def _spanning_edges(heads, tails, order, n_nodes):
    """Kruskal's algorithm: in this order, the edges that join two trees of those before them."""
    root = np.arange(n_nodes)
    chosen = np.empty(n_nodes, dtype=np.int64)
    count = 0
    for e in order:
        a, b = heads[e], tails[e]
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        if a != b:
            root[a] = b
            chosen[count] = e
            count += 1
    return chosen[:count]


@njit(cache=True, nogil=True)
def _breadth_first(heads, tails, edges, n_nodes):
    """Order, parents and components of the nodes of the forest that these edges make."""
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    for e in edges:
        start[heads[e] + 1] += 1
        start[tails[e] + 1] += 1
    start = np.cumsum(start)
    following = start.copy()
    incident = np.empty(2 * len(edges), dtype=np.int64)
    for e in edges:
        for end in (heads[e], tails[e]):
            incident[following[end]] = e
            following[end] += 1
    order = np.empty(n_nodes, dtype=np.int64)
    parent, parent_edge = np.full(n_nodes, -1), np.full(n_nodes, -1)
    component = np.full(n_nodes, -1)
    n_components, last = 0, 0
    for root in range(n_nodes):
        if component[root] >= 0:
            continue
        component[root], order[last] = n_components, root
        first, last = last, last + 1
        while first < last:
            node = order[first]
            first += 1
            for e in incident[start[node] : start[node + 1]]:
                other = tails[e] if heads[e] == node else heads[e]
                if component[other] < 0:
                    component[other], order[last] = n_components, other
                    parent[other], parent_edge[other] = node, e
                    last += 1
        n_components += 1
    return order, parent, parent_edge, component, n_components


@njit(cache=True, nogil=True)
def _route(order, parent, parent_edge, heads, missing, flows):
    """Send what is missing at each node to its parent, leaves first; at roots nothing is left."""
    for i in range(len(order) - 1, -1, -1):
        node = order[i]
        e = parent_edge[node]
        if e < 0:
            continue
        sign = 1.0 if heads[e] == node else -1.0
        for t in range(flows.shape[1]):
            for c in range(flows.shape[2]):
                flows[e, t, c] += sign * missing[node, t, c]
                missing[parent[node], t, c] += missing[node, t, c]
