"""What the tests of ensembles share: samples, and an ensemble with kinds from a search."""

import numpy as np
import pytest

from locallinear import FALLEnsembleRegressor
from problems import KINDS


@pytest.fixture(scope="module")
def make_samples():
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(150, 5)), rng.normal(size=(30, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=150), Q


@pytest.fixture(scope="module")
def searched(make_samples):
    X, y, _ = make_samples
    return FALLEnsembleRegressor(6, search=KINDS, random_state=0).fit(X, y)
