"""An ensemble of FALL models: their mean, which is still a linear model a prediction.

The mean of linear models is a linear model: what is gained in accuracy costs nothing in
exactness. `fit` reads as the recipe: choose kinds of members by a search, find out by
cross-validation in which shares they do best together, and fit them on all samples.
"""

from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ._cv import fixed_seed
from ._explanation import LocalExplanation
from ._fall import FALL
from ._grids import GRIDS, NOT_SEARCHED, check_grid
from ._members import (
    Kind,
    OutOfFold,
    best_shares,
    counts_of,
    draw_features,
    feature_chances,
    kinds_of,
    merge_neighbors,
)
from ._validation import check_features, check_sample_weights, check_some_weight

Array = NDArray[np.float64]

# What a file holds of a fitted ensemble beside its members.
FITTED = ["best_params_", "kinds_", "cv_prediction_", "cv_score_"]
FITTED += ["n_features_in_", "feature_names_in_", "classes_"]

# What all members have alike, for they have one scaling.
SHARED = ("Z", "weights")

# What of an explanation is the mean of the members'.
MEANS = ("coef", "intercept", "contributions", "anchor_part", "correction_part")

# Folds of the cross-validation, and members of each kind that are fitted on a fold.
N_FOLDS = 3
N_TRIED = 3


def _of_first(name: str) -> property:
    """What pictures ask of one model: the first member says it for all."""
    return property(lambda self: getattr(self.estimators_[0], name))


class Ensemble(BaseEstimator):
    """What both ensembles share: everything but the meaning of the targets."""

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "search": [StrOptions(set(GRIDS)), dict, None],
        "cv": [None, "cv_object"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }
    _member_class: type[FALL]
    _search_class: type

    # All members have the same samples and the same feature space; regimes are the first one's.
    n_samples_fit_ = _of_first("n_samples_fit_")
    labels_ = _of_first("labels_")
    anchor_models_ = _of_first("anchor_models_")
    n_neighbors = _of_first("n_neighbors")
    _samples = _of_first("_samples")
    _space = _of_first("_space")
    _targets = _of_first("_targets")
    _target_names = _of_first("_target_names")
    _one_target = _of_first("_one_target")
    _feature_names = _of_first("_feature_names")

    def __init__(
        self,
        n_estimators=30,
        *,
        max_features=0.6,
        search="default",
        estimator=None,
        cv=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.search = search
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Choose the members' kinds on the samples, and fit them.

        Parameters
        ----------
        X : array-like (n, d)
        y : array-like (n,) or (n, m)
        sample_weight : array-like (n,), optional
            How often each sample counts, as for one model.
        groups : array-like (n,), optional
            Passed to the splitter `cv`.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups)

    def _fit(self, X, y, sample_weight, groups=None, **known):
        for name in ["estimators_", *FITTED]:
            self.__dict__.pop(name, None)
        inputs, targets = self._check_samples(X, y, **known)
        weights = check_sample_weights(sample_weight, len(inputs))
        check_some_weight(weights)
        seed = fixed_seed(self.random_state)
        template = self._member_class() if self.estimator is None else self.estimator
        if self.search is None:
            kinds, shares = [Kind({}, self.max_features)], np.ones(1)
            self.best_params_ = {}
        else:
            splits = self._splits(inputs, targets, groups, seed)
            kinds = self._search_kinds(template, splits, inputs, targets, weights, seed)
            shares = self._cross_validate(template, kinds, splits, inputs, targets, weights, seed)
        counts = counts_of(shares, self.n_estimators)
        self.kinds_ = [
            {
                "params": kinds[i].params,
                "max_features": kinds[i].max_features,
                "n_members": int(counts[i]),
            }
            for i in np.argsort(-counts, kind="stable")
        ]
        members = [kind for kind, n in zip(kinds, counts, strict=True) for _ in range(n)]
        made = self._make_members(template, members, inputs, targets, weights, seed)
        self.estimators_ = self._fit_all(made, X, y, weights)
        self._share_samples()
        return self

    def _search_kinds(self, template, splits, X, y, weights, seed) -> list[Kind]:
        """The best configurations of the grid, everything else as the template has it."""
        grid = check_grid(self.search, template)
        fixed = {
            name: [value]
            for name, value in template.get_params(deep=False).items()
            if name not in NOT_SEARCHED
        }
        search = self._search_class(
            fixed | grid, cv=splits, n_jobs=self.n_jobs, random_state=seed
        ).fit(X, y, weights)
        self.best_params_ = {name: search.best_params_[name] for name in grid}
        return kinds_of(search, list(grid), self.max_features)

    def _append(self, X, y, sample_weight):
        for member in self.estimators_:
            member.partial_fit(X, y, sample_weight)
        self._share_samples()
        return self

    def forget(self, indices):
        """Remove samples from every member.

        Parameters
        ----------
        indices : array-like of int
            Which samples, in the order in which they were fitted. Those after a removed one move
            up.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        for member in self.estimators_:  # all or none
            member._check_removal(indices)
        for member in self.estimators_:
            member.forget(indices)
        self._share_samples()
        return self

    def save(self, path: str | Path) -> None:
        """Write the fitted ensemble to a file that `locallinear.load` reads."""
        from .io import save

        save(self, path)

    def _splits(self, X, y, groups, seed) -> list[tuple[NDArray, NDArray]]:
        """Folds: as asked for, by default shuffled, for files are often in some order."""
        cv, classes = self.cv, isinstance(self, ClassifierMixin)
        if cv is None:
            kind = StratifiedKFold if classes else KFold
            cv = kind(N_FOLDS, shuffle=True, random_state=seed)
        rows = np.arange(len(X))
        splits = check_cv(cv, y, classifier=classes).split(X, y, groups)
        return [(rows[train], rows[test]) for train, test in splits]

    def _cross_validate(self, template, kinds, splits, X, y, weights, seed) -> Array:
        """In which shares the kinds do best together, judged on samples they did not see.

        Sets `cv_prediction_` and `cv_score_` to what comes of it.
        """
        numeric = self._numeric(y)
        n_tried = min(N_TRIED, self.n_estimators)
        tried = [kind for kind in kinds for _ in range(n_tried)]
        found = OutOfFold(len(kinds), *numeric.shape)
        for train, test in splits:
            v = None if weights is None else weights[train]
            made = self._make_members(template, tried, X[train], y[train], v, seed)
            fitted = self._fit_all(made, X[train], y[train], v)
            of_members = np.array([member._predict(X[test]) for member in fitted])
            of_kinds = of_members.reshape(len(kinds), n_tried, *of_members.shape[1:]).mean(axis=1)
            found.add(test, of_kinds)
        tested = found.tested
        v = None if weights is None else weights[tested]
        shares = best_shares(found.predictions(), numeric[tested], v)
        scores = np.full(numeric.shape, np.nan)
        scores[tested] = np.tensordot(shares, found.predictions(), axes=1)
        self.cv_prediction_, self.cv_score_ = self._judge(scores, tested, y, v)
        return shares

    def _make_members(self, template, kinds, X, y, weights, seed) -> list[FALL]:
        """Members of these kinds, each with features and anchors of its own, not fitted yet."""
        chances = np.ones(X.shape[1])
        if any(kind.max_features < 1 for kind in kinds):
            chances = feature_chances(X, self._numeric(y), weights)
        rng = check_random_state(seed)
        made = []
        for number, kind in enumerate(kinds):
            member = clone(template).set_params(**kind.params, n_jobs=1)
            # The first keeps the seed that it was given, and is what it would be alone.
            if number or member.random_state is None:
                member.random_state = (seed + number) % 2**32
            allowed = check_features(member.neighborhood_features, X.shape[1])
            features = draw_features(chances, allowed, kind.max_features, rng)
            if features is not None:
                member.neighborhood_features = features
            made.append(member)
        return made

    def _fit_all(self, members: list[FALL], X, y, weights) -> list[FALL]:
        parallel = Parallel(self.n_jobs, prefer="threads")
        return parallel(delayed(self._fit_member)(member, X, y, weights) for member in members)

    def _share_samples(self) -> None:
        """Let the members hold one copy of what is the same for all of them."""
        first, *others = self.estimators_
        for member in others:
            if member._samples.share(first._samples, SHARED):
                member._neighbors.update(member._located, member._samples.searchable)

    def _predict_members(self, X) -> Array:
        """Targets, or scores of classes, by each member, (T, q, m)."""
        check_is_fitted(self)
        first = self.estimators_[0]
        Z = first._space.transform(first._check_queries(X))  # all members have one feature space
        parallel = Parallel(self.n_jobs, prefer="threads")
        return np.array(parallel(delayed(member._predict_at)(Z) for member in self.estimators_))

    def _explain(self, X, shape) -> LocalExplanation:
        """The mean of the members' explanations; `shape` cuts predictions to what users get."""
        check_is_fitted(self)
        rows, shares, weights = [], [], []
        mean: dict[str, Array] = {}
        for member in self.estimators_:
            part = member.explain(X)
            rows.append(part.neighbors)
            shares.append(part.neighbor_weights)
            if part.feature_weights is not None:
                weights.append(part.feature_weights)
            for name in MEANS:
                mean[name] = mean.get(name, 0.0) + getattr(part, name) / len(self.estimators_)
        neighbors, neighbor_weights = merge_neighbors(rows, shares)
        prediction = mean["contributions"].sum(axis=1) + mean["intercept"]
        return replace(
            part,
            prediction=prediction[shape],
            **mean,
            neighbors=neighbors,
            neighbor_weights=neighbor_weights,
            neighbor_labels=self.labels_[neighbors],
            feature_weights=np.mean(weights, axis=0) if weights else None,
            model=self,
        )

    def __setstate__(self, state):
        super().__setstate__(state)
        if hasattr(self, "estimators_"):
            self._share_samples()

    def _get_state(self) -> dict:
        """What a file has to hold: the members, and once what they share."""
        check_is_fitted(self)
        members = [
            {"parameters": m.get_params(), "state": m._get_state()} for m in self.estimators_
        ]
        held = members[0]["state"]["samples"]
        shared = {name: held[name] for name in SHARED if name in held}
        for member in members:
            samples = member["state"]["samples"]
            member["state"]["samples"] = {n: samples[n] for n in samples if n not in shared}
        attributes = {name: getattr(self, name) for name in FITTED if hasattr(self, name)}
        return {"attributes": attributes, "shared": shared, "members": members}

    def _set_state(self, state: dict) -> None:
        """Become the fitted ensemble that `_get_state` described."""
        for name in FITTED:
            if name in state["attributes"]:
                setattr(self, name, state["attributes"][name])
        members = []
        for described in state["members"]:
            member = self._member_class(**described["parameters"])
            member._validate_params()
            described["state"]["samples"] |= state["shared"]
            member._set_state(described["state"])
            members.append(member)
        alike = {(m.scaling, m._samples["Z"].shape, "weights" in m._samples) for m in members}
        if len(alike) != 1:
            raise ValueError("its members do not fit each other")
        self.estimators_ = members
        self._share_samples()
