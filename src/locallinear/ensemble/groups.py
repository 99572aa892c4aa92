"""Groups of members: the members of one group differ in their anchors alone.

A group has one geometry. So trees grow once, and neighbours are searched once, for all of its
members, in the fit and in each prediction. A few geometries are enough to average over.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..checks.arguments import check_features
from ..geometry.trees import GROWERS
from ..models.fall import FALL
from .members import Kind, draw_features, in_turns

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Group(NamedTuple):
    """A group before it is fitted: the number of its kind, and how many members it has."""

    kind: int
    size: int


def plan_groups(
    kinds: Sequence[Kind], counts: Rows, n_neighborhoods: int, template: FALL
) -> list[Group]:
    """Groups that have `counts` members of each kind, at most so many per group as needed.

    The number of groups is about `n_neighborhoods`. A kind whose geometry has no chance in it
    makes one group. The groups come in an order that mixes the kinds evenly.
    """
    n_groups = np.zeros(len(kinds), dtype=np.intp)
    n_neighborhoods = min(n_neighborhoods, int(counts.sum()))  # more make no difference
    for i in np.flatnonzero(counts).tolist():
        wanted = max(1, round(counts[i] * n_neighborhoods / counts.sum()))
        n_groups[i] = min(wanted, counts[i]) if has_chance(kinds[i], template) else 1
    sizes = {i: iter(_even_parts(counts[i], n_groups[i])) for i in np.flatnonzero(counts).tolist()}
    return [Group(i, next(sizes[i])) for i in in_turns(n_groups).tolist()]


def has_chance(kind: Kind, template: FALL) -> bool:
    """Whether two geometries of this kind differ: trees grow at random, features are drawn."""
    neighborhood = kind.params.get("neighborhood", template.neighborhood)
    return kind.max_features < 1 or neighborhood in GROWERS


def _even_parts(total: int, n_parts: int) -> list[int]:
    """Whole numbers that differ by at most one and sum to the total."""
    return [total // n_parts + (part < total % n_parts) for part in range(n_parts)]


def make_groups(
    template: FALL,
    kinds: Sequence[Kind],
    groups: Sequence[Group],
    chances: Array,
    seed: int,
    n_jobs: int,
) -> list[list[FALL]]:
    """The members of each group, not fitted yet; those of one group differ by their seeds.

    `chances` (d,) are how likely a neighbourhood uses each feature. `n_jobs` threads fit all
    groups: these side by side, and with threads within them, more where there are more members.
    """
    rng, total = check_random_state(seed), sum(group.size for group in groups)
    made: list[list[FALL]] = []
    number = 0
    for group in groups:
        kind = kinds[group.kind]
        # Half of the threads wait at any time: geometries cost the same, members add to it.
        share = max(1 / len(groups), group.size / total)
        threads = max(1, min(n_jobs, round(2 * n_jobs * share)))
        first = clone(template).set_params(**kind.params, n_jobs=threads)
        allowed = check_features(first.neighborhood_features, len(chances))
        features = draw_features(chances, allowed, kind.max_features, rng)
        if features is not None:
            first.neighborhood_features = features
        members = [first, *(clone(first) for _ in range(group.size - 1))]
        for member in members:
            # The first member keeps the seed of the template, as if it were fitted alone.
            if number or member.random_state is None:
                member.random_state = (seed + number) % 2**32
            number += 1
        made.append(members)
    return made
