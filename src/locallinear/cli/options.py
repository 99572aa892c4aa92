"""Options that several commands share, and their types."""

from collections.abc import Callable
from functools import partial
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]


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


class Share(click.FloatRange):
    """A share above 0 and below 1."""

    name = "share"

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or fail if it is none: NaN is on no side of a limit."""
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value} is not a number above 0 and below 1.", param, ctx)
        return number


class FileName(click.Path):
    """The path of a file; an empty name, such as that of a variable that is not set, is refused."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or fail if the name is empty."""
        if value == "":
            self.fail("The name is empty; name a file.", param, ctx)
        return super().convert(value, param, ctx)


class Threads(click.types.IntParamType):
    """A number of threads: 1 or more, or -1 for all cores, as in scikit-learn."""

    name = "threads"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, or fail if it is 0."""
        number = super().convert(value, param, ctx)
        if number == 0:
            self.fail("0 threads cannot work; give 1 or more, or -1 for all cores.", param, ctx)
        return number


FILE = FileName()
SECONDS = Seconds()
SHARE = Share()
THREADS = Threads()
SEED = click.IntRange(0, 2**32 - 1)

jobs_option = click.option(
    "--jobs", type=THREADS, default=-1, show_default="all cores", help="Number of threads."
)


def reading(command: Command) -> Command:
    """Add the options of every command that reads a table."""
    delimiter = click.option(
        "--delimiter",
        metavar="MARK",
        show_default="detected",
        help="Character between the columns of a CSV file, or the word tab.",
    )
    decimal = click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        show_default="detected",
        help="Decimal mark of a CSV file.",
    )
    header = click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a CSV file has the names of the columns; asked about where "
        "it seems to have none.",
    )
    return delimiter(decimal(header(command)))


def learning(command: Command) -> Command:
    """Add the options of every command that learns from a table."""
    several = partial(click.option, multiple=True, metavar="NAME")
    options = [
        several("--target", help="Column to predict (required); repeat for several targets."),
        click.option("--classify", is_flag=True, help="Treat a target of numbers as classes."),
        click.option(
            "--model",
            type=click.Choice(["single", "ensemble"]),
            default="single",
            show_default=True,
            help="One model, or the mean of many: more accurate on most tables, and slower.",
        ),
        click.option(
            "--types",
            multiple=True,
            metavar="COLUMN=KIND",
            help="What a column is, where the guess is wrong: number, category, ordered, text, "
            "date, or skip; also 'day=date: %d/%m/%Y', 'size=number: ,' (decimal commas) and "
            "'mood=ordered: low < mid < high'; may be repeated.",
        ),
        click.option(
            "--target-scale",
            type=click.Choice(["auto", "identity", "log"]),
            default="auto",
            show_default=True,
            help="Whether the target or its log is modelled; auto compares both.",
        ),
        several(
            "--categorical",
            help="Column of numbers to treat as text, such as a postal code; may be repeated.",
        ),
        several("--ignore", help="Column to leave out; may be repeated."),
        click.option(
            "--missing",
            multiple=True,
            metavar="TEXT",
            help="Cell that means no value, such as -999; may be repeated.",
        ),
        click.option(
            "--grid",
            type=click.Choice(["default", "paper"]),
            default="default",
            show_default=True,
            help="Configurations to try: thousands, or the paper's million.",
        ),
        click.option(
            "--scaling",
            type=click.Choice(["standard", "quantile"]),
            help="Try only this scaling; standard gives equations in the units of the table.",
        ),
        click.option(
            "--time-budget",
            type=SECONDS,
            metavar="SECONDS",
            default=60,
            show_default=True,
            help="About how long the command takes in all; compare limits FALL alone by it.",
        ),
        click.option(
            "--seed",
            type=SEED,
            metavar="N",
            default=0,
            show_default=True,
            help="Seed of all random choices.",
        ),
        jobs_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command
