"""What the commands write: predictions, contributions and reports."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..runtime.extras import extra
from ..tables.model import TableModel
from ..tables.read import PARQUET
from ..tables.table import Table, TableError

if TYPE_CHECKING:
    import pandas


def predictions(model: TableModel, table: Table) -> "pandas.DataFrame":
    """A column a target, or the class and a column for the probability of each."""
    pandas = extra("pandas", "report", "Tables")
    targets, X = model.encoding.targets, model.encode(table)
    if not model.encoding.classify:
        values = model.estimator.predict(X).reshape(len(X), -1)
        return pandas.DataFrame(values, columns=[f"predicted {name}" for name in targets])
    chances = model.estimator.predict_proba(X)
    columns = {f"predicted {targets[0]}": model.classes_[chances.argmax(axis=1)]}
    columns |= {f"probability of {c}": chances[:, i] for i, c in enumerate(model.classes_)}
    return pandas.DataFrame(columns)


def contributions(model: TableModel, table: Table) -> "pandas.DataFrame":
    """A line a row and target: the prediction, the constant in it, and what each column adds."""
    pandas = extra("pandas", "report", "Tables")
    found = model.explain(table)
    q, _, m = found.contributions.shape
    word, total = ("class", "score") if model.encoding.classify else ("target", "prediction")
    frame = pandas.DataFrame(
        {
            "row": np.repeat(np.arange(1, q + 1), m),
            word: found.target_names * q,
            total: found.prediction.ravel(),
            "constant": found.intercept.ravel(),
        }
    )
    added = found.contributions.swapaxes(1, 2).reshape(q * m, -1)
    names = [f"adds: {name}" for name in found.feature_names]
    return frame.join(pandas.DataFrame(added, columns=names))


def table_bytes(frame: "pandas.DataFrame", path: Path) -> bytes:
    """A frame as Parquet where the name ends so, else as CSV."""
    if path.suffix.lower() not in PARQUET:
        return frame.to_csv(index=False, lineterminator="\n").encode()
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False)
    except ImportError as error:
        raise TableError(
            f"{path} is Parquet, which needs pyarrow: pip install 'locallinear[report]', or write "
            "a .csv file."
        ) from error
    return buffer.getvalue()


def report_of(model: TableModel, table: Table, *, max_rows: int, jobs: int) -> dict:
    """The data of a report on a model, and on the rows of a table."""
    from ..explain import report_data

    return report_data(
        model,
        Xq=table.frame,
        yq=_targets_if_known(model, table),
        title=f"{table.name}: what drives {' and '.join(model.encoding.targets)}",
        row_names=[f"row {i}" for i in range(1, len(table) + 1)],
        max_rows=max_rows,
        n_jobs=jobs,
    )


def _targets_if_known(model: TableModel, table: Table):
    targets = list(model.encoding.targets)
    if not set(targets) <= set(table.columns):
        return None
    complete = table.frame[targets].notna().to_numpy().all()
    return model.encoding.outputs(table) if complete else None
