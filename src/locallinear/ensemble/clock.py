"""How the time of an ensemble's fit is spent."""

import time

import numpy as np

# The shares of a time budget after which the search ends, and the comparison of kinds.
SEARCHED_BY, JUDGED_BY = 0.45, 0.65
# If kinds are chosen within this share, there is time for all members.
GENEROUS = 0.1


class Clock:
    """The time of a fit, from now on, and its budget in seconds; infinite for no end."""

    def __init__(self, budget: float | None):
        self.budget, self.started = np.inf if budget is None else budget, time.monotonic()

    @property
    def is_endless(self) -> bool:
        """Whether there is no budget."""
        return bool(np.isinf(self.budget))

    def at(self, share: float) -> float:
        """The moment, by `time.monotonic`, at which this share of the budget is used."""
        return self.started + share * self.budget

    def run_out(self) -> None:
        """Use up the budget: what is left to do is done in the shortest way."""
        self.budget = 0.0

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def is_past(self, share: float) -> bool:
        """Whether more than this share of the budget is used."""
        return self.elapsed() > share * self.budget
