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
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import check_features, check_sample_weights, check_some_weight
from ..checks.inputs import check_queries
from ..checks.parameters import check_stored_parameters
from ..io import save
from ..models.explanation import LocalExplanation
from ..models.fall import FALL
from ..models.intervals import HowSure
from ..models.without_itself import WithoutItself
from ..runtime.progress import Bar
from ..search.estimators import fixed_seed
from ..search.grids import GRIDS, NOT_SEARCHED, check_grid
from ..search.splits import Split
from .members import (
    Kind,
    OutOfFold,
    best_kind,
    best_shares,
    counts_of,
    draw_features,
    feature_chances,
    fold_numbers,
    in_turns,
    kinds_of,
    merge_neighbors,
    splits_of,
)

Array = NDArray[np.float64]

# What a file holds of a fitted ensemble beside its members.
FITTED = ["best_params_", "kinds_", "cv_prediction_", "cv_score_", "_cv_folds"]
FITTED += ["n_features_in_", "feature_names_in_", "classes_"]


# What of an explanation is the mean of the members'.
MEANS = ["coef", "intercept", "contributions", "anchor_part", "correction_part"]
MEANS += ["baseline", "neighborhood_part", "difference_parts", "slopes"]

# Members of each kind that are fitted on a fold.
N_TRIED = 1

# The shares of a time budget after which the search ends, and the comparison of kinds.
SEARCHED_BY, JUDGED_BY = 0.45, 0.65


class Clock:
    """The time of a fit, from now on, and its budget in seconds; infinite for no end."""

    def __init__(self, budget: float | None):
        self.budget, self.started = np.inf if budget is None else budget, time.monotonic()

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
        "search": [StrOptions(set(GRIDS)), dict, None],
        "cv": [None, "cv_object"],
        "max_samples": [None, Interval(Integral, 2, None, closed="left")],
        "time_budget": [None, Interval(Real, 0, None, closed="neither")],
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
            search = self._search(template, splits, inputs, targets, weights, seed)
            kinds = kinds_of(search, list(self.best_params_), self.max_features)
            if clock.is_past(JUDGED_BY):  # no time to try members: the best kind alone
                kinds, shares = [best_kind(search, list(self.best_params_))], np.ones(1)
            else:
                given = splits, inputs, targets, weights, seed
                shares = self._cross_validate(template, kinds, *given, clock)
        order = in_turns(counts_of(shares, self.n_estimators))
        chosen = [kinds[i] for i in order]
        made = self._make_members(template, chosen, inputs, targets, weights, seed)
        self.estimators_ = self._fit_all(made, X, y, weights, clock, show=bool(self.verbose))
        counts = np.bincount(order[: len(self.estimators_)], minlength=len(kinds))
        self.kinds_ = [
            {
                "params": kinds[i].params,
                "max_features": kinds[i].max_features,
                "n_members": int(counts[i]),
            }
            for i in np.argsort(-counts, kind="stable")
        ]
        return self

    def _search(
        self,
        template: FALL,
        splits: list[Split],
        X: Array,
        y: NDArray,
        weights: Array | None,
        seed: int,
    ) -> Any:
        """A search of the grid, everything else as the template has it; sets `best_params_`."""
        assert self.search is not None
        grid = check_grid(self.search, template, "search")
        fixed = {
            name: [value]
            for name, value in template.get_params(deep=False).items()
            if name not in NOT_SEARCHED
        }
        search = self._search_class(
            fixed | grid,
            cv=splits,
            time_budget=None if self.time_budget is None else SEARCHED_BY * self.time_budget,
            n_jobs=self.n_jobs,
            random_state=seed,
            verbose=self.verbose,
        ).fit(X, y, weights)
        self.best_params_ = {name: search.best_params_[name] for name in grid}
        return search

    def _append(self, X: Any, y: Any, sample_weight: Any) -> Self:
        check_queries(self, X)  # in the name of the ensemble
        for member in self.estimators_:
            member.partial_fit(X, y, sample_weight)
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
        for member in self.estimators_:  # all or none
            member.check_forget(indices)
        for member in self.estimators_:
            member.forget(indices)
            member.share_memory(self.estimators_)
        self._cv_folds = None
        return self

    def save(self, path: str | Path) -> None:
        """Write the fitted ensemble to a file that `locallinear.load` reads."""
        save(self, path)

    def _cross_validate(
        self,
        template: FALL,
        kinds: list[Kind],
        splits: list[Split],
        X: Array,
        y: NDArray,
        weights: Array | None,
        seed: int,
        clock: "Clock",
    ) -> Array:
        """The shares in which the kinds do best together, on samples that they did not see.

        Sets `cv_prediction_` and `cv_score_`.
        """
        numeric = self._numeric(y)
        n_tried = min(N_TRIED, self.n_estimators)
        tried = [kind for kind in kinds for _ in range(n_tried)]
        found = OutOfFold(len(kinds), *numeric.shape)
        for train, test in splits:
            v = None if weights is None else weights[train]
            made = self._make_members(template, tried, X[train], y[train], v, seed)
            fitted = self._fit_all(made, X[train], y[train], v)
            of_members = np.array([member.predict_numeric(X[test]) for member in fitted])
            of_kinds = of_members.reshape(len(kinds), n_tried, *of_members.shape[1:]).mean(axis=1)
            found.add(test, of_kinds)
            if clock.is_past(JUDGED_BY):
                break
        tested = found.tested
        v = None if weights is None else weights[tested]
        shares = best_shares(found.predictions(), numeric[tested], v)
        scores = np.full(numeric.shape, np.nan)
        scores[tested] = np.tensordot(shares, found.predictions(), axes=1)
        self.cv_prediction_, self.cv_score_ = self._judge(scores, tested, y, v)
        self._cv_folds = fold_numbers(splits, len(y))
        return shares

    def _make_members(
        self,
        template: FALL,
        kinds: list[Kind],
        X: Array,
        y: NDArray,
        weights: Array | None,
        seed: int,
    ) -> list[FALL]:
        """Members of these kinds, each with features and anchors of its own, not fitted yet."""
        chances = np.ones(X.shape[1])
        if any(kind.max_features < 1 for kind in kinds):
            chances = feature_chances(X, self._numeric(y), weights)
        rng = check_random_state(seed)
        made = []
        for number, kind in enumerate(kinds):
            member = clone(template).set_params(**kind.params, n_jobs=1)
            # The first member keeps the seed of the template, as if it were fitted alone.
            if number or member.random_state is None:
                member.random_state = (seed + number) % 2**32
            allowed = check_features(member.neighborhood_features, X.shape[1])
            features = draw_features(chances, allowed, kind.max_features, rng)
            if features is not None:
                member.neighborhood_features = features
            made.append(member)
        return made

    def _fit_all(
        self,
        members: list[FALL],
        X: Any,
        y: Any,
        weights: Array | None,
        clock: "Clock | None" = None,
        *,
        show: bool = False,
    ) -> list[FALL]:
        """Fit the members, or as many as the time allows; an interrupt keeps those fitted so far.

        Without a clock all of them are needed.
        """
        timed = clock is not None and np.isfinite(clock.budget)
        size = effective_n_jobs(self.n_jobs) if timed else len(members)
        began = 0.0 if clock is None else clock.elapsed()
        fitted: list[FALL] = []
        parallel = Parallel(self.n_jobs, prefer="threads", return_as="generator")
        with Bar(len(members), "members", title="Fitting", show=show) as bar:
            try:
                for first in range(0, len(members), size):
                    if first and clock is not None:
                        per_batch = (clock.elapsed() - began) * size / first
                        if clock.elapsed() + per_batch > clock.budget:
                            break
                    batch = members[first : first + size]
                    calls = (delayed(self._fit_member)(member, X, y, weights) for member in batch)
                    # One by one, so that not all copies of the samples exist at once.
                    for member in parallel(calls):
                        member.share_memory(fitted)
                        fitted.append(member)
                        bar.advance()
            except KeyboardInterrupt:
                if not fitted or clock is None:
                    raise
                warnings.warn(
                    f"The fit was interrupted; the ensemble has {len(fitted)} of "
                    f"{len(members)} members.",
                    UserWarning,
                    stacklevel=5,  # past scikit-learn's check of the parameters
                )
        return fitted

    def _predict_members(self, X: Array, without: NDArray[np.intp] | None = None) -> Array:
        """Targets, or scores of classes, by each member, (T, q, m)."""
        spaces = {id(member.feature_space): member.feature_space for member in self.estimators_}
        located = {key: space.transform(X) for key, space in spaces.items()}
        parallel = Parallel(self.n_jobs, prefer="threads")
        calls = (
            delayed(member.predict_located)(located[id(member.feature_space)], without)
            for member in self.estimators_
        )
        return np.array(parallel(calls))

    def predict_checked(self, X: Array, without: NDArray[np.intp] | None = None) -> Array:
        """The members' mean (q, m), or mean scores, for an array of queries known to be valid.

        `without` (q,) are numbers of samples: each query is predicted without that sample.
        """
        return self._predict_members(X, without).mean(axis=0)

    def _loo_prediction(self) -> Array:
        parallel = Parallel(self.n_jobs, prefer="threads", return_as="generator")
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
        for number, member in enumerate(self.estimators_):
            like = spaces.index(member.feature_space)
            state = member.fitted_state(self.estimators_[like] if like < number else None)
            members.append({"parameters": member.get_params(), "state": state, "like": like})
        attributes = {name: getattr(self, name) for name in FITTED if hasattr(self, name)}
        return {"attributes": attributes, "members": members}

    def restore(self, state: dict[str, Any]) -> None:
        """Become the fitted ensemble that `fitted_state` described."""
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
