"""A progress bar that shows the best score so far."""

import sys
import threading
import time
from contextlib import contextmanager


class Progress:
    """How many of `total` are done, the best score and the time left; silent if not verbose.

    With tqdm installed the bar is tqdm's, in notebooks too; without it a line on standard error.
    """

    def __init__(self, total: int, *, verbose: int, unit: str):
        self.total, self.verbose, self.unit = total, verbose, unit
        self.done = 0
        self.started = self.printed = time.monotonic()
        self.bar = self._make_bar() if verbose else None

    def _make_bar(self):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        return tqdm(total=self.total, unit=f" {self.unit}", unit_scale=True, file=sys.stderr)

    def advance(self, n: int, best: float) -> None:
        """Note n more done, and the best score of all."""
        self.done += n
        if self.bar is not None:
            self.bar.set_postfix_str(f"best score {best:.4g}", refresh=False)
            self.bar.update(n)
        elif self.verbose and time.monotonic() - self.printed > 0.5:
            self.printed = time.monotonic()
            left = (self.printed - self.started) * (self.total / max(self.done, 1) - 1)
            line = f"{self.done:,} of {self.total:,} {self.unit}, best score {best:.4g}"
            sys.stderr.write(f"\r{line}, {left:.0f} s left ")

    def close(self) -> None:
        """End the bar's line."""
        if self.bar is not None:
            self.bar.close()
        elif self.verbose:
            sys.stderr.write("\n")


def watched(items: list, description: str):
    """The items one by one, under a bar once two seconds have gone by; silent into a file."""
    if not sys.stderr.isatty():
        return iter(items)
    try:
        from tqdm import tqdm
    except ImportError:
        return _counted(items, description)
    return tqdm(items, desc=description, delay=2, leave=False, file=sys.stderr)


def _counted(items: list, description: str):
    started = time.monotonic()
    for done, item in enumerate(items):
        if time.monotonic() - started > 2:
            sys.stderr.write(f"\r{description}: {done} of {len(items)} ")
        yield item
    sys.stderr.write("\r\x1b[K")


@contextmanager
def working(description: str):
    """Show that one long step goes on, and for how long, once two seconds have gone by."""
    done = threading.Event()

    def show() -> None:
        seconds = 2
        while not done.wait(2 if seconds == 2 else 1):
            sys.stderr.write(f"\r{description}: {seconds} s ")
            sys.stderr.flush()
            seconds += 1
        if seconds > 2:
            sys.stderr.write("\r\x1b[K")

    shown = threading.Thread(target=show, daemon=True)
    if sys.stderr.isatty():
        shown.start()
    try:
        yield
    finally:
        done.set()
        if shown.ident is not None:
            shown.join()
