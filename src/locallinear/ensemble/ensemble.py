"""An ensemble of FALL models: how it is fitted, learns, forgets and is saved.

`fit` reads as the recipe: choose kinds of members by a search, find by cross-validation the shares
in which they do best together, and fit the members on all samples. `mean` is what the members then
compute together.
"""

import warnings
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import check_sample_weights, check_some_weight
from ..checks.inputs import check_queries
from ..checks.parameters import N_JOBS, Floats, check_stored_parameters
from ..checks.stored import check_stored_calibration, check_stored_ensemble
from ..io import save
from ..models.fall import FALL
from ..models.samples import Made
from ..models.siblings import groups_of, in_order_of, sharing_memory
from ..runtime.budgets import warn_if_late
from ..runtime.interrupts import InterruptedWarning, interruptible
from ..runtime.progress import Bar
from ..search.estimators import fixed_seed
from ..search.grids import GRIDS, NOT_SEARCHED, check_grid
from ..search.splits import Split
from .clock import GENEROUS, JUDGED_BY, SEARCHED_BY, Clock
from .groups import Group, make_groups, plan_groups
from .mean import Mean
from .members import (
    Kind,
    OutOfFold,
    best_kind,
    best_shares,
    counts_of,
    feature_chances,
    fold_numbers,
    kinds_of,
    splits_of,
)

Array = NDArray[np.float64]

# What a file holds of a fitted ensemble beside its members.
FITTED = ["best_params_", "kinds_", "cv_prediction_", "cv_score_"]
FITTED += ["n_features_in_", "feature_names_in_", "classes_", "calibration_"]


class Ensemble(Mean):
    """What both ensembles share: everything but the meaning of the targets."""

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "n_neighborhoods": [Interval(Integral, 1, None, closed="left")],
        "search": [StrOptions(set(GRIDS)), dict, None],
        "cv": [None, "cv_object"],
        "max_samples": [None, Interval(Integral, 2, None, closed="left")],
        "time_budget": [None, Floats(Real, 0, None, closed="neither")],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _private_fitted: ClassVar[tuple[str, ...]] = ("_cv_folds",)
    _member_class: type[FALL]
    _search_class: type
    _scoring: str | None = None  # of the search

    best_params_: dict[str, Any]
    _cv_folds: NDArray[np.intp] | None  # the fold that tests each sample

    def __init__(
        self,
        n_estimators: int = 30,
        *,
        max_features: float = 0.6,
        n_neighborhoods: int = 8,
        search: str | dict[str, list] | None = "default",
        estimator: FALL | None = None,
        cv: Any = None,
        max_samples: int | None = 4000,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.n_neighborhoods = n_neighborhoods
        self.search = search
        self.estimator = estimator
        self.cv = cv
        self.max_samples = max_samples
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def out_of_fold(self) -> tuple[NDArray, NDArray[np.intp]] | None:
        """Predictions of samples by members that had not seen them, and the fold of each sample.

        None without a search, after samples were added or removed, and where folds overlap.
        """
        check_is_fitted(self)
        now = self.at_this_moment()
        folds = now._folds_of_samples()
        return None if folds is None else (now.cv_prediction_, folds)

    def _folds_of_samples(self) -> NDArray[np.intp] | None:
        """The fold that tests each sample; None if there are none, or were of other samples."""
        return getattr(self, "_cv_folds", None) if self.regime_model.samples.are_new else None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the members' kinds on the samples, and fit them.

        Parameters
        ----------
        X : array-like (n, d)
        y : array-like (n,) or (n, m)
        sample_weight : array-like (n,), optional
            How often each sample counts, as for one model; folds count samples once.
        groups : array-like (n,), optional
            Passed to the splitter `cv`.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any = None, **known: Any) -> Self:
        with self.writing():
            fresh = self.unfitted()
            fresh._fit_fresh(X, y, sample_weight, groups, **known)
            return self.become(fresh)

    def _fit_fresh(self, X: Any, y: Any, sample_weight: Any, groups: Any, **known: Any) -> None:
        """Fit an ensemble that nobody reads yet."""
        inputs, targets = self._check_samples(X, y, **known)
        weights = check_sample_weights(sample_weight, len(inputs))
        check_some_weight(weights)
        seed = fixed_seed(self.random_state)
        template = self._member_class() if self.estimator is None else self.estimator
        template._validate_params()  # scikit-learn leaves it out in a fit within a fit
        clock = Clock(self.time_budget)
        if self.search is None:
            kinds, shares = [Kind({}, self.max_features)], np.ones(1)
            self.best_params_ = {}
        else:
            splits = splits_of(
                self.cv,
                inputs,
                targets,
                groups,
                self.max_samples,
                seed,
                classes=is_classifier(self),
            )
            given = splits, inputs, targets, weights, seed
            kinds, shares = self._choose_kinds(template, *given, clock)
        n_members = self._n_members(clock)
        counts = counts_of(shares, n_members)
        samples = X, y, inputs, targets, weights
        self._fit_members(template, kinds, counts, *samples, seed, clock)
        warn_if_late(self.time_budget, clock.started)

    def _fit_members(
        self,
        template: FALL,
        kinds: list[Kind],
        counts: NDArray[np.intp],
        X: Any,
        y: Any,
        inputs: Array,
        targets: NDArray,
        weights: Array | None,
        seed: int,
        clock: Clock,
    ) -> None:
        """Fit so many members of each kind; `inputs` and `targets` are X and y, checked."""
        plan = plan_groups(kinds, counts, self.n_neighborhoods, template)
        chances = self._feature_chances(
            [kinds[group.kind] for group in plan], inputs, targets, weights
        )
        # Groups side by side, and where these are few or unequal, threads within them.
        threads = max(1, 2 * effective_n_jobs(self.n_jobs) // len(plan))
        made = make_groups(template, kinds, plan, chances, seed, threads)
        fitted = self._fit_groups(made, X, y, weights, clock)
        self.estimators_ = [member for group in fitted for member in group]
        self._set_kinds(kinds, plan[: len(fitted)])

    def refitted(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """An ensemble of the same kinds, in the same numbers, fitted on other samples."""
        check_is_fitted(self)
        other = clone(self).set_params(time_budget=None)
        inputs, targets = other._check_samples(X, y)
        if is_classifier(self):
            other.classes_ = self.classes_  # other samples may lack some
        weights = check_sample_weights(sample_weight, len(inputs))
        template = self._member_class() if self.estimator is None else self.estimator
        kinds = [Kind(kind["params"], kind["max_features"]) for kind in self.kinds_]
        counts = np.array([kind["n_members"] for kind in self.kinds_])
        samples = X, y, inputs, targets, weights
        seed = fixed_seed(self.random_state)
        other._fit_members(template, kinds, counts, *samples, seed, Clock(None))
        return other

    def _n_members(self, clock: Clock) -> int:
        """How many members the time is enough for; more anchors per neighbourhood gain little."""
        if clock.is_past(JUDGED_BY):
            return 1
        if clock.is_past(GENEROUS):
            return min(self.n_estimators, self.n_neighborhoods)
        return self.n_estimators

    def _set_kinds(self, kinds: list[Kind], plan: list[Group]) -> None:
        counts = np.zeros(len(kinds), dtype=np.intp)
        for group in plan:
            counts[group.kind] += group.size
        self.kinds_ = [
            {
                "params": kinds[i].params,
                "max_features": kinds[i].max_features,
                "n_members": int(counts[i]),
            }
            for i in np.argsort(-counts, kind="stable")
        ]

    def _feature_chances(
        self, kinds: list[Kind], X: Array, y: NDArray, weights: Array | None
    ) -> Array:
        """How likely the neighbourhoods of these kinds use each feature, (d,)."""
        if all(kind.max_features == 1 for kind in kinds):
            return np.ones(X.shape[1])
        return feature_chances(X, self._numeric(y), weights)

    def _more_kinds(self, search: Any) -> list[Kind]:
        """Kinds to try beside those of the search."""
        return []

    def _choose_kinds(
        self,
        template: FALL,
        splits: list[Split],
        X: Array,
        y: NDArray,
        weights: Array | None,
        seed: int,
        clock: Clock,
    ) -> tuple[list[Kind], Array]:
        """Kinds of members by a search, and their shares by cross-validation.

        Sets `best_params_`, `cv_prediction_` and `cv_score_`, and for classes `calibration_`.
        """
        assert self.search is not None
        grid = check_grid(self.search, template, "search")
        fixed = {
            name: [value]
            for name, value in template.get_params(deep=False).items()
            if name not in NOT_SEARCHED
        }
        search = self._search_class(
            fixed | grid,
            scoring=self._scoring,
            n_jobs=self.n_jobs,
            random_state=seed,
            verbose=self.verbose,
        )
        scored = search.run_search(X, y, weights, splits, seed, clock.at(SEARCHED_BY))
        self.best_params_ = {name: search.best_params_[name] for name in grid}
        if scored.interrupted or clock.is_past(JUDGED_BY):  # no time to compare kinds
            clock.run_out()
            kinds = [best_kind(search, list(grid))]
        else:
            kinds = kinds_of(search, list(grid), self.max_features) + self._more_kinds(search)
        numeric = self._numeric(y)
        found = OutOfFold(len(kinds), splits, *numeric.shape)
        for number, kind in enumerate(kinds):
            if kind.configuration is None:
                predictions = self._try_kind(template, kind, splits, X, y, weights, seed)
            else:
                predictions = [
                    self._all_targets(prediction, y[train])
                    for prediction, (train, _) in zip(
                        scored.predictions_of(kind.configuration), splits, strict=True
                    )
                ]
            found.set(number, predictions)
        tested = found.tested
        v = None if weights is None else weights[tested]
        shares = best_shares(found.predictions(), numeric[tested], v)
        scores = np.full(numeric.shape, np.nan)
        scores[tested] = np.tensordot(shares, found.predictions(), axes=1)
        self.cv_prediction_, self.cv_score_ = self._judge(scores, tested, y, v)
        self._cv_folds = fold_numbers(splits, len(y))
        return kinds, shares

    def _try_kind(
        self,
        template: FALL,
        kind: Kind,
        splits: list[Split],
        X: Array,
        y: NDArray,
        weights: Array | None,
        seed: int,
    ) -> list[Array]:
        """Predictions (q, m) of each split's test samples by one member of a kind."""
        parallel = Parallel(min(effective_n_jobs(self.n_jobs), len(splits)), prefer="threads")
        given = template, kind, X, y, weights, seed
        return parallel(delayed(self._predict_split)(*given, *split) for split in splits)

    def _predict_split(
        self,
        template: FALL,
        kind: Kind,
        X: Array,
        y: NDArray,
        weights: Array | None,
        seed: int,
        train: NDArray[np.intp],
        test: NDArray[np.intp],
    ) -> Array:
        """Predictions (q, m) of one split's test samples by one member of a kind."""
        v = None if weights is None else weights[train]
        chances = self._feature_chances([kind], X[train], y[train], v)
        (members,) = make_groups(template, [kind], [Group(0, 1)], chances, seed, 1)
        self._fit_group(members, X[train], y[train], v)
        return members[0].predict_numeric(X[test])

    def _append(self, X: Any, y: Any, sample_weight: Any) -> Self:
        check_queries(self, X)  # in the name of the ensemble
        made: Made = {}
        groups = groups_of(self.estimators_)
        self.estimators_ = in_order_of(
            self.estimators_,
            groups,
            [first.appended(others, X, y, sample_weight, made) for first, *others in groups],
        )
        return self

    def forget(self, indices: ArrayLike) -> Self:
        """Remove samples from every member.

        Parameters
        ----------
        indices : array-like of int
            Which samples, in the order in which they were fitted. The samples after a removed
            one move up.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        with self.writing():
            made: Made = {}
            groups = groups_of(self.estimators_)
            without = [
                first.forgotten(others, first.check_forget(indices), made)
                for first, *others in groups
            ]
            self.estimators_ = in_order_of(self.estimators_, groups, without)
        return self

    def save(self, path: str | Path) -> None:
        """Write the fitted ensemble to a file that `locallinear.load` reads."""
        save(self, path)

    def _fit_groups(
        self, groups: list[list[FALL]], X: Any, y: Any, weights: Array | None, clock: Clock
    ) -> list[list[FALL]]:
        """Fit groups, or as many as the time allows; an interrupt keeps those fitted so far."""
        size = len(groups) if clock.is_endless else effective_n_jobs(self.n_jobs)
        began = clock.elapsed()
        fitted: list[list[FALL]] = []
        parallel = Parallel(self.n_jobs, prefer="threads", return_as="generator")
        n_members = sum(map(len, groups))
        with Bar(n_members, "members", title="Fitting", show=bool(self.verbose)) as bar:
            try:
                for first in range(0, len(groups), size):
                    per_batch = (clock.elapsed() - began) * size / max(first, 1)
                    if first and clock.elapsed() + per_batch > clock.budget:
                        break
                    batch = groups[first : first + size]
                    calls = (delayed(self._fit_group)(group, X, y, weights) for group in batch)
                    # One by one, so that not all copies of the samples exist at once.
                    with interruptible():
                        for group in parallel(calls):
                            others = [member for one in fitted for member in one]
                            fitted.append(sharing_memory(group, others))
                            bar.advance(len(group))
            except KeyboardInterrupt:
                if not fitted:
                    raise
                warnings.warn(
                    f"The fit was interrupted; the ensemble has {sum(map(len, fitted))} of "
                    f"{n_members} members.",
                    InterruptedWarning,
                    stacklevel=5,  # past scikit-learn's check of the parameters
                )
        return fitted

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "estimators_"):
            self.estimators_ = sharing_memory(self.estimators_)

    def fitted_state(self) -> dict[str, Any]:
        """What a file has to hold: the members, and once what they share."""
        check_is_fitted(self)
        now = self.at_this_moment()
        spaces = [member.feature_space for member in now.estimators_]
        members = []
        nearness = [member.nearness for member in now.estimators_]
        for number, member in enumerate(now.estimators_):
            like = nearness.index(member.nearness)  # a sibling, or one in the same space
            if like == number:
                like = spaces.index(member.feature_space)
            state = member.fitted_state(now.estimators_[like] if like < number else None)
            members.append({"parameters": member.get_params(), "state": state, "like": like})
        attributes = {name: getattr(now, name) for name in FITTED if hasattr(now, name)}
        attributes["_cv_folds"] = now._folds_of_samples()
        return {"attributes": attributes, "members": members}

    def restore(self, state: dict[str, Any]) -> None:
        """Become the fitted ensemble that `fitted_state` described."""
        attributes: dict[str, Any] = state["attributes"]
        members: list[FALL] = []
        for described in state["members"]:
            member = self._member_class(**described["parameters"])
            check_stored_parameters(member)
            alone = "space" in described["state"]
            member.restore(described["state"], None if alone else members[described["like"]])
            members.append(member)
        if len({member.signature() for member in members}) != 1:
            raise ValueError("its members do not fit each other")
        check_stored_calibration(attributes)
        check_stored_ensemble(attributes, members[0], {*FITTED, "_cv_folds"})
        for name, value in attributes.items():
            setattr(self, name, value)
        self._known = {}
        self.estimators_ = sharing_memory(members)
