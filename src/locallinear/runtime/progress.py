"""A progress bar that shows the best score so far and the time left."""

import sys
import time


class Progress:
    """How many of `total` configurations are scored; silent if not verbose.

    With tqdm installed the bar is tqdm's, in notebooks too; without it, a line on standard error
    that is written anew a few times a second.

    Parameters
    ----------
    total : how many there are
    deadline : when the search ends whatever is left, in the time of `time.monotonic`
    verbose : 0 for silence
    """

    def __init__(self, total: int, deadline: float, *, verbose: int):
        self.total, self.deadline = total, deadline
        self.done, self.best = 0, float("nan")
        self.started = self.shown = time.monotonic()
        self.silent = not verbose
        self.bar = None if self.silent else _make_bar(total)

    def advance(self, n: int, best: float) -> None:
        """Note n more done, and the best score of all."""
        self.done, self.best = self.done + n, best
        now = time.monotonic()
        if self.silent:
            return
        if self.bar is not None:
            self.bar.set_postfix_str(self._state(now), refresh=False)
            self.bar.update(n)
        elif now - self.shown > 0.2:
            self.shown = now
            self._write(self._state(now), end="")

    def close(self) -> None:
        """Leave the last state on the screen, and end its line."""
        if self.silent:
            return
        state = f"best score {self.best:.4g}, took {_duration(time.monotonic() - self.started)}"
        if self.bar is not None:
            self.bar.set_postfix_str(state)
            self.bar.close()
        else:
            self._write(state, end="\n")

    def _state(self, now: float) -> str:
        left = (now - self.started) * (self.total / self.done - 1)
        left = max(min(left, self.deadline - now), 0.0)
        return f"best score {self.best:.4g}, {_duration(left)} left"

    def _write(self, state: str, end: str) -> None:
        line = f"{self.done:,} of {self.total:,} configurations, {state}"
        sys.stderr.write(f"\r{line:<78}{end}")
        sys.stderr.flush()


def _make_bar(total: int):
    """A bar of tqdm, or None where it is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    layout = "{percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} configurations{postfix}"
    return tqdm(total=total, bar_format=layout, unit_scale=total >= 100_000, file=sys.stderr)


def _duration(seconds: float) -> str:
    """Seconds as a reader takes them in: 4 s, 2:05 min, 1:30 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 1 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"
