"""Means and spreads over the runs of the store, for the tables."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import t as student

from .protocol import TUNERS

Key = tuple[str, str]


@dataclass(frozen=True)
class Summary:
    """A quantity over the runs of one model on one data set.

    ``spread`` is the paper's: 1.96 standard deviations over the runs. ``uncertainty`` is that of
    the mean, with 95% confidence.
    """

    mean: float
    spread: float
    uncertainty: float


@dataclass(frozen=True)
class Results:
    """The runs of one model on one data set that a table shows, all tuned in the same way."""

    n_runs: int
    tuner: str
    budget: float
    codes: frozenset[str]
    error: Summary
    fit_s: Summary
    test_s: Summary


def summarize(values: Sequence[float]) -> Summary:
    """Mean, spread and uncertainty of the mean.

    Examples
    --------
    >>> from locallinear.paper.summary import summarize
    >>> summarize([1.0, 2.0, 3.0, 4.0])
    Summary(mean=2.5, spread=2.19..., uncertainty=2.05...)
    """
    numbers = np.asarray(values, dtype=float)
    n = len(numbers)
    error = student.ppf(0.975, n - 1) * numbers.std(ddof=1) / sqrt(n) if n > 1 else float("inf")
    return Summary(float(numbers.mean()), float(1.96 * numbers.std()), float(error))


def collect(
    rows: Iterable[dict[str, Any]], tuner: str, split: str, budget: float | None = None
) -> dict[Key, Results]:
    """Results of every pair of data set and model that has runs.

    Where a model was tuned in several ways, the runs of ``tuner`` and ``budget`` are shown; where
    there are none, those of the more thorough way.
    """
    order = [tuner, *TUNERS]
    ways: dict[Key, dict[tuple, list]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["split"] == split:
            way = (-order.index(row["tuner"]), row["budget"] == budget, row["budget"])
            ways[row["dataset"], row["model"]][way].append(row)
    return {key: results(found[max(found)]) for key, found in ways.items()}


def results(rows: list[dict[str, Any]]) -> Results:
    """Summarize runs that were tuned in the same way."""
    return Results(
        n_runs=len(rows),
        tuner=rows[0]["tuner"],
        budget=rows[0]["budget"],
        codes=frozenset(row["code"] or "unknown (an installed package)" for row in rows),
        error=summarize([row["mse"] for row in rows]),
        fit_s=summarize([row["fit_s"] for row in rows]),
        test_s=summarize([row["test_s"] for row in rows]),
    )
