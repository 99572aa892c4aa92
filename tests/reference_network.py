"""The network lasso and the localized lasso transcribed naively, and problems for their tests.

`reweighted` is the published method (Hallac et al. 2015 and Yamada et al. 2017 as iteratively
reweighted least squares): ten sparse systems of n p unknowns. Each can be solved `directly`, or
`as_published` by Yamada et al.; the models are the same. `convex` gives the problem to an
independent solver. Models are (n, p, m); X (n, p) holds the constant column if there is one, and
`penalised` (p,) marks the columns in the exclusive norm.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu, spsolve


def objective(W, X, y, edges, weights, alpha, exclusive_alpha=0.0, penalised=None):
    """The objective in the documented form, term by term."""
    residual = y - np.einsum("ip,ipm->im", X, W)
    lengths = np.linalg.norm((W[edges[0]] - W[edges[1]]).reshape(len(weights), -1), axis=1)
    penalised = np.ones(X.shape[1], bool) if penalised is None else penalised
    sparse_part = (np.abs(W[:, penalised]).sum(axis=1) ** 2).sum()
    return (residual**2).sum() + alpha * weights @ lengths + exclusive_alpha * sparse_part


def directly(design, penalty, y):
    """(AᵀA + H)⁻¹ Aᵀ y from the whole sparse matrix."""
    return spsolve((design.T @ design + penalty).tocsc(), design.T @ y)


def as_published(design, penalty, y):
    """H⁻¹ Aᵀ (I + A H⁻¹ Aᵀ)⁻¹ y, the same by Woodbury's identity: n right-hand sides for H."""
    columns = splu(penalty.tocsc()).solve(design.T.toarray())
    return columns @ np.linalg.solve(np.eye(len(y)) + design @ columns, y)


def reweighted(
    X, y, edges, weights, alpha, exclusive_alpha=0.0, n_iter=10, floor=1e-6, solve=directly
):
    """Ten reweighted least squares over all models at once, one target at a time.

    ||D|| is replaced by ||D||²/(2c) + c/2 at the current c, and ||w||₁² by Σ w_l² ||w||₁/|w_l|.
    """
    n, p = X.shape
    W = np.random.default_rng(0).standard_normal((n, p, y.shape[1]))  # equal models would stay so
    columns = (np.arange(n)[:, None] * p + np.arange(p)).ravel()
    design = sparse.csr_array((X.ravel(), (np.repeat(np.arange(n), p), columns)))
    for _ in range(n_iter):
        lengths = np.linalg.norm((W[edges[0]] - W[edges[1]]).reshape(len(weights), -1), axis=1)
        pull = alpha * weights / (2 * np.maximum(lengths, floor))
        ends = sparse.coo_array((pull, edges), shape=(n, n))
        ends = ends + ends.T
        laplacian = sparse.diags_array(np.asarray(ends.sum(axis=1)).ravel()) - ends
        edge_part = sparse.kron(laplacian, sparse.eye_array(p))
        updated = np.empty_like(W)
        for t in range(y.shape[1]):
            sizes = np.maximum(np.abs(W[:, :, t]), floor)
            diagonal = exclusive_alpha * sizes.sum(axis=1, keepdims=True) / sizes + 1e-8
            penalty = edge_part + sparse.diags_array(diagonal.ravel())
            updated[:, :, t] = solve(design, penalty, y[:, t]).reshape(n, p)
        W = updated
    return W


def convex(X, y, edges, weights, alpha, exclusive_alpha=0.0, penalised=None):
    """Optimal value by cvxpy with Clarabel."""
    import cvxpy

    (n, p), m = X.shape, y.shape[1]
    W = cvxpy.Variable((n, p * m))
    terms = [
        cvxpy.sum_squares(y[i] - X[i] @ cvxpy.reshape(W[i], (p, m), order="C")) for i in range(n)
    ]
    terms += [alpha * r * cvxpy.norm(W[j] - W[k]) for j, k, r in zip(*edges, weights, strict=True)]
    if exclusive_alpha:
        penalised = np.ones(p, bool) if penalised is None else penalised
        for i in range(n):
            model = cvxpy.reshape(W[i], (p, m), order="C")[np.flatnonzero(penalised)]
            terms += [exclusive_alpha * cvxpy.square(cvxpy.norm1(model[:, t])) for t in range(m)]
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(terms)))
    return problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-8, tol_gap_rel=1e-8, tol_feas=1e-8)


def random_graph(rng, n, density=0.2):
    """Symmetric weights over four orders of magnitude, with any number of components."""
    upper = sparse.random_array((n, n), density=density, random_state=rng)
    upper = sparse.triu(upper, k=1)
    upper.data = 10 ** rng.uniform(-2, 2, len(upper.data))
    return (upper + upper.T).tocsr()


def edges_of(graph):
    upper = sparse.triu(graph, k=1, format="coo")
    return (upper.row, upper.col), upper.data


def planted(rng, n_groups=3, size=20, d=4, supports=None, weight_across=0.1):
    """Groups of samples with one model each; many edges inside groups, few and weak ones across."""
    n = n_groups * size
    groups = np.repeat(np.arange(n_groups), size)
    coef = rng.normal(size=(n_groups, d)) * 3
    if supports is not None:
        coef = np.zeros((n_groups, d))
        for g, support in enumerate(supports):
            coef[g, support] = rng.choice([-1, 1], len(support)) * rng.uniform(1, 2, len(support))
    X = rng.normal(size=(n, d))
    y = (X * coef[groups]).sum(axis=1)
    inside = (groups[:, None] == groups) & (rng.uniform(size=(n, n)) < 0.4)
    across = (groups[:, None] != groups) & (rng.uniform(size=(n, n)) < 0.02)
    graph = np.triu(inside + weight_across * across, k=1)
    return X, y, sparse.csr_array(graph + graph.T), groups, coef
