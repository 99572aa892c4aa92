"""Predictions and explanations of one fitted model: the paper's Algorithm 2.

A prediction averages the models of the nearest samples. Whoever calls several of these methods for
one answer calls them on `at_this_moment`; the methods that users call do.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import at, empty
from ..checks import arguments as checks
from ..checks.inputs import check_queries
from ..checks.parameters import check_after_fit
from ..geometry.neighbors import leave_out
from ..kernels.local import combine
from ..kernels.local.models import sample_models
from ..runtime.chunks import row_chunks
from ..runtime.threads import one_blas_thread_for
from .assignment import assign_labelled
from .explaining import explained
from .explanation import LocalExplanation
from .facts import Facts
from .moments import Moments
from .neighbors import Rule, neighbor_weights
from .without_itself import WithoutItself

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Predictor(Facts, WithoutItself, Moments):
    """What a fitted model computes for queries, with the parameters that it has at that moment."""

    alpha: float
    n_neighbors: int
    weights: Rule
    n_jobs: int | None
    assignment_neighbors: int

    def local_models(self, indices: ArrayLike | None = None) -> Array:
        """The samples' own models, made on demand.

        Parameters
        ----------
        indices : array-like of int, optional
            Which samples, in the order in which they were fitted; all by default.

        Returns
        -------
        models : array (len(indices), d + 1, m)
            Coefficients in the units of X (with scaling "quantile", of the scaled features), the
            intercept last.
        """
        fitted = self.fitted
        samples = fitted.samples
        if indices is not None:
            indices = checks.check_indices(indices, len(samples))
        rows = samples.rows(indices)
        Z, residuals, labels = (at(samples[name], rows) for name in ("Z", "residuals", "labels"))
        models = sample_models(Z, residuals, labels, fitted.models, self.alpha, fitted.constant)
        return fitted.geometry.space.models_to_units(models)

    # --- Predicting ---------------------------------------------------------------------------

    def predict_numeric(self, X: Any) -> Array:
        """Predictions (q, m) whatever the shape of y was; for a classifier the classes' scores."""
        now = self.at_this_moment()
        return now.predict_checked(check_queries(now, X))

    def predict_checked(self, X: Array, without: Rows | None = None) -> Array:
        """The same for an array of queries that are known to be valid.

        `without` (q,) are numbers of samples: each query is predicted without that sample.
        """
        now = self.at_this_moment()
        return now.predict_located(now.feature_space.transform(X), without)

    def predict_located(self, Z: Array, without: Rows | None = None) -> Array:
        """Algorithm 2 for many queries in the feature space: (q, m); `without` as above."""
        return self.predict_from(Z, *self.shares(Z, without))

    def predict_from(self, Z: Array, shares: Array, near: Rows) -> Array:
        """The same, of queries whose neighbours and shares (q, K) are known."""
        fitted = self.fitted
        samples, models = fitted.samples, fitted.models
        q, d = Z.shape
        out = empty((q, models.shape[2]), Z)
        row_bytes = (near.shape[1] * d + models.shape[0]) * 8
        with one_blas_thread_for(q):
            for chunk in row_chunks(q, row_bytes, like=Z):
                rows = near[chunk, ...]
                out[chunk, ...] = combine.predict(
                    Z[chunk, ...],
                    at(samples["Z"], rows),
                    at(samples["residuals"], rows),
                    at(samples["labels"], rows),
                    shares[chunk, ...],
                    models,
                    self.alpha,
                    fitted.constant,
                )
        return out

    def predict_together(
        self, siblings: "Sequence[Predictor]", Z: Array, without: Rows | None = None
    ) -> Array:
        """Predictions of this model and its siblings, which have the same neighbours: (s, q, m)."""
        return self.predict_together_from(siblings, Z, *self.shares(Z, without))

    def predict_together_from(
        self, siblings: "Sequence[Predictor]", Z: Array, shares: Array, near: Rows
    ) -> Array:
        """The same, of queries whose neighbours and shares (q, K) are known."""
        from ..kernels.local.siblings import correction_factors, predict_one  # compiled

        fitted, Z = self.fitted, np.ascontiguousarray(Z)
        inputs, alpha = fitted.samples["Z"], float(self.alpha)
        factors = correction_factors(Z, inputs, near, shares, alpha, fitted.constant)
        models = [fitted, *(sibling.fitted for sibling in siblings)]
        out = np.empty((len(models), len(Z), fitted.models.shape[2]))
        for model, prediction in zip(models, out, strict=True):
            own = model.samples["residuals"], model.samples["labels"], model.models
            predict_one(Z, near, shares, factors, *own, prediction)
        return out

    def loo_numeric(self) -> Array:
        """Predictions (n, m) of all samples, each without itself, whatever the shape of y was."""
        now = self.at_this_moment()
        return now.predict_from(
            now.located_samples, *now.sample_shares(np.arange(now.n_samples_fit_))
        )

    def as_users_see(self, prediction: Array) -> Array:
        """Numeric predictions (q, m) in the shape that y had; scores of classes as they are."""
        return prediction[:, 0] if self.one_target else prediction

    def _loo_prediction(self) -> Array:
        return self.as_users_see(self.loo_numeric())

    def _assign_labelled(self, X: Array, Y: Array) -> Rows:
        """The best anchor of labelled samples that are not stored, (q,)."""
        check_after_fit(self)
        fitted, total = self.fitted, self.assignment_neighbors
        located = fitted.geometry.locate(X)
        held = fitted.samples, fitted.neighbors, fitted.models
        return assign_labelled(*held, *located, Y, total, self.n_jobs)

    def shares(self, Z: Array, without: Rows | None = None, n_near: int = 0) -> tuple[Array, Rows]:
        """The weights (q, K) of each query's nearest samples, which sum to one, and their rows.

        `without` (q,) are numbers of samples that are no neighbours of the query, -1 where all may
        be. Where `n_near` is more than K, there are so many rows, as far as there are samples, and
        K weights.
        """
        if without is not None and (without < 0).any():
            return self._shares_of_both(Z, without, n_near)
        check_after_fit(self)
        fitted, K = self.fitted, self.n_neighbors
        samples, query = fitted.samples, fitted.neighbors.query
        points = fitted.geometry.nearness.points(Z)
        if without is None:
            checks.check_enough_samples(K, samples.n_searchable)
            n_found = min(max(K, n_near), samples.n_searchable)
            distances, near = query(points, n_found, self.n_jobs)
        else:
            checks.check_enough_others(K, samples.n_searchable)
            n_found = min(max(K, n_near) + 1, samples.n_searchable)
            distances, near = query(points, n_found, self.n_jobs)
            distances, near = leave_out(distances, near, samples.rows(without))
        return self._shares_at(distances, near), near

    def sample_shares(self, numbers: Rows, n_near: int = 0) -> tuple[Array, Rows]:
        """The same of samples with these numbers, each without itself."""
        check_after_fit(self)
        samples, K = self.fitted.samples, self.n_neighbors
        checks.check_enough_others(K, samples.n_searchable)
        n_found = min(max(K, n_near), samples.n_searchable - 1)
        found = self.fitted.neighbors.others(samples.rows(numbers), n_found, self.n_jobs)
        return self._shares_at(*found), found[1]

    def _shares_at(self, distances: Array, near: Rows) -> Array:
        """The weights of the K first of samples at these distances, both (q, ·)."""
        K, of_samples = self.n_neighbors, self.fitted.samples.get("weights")
        sample_weights = None if of_samples is None else at(of_samples, near[:, :K])
        return combine.normalised(neighbor_weights(distances[:, :K], self.weights, sample_weights))

    def _shares_of_both(self, Z: Array, without: Rows, n_near: int) -> tuple[Array, Rows]:
        """The same where some queries are samples, and others are not."""
        is_sample, K = without >= 0, self.n_neighbors
        n_near = max(K, min(n_near, self.fitted.samples.n_searchable - 1))  # alike for both
        shares = empty((len(Z), K), Z)
        near = np.empty((len(Z), n_near), dtype=np.intp)
        for rows, numbers in ((is_sample, without[is_sample]), (~is_sample, None)):
            if rows.any():
                shares[rows], near[rows] = self.shares(Z[rows], numbers, n_near)
        return shares, near

    # --- Explaining ---------------------------------------------------------------------------

    def explain(self, X: Any) -> LocalExplanation:
        """The exact linear model of each prediction, and the samples that it comes from.

        For a classifier, there is one such model per class: of its score.

        Parameters
        ----------
        X : array-like (q, d)

        Returns
        -------
        LocalExplanation
        """
        now = self.at_this_moment()
        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        X = check_queries(now, X)
        return now._explain_located(X, now.feature_space.transform(X), index=index)

    def explain_checked(self, X: Array, without: Rows) -> LocalExplanation:
        """The explanation of an array of queries known to be valid, each without a sample.

        `without` (q,) are numbers of samples, -1 for a query that is none.
        """
        now = self.at_this_moment()
        return now._explain_located(X, now.feature_space.transform(X), samples=without)

    def _explain_samples(self, indices: ArrayLike | None) -> LocalExplanation:
        now = self.at_this_moment()
        numbers = np.arange(now.n_samples_fit_)
        if indices is not None:
            numbers = checks.check_indices(indices, len(numbers))
        Z = at(now.samples["Z"], now.samples.rows(numbers))
        X = at(now.fitted.sample_inputs(), numbers)
        return now._explain_located(X, Z, index=numbers, samples=numbers)

    def _explain_located(self, X: Array, Z: Array, **about: Any) -> LocalExplanation:
        """The explanation of queries X, which are Z in the feature space.

        `about` are fields of it; with `samples`, each query is explained without that sample.
        """
        fitted = self.fitted
        shares, near = self.shares(Z, about.get("samples"))
        found = explained(
            X,
            Z,
            shares,
            near,
            fitted.samples,
            fitted.geometry.space,
            fitted.models,
            self.alpha,
            fitted.constant,
            self.mean_target,
        )
        found["prediction"] = self.as_users_see(found["prediction"])
        return LocalExplanation(
            **found,
            feature_weights=getattr(self, "feature_weights_", None),
            feature_names=self.feature_names,
            target_names=self.target_names,
            X=X,
            model=self,
            **about,
        )
