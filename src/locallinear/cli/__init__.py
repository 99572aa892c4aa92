"""The command line: ``locallinear demo | fit | predict | explain | compare``.

`commands.py` declares the commands and their options, `learning.py` searches and compares models,
`demo.py` has example data, `laws.py` compares a model with the laws behind simulated data,
`files.py` reads and writes files, `outputs.py` makes what `predict` and `explain` write,
`comparison.py` makes the models to compare, and `summary.py` puts results into lines of text.
"""

from .commands import ProgramStart, main

__all__ = ["ProgramStart", "main"]
