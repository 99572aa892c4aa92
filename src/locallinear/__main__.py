"""The program ``locallinear``, also started by ``python -m locallinear``: all commands."""

from .cli import main
from .paper.command import reproduce

main.add_command(reproduce)
reproduce.short_help = "Rerun the paper's experiments."

if __name__ == "__main__":
    main(prog_name="locallinear")
