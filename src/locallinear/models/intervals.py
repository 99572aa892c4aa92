"""How sure: intervals, quantiles, sets of classes and novelty, on every FALL estimator."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks.arguments import check_coverage, check_levels, check_name, check_several_groups
from ..checks.devices import check_on_processor
from ..checks.inputs import check_queries
from ..kernels.local.combine import margins
from ..kernels.local.spread import ROUNDING, conformal_quantiles
from .conformal import Conformal
from .cv_plus import CVPlus
from .influence import Influence

Array = NDArray[np.float64]

# Ways to make intervals.
METHODS = ("local", "cv+")


def _warn_if_too_few(n: float, coverage: float, *, missed_at: int) -> None:
    """Warn where so many samples, by weight, cannot give a coverage.

    With n of them, an end of an interval can leave out a share of 1 / (n + 1) or more, and
    intervals have two ends at which they may miss; sets of classes have one.
    """
    total, missed = n + 1.0, (1.0 - coverage) / missed_at
    if missed * total >= 1.0 - ROUNDING * total:
        return
    needed, largest = np.ceil(1.0 / missed - 1.0 - 1e-6), 1.0 - missed_at / total
    what, how = ("intervals", "as wide") if missed_at == 2 else ("sets", "as large")
    ask = f"ask for at most {np.floor(1000 * largest) / 1000:g}" if largest > 0 else "ask for less"
    warnings.warn(
        f"coverage={coverage:g} needs {needed:.0f} samples, but those of the model count as {n:g}: "
        f"the {what} are {how} as their errors allow, and contain a smaller share of the targets; "
        f"{ask}, or fit more samples",
        UserWarning,
        stacklevel=3,
    )


def _warn_if_without_end(found: Array, coverage: float) -> None:
    """Warn where intervals have an end that no sample can give."""
    if not np.isfinite(found).all():
        warnings.warn(
            f"coverage={coverage:g} is more than method='cv+' can promise with the samples of the "
            "model, so intervals have an infinite end; ask for less, or fit more samples",
            UserWarning,
            stacklevel=3,
        )


def _warn_if_beyond_samples(n: float, levels: Array) -> None:
    """Warn where so many samples, by weight, cannot give quantiles of these levels (l,)."""
    least = 1.0 / (n + 1.0)
    beyond = levels[np.minimum(levels, 1.0 - levels) < least * (1.0 - ROUNDING * n)]
    if len(beyond):
        warnings.warn(
            f"the quantile {beyond[0]:g} needs more samples: those of the model count as {n:g}, so "
            f"levels below {least:.3g} and above {1.0 - least:.3g} give the same quantiles as "
            "these; fit more samples for them",
            UserWarning,
            stacklevel=3,
        )


def _kept_name(name: str, groups: NDArray | None) -> str:
    """Under what name something is kept: calls with and without groups take turns."""
    return name if groups is None else f"{name} of groups"


class HowSure(Influence):
    """What regressors and classifiers say about what they know.

    What is computed once from the samples, until they change, is in `_known`, which an estimator
    has in common with what it was at earlier moments.
    """

    def novelty(self, X: Any) -> Array:
        """How unusual each query is for the model, from 0 to 1.

        The distance of a query to the samples near it, relative to the distances that these
        samples have to others, as the share of the samples for which this ratio is smaller. The
        samples near it are the model's neighbours, by whichever rule; distances are those in its
        feature space. So about one in a hundred new rows has a novelty above 0.99, and rows unlike
        anything seen have 1, or nearly so.

        Parameters
        ----------
        X : array-like (q, d)

        Returns
        -------
        array (q,)

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from locallinear import FALLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = FALLRegressor(random_state=0).fit(X, y)
        >>> model.novelty(X[:1] + 1.0).round(2)
        array([1.])
        """
        now = self.at_this_moment()
        X = check_queries(now.members[0], X)
        return now.conformal().novelty(X)

    def numbered_groups(self, groups: ArrayLike | None) -> NDArray | None:
        """Groups of the training samples as numbers (n,), None where none are given."""
        first = self.members[0]
        return check_several_groups(groups, first.n_samples_fit_, first.training_weights())

    def conformal(self, groups: NDArray | None = None) -> Conformal:
        """The errors of the samples, and what tells their size: computed once, until a change."""
        members = self.at_this_moment().members
        check_on_processor(self, members[0].model_array, "what a model knows about its errors")
        name = _kept_name("errors", groups)
        kept = self._known.get(name)
        if kept is None or not kept.holds_for(members, groups):
            kept = Conformal(members, getattr(self, "n_jobs", None), groups)
            self._known[name] = kept
        return kept


class Intervals(HowSure):
    """Intervals and quantiles of a regressor."""

    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.9,
        *,
        method: str = "local",
        groups: ArrayLike | None = None,
    ) -> Array:
        """Predict intervals that contain the given share of the targets.

        Parameters
        ----------
        X : array-like (q, d)
        coverage : float, default=0.9
            The share of new targets that lie within their interval, above 0 and below 1. With n
            samples, method "local" cannot give more than (n - 1) / (n + 1), and warns.
        method : {"local", "cv+"}, default="local"
            "local": the width follows the errors of the samples near each query, which are
            predicted without themselves in closed form. Where trees or learned weights decide who
            is near, a few refits measure how much too small these errors are. The first call
            computes all this, later ones take at most about twice as long as `predict`. The
            coverage is that of conformal intervals, up to what the samples have in common with the
            model that tests them.
            "cv+": the estimator is cloned and fitted without each of five folds, with its search
            if it has one, and only these models are used. The intervals contain at least
            1 − 2 (1 − coverage) of the targets, in truth about `coverage`, whatever the model and
            the data, if the rows are exchangeable.
        groups : array-like (n,), optional
            Which training samples belong together, such as the rows of one person, in the order of
            the samples. No sample then is tested by models that saw its group. With "local", the
            models are refitted for it, with their parameters, five times.

        Returns
        -------
        array (q, 2), or (q, m, 2) for several targets

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from locallinear import FALLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = FALLRegressor(n_neighbors=20, random_state=0).fit(X[:400], y[:400])
        >>> low, high = model.predict_interval(X[400:], 0.8).T
        >>> bool(((low <= y[400:]) & (y[400:] <= high)).mean() > 0.6)
        True
        """
        now = self.at_this_moment()
        first = now.members[0]
        X = check_queries(first, X)
        half = (1.0 - check_coverage(coverage)) / 2
        levels = np.array([half, 1.0 - half])
        grouped = now.numbered_groups(groups)
        if check_name(method, METHODS, "method") == "local":
            known = now.conformal(grouped)
            found = known.quantiles(X, levels)
            _warn_if_too_few(known.weights.sum(), coverage, missed_at=2)
        else:
            found = now._cv_plus(grouped).quantiles(X, levels)
            _warn_if_without_end(found, coverage)
        return found[:, 0] if first.one_target else found

    def predict_quantiles(
        self, X: Any, quantiles: ArrayLike, *, groups: ArrayLike | None = None
    ) -> Array:
        """Predict quantiles of the targets, which grow with their level.

        They belong to the intervals of method "local": the interval of coverage 0.9 goes from
        quantile 0.05 to quantile 0.95.

        Parameters
        ----------
        X : array-like (q, d)
        quantiles : float or array-like (l,)
            Levels above 0 and below 1. With n samples, levels below 1 / (n + 1) or above
            n / (n + 1) cannot be given, and there is a warning.
        groups : array-like (n,), optional
            Which training samples belong together, as for `predict_interval`.

        Returns
        -------
        array (q, l), or (q, m, l) for several targets

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from locallinear import FALLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = FALLRegressor(n_neighbors=20, random_state=0).fit(X, y)
        >>> model.predict_quantiles(X[:2], [0.1, 0.5, 0.9]).shape
        (2, 3)
        """
        now = self.at_this_moment()
        first = now.members[0]
        X = check_queries(first, X)
        known, levels = now.conformal(now.numbered_groups(groups)), check_levels(quantiles)
        found = known.quantiles(X, levels)
        _warn_if_beyond_samples(known.weights.sum(), levels)
        return found[:, 0] if first.one_target else found

    def _cv_plus(self, groups: NDArray | None) -> CVPlus:
        """The estimator without each of the folds: fitted once, until a change."""
        check_on_processor(self, self.members[0].model_array, "an interval of method cv+")
        name = _kept_name("folds", groups)
        kept = self._known.get(name)
        if kept is None or not kept.holds_for(self.members, groups):
            kept = CVPlus(self, groups)
            self._known[name] = kept
        return kept


class ClassSets(HowSure):
    """Sets of classes of a classifier."""

    def predict_set(
        self, X: Any, coverage: float = 0.9, *, groups: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Predict sets that contain the class of the given share of rows.

        A class is in the set if its score is behind that of the best other class by no more than
        those of most samples are, when these are predicted without themselves. The most likely
        class always is.

        Parameters
        ----------
        X : array-like (q, d)
        coverage : float, default=0.9
            The share of new rows whose class is in their set, above 0 and below 1. With n samples,
            more than n / (n + 1) cannot be given, and there is a warning.
        groups : array-like (n,), optional
            Which training samples belong together, such as the rows of one person: no sample then
            is tested by models that saw its group.

        Returns
        -------
        array (q, n_classes) of bool
            In the order of `classes_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from locallinear import FALLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> FALLClassifier(random_state=0).fit(X, y).predict_set(X[:1])
        array([[ True, False, False]])
        """
        now = self.at_this_moment()
        X = check_queries(now.members[0], X)
        level = np.array([check_coverage(coverage)])
        known = now.conformal(now.numbered_groups(groups))
        own = known.targets > 0.5

        def behind(scores: Array, samples: Any = slice(None)) -> Array:
            """How far the samples' own classes are behind the best other one, (c,)."""
            return margins(scores)[own[samples]]

        furthest = conformal_quantiles(behind(known.prediction), known.weights, level)[0]
        tested, held, alone = known.held_out
        if len(tested):
            # Where targets chose the neighbours, refits are behind by more.
            v = known.weights[tested]
            by_refits = conformal_quantiles(behind(held, tested), v, level)[0]
            furthest += max(
                0.0, by_refits - conformal_quantiles(behind(alone, tested), v, level)[0]
            )
        scores = np.mean([member.predict_checked(X) for member in now.members], axis=0)
        found = margins(scores) <= furthest + 1e-9
        found[np.arange(len(X)), scores.argmax(axis=1)] = True
        _warn_if_too_few(known.weights.sum(), coverage, missed_at=1)
        return found
