"""The samples that a user gives: checked partitions on the workers, and what is known of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..checks.arguments import check_some_weight
from ..checks.inputs import check_sizes
from .inputs import Collection, check_n_targets, check_table, merged_classes, partitions_of
from .partition import Table, take, with_weight

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Facts:
    """What the fit has to know of one partition before it sees all of them.

    Attributes
    ----------
    n, n_counted : int
        Samples, and samples with weight.
    total_weight : float
    origin : array (d,) or None
        The first sample with weight.
    sizes : arrays (d,) and (m,)
        The largest absolute values of X and, if they are numbers, of the targets.
    labels : array
        The distinct classes.
    """

    n: int
    n_counted: int
    total_weight: float
    origin: Array | None
    sizes: list[Array]
    labels: NDArray


class Tables:
    """Checked partitions.

    Parameters
    ----------
    partitions : list of Delayed, each of a `Table`
    facts : what is known of each
    weighted : whether samples have weights
    """

    def __init__(self, partitions: Sequence[Delayed], facts: Sequence[Facts], weighted: bool):
        self.partitions, self.facts, self.weighted = list(partitions), list(facts), weighted

    @cached_property
    def sizes(self) -> list[int]:
        """Samples per partition."""
        return [fact.n for fact in self.facts]

    @cached_property
    def counts(self) -> list[int]:
        """Samples with weight per partition."""
        return [fact.n_counted for fact in self.facts]

    @property
    def total_weight(self) -> float:
        """The sum of all weights."""
        return sum(fact.total_weight for fact in self.facts)

    @property
    def origin(self) -> Array:
        """The first sample with weight, (d,)."""
        return next(fact.origin for fact in self.facts if fact.origin is not None)

    @property
    def classes(self) -> NDArray:
        """The classes of all partitions."""
        return merged_classes([fact.labels for fact in self.facts])

    def draw(self, size: int, rng: np.random.Generator) -> list[NDArray | None]:
        """X, y and weights of at most so many samples, drawn at random and brought here.

        Of more samples, those with weight are drawn.
        """
        partitions, sizes = self.partitions, self.sizes
        if self.weighted and sum(sizes) > size:
            partitions, sizes = [delayed(with_weight)(each) for each in partitions], self.counts
        n = sum(sizes)
        rows = np.sort(rng.choice(n, min(n, size), replace=False, shuffle=False))
        return gather(partitions, sizes, rows, ("X", "y", "weights"))

    def check_fit(self) -> None:
        """Refuse what can be seen in all partitions together only."""
        if not sum(self.sizes):
            raise ValueError("X must have at least one row, but all partitions are empty")
        if not sum(self.counts):
            check_some_weight(np.zeros(1))
        for j in range(len(self.facts[0].sizes)):
            check_sizes(np.max([fact.sizes[j] for fact in self.facts], axis=0), "Xy"[j])


def read_tables(
    X: Collection, y: Any, sample_weight: Any, like: BaseEstimator, n_targets: int | None
) -> Tables:
    """The partitions of X, y and sample_weight after all checks, kept on the workers.

    `like` and `n_targets` as for `inputs.check_table`.
    """
    kept = dask.persist(*checked_tables(X, y, sample_weight, like, n_targets))
    facts = dask.compute(*(delayed(_facts)(table, n_targets is None) for table in kept))
    return Tables(kept, facts, sample_weight is not None)


def checked_tables(
    X: Collection, y: Any, sample_weight: Any, like: BaseEstimator, n_targets: int | None
) -> list[Delayed]:
    """The tasks that check the partitions, of a `Table` each; parameters as for `read_tables`."""
    of_y = partitions_of(y, "y", X)
    check_n_targets(of_y, n_targets)
    weights: list[Any] = [None] * len(X.partitions)
    numbers = [X.numbers, of_y.numbers]
    if sample_weight is not None:
        of_weights = partitions_of(sample_weight, "sample_weight", X)
        weights = of_weights.partitions
        numbers.append(of_weights.numbers)
    return [
        delayed(check_table)(number, like, n_targets, numbers, *part)
        for number, part in enumerate(zip(X.partitions, of_y.partitions, weights, strict=True))
    ]


def _facts(table: Table, classify: bool) -> Facts:
    X, weights = table.X[table.counted], table.weights
    numbers = [table.X] if classify else [table.X, table.y]
    return Facts(
        len(table.X),
        len(X),
        float(len(X) if weights is None else weights.sum()),
        X[0] if len(X) else None,
        [np.abs(column).max(axis=0, initial=0.0) for column in numbers],
        np.unique(table.y) if classify else np.empty(0),
    )


def starts(sizes: Sequence[int]) -> list[int]:
    """The number of the first sample of each partition."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.intp)])[:-1].tolist()


def gather(
    sources: Sequence[Delayed], sizes: Sequence[int], numbers: Rows, names: Sequence[str]
) -> list[NDArray | None]:
    """Columns of the samples with these numbers, brought here from their partitions."""
    firsts = np.array(starts(sizes))
    # Of empty partitions, which begin where the next one does, the last is taken: it has rows.
    owners = np.searchsorted(firsts, numbers, side="right") - 1
    asked = np.unique(owners)
    pieces = dask.compute(
        *(delayed(take)(sources[p], numbers[owners == p] - firsts[p], names) for p in asked)
    )
    order = np.argsort(np.concatenate([np.flatnonzero(owners == p) for p in asked]))
    return [
        None if found[0] is None else np.concatenate(found)[order]
        for found in zip(*pieces, strict=True)
    ]
