"""The program ``locallinear``, also started by ``python -m locallinear``: all commands."""

import time

from .cli import ProgramStart, main
from .paper.command import reproduce

main.add_command(reproduce)


def program() -> None:
    """Run the command of the arguments, and tell it the processor time of the start."""
    main(prog_name="locallinear", obj=ProgramStart(time.process_time()))


if __name__ == "__main__":
    program()
