"""What a fitted ensemble computes: the mean of its members, which is one model per prediction.

The mean of linear models is a linear model, so explanations stay exact.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..checks.inputs import check_queries
from ..models.explanation import LocalExplanation
from ..models.fall import FALL
from ..models.intervals import HowSure
from ..models.siblings import groups_of
from ..models.without_itself import WithoutItself
from ..runtime.threads import in_threads, one_blas_thread_for, thread_parts
from .members import merge_neighbors

Array = NDArray[np.float64]

# What of an explanation is the mean of the members'.
MEANS = ["coef", "intercept", "contributions", "anchor_part", "correction_part"]
MEANS += ["baseline", "neighborhood_part", "difference_parts", "slopes"]


class Mean(HowSure, WithoutItself):
    """The mean of fitted models. Updates put another list of members in place."""

    estimators_: list[FALL]
    n_features_in_: int
    n_jobs: int | None

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

    @property
    def feature_weights_(self) -> Array:
        """How much each feature decides who is near: the mean over the members, (d,)."""
        members = self.members
        if not any(hasattr(member, "feature_weights_") for member in members):
            raise AttributeError("all features count alike in deciding who is near")
        alike = np.full(self.n_features_in_, 1 / self.n_features_in_)
        return np.mean([getattr(m, "feature_weights_", alike) for m in members], axis=0)

    def _predict_members(self, X: Array, without: NDArray[np.intp] | None = None) -> Array:
        """Targets, or scores of classes, by each member, (T, q, m)."""
        groups = groups_of(self.members)

        def predict(part: slice) -> Array:
            left_out = None if without is None else without[part]
            located: dict[int, Array] = {}
            found = []
            for first, *siblings in groups:
                space = id(first.feature_space)
                if space not in located:
                    located[space] = first.feature_space.transform(X[part])
                found.append(first.predict_together(siblings, located[space], left_out))
            return np.concatenate(found)

        return self._in_parts(predict, len(X))

    def _in_parts(self, predict: Callable[[slice], Array], q: int) -> Array:
        """Predictions (T, q, m) of q queries, made in one part per thread."""
        workers = effective_n_jobs(self.n_jobs)
        with one_blas_thread_for(q):
            found = in_threads(predict, thread_parts(q, workers), workers)
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)

    def predict_checked(self, X: Array, without: NDArray[np.intp] | None = None) -> Array:
        """The members' mean (q, m), or mean scores, for an array of queries known to be valid.

        `without` (q,) are numbers of samples: each query is predicted without that sample.
        """
        return self._predict_members(X, without).mean(axis=0)

    def _loo_prediction(self) -> Array:
        now = self.at_this_moment()
        members, n = now.members, now.n_samples_fit_
        groups = groups_of(members)

        def predict(part: slice) -> Array:
            numbers = np.arange(n)[part]
            return np.concatenate(
                [
                    first.predict_together_from(
                        siblings, first.located_samples[part], *first.sample_shares(numbers)
                    )
                    for first, *siblings in groups
                ]
            )

        return members[0].as_users_see(now._in_parts(predict, n).mean(axis=0))

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
        now = self.at_this_moment()
        check_queries(now, X)
        return now._mean_explanation(lambda member: member.explain(X))

    def explain_checked(self, X: Array, without: NDArray[np.intp]) -> LocalExplanation:
        """The explanation of an array of queries known to be valid, each without a sample.

        `without` (q,) are numbers of samples, -1 for a query that is none.
        """
        now = self.at_this_moment()
        return now._mean_explanation(lambda member: member.explain_checked(X, without))

    def _explain_samples(self, indices: ArrayLike | None) -> LocalExplanation:
        now = self.at_this_moment()
        return now._mean_explanation(lambda member: member.explain_samples(indices))

    def _mean_explanation(self, explain: Callable[[FALL], LocalExplanation]) -> LocalExplanation:
        """The mean of the members' explanations, with the neighbours of all of them."""
        # One by one, so that not all explanations exist at once.
        parallel = Parallel(self.n_jobs, require="sharedmem", return_as="generator")
        of_members = parallel(delayed(explain)(member) for member in self.estimators_)
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
