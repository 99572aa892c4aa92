"""The program ``locallinear``, also started by ``python -m locallinear``: all commands."""

from .cli import main
from .paper.command import reproduce

main.add_command(reproduce)

if __name__ == "__main__":
    main(prog_name="locallinear")
