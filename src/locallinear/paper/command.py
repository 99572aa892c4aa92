"""The command line of the reproduction: ``reproduce table1 table2 honest figures``."""

import sqlite3
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from ..cli.options import SECONDS
from ..runtime.files import write_whole
from . import runner
from .live import LiveView
from .models import MODELS
from .protocol import DATASETS, N_RUNS, TUNERS, Run, plan
from .render import RENDERERS, to_terminal
from .store import Store, to_csv
from .tables import honest_table, table1, table2

KEPT = ("runs.sqlite", "runs.csv")
HONEST = ("parkinsons", "superconductivity")
TABLES = {"table1": table1, "table2": table2, "honest": honest_table}


def one_of(names) -> click.Choice:
    """A choice of names, however they are spelled."""
    return click.Choice(list(names), case_sensitive=False)


@click.command("reproduce", context_settings={"show_default": True})
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
    help="A run for Optuna; kernel ridge is always tuned by it.",
)
@click.option("--jobs", default=1, type=click.IntRange(1), help="Worker processes.")
@click.option(
    "--out",
    default="results",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the results file, the tables and the figures.",
)
@click.option("--show", is_flag=True, help="Only draw the tables from what is finished.")
@click.option(
    "--refit",
    is_flag=True,
    help="Only fit and test again what is finished, with the parameters found: times of a machine "
    "that is not busy with tuning.",
)
def reproduce(what, dataset, model, runs, tuner, budget, jobs, out, show, refit):
    """Rerun the paper's experiments and set them beside the published figures.

    Finished runs are kept in OUT/runs.sqlite: when the command is stopped, even killed, the same
    command goes on where it was, and a second one beside it takes part in the work. Runs of an
    earlier OUT/runs.csv count as finished.

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
    """The results file of a folder; a folder that cannot have one is a mistake of the caller."""
    try:
        store = Store(out / "runs.sqlite")
        if (out / "runs.csv").exists():
            store.take_in(out / "runs.csv")
        return store
    except (OSError, sqlite3.Error) as error:
        raise click.UsageError(
            f"--out should be a folder that can be written to; {out} cannot ({error})."
        ) from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def planned(what, dataset, models, tuner, budget, n_runs) -> list[Run]:
    """The runs that the wanted tables need, each once."""
    runs: list[Run] = []
    if {"table1", "table2"} & set(what):
        runs += plan(dataset or DATASETS, models, tuner, budget, n_runs)
    if "honest" in what:
        for split in ("grouped", "random"):
            runs += plan(dataset or HONEST, models, tuner, budget, n_runs, split)
    return list(dict.fromkeys(runs))


def execute(store: Store, runs, jobs, what, models, way) -> list[runner.Failure]:
    """Do what is not done yet, watched."""
    left = set(runs) - store.finished()
    if not left:
        return []
    if any(run.tuner == "optuna" for run in left) and find_spec("optuna") is None:
        raise click.UsageError(
            "Tuning by Optuna, which kernel ridge always needs, takes an extra: "
            "pip install 'locallinear[tune]', or leave kernel_ridge out by --model."
        )
    fetch(left)
    names = [name for name in DATASETS if any(run.dataset == name for run in runs)]
    draw = table1 if {"table1", "table2"} & set(what) else honest_table

    def so_far() -> str:
        return click.unstyle(to_terminal(draw(store.rows(), names, models, *way)))

    with LiveView(store, runs, jobs, so_far) as view:
        return runner.run_all(store.path, runs, jobs, view.refresh)


def fetch(runs) -> None:
    """Load the data of some runs once: here and not in the workers, which would all download it."""
    for name in sorted({run.dataset for run in runs}):
        try:
            DATASETS[name].fetch()
        except (OSError, ValueError, ModuleNotFoundError) as error:
            raise click.UsageError(str(error)) from error


def refit_finished(store: Store, runs) -> list[runner.Failure]:
    """Fit and test the finished ones of some runs once more, watched."""
    params = store.params()
    again = [run for run in runs if run in params]
    fetch(again)
    failures = []
    with click.progressbar(again, label="Fitting again", file=sys.stderr) as bar:
        for run in bar:
            try:
                runner.refit(store, run, params[run])
            except Exception as error:  # one bad run must not cost the others
                failures.append((run, f"{type(error).__name__}: {error}"))
    return failures


def write_results(store: Store, out: Path, what, dataset, models, way) -> None:
    """Show the wanted part of tables; the files have all that is finished, and the runs."""
    rows = store.rows()
    write_whole(out / "runs.csv", to_csv(rows).encode())
    finished = {row["dataset"] for row in rows} | {row["model"] for row in rows}
    for name in what:
        if name not in TABLES:
            continue
        default = HONEST if name == "honest" else tuple(DATASETS)
        there = [[each for each in names if each in finished] for names in (default, MODELS)]
        whole = TABLES[name](rows, *there, *way)
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
        raise click.UsageError(
            f"--out should be a folder that can be written to; {out} cannot ({error})."
        ) from error


def failure_text(failures: list[runner.Failure]) -> str:
    """The failed runs in a few lines."""
    lines = [
        f"  {run.dataset}, {run.model}, seed {run.seed}: {reason}" for run, reason in failures[:5]
    ]
    more = f"\n  and {len(failures) - 5} more" if len(failures) > 5 else ""
    return (
        f"{len(failures)} runs failed and are missing from the tables; the same command tries "
        "them again:\n" + "\n".join(lines) + more
    )
