"""Pure functions on arrays: no validation, no randomness, no input or output. This is the map.

Axes, the same in every docstring: n samples, d features, m targets, k anchors, q queries,
K neighbours. Models are (.., d + 1, m) with the intercept last; arrays are float64.

==============  ===================  ==========================================================
paper           here                 shape, and what it is
==============  ===================  ==========================================================
x_i, y_i        X, Y                 (n, d), (n, m): the samples
x̃_i             X and `constant`     x_i with the constant feature 1, or 0 without an intercept
s_i             never stored         (n,): ||x̃_i||²
A_l             models               (k, d + 1, m): the anchor models
α, R            alpha, l1_ratio      of `anchors`: the penalty of the anchor models
λ               alpha                of the others: pull of a sample's model towards its anchor
l_i             labels               (n,): the sample's anchor
r_i             residuals            (n, m): y_i − A_{l_i}ᵀ x̃_i
W_i             made on demand       (n, d + 1, m): the sample's own model
α_{h_j}         weights              (q, K): shares of the neighbours in a prediction
==============  ===================  ==========================================================

==============================================  ================================================
what the paper computes                         where
==============================================  ================================================
A_l (Algorithm 3)                               `local.anchors.fit_models`; ridge by
                                                `ridge_path`, elastic net by
                                                `local.elastic_net.solve_path`
l_i = argmin_l ||y_i − A_lᵀ x̃_i|| (Theorem 3)   `local.models.anchor_residuals`,
                                                `squared_errors`, `best_anchors`,
                                                `own_residuals`; for many samples compiled
                                                in `local.choosing`
the same by the errors of near samples          `local.models.summed_errors`, compiled in
                                                `local.summing`
W_i = A_{l_i} + x̃_i r_iᵀ / (λ + s_i)            `local.models.sample_models`
α_{h_j}                                         `local.combine.distance_weights`, `cut_at`,
                                                `normalised`
y_pred = Σ_j α_{h_j} W_{h_j}ᵀ x̃ (Algorithm 2)   `local.combine.predict`
W_pred = R_pred + C_pred                        `local.combine.averaged_models`
beyond the paper:
probabilities from one-hot targets              `local.probabilities`
Σ_j α_{h_j} W_{h_j}ᵀ x̃_{h_j}, and differences   `local.layers.layers`
from the neighbours by feature
y_pred as a weighted sum of the targets         `local.smoother`: M_l is `anchor_map`
the scale of errors, and their quantiles        `local.spread`
targets and factors from predicted logs         `logs.exponential`
choices of anchors as their number grows        `local.models.choose_again`
predictions and errors for many parameters      `grid.predictions`: v numbers of neighbours,
at once                                         L values of λ, C choices of anchors
the same for models with the same neighbours    `local.siblings`, compiled
who is near, by distance                        `nearest.nearest_in_cells`, compiled
boxes within reach of a point                   `boxes.in_reach`, compiled
the beginning of a random permutation           `shuffle.swaps`, `shuffle.follow_back`, compiled
shares of leaves in common                      `trees.leaves`
trees that say who is near                      `trees.random` (extremely randomised),
                                                `trees.boosted`, `trees.piecewise` (a linear
                                                model in each node)
==============================================  ================================================

Network kernels, for the network lasso and the localized lasso. Beside the axes above there are
G nodes (samples that share a model), E edges, and p columns of X: the features and the constant.

==============================================  ================================================
what is computed                                where in `network`
==============================================  ================================================
W_g, the model of each node                     `solver.solve`
the problem and its objective                   `problem.make_problem`, `objective`
the Newton step on the smoothed norms           `newton.newton_step`
its linear system                               `system.solve_system`, preconditioned by
                                                `multigrid.v_cycle` on the joined nodes of
                                                `aggregates.coarsen`
inverses of the nodes' own blocks               `blocks.pseudo_inverses`, `invert_sparse`,
                                                `invert_dense`
the lower bound on the optimum                  `dual.lower_bound`
joining nodes whose models are equal            `contract.contract`
sums over edges and samples                     `edges`
shares of the neighbours' models in a           `geometric_median.geometric_median_weights`
prediction: their weighted geometric median
==============================================  ================================================
"""
