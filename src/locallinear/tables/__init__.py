"""Raw tables: files and frames come in, columns are understood, models are fitted.

A table walks through these modules: `read.py` reads files and `table.py` frames; `kinds.py` says
what each column is, with `cells.py` for cells of text; `columns.py`, `dates.py` and `texts.py` turn
a column into features, and `encoding.py` all of them; `scale.py` has the log of a target;
`procedure.py` searches, fits and judges; `model.py` explains by column. `learning.py` puts this
together as a fit, `answers.py` as what a fitted model says; `TableRegressor` and `TableClassifier`
in `estimators.py` are built on both.
"""

from .estimators import TableClassifier, TableRegressor
from .read import read_table

__all__ = ["TableClassifier", "TableRegressor", "read_table"]
