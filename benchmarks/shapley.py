"""Shapley values: processor time per row, and their error beside many more orders of the features.

3,000 simulated rentals with 12 features, four of which do nothing; 20 rows to explain and 100
background rows; a single model with 10 neighbours, one thread. The error is the root mean square
difference to the values with 40 orders per background row, in parts of the row's largest value.
"""

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks._run import Table, duration
from locallinear import FALLRegressor

N, N_ROWS, N_BACKGROUND = 3_000, 20, 100
ORDERS = (2, 8)
MANY = 40
NEIGHBORHOODS = ("euclidean", "learned", "forest", "boosted", "piecewise")


def run() -> Iterator[Table]:
    header = ["neighborhood"]
    for n_orders in ORDERS:
        header += [f"{n_orders} orders: processor time per row", "error"]
    table = Table(f"{N_BACKGROUND} background rows", header)
    X, y = rentals(N + N_ROWS)
    for neighborhood in NEIGHBORHOODS:
        model = FALLRegressor(
            n_neighbors=10,
            neighborhood=neighborhood,
            assignment_neighbors=10,
            n_jobs=1,
            random_state=0,
        ).fit(X[:N], y[:N])
        table.rows.append([neighborhood, *measure(model, X[N:], X[:N_BACKGROUND])])
    yield table


def measure(model: FALLRegressor, X: NDArray, background: NDArray) -> list[str]:
    why = model.explain(X)
    near_exact = why.shapley(background, MANY, random_state=1)
    size = np.abs(near_exact).max(axis=1).mean()
    cells = []
    for n_orders in ORDERS:
        times = []
        for _ in range(3):
            start = time.process_time()
            found = why.shapley(background, n_orders, random_state=0)
            times.append(time.process_time() - start)
        error = np.sqrt(np.mean((found - near_exact) ** 2)) / size
        cells += [duration(min(times) / len(X)), f"{error:.1%}"]
    return cells


def rentals(n: int, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Bikes per hour: peaks at 8 and 18 on working days, at 14 on others; more if warm and dry."""
    rng = np.random.default_rng(seed)
    hour, weekday = rng.integers(0, 24, n), rng.integers(0, 7, n)
    works, rain = weekday < 5, rng.random(n) < 0.2
    temperature, wind = rng.normal(12, 8, n), rng.gamma(2, 5, n)
    humidity, month, nothing = (
        rng.uniform(0.2, 1, n),
        rng.integers(1, 13, n),
        rng.normal(size=(4, n)),
    )
    X = np.column_stack([hour, weekday, works, temperature, humidity, wind, month, rain, *nothing])
    peaks = 300 * np.exp(-(((hour - 8) / 2) ** 2)) + 350 * np.exp(-(((hour - 18) / 2.5) ** 2))
    level = np.where(works, peaks, 250 * np.exp(-(((hour - 14) / 4) ** 2)))
    y = level * (1 + 0.03 * (temperature - 12)) * (1 - 0.4 * rain)
    return X.astype(np.float64), y + 20 + rng.normal(0, 10, n)
