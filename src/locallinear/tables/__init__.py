"""Tables: read files and data frames, encode their columns, and model them.

`read.py` reads CSV and Parquet files, `table.py` holds columns of numbers and text, `encoding.py`
decides how columns become numbers, `targets.py` checks what is predicted, and `model.py` joins an
encoding and an estimator.
"""

from .encoding import fit_encoding
from .model import TableModel
from .read import read_table

__all__ = ["TableModel", "fit_encoding", "read_table"]
