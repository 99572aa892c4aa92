"""``python -m locallinear``: the command line."""

from .cli.commands import main

if __name__ == "__main__":
    main(prog_name="locallinear")
