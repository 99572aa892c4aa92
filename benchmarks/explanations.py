"""Explanations against the truth: slopes, Shapley values, the layers of a prediction, stability.

Slopes. Five known functions, 1,500 samples with noise of a tenth of the function's standard
deviation, 500 queries. Two have regimes: in "two regimes" the slopes depend on the sign of x0,
which has no gradient itself, and the rentals (`locallinear.datasets.make_rentals`, without gaps)
have three laws. The error is the sum of squared differences to the true gradients over the sum of
squared true gradients, both per standard deviation of a feature; the correlation is over all
queries and features. R² is that of the predictions for the function without noise. LightGBM has
500 trees at a rate of 0.05 and EBM four bags. Their slopes are central differences, with the best
step of 0.05, 0.1, 0.2 and 0.4 standard deviations *by the true error*, which favours them. Local
least squares fits a gradient around each sample and averages those of the nearest ones, as DNNR
does, with numbers of neighbours that are chosen on a third of the samples.

Shapley values. `explain(X).shapley()` by column of the rentals (with gaps), against the sums over
all subsets of the six columns with the same 200 background rows, which are new ones. The error is
relative to the largest value of each row. The leading column of a row has the largest absolute
part: in the exact Shapley values, in the layers (the column's share of the level, which the
waterfall names in brackets, plus what it adds as a difference), in the differences alone, and in
coefficient times difference from the average row; the correlation is over all rows and columns.
Shares of the level are Shapley values minus differences, from paths of 80 training samples, so the
layers differ from exact values by chance: that of these paths, and of the background. "Other
background": exact values with the first 50 of the background rows, which say how much the latter
is. 100 rows per seed. The seeds of samples, rows and background are others than those that the
settings were chosen with.

Stability. Slopes at the same queries by models that were fitted with two seeds, and on two halves
of the samples: their correlation, and how often they have the same sign where the true slope is not
zero. LightGBM and local least squares make no random choices here.
"""

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._functions import Problem, problems
from benchmarks._run import Table, duration, seconds, verdict
from benchmarks._slopes import OTHERS, OURS, slopes_of
from locallinear import TableRegressor
from locallinear.datasets import make_rentals
from locallinear.explain.level_shares import level_shares
from locallinear.explain.view import ModelView, view_of

LONG = True  # a quarter of an hour: only run when asked for by name

N_ROWS, N_BACKGROUND = 100, 200
SEEDS = (1000, 2000, 3000)  # of the rentals
LEADING = 0.8  # share of rows in which the layers should name the leading column
STABLE = (*OURS, "LightGBM, differences", "local least squares")


# Slopes at the queries, (q, s), by function and model.
Found = dict[tuple[str, str], NDArray]


def run() -> Iterator[Table]:
    known = problems()
    first: Found = {}
    yield slopes_table(known, first)
    yield from shapley_tables()
    yield stability_table(known, first)


# --- Slopes against true gradients ---------------------------------------------------------------


def slopes_table(known: list[Problem], first: Found) -> Table:
    """Errors of the slopes, which are put into `first`."""
    table = Table("slopes", ("function", "model", "R²", "error of slopes", "correlation"))
    for problem in known:
        for name, make in (OURS | OTHERS).items():
            model = make(0).fit(problem.X, problem.y)
            first[problem.name, name] = slopes = best_slopes(model, problem)
            error, correlation = agreement(slopes, problem)
            left = np.mean((model.predict(problem.queries) - problem.truth) ** 2)
            figures = 1 - left / problem.truth.var(), error, correlation
            table.rows.append((problem.name, name, *(f"{figure:.3f}" for figure in figures)))
    return table


def best_slopes(model: Any, problem: Problem) -> NDArray:
    """A fitted model's slopes at the queries, (q, s), by the step with the smallest true error."""
    return min(slopes_of(model, problem), key=lambda slopes: agreement(slopes, problem))


def agreement(slopes: NDArray, problem: Problem) -> tuple[float, float]:
    """Relative squared error and correlation of slopes, (q, s), with the true gradients."""
    found, true = slopes * problem.scale, problem.gradients * problem.scale
    error = float(((found - true) ** 2).sum() / (true**2).sum())
    return error, float(np.corrcoef(found.ravel(), true.ravel())[0, 1])


# --- Shapley values and layers -------------------------------------------------------------------


def shapley_tables() -> Iterator[Table]:
    head = ["by", "model, seed", "the same as by exact values", "target", "", "correlation"]
    leading = Table("leading column", head)
    single, ensemble = OURS
    for name, seed in [*((single, seed) for seed in SEEDS), (ensemble, SEEDS[0])]:
        table = make_rentals(1500, random_state=seed)
        new = make_rentals(N_ROWS, random_state=seed + 1)
        model = TableRegressor(OURS[name](seed), target="identity", random_state=seed)
        model.fit(table.data, table.target)
        background = make_rentals(N_BACKGROUND, random_state=seed + 2).data
        view, why = view_of(model), model.explain(new.data)
        encoded = [np.asarray(model.encode(rows)) for rows in (new.data, background)]
        exact = exact_shapley(view, *encoded)
        if not leading.rows:
            yield _errors(why, background, exact)
        fewer = exact_shapley(view, encoded[0], encoded[1][:50])
        leading.rows += _leading(view, why, exact, fewer, f"{name}, {seed}")
    yield leading


def exact_shapley(view: ModelView, rows: NDArray, background: NDArray) -> NDArray:
    """Shapley values (q, c) by the predictions of all subsets of the columns."""
    q, c = len(rows), len(view.columns)
    worth = {}
    for size in range(c + 1):
        for subset in combinations(range(c), size):
            mixed = np.where(np.isin(view.column_numbers, subset), rows[:, None], background)
            predicted = view.predict(mixed.reshape(-1, rows.shape[1]))
            worth[subset] = predicted.reshape(q, -1).mean(axis=1)
    values = np.zeros((q, c))
    for subset in worth:
        for j in set(range(c)) - set(subset):
            gain = worth[tuple(sorted((*subset, j)))] - worth[subset]
            values[:, j] += gain / (c * comb(c - 1, len(subset)))
    return values


def _errors(why: Any, background: Any, exact: NDArray) -> Table:
    head = ("permutations", "error", "correlation", "sum off by at most", "time per row")
    table = Table("Shapley values", head)
    largest = np.abs(exact).max(axis=1, keepdims=True)
    for n_permutations in (2, 10):
        found: list[NDArray] = []

        def call(n: int = n_permutations, found: list[NDArray] = found) -> None:
            values = why.shapley(background, n_permutations=n, random_state=0)
            found.append(values[:, :, 0])

        taken = seconds(call) / len(exact)
        error = np.sqrt((((found[0] - exact) / largest) ** 2).mean())
        correlation = np.corrcoef(found[0].ravel(), exact.ravel())[0, 1]
        off = np.abs(found[0].sum(axis=1) - exact.sum(axis=1)).max()
        cells = f"{error:.3f}", f"{correlation:.4f}", f"{off:.1e}", duration(taken)
        table.rows.append((str(n_permutations), *cells))
    return table


def _leading(
    view: ModelView, why: Any, exact: NDArray, fewer: NDArray, model: str
) -> list[tuple[str, ...]]:
    leading = np.abs(exact).argmax(axis=1)
    average = why.contributions - view.at_average(why.encoded.coef)
    differences, levels = why.difference_parts[:, :, 0], []
    taken = seconds(lambda: levels.append(level_shares(view, why)[:, :, 0])) / len(exact)
    ways: dict[str, NDArray] = {
        f"layers ({duration(taken)} per row)": levels[0] + differences,
        "exact values, other background": fewer,
        "differences from the neighbours alone": differences,
        "coefficient times difference from the average": average[:, :, 0],
    }
    lines: list[tuple[str, ...]] = []
    for way, found in ways.items():
        share = float((np.abs(found).argmax(axis=1) == leading).mean())
        goal = f"≥ {LEADING:.0%}", verdict(share, LEADING, at_least=True)
        correlation = f"{np.corrcoef(found.ravel(), exact.ravel())[0, 1]:.2f}"
        goals = goal if way.startswith("layers") else ("", "")
        lines.append((way, model, f"{share:.0%}", *goals, correlation))
    return lines


# --- Stability -----------------------------------------------------------------------------------


def stability_table(known: list[Problem], first: Found) -> Table:
    head = [
        "function",
        "model",
        "two seeds: correlation",
        "sign",
        "two halves: correlation",
        "sign",
    ]
    table = Table("stability of slopes", head)
    for problem in known:
        halves = np.array_split(np.random.default_rng(0).permutation(len(problem.X)), 2)
        for name in STABLE:
            make = (OURS | OTHERS)[name]
            second = best_slopes(make(1).fit(problem.X, problem.y), problem)
            parts = [
                best_slopes(make(0).fit(problem.X[rows], problem.y[rows]), problem)
                for rows in halves
            ]
            figures = (
                *_alike(problem, first[problem.name, name], second),
                *_alike(problem, *parts),
            )
            table.rows.append((problem.name, name, *(f"{figure:.2f}" for figure in figures)))
    return table


def _alike(problem: Problem, *slopes: NDArray) -> tuple[float, float]:
    """The correlation of two models' slopes, and the share of equal signs where slopes count."""
    pair = np.stack(slopes) * problem.scale
    counts = problem.gradients != 0
    same = np.sign(pair[0][counts]) == np.sign(pair[1][counts])
    return float(np.corrcoef(*pair.reshape(2, -1))[0, 1]), float(same.mean())
