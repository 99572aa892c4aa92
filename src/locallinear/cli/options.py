"""Types of options that several commands have: numbers that mean something, or a refusal."""

from math import isfinite

import click


class Seconds(click.FloatRange):
    """A time above zero."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value, param, ctx):
        """The number, if it is one."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return number


class Threads(click.types.IntParamType):
    """A number of threads: 1 and more, or as in scikit-learn -1 for all cores."""

    name = "threads"

    def convert(self, value, param, ctx):
        """The number, if so many threads can be."""
        number = super().convert(value, param, ctx)
        if number == 0:
            self.fail("0 is no number of threads; give 1 or more, or -1 for all cores.", param, ctx)
        return number


SECONDS = Seconds()
THREADS = Threads()
SEED = click.IntRange(0, 2**32 - 1)
