"""`locallinear fit --cluster`: a model of Parquet files that are larger than memory, on Dask."""

import glob
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..runtime.extras import extra
from ..runtime.progress import working
from ..search.grids import GRIDS
from ..tables.encoding import Encoding, fit_encoding
from ..tables.model import TableModel
from ..tables.read import PARQUET
from ..tables.table import TableError, as_table
from .files import BadInput
from .terminal import echo, printable

if TYPE_CHECKING:
    import pandas

# The address that means: workers on this machine, started for the command.
LOCAL = "local"
# Rows that decide what the columns are.
SAMPLE = 20_000

Options = dict[str, Any]


def model_name(data: Path) -> Path:
    """The name of the model of files, from their pattern: part.model of part-*.parquet."""
    stem = "".join(letter for letter in data.stem if letter not in "*?[]").strip("-_. ")
    return Path(f"{stem or 'cluster'}.model")


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Context in which the cluster with this address computes."""
    distributed = extra("distributed", "dask", "Models on a cluster")
    given = {"dashboard_address": None} if address == LOCAL else {"address": address}
    try:
        client = distributed.Client(**given, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise BadInput(
            f"No Dask scheduler answers at {address} ({error}); give its address, such as "
            "tcp://host:8786, or local for workers on this machine."
        ) from error
    with client:
        yield


def fit_on_cluster(data: Path, options: Options) -> TableModel:
    """A model of all rows of the files that match a pattern; its samples stay on the workers."""
    from ..dask import FALLClassifierCV, FALLRegressorCV
    from ..dask.search import for_cluster

    frame = _read(data)
    encoding, example = _learn_columns(frame, data, options)
    rows = frame.dropna(subset=list(encoding.targets))
    encoded = rows.map_partitions(_encode, encoding, example, meta=example)
    inputs, targets = (encoded[list(part.columns)] for part in _split(example, encoding))
    if len(encoding.targets) == 1:
        targets = targets[targets.columns[0]]
    grid = GRIDS[options["grid"]]
    if options["scaling"]:
        grid = grid | {"scaling": [options["scaling"]]}
    kind = FALLClassifierCV if encoding.classify else FALLRegressorCV
    search = kind(
        for_cluster(grid),
        time_budget=options["time_budget"],
        random_state=options["seed"],
        n_jobs=options["jobs"],
    )
    start = time.perf_counter()
    with working("Fitting on the cluster"):
        search.fit(inputs, targets)
    model = search.best_estimator_
    echo(
        f"Search: {search.n_configurations_:,} configurations on a sample. The best one is fitted "
        f"to {model.n_samples_fit_:,} rows, in {time.perf_counter() - start:.1f} s altogether."
    )
    return TableModel(encoding, model)


def _read(data: Path) -> Any:
    """The files as one Dask frame."""
    frames = extra("dask.dataframe", "dask", "Models on a cluster")
    files = sorted(glob.glob(str(data)))
    if not files:
        raise BadInput(
            f"No file matches {data}; put a pattern in quotation marks: 'part-*.parquet'."
        )
    other = next((file for file in files if Path(file).suffix.lower() not in PARQUET), None)
    if other is not None:
        raise BadInput(f"--cluster reads Parquet files, but {other} is none; convert it first.")
    return frames.read_parquet(files)


def _learn_columns(frame: Any, data: Path, options: Options) -> "tuple[Encoding, pandas.DataFrame]":
    """What the columns are, from some of the rows, and an encoded frame without rows."""
    with working(printable(f"Reading {data}")):
        n = len(frame)
        sample = frame.sample(frac=min(1.0, SAMPLE / max(n, 1)), random_state=options["seed"])
        some = sample.compute().reset_index(drop=True)
    text = (*options["categorical"], *(options["target"] if options["classify"] else ()))
    table = as_table(some, text, options["missing"])
    if not options["target"]:
        raise TableError(f"Choose a column of {data} to predict, with --target. {table.listing()}")
    names = ("classify", "categorical", "ignore", "missing")
    encoding, table, notes = fit_encoding(
        table, options["target"], **{name: options[name] for name in names}
    )
    for note in notes:
        echo(f"Note: {note}")
    echo(f"{data}: {n:,} rows, of which {len(table):,} decide what the columns are.")
    example = _encoded(table, encoding)
    return encoding, example.iloc[:0]


def _encode(
    frame: "pandas.DataFrame", encoding: Encoding, example: "pandas.DataFrame"
) -> "pandas.DataFrame":
    """Encoded inputs and targets of one partition, as one frame."""
    if not len(frame):
        return example
    return _encoded(as_table(frame, encoding.text, encoding.missing), encoding)


def _encoded(table: Any, encoding: Encoding) -> "pandas.DataFrame":
    """Encoded inputs, and the targets after them."""
    y = encoding.outputs(table)
    found = encoding.inputs(table)
    for j, column in enumerate(y.reshape(len(found), -1).T):
        found[f"target {encoding.targets[j]}"] = column
    return found


def _split(frame: "pandas.DataFrame", encoding: Encoding) -> "list[pandas.DataFrame]":
    """The inputs and the targets of an encoded frame."""
    m = len(encoding.targets)
    return [frame.iloc[:, :-m], frame.iloc[:, -m:]]
