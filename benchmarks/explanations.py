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
all subsets of the six columns with the same 50 background rows. The error is relative to the
largest value of each row. The leading column of a row has the largest absolute part: in the exact
Shapley values, in the layers (the column's share of the level, which the waterfall names in
brackets, plus what it adds as a difference), in the differences alone, and in coefficient times
difference from the average row; the correlation is over all rows and columns.

Stability. Slopes at the same queries by models that were fitted with two seeds, and on two halves
of the samples: their correlation, and how often they have the same sign where the true slope is not
zero. LightGBM and local least squares make no random choices here.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._functions import Problem, problems
from benchmarks._run import Table, duration, seconds, verdict
from benchmarks._slopes import OTHERS, OURS, slopes_of
from locallinear import FALLRegressorCV, TableRegressor
from locallinear.datasets import make_rentals
from locallinear.explain.level_shares import level_shares
from locallinear.explain.traits import neighbor_moments
from locallinear.explain.view import ModelView, view_of

LONG = True  # a quarter of an hour: only run when asked for by name

N_ROWS, N_BACKGROUND = 100, 50
LEADING = 0.8  # share of rows in which the layers should name the leading column
STABLE = ("FALLRegressorCV", "LightGBM, differences", "local least squares")


def run() -> Iterator[Table]:
    known = problems()
    yield slopes_table(known)
    yield from shapley_tables()
    yield stability_table(known)


# --- Slopes against true gradients ---------------------------------------------------------------


def slopes_table(known: list[Problem]) -> Table:
    table = Table("slopes", ("function", "model", "R²", "error of slopes", "correlation"))
    for problem in known:
        for name, make in (OURS | OTHERS).items():
            model = make(0).fit(problem.X, problem.y)
            error, correlation = min(agreement(s, problem) for s in slopes_of(model, problem))
            left = np.mean((model.predict(problem.queries) - problem.truth) ** 2)
            figures = 1 - left / problem.truth.var(), error, correlation
            table.rows.append((problem.name, name, *(f"{figure:.3f}" for figure in figures)))
    return table


def agreement(slopes: NDArray, problem: Problem) -> tuple[float, float]:
    """Relative squared error and correlation of slopes, (q, s), with the true gradients."""
    found, true = slopes * problem.scale, problem.gradients * problem.scale
    error = float(((found - true) ** 2).sum() / (true**2).sum())
    return error, float(np.corrcoef(found.ravel(), true.ravel())[0, 1])


# --- Shapley values and layers -------------------------------------------------------------------


def shapley_tables() -> Iterator[Table]:
    table, new = make_rentals(1500, random_state=0), make_rentals(N_ROWS, random_state=1)
    search = FALLRegressorCV(n_jobs=-1, random_state=0)
    model = TableRegressor(search, target="identity", random_state=0).fit(table.data, table.target)
    background = make_rentals(N_BACKGROUND, random_state=2).data
    view, why = view_of(model), model.explain(new.data)
    exact = exact_shapley(view, *(np.asarray(model.encode(x)) for x in (new.data, background)))
    yield _errors(why, background, exact)
    yield _leading(view, why, exact)


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


def _leading(view: ModelView, why: Any, exact: NDArray) -> Table:
    leading = np.abs(exact).argmax(axis=1)
    average = why.contributions - view.at_average(why.encoded.coef)
    differences = why.difference_parts[:, :, 0]
    ways: dict[str, NDArray] = {
        "layers": shares_of(view, why) + differences,
        "differences from the neighbours alone": differences,
        "coefficient times difference from the average": average[:, :, 0],
    }
    head = ("by", "the same as by exact Shapley values", "target", "", "correlation")
    table = Table("leading column", head)
    for name, found in ways.items():
        share = float((np.abs(found).argmax(axis=1) == leading).mean())
        goal = f"≥ {LEADING:.0%}", verdict(share, LEADING, at_least=True)
        correlation = f"{np.corrcoef(found.ravel(), exact.ravel())[0, 1]:.2f}"
        goals = goal if name == "layers" else ("", "")
        table.rows.append((name, f"{share:.0%}", *goals, correlation))
    return table


def shares_of(view: ModelView, why: Any) -> NDArray:
    """What each column adds to the level of the neighbours, (q, c)."""
    moments = neighbor_moments(view.samples[0], why.encoded)
    return level_shares(view, why, *moments)[:, :, 0]


# --- Stability -----------------------------------------------------------------------------------


def stability_table(known: list[Problem]) -> Table:
    head = (
        "function",
        "model",
        "two seeds: correlation",
        "sign",
        "two halves: correlation",
        "sign",
    )
    table = Table("stability of slopes", head)
    for problem in known:
        halves = np.array_split(np.random.default_rng(0).permutation(len(problem.X)), 2)
        every = np.arange(len(problem.X))
        for name in STABLE:
            make = (OURS | OTHERS)[name]
            seeds = [_slopes(make, seed, problem, every) for seed in (0, 1)]
            parts = [_slopes(make, 0, problem, rows) for rows in halves]
            figures = *_alike(*seeds, problem), *_alike(*parts, problem)
            table.rows.append((problem.name, name, *(f"{figure:.2f}" for figure in figures)))
    return table


def _slopes(make: Callable[[int], Any], seed: int, problem: Problem, rows: NDArray) -> NDArray:
    """Slopes at the queries, (q, s), by a model of some of the samples."""
    model = make(seed).fit(problem.X[rows], problem.y[rows])
    return min(slopes_of(model, problem), key=lambda slopes: agreement(slopes, problem))


def _alike(first: NDArray, second: NDArray, problem: Problem) -> tuple[float, float]:
    """The correlation of two models' slopes, and the share of equal signs where slopes count."""
    pair = np.stack([first, second]) * problem.scale
    counts = problem.gradients != 0
    same = np.sign(pair[0][counts]) == np.sign(pair[1][counts])
    return float(np.corrcoef(*pair.reshape(2, -1))[0, 1]), float(same.mean())
