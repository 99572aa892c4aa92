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
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import check_sample_weights, check_some_weight
from ..checks.inputs import check_queries
from ..checks.parameters import (
    N_JOBS,
    POSITIVE_COUNT,
    TIME_BUDGET,
    Floats,
    Numbers,
    check_stored_parameters,
)
from ..checks.stored import check_stored_calibration, check_stored_ensemble
from ..io import save
from ..models.fall import FALL
from ..models.samples import Made, counted_rows
from ..models.siblings import groups_of, in_order_of, sharing_memory
from ..runtime.budgets import Budget
from ..runtime.interrupts import InterruptedWarning, interruptible
from ..runtime.progress import Bar
from ..search.grids import GRIDS
from ..search.planning import SearchSamples
from ..search.seeds import fixed_seed
from .choosing import ChoosesKinds
from .groups import Group, make_groups, plan_groups
from .members import (
    Kind,
    counts_of,
    splits_of,
)

Array = NDArray[np.float64]

# What a file holds of a fitted ensemble beside its members.
FITTED = ["best_params_", "kinds_", "cv_prediction_", "cv_score_"]
FITTED += ["n_features_in_", "feature_names_in_", "classes_", "calibration_"]


class Ensemble(ChoosesKinds):
    """What both ensembles share: everything but the meaning of the targets."""

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Numbers(Integral, 1, 2**31, closed="both")],
        "max_features": [Floats(Real, 0, 1, closed="right")],
        "n_neighborhoods": [POSITIVE_COUNT],
        "search": [StrOptions(set(GRIDS)), dict, None],
        "cv": [None, "cv_object"],
        "max_samples": [None, Numbers(Integral, 2, None, closed="left")],
        "time_budget": TIME_BUDGET,
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _private_fitted: ClassVar[tuple[str, ...]] = ("_cv_folds",)
    _member_class: type[FALL]

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
            How often each sample counts, as for one model; folds count samples once, and those of
            weight 0 not at all.
        groups : array-like (n,), optional
            Passed to the splitter `cv`.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any = None, **known: Any) -> Self:
        budget = Budget(self.time_budget)
        self.fit_within(budget, X, y, sample_weight, groups, **known)
        budget.warn_if_late(stacklevel=5)
        return self

    def fit_within(
        self,
        budget: Budget,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        **known: Any,
    ) -> Self:
        """Fit within a budget that may have begun before, in place of `time_budget`."""
        with self.writing():
            fresh = self.unfitted()
            fresh._fit_fresh(budget, X, y, sample_weight, groups, **known)
            return self.become(fresh)

    def _fit_fresh(
        self, budget: Budget, X: Any, y: Any, sample_weight: Any, groups: Any, **known: Any
    ) -> None:
        """Fit an ensemble that nobody reads yet."""
        inputs, targets = self._check_samples(X, y, **known)
        weights = check_sample_weights(sample_weight, len(inputs))
        check_some_weight(weights)
        seed = fixed_seed(self.random_state)
        template = self._member_class() if self.estimator is None else self.estimator
        template._validate_params()  # scikit-learn leaves it out in a fit within a fit
        n_members = self.n_estimators
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
                counted=counted_rows(weights, len(inputs)),
            )
            known_samples = SearchSamples(inputs, targets, weights, seed)
            kinds, shares, n_members = self._choose_kinds(template, known_samples, splits, budget)
            if self._cv_folds is not None:
                budget.judging = 0.0  # all samples were predicted by members that had not seen them
        counts = counts_of(shares, n_members)
        samples = X, y, inputs, targets, weights
        self._fit_members(template, kinds, counts, *samples, seed, budget)

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
        budget: Budget,
    ) -> None:
        """Fit so many members of each kind; `inputs` and `targets` are X and y, checked."""
        plan = plan_groups(kinds, counts, self.n_neighborhoods, template)
        workers = effective_n_jobs(self.n_jobs)
        used = [kinds[group.kind] for group in plan]
        chances = self._feature_chances(used, inputs, targets, weights, workers)
        made = make_groups(template, kinds, plan, chances, seed, workers)
        fitted = self._fit_groups(made, X, y, weights, budget)
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
        other._fit_members(template, kinds, counts, *samples, seed, Budget(None))
        return other

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
        self, groups: list[list[FALL]], X: Any, y: Any, weights: Array | None, budget: Budget
    ) -> list[list[FALL]]:
        """Fit groups, or as many as the time allows; an interrupt keeps those fitted so far."""
        size = len(groups) if budget.is_endless else effective_n_jobs(self.n_jobs)
        began = budget.elapsed()
        fitted: list[list[FALL]] = []
        parallel = Parallel(self.n_jobs, prefer="threads", return_as="generator")
        n_members = sum(map(len, groups))
        with Bar(n_members, "members", title="Fitting", show=bool(self.verbose)) as bar:
            try:
                for first in range(0, len(groups), size):
                    spent = budget.elapsed() - began
                    per_batch = spent * size / max(first, 1)
                    if first and per_batch + budget.judging * (spent + per_batch) > budget.left():
                        break
                    batch = groups[first : first + size]
                    calls = (delayed(self._fit_group)(group, X, y, weights) for group in batch)
                    # One by one, so that not all copies of the samples exist at once.
                    with interruptible():
                        for group in parallel(calls):
                            for member in group:  # parts of the queries have a thread each
                                member.n_jobs = 1
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
                    stacklevel=8,  # past scikit-learn's check of the parameters
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
