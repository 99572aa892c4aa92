"""What the tests of table models share: a model of logs and one of units, with new rows."""

import pytest

from frames import messy
from locallinear import FALLRegressor, TableRegressor


@pytest.fixture(scope="module")
def logs():
    frame, price = messy()
    fall = FALLRegressor(10, n_anchor_neighbors=60, anchor_alpha=1e-3, n_neighbors=8)
    model = TableRegressor(fall, target="log", random_state=0)
    return model.fit(frame, price), messy(30, seed=1)[0]


@pytest.fixture(scope="module")
def units():
    frame, price = messy()
    model = TableRegressor(FALLRegressor(10, n_neighbors=8), target="identity", random_state=0)
    return model.fit(frame, price), messy(30, seed=1)[0]
