"""Time budgets that could not be kept."""

import warnings

import pytest

from locallinear.runtime import budgets


@pytest.mark.parametrize(("budget", "taken"), [(None, 1e9), (10, 11.9), (100, 119), (0.1, 2.0)])
def test_a_fit_within_a_fifth_or_two_seconds_of_its_budget_says_nothing(budget, taken, monkeypatch):
    monkeypatch.setattr(budgets.time, "monotonic", lambda: 5.0 + taken)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        budgets.warn_if_late(budget, 5.0)


@pytest.mark.parametrize(("budget", "taken"), [(10, 12.1), (100, 121), (0.1, 2.2)])
def test_a_fit_that_took_longer_than_its_budget_says_what_to_do(budget, taken, monkeypatch):
    monkeypatch.setattr(budgets.time, "monotonic", lambda: 5.0 + taken)
    with pytest.warns(budgets.BudgetWarning, match=f"took {taken:.3g} s.*set a longer one"):
        budgets.warn_if_late(budget, 5.0)
