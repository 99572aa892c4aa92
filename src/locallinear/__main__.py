"""The program ``locallinear``, also started by ``python -m locallinear``: all commands."""

import os
import sys
import time

from .cli import ProgramStart, main
from .paper.command import reproduce

main.add_command(reproduce)


def program() -> None:
    """Run the command of the arguments, and tell it the processor time of the start."""
    _have_standard_error()
    main(prog_name="locallinear", obj=ProgramStart(time.process_time()))


def _have_standard_error() -> None:
    """Let notes and warnings go nowhere where standard error is closed; the result counts."""
    try:
        os.write(2, b"")
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != 2:
            os.dup2(nowhere, 2)
            os.close(nowhere)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


if __name__ == "__main__":
    program()
