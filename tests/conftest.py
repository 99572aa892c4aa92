"""What all tests share: one hypothesis profile, and problems that have something to learn."""

import sys

import numpy as np
import pytest
from hypothesis import settings

from locallinear import FALLClassifier, FALLRegressorCV
from searches import GRID

# Derandomised: a red test is red again on the next run and on every machine.
settings.register_profile(
    "suite", max_examples=50, deadline=None, derandomize=True, print_blob=False
)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def _close_figures():
    """Close what a test has drawn: many open figures make matplotlib warn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def make_problem():
    """Inputs, targets and queries of a smooth function with noise, from a seed."""

    def make(n=120, d=3, m=1, q=30, seed=0):
        rng = np.random.default_rng(seed)
        X, Q = rng.normal(size=(n, d)), rng.normal(size=(q, d))
        turn = rng.normal(size=(d, m))
        Y = np.sin(2 * X @ turn) + X[:, :1] + 0.1 * rng.normal(size=(n, m))
        return X, (Y[:, 0] if m == 1 else Y), Q

    return make


@pytest.fixture
def path(tmp_path):
    """Where a model may be saved."""
    return tmp_path / "one.model"


@pytest.fixture
def saved(path, make_problem):
    """A small model in a file."""
    X, y, _ = make_problem(n=12, d=2)
    labels = np.where(y > 0, "up", "down")
    FALLClassifier(3, n_neighbors=2, random_state=0).fit(X, labels).save(path)
    return path


@pytest.fixture(scope="session")
def samples():
    """Inputs and targets that a search can tell good parameters on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=len(X))


@pytest.fixture(scope="session")
def fitted_search(samples):
    """A search over a small grid."""
    return FALLRegressorCV(GRID, random_state=0).fit(*samples)
