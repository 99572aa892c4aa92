"""Time budgets: what is left of them, when a search must end, and what a user is told."""

import warnings

import pytest

from locallinear.runtime import budgets
from locallinear.runtime.budgets import Budget, BudgetWarning, Schedule


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still; a test sets it."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(budgets.time, "monotonic", lambda: Clock.now)
    return Clock


@pytest.mark.parametrize(("seconds", "taken"), [(None, 1e9), (10, 11.9), (100, 119), (0.1, 2.0)])
def test_a_fit_within_a_fifth_or_two_seconds_of_its_budget_says_nothing(seconds, taken, clock):
    budget = Budget(seconds)
    clock.now += taken
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        budget.warn_if_late()


@pytest.mark.parametrize(("seconds", "taken"), [(10, 12.1), (100, 121), (0.1, 2.2)])
def test_a_fit_that_took_longer_than_its_budget_says_what_to_do(seconds, taken, clock):
    budget = Budget(seconds)
    clock.now += taken
    with pytest.warns(BudgetWarning, match=f"took {taken:.3g} s.*set a longer one"):
        budget.warn_if_late()


def test_time_to_judge_is_kept_back_from_the_last_fit(clock):
    budget = Budget(30, judging=2.0)
    clock.now += 6
    assert budget.left() == 24
    assert budget.left_to_fit() == 8


def test_what_is_spent_already_is_not_left(clock):
    budget = Budget(30, spent=4.0)
    clock.now += 6
    assert (budget.elapsed(), budget.left(), budget.end) == (10, 20, 126)


def test_a_search_ends_early_enough_for_the_slowest_of_the_kinds_that_it_may_choose():
    schedule = Schedule(60.0, {"slow": 20.0, "quick": 5.0}, after=lambda seconds: 2 * seconds)
    assert schedule.deadline(["quick"]) == 50
    assert schedule.deadline(["slow"]) == schedule.deadline(["quick", "slow"]) == 20
    assert schedule.deadline(["unknown"]) == 60


def test_there_is_time_for_a_kind_until_its_deadline(clock):
    schedule = Schedule(clock.now + 60, {"slow": 40.0})
    clock.now += 20
    assert schedule.has_time_for("slow")
    clock.now += 1
    assert not schedule.has_time_for("slow")
    assert schedule.has_time_for("quick")


def test_without_a_budget_there_is_no_end():
    assert Budget(None).is_endless
    assert Budget(None).left() == Schedule().deadline(["any"]) == float("inf")
