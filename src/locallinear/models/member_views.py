"""What all members of an estimator see: around queries, and around their samples.

Siblings, which have the same neighbours, look together (`surroundings.view`), and an estimator sees
the mean of what its members see. A single model is its own only member. Axis letters as in
`surroundings`.
"""

from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from .siblings import groups_of, in_order_of
from .surroundings import MEMBER_AROUND, N_AROUND, Member, View, predict_samples, view

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Part(NamedTuple):
    """Members, the samples that they keep by number in the whole, and those that they test.

    `own` are the distances of the kept samples in each group of siblings.
    """

    members: list[Member]
    kept: Rows
    tested: Rows
    own: list[Array]

    def views(self, X: Array | None, errors: Array, n_jobs: int | None) -> "Views":
        """What the members see around queries X; None: around their samples without themselves.

        `errors` (n, m) are those of all samples.
        """
        n_near = _n_around(self.members)
        known, everyone = errors[self.kept], np.arange(len(self.kept))
        groups = list(zip(groups_of(self.members), self.own, strict=True))
        if X is None:
            calls = [
                delayed(view)(group, group[0].located_samples, known, own, n_near, everyone)
                for group, own in groups
            ]
            return Views.mean_of(_in_threads(calls, n_jobs))
        spaces = {id(m.feature_space): m.feature_space for m in self.members}
        located = {key: space.transform(X) for key, space in spaces.items()}
        calls = [
            delayed(view)(group, located[id(group[0].feature_space)], known, own, n_near)
            for group, own in groups
        ]
        return Views.mean_of(_in_threads(calls, n_jobs))


class Views(NamedTuple):
    """The mean of the members' views, and their disagreement (q, m) if there are several."""

    prediction: Array
    error: Array
    ratio: Array
    disagreement: Array | None

    @classmethod
    def mean_of(cls, found: list[View]) -> "Views":
        """The views of all members as one."""
        predictions = np.concatenate([each.predictions for each in found])
        disagreement = predictions.std(axis=0) if len(predictions) > 1 else None
        sizes = [len(each.predictions) for each in found]
        error, ratio = (
            np.average([getattr(each, name) for each in found], axis=0, weights=sizes)
            for name in ("error", "ratio")
        )
        return cls(predictions.mean(axis=0), error, ratio, disagreement)


def mean_alone(members: list[Member], n_jobs: int | None) -> tuple[Array, list[Array]]:
    """The members' mean prediction (n, m) of samples without themselves, and distances.

    The distances (n, 2) are those of each group of siblings.
    """
    n_near = _n_around(members)
    calls = [delayed(predict_samples)(group, n_near) for group in groups_of(members)]
    found = _in_threads(calls, n_jobs)
    return sum(p.sum(axis=0) for p, _ in found) / len(members), [own for _, own in found]


def refitted(members: list[Member], kept: Rows) -> list[Member]:
    """The members, fitted again on some of the samples; siblings are siblings again."""
    groups = groups_of(members)
    return in_order_of(members, groups, [first.refitted(kept, rest) for first, *rest in groups])


def _n_around(members: list[Member]) -> int:
    """How many samples around a query each member looks at, at least."""
    return N_AROUND if len(members) == 1 else MEMBER_AROUND


def _in_threads(calls: list[Any], n_jobs: int | None) -> list[Any]:
    """The results of delayed calls, one per group of siblings; a single one runs here."""
    return Parallel(n_jobs if len(calls) > 1 else 1, require="sharedmem")(calls)
