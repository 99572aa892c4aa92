"""The command line: ``locallinear fit | predict | explain | compare | demo``."""

from .commands import main

__all__ = ["main"]
