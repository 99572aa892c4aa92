"""Types of options that several commands share, with errors for numbers that make no sense."""

from math import isfinite
from typing import Any

import click


class Seconds(click.FloatRange):
    """A time above zero."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or fail if it is not finite."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a number of seconds.", param, ctx)
        return number


class Threads(click.types.IntParamType):
    """A number of threads: 1 or more, or -1 for all cores, as in scikit-learn."""

    name = "threads"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, or fail if it is 0."""
        number = super().convert(value, param, ctx)
        if number == 0:
            self.fail("0 threads cannot work; give 1 or more, or -1 for all cores.", param, ctx)
        return number


SECONDS = Seconds()
THREADS = Threads()
SEED = click.IntRange(0, 2**32 - 1)
