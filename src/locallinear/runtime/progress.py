"""Progress on standard error: a bar for counted work, seconds for one long step.

tqdm draws the bars where it is installed, in notebooks too. Otherwise a bar is one line of text
that is written again a few times per second.
"""

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar

T = TypeVar("T")

# Work that takes less time shows no progress.
SHORT_SECONDS = 2.0
REDRAW_SECONDS = 0.2


class Bar:
    """A bar for counted work; a context manager that closes it.

    Parameters
    ----------
    total : int or None
        The count at the end, if it is known.
    unit : str
        What is counted, in the plural.
    title : str, optional
        What is being done.
    scale : float, default=1
        Factor from the count to the number that is shown: 1e-6 counts bytes and shows MB.
    show : bool, optional
        By default, whether standard error is a terminal.
    delay : float, default=0.0
        Seconds before the bar appears.
    keep : bool, default=True
        Whether the closed bar stays on the screen.

    Attributes
    ----------
    done : int
        The count so far.
    """

    def __init__(
        self,
        total: int | None,
        unit: str,
        *,
        title: str = "",
        scale: float = 1,
        show: bool | None = None,
        delay: float = 0.0,
        keep: bool = True,
    ) -> None:
        self.done = 0
        self._total, self._scale, self._keep = total, scale, keep
        self._show = sys.stderr.isatty() if show is None else show
        self._title, self._state = f"{title}: " if title else "", ""
        number = "," if scale == 1 else ".1f"
        of_total = "" if total is None else f" of {{total:{number}}}"
        self._layout = f"{{n:{number}}}{of_total} {unit}"
        self._line = _Line()
        self._next_drawing = time.monotonic() + delay if self._show else 0.0
        self._tqdm = self._make_tqdm(delay) if self._show else None

    def advance(self, n: int = 1, state: str = "") -> None:
        """Count n more, and show `state` behind the count."""
        self.done += n
        self._state = state
        if self._tqdm is not None:
            self._tqdm.set_postfix_str(state, refresh=False)
            self._tqdm.update(n)
        elif self._show and (now := time.monotonic()) >= self._next_drawing:
            self._next_drawing = now + REDRAW_SECONDS
            self._line.write(self._text())

    def print_above(self, text: str) -> None:
        """Print text that stays on the screen, above the bar."""
        if self._tqdm is not None:
            self._tqdm.write(text, file=sys.stderr)
        else:
            self._line.clear()
            print(text, file=sys.stderr)

    def close(self, state: str | None = None) -> None:
        """Draw the bar for the last time, with a last `state`, or remove it."""
        self._state = self._state if state is None else state
        if self._tqdm is not None:
            if state is not None:
                self._tqdm.set_postfix_str(state)
            self._tqdm.close()
        elif self._show and self._keep:
            self._line.write(self._text(), end="\n")
        else:
            self._line.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _text(self) -> str:
        n, total = self.done * self._scale, (self._total or 0) * self._scale
        count = self._layout.format(n=n, total=total)
        return f"{self._title}{count}{', ' if self._state else ''}{self._state}"

    def _make_tqdm(self, delay: float) -> Any:
        """A bar of tqdm, or None where tqdm is not installed."""
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        drawing = "" if self._total is None else "{percentage:3.0f}%|{bar}| "
        return tqdm(
            desc=self._title,
            total=self._total,
            bar_format=f"{{desc}}{drawing}{self._layout}{{postfix}}",
            unit_scale=self._scale,
            delay=delay,
            leave=self._keep,
            file=sys.stderr,
        )


class Progress:
    """Progress of a search: the count of scored configurations, the best score, the time left.

    Parameters
    ----------
    total : int
        Configurations to score.
    deadline : float
        When the search stops, whatever is left, in the time of `time.monotonic`.
    verbose : int
        0 shows nothing.
    """

    def __init__(self, total: int, deadline: float, *, verbose: int) -> None:
        self.total, self.deadline = total, deadline
        self.best = float("nan")
        self.bar = Bar(total, "configurations", show=bool(verbose))
        self.started = time.monotonic()

    def advance(self, n: int, best: float) -> None:
        """Count n more configurations; `best` is the best score of all so far."""
        self.best = best
        now = time.monotonic()
        left = (now - self.started) * (self.total / (self.bar.done + n) - 1)
        left = max(min(left, self.deadline - now), 0.0)
        self.bar.advance(n, f"best score {best:.4g}, {duration(left)} left")

    def close(self) -> None:
        """Show the best score and how long the search took."""
        took = duration(time.monotonic() - self.started)
        self.bar.close(f"best score {self.best:.4g}, took {took}")


def watched(items: Sequence[T], title: str, unit: str) -> Iterator[T]:
    """Yield the items under a bar, which appears if they take long, on a terminal only."""
    with Bar(len(items), unit, title=title, delay=SHORT_SECONDS, keep=False) as bar:
        for item in items:
            yield item
            bar.advance()


@contextmanager
def working(title: str) -> Iterator[None]:
    """Show for how many seconds one long step has run, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    line, done, started = _Line(), threading.Event(), time.monotonic()

    def show() -> None:
        pause = SHORT_SECONDS
        while not done.wait(pause):
            line.write(f"{title}: {time.monotonic() - started:.0f} s")
            pause = 1.0
        line.clear()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def duration(seconds: float) -> str:
    """Seconds in a unit that is easy to read.

    Examples
    --------
    >>> [duration(seconds) for seconds in (0.25, 4, 125, 5400)]
    ['0.2 s', '4 s', '2:05 min', '1:30 h']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 1 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"


class _Line:
    """A line of standard error that is written again in its place."""

    def __init__(self) -> None:
        self._width = 0

    def write(self, text: str, end: str = "") -> None:
        sys.stderr.write(f"\r{text:<{self._width}}{end}")
        sys.stderr.flush()
        self._width = len(text)

    def clear(self) -> None:
        if self._width:
            sys.stderr.write(f"\r{'':{self._width}}\r")
            sys.stderr.flush()
            self._width = 0
