"""The program ``locallinear``, also started by ``python -m locallinear``: all commands."""

import time

from .cli import main
from .paper.command import reproduce

main.add_command(reproduce)


def program() -> None:
    """Run the command of the arguments, and tell it how long this process took to load."""
    main(prog_name="locallinear", obj=time.process_time())


if __name__ == "__main__":
    program()
