"""Short equations of regimes, and what they leave out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from locallinear import FALLRegressor
from locallinear.explain.equations import short_equation, short_model
from locallinear.explain.view import view_of


def view(X, y=None):
    y = X[:, 0] if y is None else y
    return view_of(FALLRegressor(1, n_anchor_neighbors=len(X), random_state=0).fit(X, y))


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(200, 6))


def test_columns_that_do_nothing_are_left_out_and_nothing_is_lost(rows):
    model = np.array([0.0, 3.0, 0.0, 0.0, -2.0, 0.0, 7.0])
    short = short_model(view(rows), model, rows)
    assert_allclose(short.model, model, atol=1e-9)
    assert short.left_out == pytest.approx(0, abs=1e-9)
    assert short_equation(view(rows), model, rows, "y") == "y = 7 + 3 · x1 − 2 · x4"


def test_collinear_terms_that_cancel_become_one_term(rows):
    rows[:, 1] = rows[:, 0] + 0.01 * rows[:, 1]
    model = np.array([50.0, -49.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # the sum is x0, nearly
    short = short_model(view(rows), model, rows, limit=1)
    assert np.count_nonzero(short.model[:-1]) == 1
    assert_allclose(short.model[:2].sum(), 1, atol=0.1)
    assert short.left_out < 1.5


def test_nineteen_of_twenty_rows_differ_by_at_most_what_is_said_to_be_left_out(rows):
    model = np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 10.0])
    short = short_model(view(rows), model, rows, limit=3)
    differences = np.abs(rows @ (model - short.model)[:-1] + model[-1] - short.model[-1])
    assert (differences <= short.left_out).mean() == pytest.approx(0.95, abs=0.01)
    assert "left out" in short_equation(view(rows), model, rows, "y", limit=3)


def test_more_terms_leave_out_less(rows):
    model = np.arange(1.0, 8.0)
    left = [short_model(view(rows), model, rows, limit).left_out for limit in range(1, 7)]
    assert (np.diff(left) < 0).all()
    assert left[-1] == pytest.approx(0, abs=1e-9)


def test_an_equation_that_would_leave_out_more_than_its_error_has_more_terms():
    rows = np.random.default_rng(0).normal(size=(400, 12))
    model = np.append(np.ones(12), 0.0)
    few = short_model(view(rows), model, rows)
    assert np.count_nonzero(few.model[:-1]) == 4
    enough = short_model(view(rows), model, rows, error=0.9 * few.left_out)
    assert np.count_nonzero(enough.model[:-1]) > 4
    assert enough.left_out <= 0.9 * few.left_out
    most = short_model(view(rows), model, rows, error=1e-6)
    assert np.count_nonzero(most.model[:-1]) == 8
