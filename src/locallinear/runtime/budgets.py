"""Time budgets: what a user is told where one could not be kept."""

import time
import warnings

# A budget counts as kept within this part of it, or within so many seconds.
PART, SECONDS = 0.2, 2.0


class BudgetWarning(UserWarning):
    """A fit took longer than its time budget allows."""


def warn_if_late(budget: float | None, started: float) -> None:
    """Warn if a fit that began at `started`, by `time.monotonic`, took longer than its budget."""
    if budget is None:
        return
    taken = time.monotonic() - started
    if taken > max(budget * (1 + PART), budget + SECONDS):
        warnings.warn(
            f"time_budget is {budget:.3g} s, but the fit took {taken:.3g} s: the first "
            "configuration and the fit on all samples alone take longer than the budget; set a "
            "longer one, a smaller grid, or a smaller max_samples",
            BudgetWarning,
            stacklevel=4,
        )
