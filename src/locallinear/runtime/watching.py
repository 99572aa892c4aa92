"""Signs of life on a terminal, for anything that takes over two seconds; silent into a file."""

import sys
import threading
import time
from contextlib import contextmanager


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
