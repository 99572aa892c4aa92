"""`locallinear fit --cluster`: a model of Parquet files that are larger than memory, on Dask."""

import glob
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..runtime.extras import extra
from ..runtime.progress import working
from ..search.grids import named_grid
from ..tables.encoding import Encoding, fit_encoding
from ..tables.estimators import TableClassifier, TableRegressor
from ..tables.procedure import CLASS_SCORING
from ..tables.read import PARQUET
from ..tables.table import Table, as_table
from ..tables.targets import outputs
from .files import BadInput
from .learning import Problem, TableModel, table_problem
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
    config = extra("dask.config", "dask", "Models on a cluster")
    given = {"dashboard_address": ":0"} if address == LOCAL else {"address": address}
    # A client that cannot connect would leave itself as the one that computes.
    with config.set(scheduler=None):
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
    problem, encoding = _learn_columns(frame, data, options)
    example = _encoded(problem.table, problem.y, encoding, problem.targets).iloc[:0]
    rows = frame.dropna(subset=list(problem.targets))
    given = encoding, problem.targets, problem.classify, example
    encoded = rows.map_partitions(_encode, *given, meta=example)
    m = len(problem.targets)
    inputs, targets = (
        encoded[list(names)] for names in (example.columns[:-m], example.columns[-m:])
    )
    if m == 1:
        targets = targets[targets.columns[0]]
    grid = named_grid(options["grid"], prefer="accurate", classify=problem.classify)
    if options["scaling"]:
        grid = grid | {"scaling": [options["scaling"]]}
    if encoding.indicators:
        grid = grid | {"indicators": [encoding.indicators]}
    kind = FALLClassifierCV if problem.classify else FALLRegressorCV
    search = kind(
        for_cluster(grid),
        scoring=CLASS_SCORING if problem.classify else None,
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
    table: type[TableModel] = TableClassifier if problem.classify else TableRegressor
    return table().of_parts(encoding, model, list(problem.targets))


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


def _learn_columns(frame: Any, data: Path, options: Options) -> tuple[Problem, Encoding]:
    """What the columns are, from some of the rows."""
    with working(printable(f"Reading {data}")):
        n = len(frame)
        sample = frame.sample(frac=min(1.0, SAMPLE / max(n, 1)), random_state=options["seed"])
        some = sample.compute().reset_index(drop=True)
    table = as_table(some, options["missing"], str(data))
    problem = table_problem(table, options)
    echo(f"{data}: {n:,} rows, of which {len(problem.table):,} decide what the columns are.")
    return problem, fit_encoding(problem.table, problem.types)


def _encode(
    frame: "pandas.DataFrame",
    encoding: Encoding,
    targets: tuple[str, ...],
    classify: bool,
    example: "pandas.DataFrame",
) -> "pandas.DataFrame":
    """Encoded inputs and targets of one partition, as one frame."""
    if not len(frame):
        return example
    table = as_table(frame, encoding.missing)
    return _encoded(table, outputs(table, targets, classify=classify), encoding, targets)


def _encoded(
    table: Table, y: NDArray, encoding: Encoding, targets: tuple[str, ...]
) -> "pandas.DataFrame":
    """Encoded inputs, and the targets after them."""
    found = encoding.inputs(table)
    for name, column in zip(targets, y.reshape(len(found), -1).T, strict=True):
        found[f"target {name}"] = column
    return found
