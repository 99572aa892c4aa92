"""``python -m locallinear.paper``: the reproduction without the rest of the command line."""

from .command import reproduce

if __name__ == "__main__":
    reproduce(prog_name="python -m locallinear.paper")
