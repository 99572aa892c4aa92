"""The grids that searches know by name, to build on.

>>> from locallinear import FALLRegressorCV
>>> from locallinear.grids import DEFAULT
>>> search = FALLRegressorCV(DEFAULT | {"scaling": ["standard"]})  # coefficients in units
"""

# The paper's search space, on raw features: 1,078,000 configurations.
PAPER: dict[str, list] = {
    "n_anchors": [20, 40, 60, 80, 100, 120, 140, 160, 180, 200],
    "n_anchor_neighbors": [5, 10, 15, 20, 25, 30, 35, 40, 45, 50],
    "fit_intercept": [True, False],
    "anchor_alpha": [1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3],
    "anchor_l1_ratio": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
    "alpha": [1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3],
    "n_neighbors": [5, 10, 15, 20, 25, 30, 35, 40, 45, 50],
    "scaling": [None],
}

# Few but telling values: chosen among about ten candidate grids by errors on three or four of the
# paper's data sets, whose own figures it therefore flatters (benchmarks/RESULTS.md). The weakest
# penalty and piecewise trees are for data with little noise, and were chosen mainly on other sets.
DEFAULT: dict[str, list] = {
    "n_anchors": [30, 100, 200],
    "n_anchor_neighbors": [20, 40, 80],
    "anchor_alpha": [1e-3, 1e-2, 1e-1, 1e0],
    "alpha": [1e-1, 1e0, 1e1, 1e2],
    "n_neighbors": [3, 5, 8, 12, 20],
    "assignment_neighbors": [5, 15],
    "scaling": ["standard", "quantile"],
    "neighborhood": ["euclidean", "learned", "forest", "boosted", "piecewise"],
}

# For classes, whose probabilities are means over more samples than predictions of values. The grid
# reaches from local means to nearly one linear model of all samples, which is best where planes
# almost separate the classes, or samples are few. A search begins with the first neighbourhood,
# which is all that a short time budget may reach.
CLASSES: dict[str, list] = DEFAULT | {
    "n_anchor_neighbors": [40, 80, 1000],
    "alpha": [1e-1, 1e0, 1e1, 1e2, 1e4],
    "n_neighbors": [5, 10, 20, 40, 80],
    "assignment_neighbors": [15],
    "neighborhood": ["boosted", "learned", "forest", "euclidean", "piecewise"],
}

# More than any number of samples: an anchor model is fitted on all of them.
ALL = 10**9

# For models that are read: few anchors, each fitted on many samples, in the units of the data. The
# pull towards them leaves nothing of corrections, so that the equations that a reader sees make the
# predictions, and scores are theirs. Where anchors are few their places matter: k-means is tried,
# too.
SIMPLE: dict[str, list] = {
    "n_anchors": [1, 2, 3, 4, 6, 8, 12],
    "anchor_selection": ["random", "kmeans"],
    "n_anchor_neighbors": [40, 100, 250, 1000, ALL],
    "anchor_alpha": [1e-3, 1e-2, 1e-1, 1e0],
    "alpha": [1e9],
    "n_neighbors": [5, 10, 20],
    "assignment_neighbors": [15, 50],
    "scaling": ["standard"],
    "neighborhood": ["euclidean", "learned"],
}
