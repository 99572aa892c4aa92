"""The solver of the network lasso and the localized lasso; the package's text states the problem.

The edge norms are smoothed to √(||D||² + ε²) and ε shrinks while Newton's method runs on the
smoothed optimality conditions, with the flows U_e = λ_e D_e / √(||D_e||² + ε_e²) as unknowns of
their own (Chan, Golub and Mulet 1999): a dozen linear systems instead of hundreds of
reweightings. The flows also give a lower bound on the optimum, hence the stopping rule. At the
end, edges whose difference is within the smoothing are contracted and the smaller problem is
solved again, so that fused models are equal to the last bit.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .blocks import apply_blocks
from .contract import contract
from .dual import Routes, lower_bound, make_routes
from .edges import add_samples, differences, norms, predict_samples
from .newton import Step, newton_step, smoothing_widths
from .problem import Problem, State, objective, smoothed_objective

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

SHRINK = 0.1  # each step's smoothing aims at this part of the current gap
DESCENT_SHARE = 0.9  # part of the tolerance for the smoothed problem; the rest is for fusing
# Smoothing by λε per edge costs at most 0.3 λε at its optimum, so in total twice the aim is enough.
WIDEST = 2.0
SHARPEN = 16.0  # the smoothing shrinks by this before it is decided which edges fuse
FUSED = 5.0  # an edge fuses when its difference is below this many smoothing widths
ROUNDS = 6  # attempts to fuse, each with gap and threshold eight times smaller
STALLED = 15  # steps within which the gap must shrink
SETTLE_STEPS = 10  # after a contraction: the right one starts next to its optimum
SETTLE_PROGRESS = 0.1  # part of the way to the allowed objective that such a step must make


class Solution(NamedTuple):
    """Models (G, p, m), the group of each node, (G,): those that share a model; and how good.

    gap bounds objective − optimum; it is at most the tolerance when the solver converged.
    """

    models: Array
    labels: Rows
    objective: float
    gap: float
    converged: bool
    n_iter: int


def solve(
    problem: Problem, tol: float, max_iter: int, floor: float = 0.0, models: Array | None = None
) -> Solution:
    """Minimise to a duality gap of at most tol times the objective, then fuse exactly.

    Parameters
    ----------
    problem : Problem
    tol : relative gap
    max_iter : Newton steps at most
    floor : an objective below this counts as this much in the gap's tolerance
    models : (G, p, m) where to start, or None
    """
    routes = make_routes(problem)
    common = _common_models(problem, routes)
    value = objective(problem, common)
    if value <= tol * floor:
        return Solution(common.swapaxes(1, 2), routes.component, value, value, True, 0)
    given = None if models is None else np.ascontiguousarray(models.swapaxes(1, 2))
    W, widest = _starting_point(problem, common, given)
    value = objective(problem, W)
    U = np.zeros((len(problem.limits), *problem.shape[1:]))
    state = State(W, U, np.zeros_like(W), value, 0.0, SHRINK * value / problem.n_terms, 0)
    stalled = False
    for shrunk in 8.0 ** -np.arange(ROUNDS):
        if not stalled:
            aim = DESCENT_SHARE * tol * shrunk
            state = _descend(problem, routes, state, widest, (aim, floor), max_iter)
            stalled = state.gap > aim * max(state.objective, floor)
        allowed = state.bound + tol * max(state.objective, floor)
        sharp = state._replace(mu=state.mu / SHARPEN)
        if state.n_iter < max_iter:
            sharp = _newton(problem, sharp, widest, np.sqrt(tol) / 10)[0]
        # A smaller threshold is tried before a smaller gap, whose steps are those of all nodes.
        for threshold in (FUSED * shrunk, FUSED * shrunk / 8):
            fused, labels = _fuse(problem, sharp, threshold, widest, max_iter, allowed)
            value, n_iter = fused.objective, fused.n_iter
            sharp, state = sharp._replace(n_iter=n_iter), state._replace(n_iter=n_iter)
            gap = max(float(value - state.bound), 0.0)
            converged = bool(gap <= tol * max(value, floor))
            W = fused.W[labels].swapaxes(1, 2)
            solution = Solution(W, labels, value, gap, converged, n_iter)
            if converged or n_iter >= max_iter:
                return solution
    return solution


def _common_models(problem: Problem, routes: Routes) -> Array:
    """One model per component, that fits its samples best, (G, m, p)."""
    sums = np.zeros((routes.n_components, *problem.shape[1:]))
    add_samples(problem.X, routes.component[problem.node], problem.Y, sums)
    return apply_blocks(routes.blocks, sums)[routes.component]


def _starting_point(problem: Problem, common: Array, given: Array | None) -> tuple[Array, float]:
    """The best of the given start, one model per component, and an exact fit of every sample.

    Also returns the mean difference across edges of the exact fit: no useful smoothing is
    wider, and a wider one would make the data infinitely stiff compared with the edges.
    """
    X, Y, node = problem.X, problem.Y, problem.node
    fitted = common.copy()
    squares = (X**2).sum(axis=1) * np.diff(problem.start)[node]
    squares = np.where(squares > 0, squares, 1)[:, None]
    add_samples(X, node, (Y - predict_samples(X, node, common)) / squares, fitted)
    alone = np.zeros_like(fitted)
    add_samples(X, node, Y / squares, alone)
    # The second counts where one model fits all, so that the first has no spread.
    widest = max(_mean_spread(problem, fitted), 1e-3 * _mean_spread(problem, alone))
    candidates = [common, fitted] + ([] if given is None else [given])
    return min(candidates, key=lambda W: objective(problem, W)), widest


def _mean_spread(problem: Problem, W: Array) -> float:
    spread = norms(differences(W, problem.heads, problem.tails))
    return problem.limits @ spread / max(problem.limits.sum(), np.finfo(float).tiny)


def _descend(
    problem: Problem,
    routes: Routes,
    state: State,
    widest: float,
    target: tuple[float, float],
    max_iter: int,
) -> State:
    """Newton steps with shrinking smoothing until the gap is within the target (tol, floor)."""
    tol, floor = target
    smallest, since = state.gap, state.n_iter
    while state.n_iter < max_iter and state.gap > tol * max(state.objective, floor):
        # Far from the optimum a rough step is enough; the bound takes an error of every edge.
        rough = state.gap / max(state.objective, floor) / 10
        rtol = min(max(rough, np.sqrt(tol) / 100), 1e-2)
        state, step, moved = _newton(problem, state, widest, rtol)
        bound = max(state.bound, lower_bound(problem, routes, step.flows, step.duals))
        state = state._replace(bound=bound)
        if state.gap < 0.9 * smallest:
            smallest, since = state.gap, state.n_iter
        if not moved or state.n_iter - since > STALLED:
            break
        wanted = max(SHRINK * state.gap, WIDEST * tol * max(state.objective, floor))
        state = state._replace(mu=min(state.mu, wanted / problem.n_terms))
    return state


def _settle(problem: Problem, state: State, widest: float, max_iter: int, allowed: float) -> State:
    """Newton steps on a contracted problem until its objective is allowed.

    Also stops when a step makes so little of the way that the others would not reach it.
    """
    last = min(max_iter, state.n_iter + SETTLE_STEPS)
    while state.n_iter < last and state.objective > allowed:
        before = state.objective
        state, _, moved = _newton(problem, state, widest, rtol=1e-3)
        if not moved or before - state.objective < SETTLE_PROGRESS * (state.objective - allowed):
            break
    return state


def _newton(problem: Problem, state: State, widest: float, rtol: float) -> tuple[State, Step, bool]:
    """One step with the state's smoothing: the next state, the step, and whether it moved."""
    widths = smoothing_widths(problem, state.W, state.mu, widest)
    step = newton_step(problem, state, widths, rtol)
    with np.errstate(over="ignore", invalid="ignore"):  # such a step is refused
        W, moved = _line_search(problem, state.W, step, widths)
    state = state._replace(n_iter=state.n_iter + 1)
    if moved:
        U = step.flows / np.maximum(1, norms(step.flows) / problem.limits)[:, None, None]
        state = state._replace(W=W, U=U, signs=step.signs, objective=objective(problem, W))
    return state, step, moved


def _line_search(
    problem: Problem, W: Array, step: Step, widths: tuple[Array, Array]
) -> tuple[Array, bool]:
    """Halve the step until the smoothed objective falls; False where it never does."""
    before = smoothed_objective(problem, W, widths)
    length = 1.0
    while length > 1e-9:
        candidate = W + length * step.direction
        after = smoothed_objective(problem, candidate, widths)
        if after <= before + 1e-4 * length * step.slope:
            return candidate, True
        length /= 2
    return W, False


def _fuse(
    problem: Problem,
    state: State,
    threshold: float,
    widest: float,
    max_iter: int,
    allowed: float,
) -> tuple[State, Rows]:
    """Contract edges below `threshold` smoothing widths and solve the rest, until none is left.

    Coefficients below that many widths of the exclusive norm's smoothing become zero. Returns the
    state of the contracted problem, and the new node of each old one.
    """
    labels = np.arange(problem.shape[0])
    while True:
        widths, small = smoothing_widths(problem, state.W, state.mu, widest)
        closed = norms(differences(state.W, problem.heads, problem.tails)) <= threshold * widths
        zero = (np.abs(state.W) <= threshold * small[:, :, None]) & problem.penalised
        if problem.free is not None:
            zero &= problem.free
        zero &= problem.exclusive[:, None, None] > 0
        too_high = len(labels) > problem.shape[0] and state.objective > allowed
        if too_high or not (closed.any() or zero.any()):
            return state, labels
        problem, state, groups = contract(problem, state, closed, zero)
        labels = groups[labels]
        state = _settle(problem, state, widest, max_iter, allowed)
