"""Problems and models that several tests share."""

import numpy as np

from locallinear import FALLEnsembleRegressor

# A grid with two kinds of members.
KINDS = {"neighborhood": ["euclidean", "forest"], "n_neighbors": [3, 8], "scaling": ["standard"]}


def needle(n=600, noise_features=17, seed=0):
    """Three features that matter, in a curved way, among many that do not."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3 + noise_features))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.02 * rng.normal(size=n)
    return X, y


def few(n=4, **options):
    return FALLEnsembleRegressor(n, **{"search": None, "random_state": 0, **options})
