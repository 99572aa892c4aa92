"""The network lasso and the localized lasso: the solver.

min over W of Σᵢ ||yᵢ - W_g(i)ᵀ xᵢ||² + Σ_e λ_e ||W_j - W_k||_F + Σ_g b_g Σ_t ||w_gt||₁²

over nodes g that own samples i, edges e = (j, k) each counted once, and targets t; the last
term (localized lasso) leaves out the features that are not `penalised`, the intercept.

The edge norms are smoothed to √(||D||² + ε²) and ε shrinks while Newton's method runs on the
smoothed optimality conditions, with the flows U_e = λ_e D_e / √(||D_e||² + ε_e²) as unknowns of
their own (Chan, Golub and Mulet 1999): a dozen linear systems instead of hundreds of
reweightings. The flows also give a lower bound on the optimum, hence the stopping rule. At the
end, edges whose difference is within the smoothing are contracted and the smaller problem is
solved again, so that fused models are equal to the last bit.

Importing this module imports numba; import it where it is used. Models are arrays (n, m, p).
"""

from typing import NamedTuple

import numpy as np

from .blocks import apply_blocks
from .contract import contract
from .dual import lower_bound, make_routes
from .edges import add_samples, differences, norms, predict_samples
from .newton import newton_step, smoothed_objective, smoothing_widths
from .problem import objective

_SHRINK = 0.1  # each step's smoothing aims at this part of the current gap
_AIM = 0.9  # part of the tolerance for the smoothed problem; fusing gets the rest
# Smoothing of λε an edge costs at most 0.3 λε at its optimum, so twice the aim in all is enough.
_WIDEST = 2.0
_SHARPEN = 16.0  # the smoothing shrinks by this before edges are told apart
_FUSED = 5.0  # an edge fuses when its difference is below this many smoothing widths
_ROUNDS = 6  # attempts to fuse, each with gap and threshold eight times smaller
_PATIENCE = 15  # steps within which the gap must shrink
_POLISH = 10  # steps after a contraction; the right one starts next to its optimum
_HOPE = 0.1  # part of the way to the allowed objective that such a step must make


class Solution(NamedTuple):
    """Models of the nodes, the groups that share one, and how good they are.

    gap bounds objective - optimum; it is at most the tolerance when the solver converged.
    """

    W: np.ndarray
    labels: np.ndarray
    objective: float
    gap: float
    converged: bool
    n_iter: int


class _State(NamedTuple):
    W: np.ndarray
    U: np.ndarray
    signs: np.ndarray
    objective: float
    bound: float
    mu: float
    n_iter: int

    @property
    def gap(self):
        return self.objective - self.bound


def solve(problem, tol, max_iter, floor=0.0, W=None):
    """Minimise to a duality gap of at most tol times the objective, then fuse exactly.

    Parameters
    ----------
    problem : Problem
    tol : float
        Relative gap.
    max_iter : int
        Newton steps at most.
    floor : float
        An objective below this counts as this much in the gap's tolerance.
    W : array (n, m, p), optional
        Where to start.

    Returns
    -------
    Solution
    """
    routes = make_routes(problem)
    common = _common_models(problem, routes)
    value = objective(problem, common)
    if value <= tol * floor:
        return Solution(common, routes.component, value, value, True, 0)
    W, scale = _starting_point(problem, common, W)
    value = objective(problem, W)
    U = np.zeros((len(problem.limits), *problem.shape[1:]))
    mu = _SHRINK * value / problem.n_terms
    state = _State(W, U, np.zeros_like(W), value, 0.0, mu, 0)
    stalled = False
    for shrunk in 8.0 ** -np.arange(_ROUNDS):
        if not stalled:
            aim = _AIM * tol * shrunk
            state = _descend(problem, routes, state, scale, (aim, floor), max_iter)
            stalled = state.gap > aim * max(state.objective, floor)
        allowed = state.bound + tol * max(state.objective, floor)
        sharp = state._replace(mu=state.mu / _SHARPEN)
        if state.n_iter < max_iter:
            sharp = _newton(problem, sharp, scale, np.sqrt(tol) / 10)[0]
        # A smaller threshold is tried before a smaller gap, whose steps are those of all nodes.
        for threshold in (_FUSED * shrunk, _FUSED * shrunk / 8):
            W, labels, value, n_iter = _fuse(problem, sharp, threshold, scale, max_iter, allowed)
            sharp, state = sharp._replace(n_iter=n_iter), state._replace(n_iter=n_iter)
            gap = max(value - state.bound, 0.0)
            converged = gap <= tol * max(value, floor)
            if converged or n_iter >= max_iter:
                return Solution(W, labels, value, gap, converged, n_iter)
    return Solution(W, labels, value, gap, converged, n_iter)


def _common_models(problem, routes):
    """One model a component, that fits its samples best."""
    sums = np.zeros((routes.n_components, *problem.shape[1:]))
    add_samples(problem.X, routes.component[problem.node], problem.y, sums)
    return apply_blocks(routes.blocks, sums)[routes.component]


def _starting_point(problem, common, W):
    """The best of a given start, one model a component, and an exact fit of every sample.

    Also returns the mean difference across edges of the exact fit: no useful smoothing is
    wider, and a wider one would make the data infinitely stiff beside the edges.
    """
    X, y, node = problem.X, problem.y, problem.node
    fitted = common.copy()
    squares = (X**2).sum(axis=1) * np.diff(problem.start)[node]
    residual = y - predict_samples(X, node, common)
    add_samples(X, node, residual / np.where(squares > 0, squares, 1)[:, None], fitted)
    alone = np.zeros_like(fitted)
    add_samples(X, node, y / np.where(squares > 0, squares, 1)[:, None], alone)
    # The second counts where one model fits all, so that the first has no spread.
    scale = max(_mean_spread(problem, fitted), 1e-3 * _mean_spread(problem, alone))
    candidates = [common, fitted] + ([] if W is None else [W])
    return min(candidates, key=lambda W: objective(problem, W)), scale


def _mean_spread(problem, W):
    spread = norms(differences(W, problem.heads, problem.tails))
    return problem.limits @ spread / max(problem.limits.sum(), np.finfo(float).tiny)


def _descend(problem, routes, state, scale, target, max_iter):
    """Newton steps with shrinking smoothing until the gap is within the target."""
    tol, floor = target
    smallest, since = state.gap, state.n_iter
    while state.n_iter < max_iter and state.gap > tol * max(state.objective, floor):
        # Far from the optimum a rough step does; the bound feels every edge's error.
        rough = state.gap / max(state.objective, floor) / 10
        rtol = min(max(rough, np.sqrt(tol) / 100), 1e-2)
        state, step, moved = _newton(problem, state, scale, rtol)
        bound = max(state.bound, lower_bound(problem, routes, step.flows, step.duals))
        state = state._replace(bound=bound)
        if state.gap < 0.9 * smallest:
            smallest, since = state.gap, state.n_iter
        if not moved or state.n_iter - since > _PATIENCE:
            break
        wanted = max(_SHRINK * state.gap, _WIDEST * tol * max(state.objective, floor))
        state = state._replace(mu=min(state.mu, wanted / problem.n_terms))
    return state


def _settle(problem, state, scale, max_iter, allowed):
    """Newton steps on a contracted problem until its objective is allowed.

    Stops as well when a step makes so little of the way there that it looks hopeless.
    """
    last = min(max_iter, state.n_iter + _POLISH)
    while state.n_iter < last and state.objective > allowed:
        before = state.objective
        state, _, moved = _newton(problem, state, scale, rtol=1e-3)
        if not moved or before - state.objective < _HOPE * (state.objective - allowed):
            break
    return state


def _newton(problem, state, scale, rtol):
    """One step with the state's smoothing: the next state, the step, and whether it moved."""
    widths = smoothing_widths(problem, state.W, state.mu, scale)
    step = newton_step(problem, state.W, state.U, state.signs, widths, rtol)
    with np.errstate(over="ignore", invalid="ignore"):  # such a step is refused
        W, moved = _line_search(problem, state.W, step, widths)
    state = state._replace(n_iter=state.n_iter + 1)
    if moved:
        U = step.flows / np.maximum(1, norms(step.flows) / problem.limits)[:, None, None]
        state = state._replace(W=W, U=U, signs=step.signs, objective=objective(problem, W))
    return state, step, moved


def _line_search(problem, W, step, widths):
    """Halve the step until the smoothed objective falls; False where it cannot."""
    before = smoothed_objective(problem, W, widths)
    length = 1.0
    while length > 1e-9:
        candidate = W + length * step.direction
        after = smoothed_objective(problem, candidate, widths)
        if after <= before + 1e-4 * length * step.slope:
            return candidate, True
        length /= 2
    return W, False


def _fuse(problem, state, threshold, scale, max_iter, allowed):
    """Contract edges below `threshold` smoothing widths and solve what is left, until none is.

    Coefficients below that many widths of the exclusive norm's smoothing become zero.
    """
    labels = np.arange(problem.shape[0])
    while True:
        widths, small = smoothing_widths(problem, state.W, state.mu, scale)
        closed = norms(differences(state.W, problem.heads, problem.tails)) <= threshold * widths
        zero = (np.abs(state.W) <= threshold * small[:, :, None]) & problem.penalised
        if problem.free is not None:
            zero &= problem.free
        zero &= problem.exclusive[:, None, None] > 0
        hopeless = len(labels) > problem.shape[0] and state.objective > allowed
        if hopeless or not (closed.any() or zero.any()):
            return state.W[labels], labels, state.objective, state.n_iter
        problem, state, groups = contract(problem, state, closed, zero)
        labels = groups[labels]
        state = _settle(problem, state, scale, max_iter, allowed)
