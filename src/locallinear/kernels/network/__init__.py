"""The solver of the network lasso and the localized lasso, and the median that predicts.

    min over W of  Σ_i ||y_i − W_{g(i)}ᵀ x_i||² + Σ_e λ_e ||W_j − W_k||_F + Σ_g b_g Σ_t ||w_gt||₁²

over samples i, each of one node g(i), edges e = (j, k), each counted once, and targets t. A node
holds the samples that share a model: at first one distinct row, later a fused group. The last term
is the localized lasso's exclusive norm; it leaves out the intercept.

Axes beside those of all kernels: G nodes, E edges, p columns of X, which are the d features and,
with an intercept, the constant 1. `solver.solve` takes and returns models in the order of all
kernels, (G, p, m). Inside, they are (G, m, p): the innermost loops are inner products of one
target's coefficients with a row of X, and numbers that are next to each other in memory are read
and multiplied several at a time.

All modules but `geometric_median` import numba: import them where they are used.
"""

# Lets the compiler reorder and fuse the terms of a sum, so that inner products use the processor's
# vectors. The order is fixed when the code is compiled: equal calls give equal results.
FAST = {"reassoc", "contract"}
