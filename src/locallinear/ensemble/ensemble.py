"""An ensemble of FALL models: their mean, which is one linear model per prediction.

The mean of linear models is a linear model, so explanations stay exact. `fit` reads as the recipe:
choose kinds of members by a search, find by cross-validation the shares in which they do best
together, and fit the members on all samples.
"""

import time
import warnings
from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context, clone, is_classifier
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import check_sample_weights, check_some_weight
from ..checks.inputs import check_queries
from ..checks.parameters import Floats, check_stored_parameters
from ..checks.stored import check_stored_calibration
from ..io import save
from ..models.explanation import LocalExplanation
from ..models.fall import FALL
from ..models.intervals import HowSure
from ..models.siblings import groups_of
from ..models.without_itself import WithoutItself
from ..runtime.progress import Bar
from ..runtime.threads import one_blas_thread_for, thread_parts
from ..search.estimators import fixed_seed
from ..search.grids import GRIDS, NOT_SEARCHED, check_grid
from ..search.splits import Split
from .groups import Group, make_groups, plan_groups
from .members import (
    Kind,
    OutOfFold,
    best_kind,
    best_shares,
    counts_of,
    feature_chances,
    fold_numbers,
    kinds_of,
    merge_neighbors,
    splits_of,
)

Array = NDArray[np.float64]

# What a file holds of a fitted ensemble beside its members.
FITTED = ["best_params_", "kinds_", "cv_prediction_", "cv_score_", "_cv_folds"]
FITTED += ["n_features_in_", "feature_names_in_", "classes_", "calibration_"]


# What of an explanation is the mean of the members'.
MEANS = ["coef", "intercept", "contributions", "anchor_part", "correction_part"]
MEANS += ["baseline", "neighborhood_part", "difference_parts", "slopes"]

# The shares of a time budget after which the search ends, and the comparison of kinds.
SEARCHED_BY, JUDGED_BY = 0.45, 0.65
# If kinds are chosen within this share, there is time for all members.
GENEROUS = 0.1


class Clock:
    """The time of a fit, from now on, and its budget in seconds; infinite for no end."""

    def __init__(self, budget: float | None):
        self.budget, self.started = np.inf if budget is None else budget, time.monotonic()

    @property
    def is_endless(self) -> bool:
        """Whether there is no budget."""
        return bool(np.isinf(self.budget))

    def at(self, share: float) -> float:
        """The moment, by `time.monotonic`, at which this share of the budget is used."""
        return self.started + share * self.budget

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def is_past(self, share: float) -> bool:
        """Whether more than this share of the budget is used."""
        return self.elapsed() > share * self.budget


class Ensemble(HowSure, WithoutItself, BaseEstimator):
    """What both ensembles share: everything but the meaning of the targets."""

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "n_neighborhoods": [Interval(Integral, 1, None, closed="left")],
        "search": [StrOptions(set(GRIDS)), dict, None],
        "cv": [None, "cv_object"],
        "max_samples": [None, Interval(Integral, 2, None, closed="left")],
        "time_budget": [None, Floats(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _member_class: type[FALL]
    _search_class: type

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

    @property
    def n_samples_fit_(self) -> int:
        """How many samples the members keep."""
        return self.regime_model.n_samples_fit_

    @property
    def labels_(self) -> NDArray[np.intp]:
        """The anchor of each sample in the first member, (n,)."""
        return self.regime_model.labels_

    @property
    def regime_model(self) -> FALL:
        """The model whose anchors and labels are the regimes that pictures show: the first member.

        It has the samples, the targets and the feature space of all members.
        """
        check_is_fitted(self)
        return self.estimators_[0]

    @property
    def members(self) -> list[FALL]:
        """The fitted models whose mean this is."""
        check_is_fitted(self)
        return self.estimators_

    def out_of_fold(self) -> tuple[NDArray, NDArray[np.intp]] | None:
        """Predictions of samples by members that had not seen them, and the fold of each sample.

        None without a search, after samples were added or removed, and where folds overlap.
        """
        check_is_fitted(self)
        folds = getattr(self, "_cv_folds", None)
        return None if folds is None else (self.cv_prediction_, folds)

    @property
    def feature_weights_(self) -> Array:
        """How much each feature decides who is near: the mean over the members, (d,)."""
        check_is_fitted(self)
        if not any(hasattr(member, "feature_weights_") for member in self.estimators_):
            raise AttributeError("all features count alike in deciding who is near")
        alike = np.full(self.n_features_in_, 1 / self.n_features_in_)
        return np.mean([getattr(m, "feature_weights_", alike) for m in self.estimators_], axis=0)

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
        for name in ["estimators_", *FITTED]:
            self.__dict__.pop(name, None)
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
        return self._fit_members(template, kinds, counts, *samples, seed, clock)

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
        clock: "Clock",
    ) -> Self:
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
        return self

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
        given = X, y, inputs, targets, weights
        seed = fixed_seed(self.random_state)
        return other._fit_members(template, kinds, counts, *given, seed, Clock(None))

    def _n_members(self, clock: "Clock") -> int:
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
        clock: "Clock",
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
            fixed | grid, n_jobs=self.n_jobs, random_state=seed, verbose=self.verbose
        )
        scored = search.run_search(X, y, weights, splits, seed, clock.at(SEARCHED_BY))
        self.best_params_ = {name: search.best_params_[name] for name in grid}
        if clock.is_past(JUDGED_BY):  # no time to compare kinds
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
        groups, n_before = groups_of(self.estimators_), self.regime_model.n_stored
        done = 0
        try:
            for first, *siblings in groups:
                first.append_together(siblings, X, y, sample_weight)
                done += 1
        except BaseException:
            for first, *siblings in groups[:done]:  # all or none
                first.take_back(n_before, siblings)
            raise
        finally:
            for member in self.estimators_:
                member.share_memory(self.estimators_)
        self._cv_folds = None  # they were of other samples
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
        groups = groups_of(self.estimators_)
        numbers = [first.check_forget(indices) for first, *_ in groups]  # all or none
        for (first, *siblings), removed in zip(groups, numbers, strict=True):
            first.forget_together(siblings, removed)
        for member in self.estimators_:
            member.share_memory(self.estimators_)
        self._cv_folds = None
        return self

    def save(self, path: str | Path) -> None:
        """Write the fitted ensemble to a file that `locallinear.load` reads."""
        save(self, path)

    def _fit_groups(
        self, groups: list[list[FALL]], X: Any, y: Any, weights: Array | None, clock: "Clock"
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
                    for group in parallel(calls):
                        for member in group:
                            member.share_memory([*(m for g in fitted for m in g), group[0]])
                        fitted.append(group)
                        bar.advance(len(group))
            except KeyboardInterrupt:
                if not fitted:
                    raise
                warnings.warn(
                    f"The fit was interrupted; the ensemble has {sum(map(len, fitted))} of "
                    f"{n_members} members.",
                    UserWarning,
                    stacklevel=5,  # past scikit-learn's check of the parameters
                )
        return fitted

    def _predict_members(self, X: Array, without: NDArray[np.intp] | None = None) -> Array:
        """Targets, or scores of classes, by each member, (T, q, m)."""
        groups = groups_of(self.estimators_)

        def predict(part: slice) -> Array:
            left_out = None if without is None else without[part]
            located: dict[int, Array] = {}
            found = []
            for first, *siblings in groups:
                space = first.feature_space
                if id(space) not in located:
                    located[id(space)] = space.transform(X[part])
                found.append(first.predict_together(siblings, located[id(space)], left_out))
            return np.concatenate(found)

        parts = thread_parts(len(X), effective_n_jobs(self.n_jobs))
        with one_blas_thread_for(len(X)):
            if len(parts) == 1:
                return predict(parts[0])
            parallel = Parallel(len(parts), require="sharedmem")  # members are large
            found = parallel(delayed(predict)(part) for part in parts)
        return np.concatenate(found, axis=1)

    def predict_checked(self, X: Array, without: NDArray[np.intp] | None = None) -> Array:
        """The members' mean (q, m), or mean scores, for an array of queries known to be valid.

        `without` (q,) are numbers of samples: each query is predicted without that sample.
        """
        return self._predict_members(X, without).mean(axis=0)

    def _loo_prediction(self) -> Array:
        parallel = Parallel(self.n_jobs, require="sharedmem", return_as="generator")
        calls = (delayed(member.loo_numeric)() for member in self.estimators_)
        total = sum(parallel(calls))
        return self.regime_model.as_users_see(total / len(self.estimators_))

    def explain(self, X: Any) -> LocalExplanation:
        """The one linear model of each prediction, and the members' merged neighbours.

        For a classifier, there is one such model per class: of its score.

        Parameters
        ----------
        X : array-like (q, d)

        Returns
        -------
        LocalExplanation
        """
        check_queries(self, X)
        return self._mean_explanation(member.explain(X) for member in self.estimators_)

    def _explain_samples(self, indices: ArrayLike | None) -> LocalExplanation:
        return self._mean_explanation(m.explain_samples(indices) for m in self.estimators_)

    def _mean_explanation(self, of_members: Iterable[LocalExplanation]) -> LocalExplanation:
        """The mean of the members' explanations, with the neighbours of all of them."""
        rows, shares = [], []
        mean: dict[str, Any] = {}
        for part in of_members:
            rows.append(part.neighbors)
            shares.append(part.neighbor_weights)
            for name in MEANS:
                mean[name] = mean.get(name, 0.0) + getattr(part, name) / len(self.estimators_)
        neighbors, neighbor_weights = merge_neighbors(rows, shares)
        prediction = mean["contributions"].sum(axis=1) + mean["intercept"]
        return replace(
            part,
            prediction=self.regime_model.as_users_see(prediction),
            **mean,
            neighbors=neighbors,
            neighbor_weights=neighbor_weights,
            neighbor_labels=self.labels_[neighbors],
            feature_weights=getattr(self, "feature_weights_", None),
            model=self,
        )

    def __getstate__(self) -> dict[str, Any]:
        for member in getattr(self, "estimators_", []):
            member.share_memory(self.estimators_)  # or each would hold a copy of the samples
        return super().__getstate__()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for member in getattr(self, "estimators_", []):
            member.share_memory(self.estimators_)

    def fitted_state(self) -> dict[str, Any]:
        """What a file has to hold: the members, and once what they share."""
        check_is_fitted(self)
        spaces = [member.feature_space for member in self.estimators_]
        members = []
        nearness = [member.nearness for member in self.estimators_]
        for number, member in enumerate(self.estimators_):
            like = nearness.index(member.nearness)  # a sibling, or one in the same space
            if like == number:
                like = spaces.index(member.feature_space)
            state = member.fitted_state(self.estimators_[like] if like < number else None)
            members.append({"parameters": member.get_params(), "state": state, "like": like})
        attributes = {name: getattr(self, name) for name in FITTED if hasattr(self, name)}
        return {"attributes": attributes, "members": members}

    def restore(self, state: dict[str, Any]) -> None:
        """Become the fitted ensemble that `fitted_state` described."""
        check_stored_calibration(state["attributes"])
        for name in FITTED:
            if name in state["attributes"]:
                setattr(self, name, state["attributes"][name])
        members: list[FALL] = []
        for described in state["members"]:
            member = self._member_class(**described["parameters"])
            check_stored_parameters(member)
            alone = "space" in described["state"]
            member.restore(described["state"], None if alone else members[described["like"]])
            members.append(member)
        alike = {member.signature() for member in members}
        if len(alike) != 1:
            raise ValueError("its members do not fit each other")
        for member in members:
            member.share_memory(members)
        self.estimators_ = members
