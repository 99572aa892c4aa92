"""How an ensemble chooses its members: kinds by a search, shares by cross-validation.

All kinds are compared by predictions of samples that they were not fitted on, which the search has
already. `members` has the single steps.
"""

from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ..models.fall import FALL
from ..models.samples import counted_rows
from ..runtime.budgets import Budget
from ..runtime.threads import one_blas_thread, processes_chosen
from ..search.grids import NOT_SEARCHED, Grid, check_grid
from ..search.planning import SearchSamples
from ..search.search import Search
from ..search.splits import Split, may_thin
from .groups import Group, make_groups
from .mean import Mean
from .members import (
    Kind,
    OutOfFold,
    best_kind,
    best_shares,
    feature_chances,
    fold_numbers,
    kinds_of,
    wide_split,
)

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# The part of a time budget that is for members, and of the rest that is to compare kinds of them.
MEMBERS, COMPARING = 0.4, 0.25
# A group of several members takes at most so many times as long as one of one member.
LARGE_GROUP = 3.0


class ChoosesKinds(Mean):
    """The part of an ensemble that chooses which members it has. Subclasses give the rest."""

    n_estimators: int
    n_neighborhoods: int
    max_features: float
    max_samples: int | None
    search: str | dict[str, list] | None
    cv: Any
    verbose: int
    _search_class: type
    _scoring: str | None = None  # of the search

    best_params_: dict[str, Any]
    _cv_folds: NDArray[np.intp] | None  # the fold that tests each sample

    def _more_kinds(self, search: Any) -> list[Kind]:
        """Kinds to try beside those of the search."""
        return []

    def _choose_kinds(
        self, template: FALL, samples: SearchSamples, splits: list[Split], budget: Budget
    ) -> tuple[list[Kind], Array, int]:
        """Kinds of members by a search, their shares by cross-validation, and how many members.

        Sets `best_params_`, `cv_prediction_` and `cv_score_`, and for classes `calibration_`.
        """
        assert self.search is not None
        counted = counted_rows(samples.weights, len(samples.y))
        grid = check_grid(self.search, template, "search")
        search, scored, splits = self._search(grid, template, samples, splits, budget)
        self.best_params_ = {name: search.best_params_[name] for name in grid}
        seconds = scored.schedule.expected.get(search.best_params_.get("neighborhood"), 0.0)
        if scored.interrupted:
            kinds = [best_kind(search, list(grid))]
        else:
            kinds = kinds_of(search, list(grid), self.max_features) + self._more_kinds(search)
        if not budget.is_endless:  # the best first, since the time may not be enough for all
            kinds.sort(key=lambda kind: kind.configuration != search.best_index_)
        found = OutOfFold(splits, *self._numeric(samples.y).shape)
        for some in [kinds] if budget.is_endless else [[kind] for kind in kinds]:
            if found.n_kinds and budget.left() < self._members_seconds(budget, seconds):
                break
            for predictions in self._try_kinds(some, template, samples, splits, scored):
                found.add(predictions)
        kinds = kinds[: found.n_kinds]
        shares = self._shares(found.predictions(), found.tested, samples)
        is_part = self.cv is None and len(counted) > found.tested.sum()
        to_come = self._members_seconds(budget, seconds) + len(kinds) * seconds
        if is_part and budget.left() >= to_come:
            shares = self._shares_by_all(kinds, shares, splits, counted, template, samples)
        scores = found.mean(shares)
        v = None if samples.weights is None else samples.weights[found.tested]
        self.cv_prediction_, self.cv_score_ = self._judge(scores, found.tested, samples.y, v)
        self._cv_folds = fold_numbers(splits, counted, len(samples.y))
        return kinds, shares, 1 if scored.interrupted else self._n_members(budget, seconds)

    def _search(
        self,
        grid: Grid,
        template: FALL,
        samples: SearchSamples,
        splits: list[Split],
        budget: Budget,
    ) -> tuple[Any, Search, list[Split]]:
        """The search for parameters of members: its results, what it computed, and its splits."""
        fixed = {
            name: [value]
            for name, value in template.get_params(deep=False).items()
            if name not in NOT_SEARCHED
        }
        search = self._search_class(
            fixed | grid,
            scoring=self._scoring,
            n_jobs=self.n_jobs,
            random_state=samples.seed,
            verbose=self.verbose,
        )

        def after(seconds: float) -> float:
            members = self._members_seconds(budget, seconds)
            return members + COMPARING * max(0.0, budget.seconds - members)

        thin = may_thin(self.cv, self.max_samples)
        return search, *search.run_search(samples, splits, budget, after, thin)

    def _shares(self, predictions: Array, tested: NDArray, samples: SearchSamples) -> Array:
        """The best shares of kinds whose predictions of the tested samples are (c, q, m)."""
        v = None if samples.weights is None else samples.weights[tested]
        Y = self._numeric(samples.y[tested])
        return best_shares(predictions, Y, v, classes=is_classifier(self))

    def _shares_by_all(
        self,
        kinds: list[Kind],
        shares: Array,
        splits: list[Split],
        counted: Rows,
        template: FALL,
        samples: SearchSamples,
    ) -> Array:
        """Shares of kinds by one split of all samples, in place of those by a part of them.

        Not all kinds gain alike from more samples. So where a part of the samples has chosen the
        kinds, all of them choose the shares. Where features are drawn, one member says little: the
        part must have given such a kind a share, too.
        """
        judged = [i for i, kind in enumerate(kinds) if kind.max_features == 1 or shares[i] > 0]
        if len(judged) == 1:
            return shares
        split = wide_split(splits, counted, samples.seed)
        n_threads = self._threads_within(len(judged))
        with one_blas_thread():
            parallel = Parallel(self.n_jobs, prefer="threads")
            predict = delayed(self._predict_split)
            found = parallel(predict(kinds[i], split, template, samples, n_threads) for i in judged)
        by_all = np.zeros(len(kinds))
        by_all[judged] = self._shares(np.array(found), split[1], samples)
        return by_all

    def _try_kinds(
        self,
        kinds: list[Kind],
        template: FALL,
        samples: SearchSamples,
        splits: list[Split],
        scored: Search,
    ) -> list[list[Array]]:
        """Predictions (q, m) of each split's test samples, by one member of each kind."""
        numbers = range(len(splits))
        # What the search has scored needs its folds, which are here.
        known = [kind.configuration for kind in kinds if kind.configuration is not None]
        n_threads = self._threads_within((len(kinds) - len(known)) * len(splits))
        here = Parallel(self.n_jobs, require="sharedmem")
        anywhere = Parallel(self.n_jobs, prefer="threads")
        with one_blas_thread():
            of_scored = iter(
                here(delayed(scored.prediction_of)(one, i) for one in known for i in numbers)
            )
            of_others = iter(
                anywhere(
                    delayed(self._predict_split)(kind, split, template, samples, n_threads)
                    for kind in kinds
                    if kind.configuration is None
                    for split in splits
                )
            )
        return [
            [
                next(of_others)
                if kind.configuration is None
                else self._all_targets(next(of_scored), samples.y[train])
                for train, _ in splits
            ]
            for kind in kinds
        ]

    def _threads_within(self, n_calls: int) -> int:
        """Threads for each of so many fits that run side by side, in processes one."""
        if processes_chosen():
            return 1
        # Half of them wait at any time.
        return max(1, -(-2 * effective_n_jobs(self.n_jobs) // max(n_calls, 2)))

    def _predict_split(
        self, kind: Kind, split: Split, template: FALL, samples: SearchSamples, n_threads: int
    ) -> Array:
        """Predictions (q, m) of one split's test samples by one member of a kind."""
        train, test = split
        X, y, weights = samples.X[train], samples.y[train], samples.weights
        v = None if weights is None else weights[train]
        chances = self._feature_chances([kind], X, y, v, n_threads)
        group = [Group(0, 1)]
        (members,) = make_groups(template, [kind], group, chances, samples.seed, n_threads)
        return self._fit_group(members, X, y, v)[0].predict_numeric(samples.X[test])

    def _members_seconds(self, budget: Budget, seconds: float) -> float:
        """Seconds to keep for members, and for judging them, if one group takes so many.

        0 is for groups that were not timed.
        """
        n_groups = min(self.n_estimators, self.n_neighborhoods)
        group = seconds * (1 + budget.judging)
        all_groups = n_groups * group if group else np.inf
        return max(group, min(all_groups, MEMBERS * budget.seconds))

    def _n_members(self, budget: Budget, seconds: float) -> int:
        """How many members to fit, if a group of one member takes so many seconds.

        More anchors per neighbourhood gain little. As the fit goes on, it may end with fewer.
        """
        n_groups, left = min(self.n_estimators, self.n_neighborhoods), budget.left_to_fit()
        if left <= 0:
            return 1
        if left < LARGE_GROUP * seconds:  # all members may be in one group
            return min(n_groups, max(1, int(left / seconds)))
        if left < LARGE_GROUP * n_groups * seconds:
            return n_groups
        return self.n_estimators

    def _feature_chances(
        self, kinds: list[Kind], X: Array, y: NDArray, weights: Array | None, n_jobs: int
    ) -> Array:
        """How likely the neighbourhoods of these kinds use each feature, (d,)."""
        if all(kind.max_features == 1 for kind in kinds):
            return np.ones(X.shape[1])
        return feature_chances(X, self._numeric(y), weights, n_jobs)
