"""What the tests of searches share: a grid, and results held to each other."""

import warnings

from numpy.testing import assert_allclose, assert_array_equal

GRID = {
    "n_anchors": [3, 10],
    "n_neighbors": [2, 6, 11],
    "anchor_alpha": [0.01, 1.0],
    "anchor_l1_ratio": [0.0, 0.5],
    "n_anchor_neighbors": [5, 10, 20],
    "alpha": [0.1, 10.0],
}
SIZE = 2 * 3 * 2 * 2 * 3 * 2
STEP = 2 * 3 * 2 * 2  # configurations that are scored in one go
SMALL = {"n_neighbors": [3, 6], "n_anchors": [5], "anchor_alpha": [0.01, 1.0]}


def same_results(a, b, **tolerance):
    assert set(a.cv_results_) == set(b.cv_results_)
    for name, column in a.cv_results_.items():
        if column.dtype == object or not tolerance:
            assert_array_equal(column, b.cv_results_[name], err_msg=name)
        elif not name.startswith("rank"):
            assert_allclose(column, b.cv_results_[name], err_msg=name, **tolerance)
    assert a.best_params_ == b.best_params_
    assert a.n_configurations_ == b.n_configurations_


def quiet_loop(loop, X, y):
    """Fit a GridSearchCV that warns of configurations without a score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return loop.fit(X, y)
