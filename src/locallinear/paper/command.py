"""The command line of the reproduction: ``reproduce table1 table2 honest figures``."""

import sqlite3
from collections.abc import Collection, Iterable
from importlib.util import find_spec
from pathlib import Path

import click

from ..cli.options import SECONDS
from ..runtime.files import write_whole
from ..runtime.progress import watched
from . import runner
from .live import LiveView
from .models import MODELS
from .protocol import DATASETS, N_RUNS, TUNERS, Run, plan
from .render import RENDERERS, to_terminal
from .store import Store, to_csv
from .tables import Names, honest_table, table1, table2

KEPT = ("runs.sqlite", "runs.csv")
HONEST = ("parkinsons", "superconductivity")
TABLES = {"table1": table1, "table2": table2, "honest": honest_table}


def one_of(names: Iterable[str]) -> click.Choice:
    """A choice of names, in capitals or not."""
    return click.Choice(list(names), case_sensitive=False)


@click.command(
    "reproduce",
    short_help="Rerun the paper's experiments.",
    context_settings={"show_default": True},
)
@click.argument("what", nargs=-1, required=True, type=click.Choice([*TABLES, "figures"]))
@click.option("--dataset", multiple=True, type=one_of(DATASETS), help="All by default.")
@click.option("--model", multiple=True, type=one_of(MODELS), help="All by default.")
@click.option("--runs", default=N_RUNS, type=click.IntRange(1), help="Splits, numbered from 0.")
@click.option(
    "--tuner",
    default="exhaustive",
    type=click.Choice(TUNERS),
    help="Every configuration, Optuna (the paper's way), or fixed parameters.",
)
@click.option(
    "--budget",
    default=60.0,
    type=SECONDS,
    metavar="SECONDS",
    help="Tuning time of Optuna per run; kernel ridge is always tuned by Optuna.",
)
@click.option("--jobs", default=1, type=click.IntRange(1), help="Worker processes.")
@click.option(
    "--out",
    default="results",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the results file, the tables and the figures.",
)
@click.option("--show", is_flag=True, help="Only draw the tables of the finished runs.")
@click.option(
    "--refit",
    is_flag=True,
    help="Only fit and test the finished runs again, with the parameters that they found: for "
    "times on a machine that does nothing else.",
)
def reproduce(
    what: tuple[str, ...],
    dataset: tuple[str, ...],
    model: tuple[str, ...],
    runs: int,
    tuner: str,
    budget: float,
    jobs: int,
    out: Path,
    show: bool,
    refit: bool,
) -> None:
    """Rerun the paper's experiments and show the results beside the published figures.

    Finished runs are kept in OUT/runs.sqlite. When the command is stopped, or killed, the same
    command continues where it stopped; a second command at the same time takes a part of the work.
    Runs of an earlier OUT/runs.csv count as finished.

    \b
    Example:
        locallinear reproduce table1 table2 --dataset fish --model knn --model ridge
    """  # noqa: D301, click reads the backspace as "do not wrap"
    models = model or tuple(MODELS)
    wanted = planned(what, dataset, models, tuner, budget, runs)
    failures: list[runner.Failure] = []
    if wanted:
        if (show or refit) and not any((out / name).exists() for name in KEPT):
            raise click.UsageError(f"Nothing is finished in {out}: it has no {' or '.join(KEPT)}.")
        with open_store(out) as store:
            if refit:
                failures = refit_finished(store, wanted)
            elif not show:
                failures = execute(store, wanted, jobs, what, models, (tuner, budget))
            write_results(store, out, what, dataset, models, (tuner, budget))
    if "figures" in what:
        draw_figures(out)
    if failures:
        raise click.ClickException(failure_text(failures))


def open_store(out: Path) -> Store:
    """Open the results file of a folder, and add the runs of its export."""
    try:
        store = Store(out / "runs.sqlite")
        if (out / "runs.csv").exists():
            store.take_in(out / "runs.csv")
        return store
    except (OSError, sqlite3.Error) as error:
        raise unwritable(out, error) from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def planned(
    what: Names, dataset: Names, models: Names, tuner: str, budget: float, n_runs: int
) -> list[Run]:
    """List the runs that the wanted tables need, each once."""
    runs: list[Run] = []
    if {"table1", "table2"} & set(what):
        runs += plan(dataset or DATASETS, models, tuner, budget, n_runs)
    if "honest" in what:
        for split in ("grouped", "random"):
            runs += plan(dataset or HONEST, models, tuner, budget, n_runs, split)
    return list(dict.fromkeys(runs))


def execute(
    store: Store, runs: list[Run], jobs: int, what: Names, models: Names, way: tuple[str, float]
) -> list[runner.Failure]:
    """Do the runs that are not finished, under a live view."""
    left = set(runs) - store.finished()
    if not left:
        return []
    if any(run.tuner == "optuna" for run in left) and find_spec("optuna") is None:
        raise click.UsageError(
            "Optuna is not installed, and the tuner 'optuna' and kernel ridge need it: "
            "pip install 'locallinear[tune]', or choose other models by --model."
        )
    fetch(left)
    names = [name for name in DATASETS if any(run.dataset == name for run in runs)]
    draw = table1 if {"table1", "table2"} & set(what) else honest_table

    def so_far() -> str:
        return click.unstyle(to_terminal(draw(store.rows(), names, models, *way)))

    with LiveView(store, runs, jobs, so_far) as view:
        return runner.run_all(store.path, runs, jobs, view.refresh)


def fetch(runs: Collection[Run]) -> None:
    """Load the data of some runs once, so that the workers do not all download them."""
    for name in sorted({run.dataset for run in runs}):
        try:
            DATASETS[name].fetch()
        except (OSError, ValueError, ModuleNotFoundError) as error:
            raise click.UsageError(str(error)) from error


def refit_finished(store: Store, runs: list[Run]) -> list[runner.Failure]:
    """Fit and test those of some runs again that are finished, under a progress bar."""
    params = store.params()
    again = [run for run in runs if run in params]
    fetch(again)
    failures = []
    for run in watched(again, "Fitting again", "runs"):
        try:
            runner.refit(store, run, params[run])
        except Exception as error:  # one bad run must not end the others
            failures.append((run, f"{type(error).__name__}: {error}"))
    return failures


def write_results(
    store: Store,
    out: Path,
    what: Names,
    dataset: Names,
    models: Names,
    way: tuple[str, float],
) -> None:
    """Write the runs and the tables of all finished runs; show the wanted part of the tables."""
    rows = store.rows()
    write_whole(out / "runs.csv", to_csv(rows).encode())
    finished = {row["dataset"] for row in rows} | {row["model"] for row in rows}
    for name in what:
        if name not in TABLES:
            continue
        default = HONEST if name == "honest" else tuple(DATASETS)
        datasets_done, models_done = (
            [each for each in names if each in finished] for names in (default, tuple(MODELS))
        )
        whole = TABLES[name](rows, datasets_done, models_done, *way)
        for suffix, render in RENDERERS.items():
            write_whole(out / f"{name}.{suffix}", click.unstyle(render(whole)).encode())
        click.echo(to_terminal(TABLES[name](rows, dataset or default, models, *way)))


def draw_figures(out: Path) -> None:
    """Draw the paper's figures."""
    try:
        from .figures import write_figures
    except ModuleNotFoundError as error:
        raise click.UsageError(
            f"Figures need {error.name}: pip install 'locallinear[plot]'."
        ) from error
    try:
        for path in write_figures(out):
            click.echo(str(path))
    except OSError as error:
        raise unwritable(out, error) from error


def unwritable(out: Path, error: Exception) -> click.UsageError:
    """The refusal of a folder that cannot be written to."""
    return click.UsageError(
        f"--out should be a folder that can be written to; {out} cannot ({error})."
    )


def failure_text(failures: list[runner.Failure]) -> str:
    """Name the failed runs in a few lines."""
    lines = [
        f"  {run.dataset}, {run.model}, seed {run.seed}: {reason}" for run, reason in failures[:5]
    ]
    more = f"\n  and {len(failures) - 5} more" if len(failures) > 5 else ""
    return (
        f"{len(failures)} runs failed and are missing from the tables; the same command tries "
        "them again:\n" + "\n".join(lines) + more
    )
