"""Time budgets: what is left of one, and what a user is told where it could not be kept."""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

# A budget counts as kept within this part of it, or within so many seconds.
PART, SECONDS = 0.2, 2.0


class BudgetWarning(UserWarning):
    """A fit took longer than its time budget allows."""


class Budget:
    """The seconds that a fit may take, from now on.

    Parameters
    ----------
    seconds : float or None
        None for no end.
    judging : float, default=0.0
        How long the judgement that follows the last fit takes, in times of that fit.
    spent : float, default=0.0
        Seconds that are used up already.
    """

    def __init__(self, seconds: float | None, judging: float = 0.0, spent: float = 0.0):
        self.seconds = np.inf if seconds is None else seconds
        self.judging = judging
        self.started = time.monotonic() - spent

    @property
    def is_endless(self) -> bool:
        """Whether there is no end."""
        return bool(np.isinf(self.seconds))

    @property
    def end(self) -> float:
        """The moment, by `time.monotonic`, at which the budget is used up."""
        return self.started + self.seconds

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def left(self) -> float:
        """Seconds that are left, below 0 after the end."""
        return self.seconds - self.elapsed()

    def left_to_fit(self) -> float:
        """Seconds that the last fit may take, so that there is time to judge it."""
        return self.left() / (1 + self.judging)

    def is_late(self) -> bool:
        """Whether more time was used than a budget allows."""
        return self.elapsed() > max(self.seconds * (1 + PART), self.seconds + SECONDS)

    def warn_if_late(self, stacklevel: int = 4) -> None:
        """Warn if more time was used than a budget allows."""
        if self.is_late():
            taken = self.elapsed()
            warnings.warn(
                f"time_budget is {self.seconds:.3g} s, but the fit took {taken:.3g} s: a step that "
                "has begun is finished, and the fit on all samples is always made; set a longer "
                "one, or fit fewer samples",
                BudgetWarning,
                stacklevel=stacklevel,
            )


class Schedule:
    """When steps of a search must end, so that what follows the search is done in time.

    Parameters
    ----------
    end : float
        The moment, by `time.monotonic`, at which all has to be done; infinite for no end.
    expected : mapping
        Seconds that one fit on all samples is expected to take if the best configuration of the
        search is of a kind. Kinds that it does not name take no time.
    after : function
        The seconds that follow the search, from those of one fit.
    """

    def __init__(
        self,
        end: float = np.inf,
        expected: Mapping[Any, float] | None = None,
        after: Callable[[float], float] = float,
    ):
        self.end, self.expected, self._after = end, dict(expected or {}), after

    def after(self, kind: Any) -> float:
        """Seconds that follow the search if its best configuration is of this kind."""
        return self._after(self.expected.get(kind, 0.0))

    def deadline(self, kinds: Iterable[Any]) -> float:
        """The moment by which the search must end, if its best may be of one of these kinds."""
        return self.end - max(map(self.after, kinds))

    def has_time_for(self, kind: Any) -> bool:
        """Whether a configuration of this kind could be fitted in time if it were chosen now."""
        return time.monotonic() <= self.deadline([kind])
