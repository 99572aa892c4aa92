"""FALL: fast anchor-regularised local linear models, on numeric targets.

Every training sample has its own linear model: the best of a few anchor models, corrected towards
the sample's own target. A prediction averages the models of the nearest samples. `fit` reads as
the paper's Algorithms 1 and 3, `predict` as Algorithm 2; docs/math.md maps symbols to names.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..checks import inputs as checks
from ..checks.parameters import FALL_PARAMETERS, check_after_fit
from ..geometry.nearness import fit_geometry, nearness_from_arrays
from ..geometry.neighbors import Neighbors, neighbor_sets
from ..geometry.spaces import ROUNDING, Space, space_from_arrays
from ..io import save
from ..kernels.local import combine
from ..kernels.local import models as local_models
from ..runtime.chunks import row_chunks
from ..runtime.threads import one_blas_thread
from .anchors import fit_anchor_models, rows_of_points, select_points
from .explanation import LocalExplanation
from .samples import Samples

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# What a file holds of a fitted model beside its samples and its feature space.
FITTED = ["anchor_points_", "anchor_models_", "n_features_in_", "feature_names_in_"]
FITTED += ["classes_", "feature_weights_"]
FITTED += ["_models", "_constant", "_target_names", "_one_target"]


class FALL(BaseEstimator):
    """What regression and classification share: everything but the meaning of the targets.

    Z (n, d) are the inputs in the feature space of `scaling` (with learned weights in it where
    the neighbourhood has them), Y (n, m) numeric targets.
    """

    _parameter_constraints: dict = FALL_PARAMETERS

    def __init__(
        self,
        n_anchors=100,
        *,
        anchor_selection="random",
        anchor_models=None,
        n_anchor_neighbors=20,
        anchor_alpha=1.0,
        anchor_l1_ratio=0.0,
        alpha=1.0,
        n_neighbors=5,
        weights="distance",
        fit_intercept=True,
        scaling="standard",
        neighborhood="euclidean",
        metric_iterations=4,
        neighborhood_features=None,
        assignment_neighbors=1,
        n_jobs=None,
        random_state=None,
    ):
        self.n_anchors = n_anchors
        self.anchor_selection = anchor_selection
        self.anchor_models = anchor_models
        self.n_anchor_neighbors = n_anchor_neighbors
        self.anchor_alpha = anchor_alpha
        self.anchor_l1_ratio = anchor_l1_ratio
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.neighborhood = neighborhood
        self.metric_iterations = metric_iterations
        self.neighborhood_features = neighborhood_features
        self.assignment_neighbors = assignment_neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __getstate__(self):
        # The neighbours refer to the samples' memory: copied with them, it would come twice.
        return {name: v for name, v in super().__getstate__().items() if name != "_neighbors"}

    def __setstate__(self, state):
        super().__setstate__(state)
        if hasattr(self, "_samples"):
            self._index_samples()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_samples")

    @property
    def labels_(self) -> Rows:
        """The anchor of each sample, (n,)."""
        check_is_fitted(self)
        return self._samples["labels"][self._samples.places()].astype(np.intp)

    def local_models(self, indices=None) -> Array:
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
        check_is_fitted(self)
        if indices is not None:
            indices = checks.check_indices(indices, len(self._samples))
        places = self._samples.places(indices)
        models = local_models.sample_models(
            self._samples["Z"][places],
            self._samples["residuals"][places],
            self._samples["labels"][places],
            self._models,
            self.alpha,
            self._constant,
        )
        return self._space.models_to_units(models)

    # --- What pictures, reports and ensembles ask of a model ----------------------------------

    @property
    def regime_model(self) -> "FALL":
        """The model whose anchors and labels are the regimes that pictures show: this one."""
        check_is_fitted(self)
        return self

    @property
    def feature_space(self) -> Space:
        """Where the models live, and the way from the units of X to it and back."""
        check_is_fitted(self)
        return self._space

    @property
    def feature_names(self) -> list[str]:
        """Names of the features: those of a frame, or x0, x1 and so on."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

    @property
    def target_names(self) -> list[str]:
        """Names of the targets, or the classes as text."""
        check_is_fitted(self)
        return list(self._target_names)

    @property
    def one_target(self) -> bool:
        """Whether predictions are (q,) and not (q, m)."""
        check_is_fitted(self)
        return self._one_target

    def training_samples(self) -> tuple[Array, Array]:
        """The samples that the model keeps, in units.

        Returns
        -------
        X : array (n, d)
        Y : array (n, m)
            Numeric targets; for a classifier 1 for the sample's class and 0 for the others.
        """
        check_is_fitted(self)
        places = self._samples.places()
        nothing = np.empty((0, len(self._target_names)))
        Y = self._targets(places, len(self._samples["Z"]), nothing)
        X = self._space.inverse(self._samples["Z"][places])
        # Of zeros, the way into the space and back leaves some rounding.
        X[np.abs(X) <= ROUNDING * np.abs(X).max(axis=0)] = 0.0
        # A class is 1 or 0, which a residual plus its model is only up to rounding.
        return X, Y.round() + 0.0 if is_classifier(self) else Y

    def out_of_fold(self) -> None:
        """Predictions by models that had not seen the sample: a single model has none."""
        return

    def forget(self, indices):
        """Remove samples; what is left of the model stays as it is.

        Parameters
        ----------
        indices : array-like of int
            Which samples. Those after a removed one move up.

        Returns
        -------
        self
        """
        numbers = self._check_removal(indices)
        self._samples.remove(numbers)
        self._neighbors.update(self._located, self._samples.searchable)
        self.n_samples_fit_ = len(self._samples)
        return self

    def _check_removal(self, indices) -> Rows:
        """The numbers of samples that can be removed."""
        check_is_fitted(self)
        numbers = np.unique(checks.check_indices(indices, len(self._samples)))
        if len(numbers) == len(self._samples):
            raise ValueError(
                f"forget would remove all {len(numbers)} samples, and a model needs some; fit a "
                "new one instead"
            )
        places = self._samples.places(numbers)
        mask = self._samples.searchable
        lost = len(numbers) if mask is None else np.count_nonzero(mask[places])
        checks.check_enough_samples(self.n_neighbors, self._samples.n_searchable - lost)
        return numbers

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file that `locallinear.load` reads.

        The file is an archive of plain arrays, without code; it is whole or absent.

        Parameters
        ----------
        path : str or Path
        """
        save(self, path)

    def fitted_state(self) -> dict:
        """What a file has to hold of the fitted model, as plain values and arrays."""
        check_is_fitted(self)
        places = self._samples.places()
        return {
            "attributes": {name: getattr(self, name) for name in FITTED if hasattr(self, name)},
            "space": self._space.arrays(),
            "nearness": self._nearness.arrays(),
            "samples": {
                name: self._samples[name][places] for name in self._samples if name != "points"
            },
        }

    def restore(self, state: dict) -> None:
        """Become the fitted model that `fitted_state` described."""
        columns, attributes = state["samples"], state["attributes"]
        checks.check_stored_shapes(columns, attributes, state["space"])
        for name in FITTED:
            if name in attributes:
                setattr(self, name, attributes[name])
        self._space = space_from_arrays(**state["space"])
        self._nearness = nearness_from_arrays(columns["Z"].shape[1], **state["nearness"])
        points = self._nearness.points(columns["Z"])
        if points is not columns["Z"]:
            columns["points"] = points
        self._samples = Samples(columns.pop("searchable", None), **columns)
        self._index_samples()
        self.n_samples_fit_ = len(self._samples)

    def _fit(self, X: Array, Y: Array, sample_weight, graph) -> None:
        """Algorithm 1: anchors, then each sample's anchor and its residual from it."""
        weights = checks.check_sample_weights(sample_weight, len(X))
        checks.check_some_weight(weights)
        searchable = None if weights is None or weights.all() else weights > 0
        if graph is not None:
            graph = checks.check_graph(graph, len(X))
        self._constant = float(self.fit_intercept)  # the constant feature of every input
        Z = self._fit_geometry(X, Y, weights)
        if Z is X:
            Z = X.copy()  # what is written into X after the fit must not reach the model
        columns = {"Z": Z, "residuals": np.empty_like(Y)}
        columns["labels"] = np.empty(len(X), dtype=np.int32)
        if weights is not None:
            columns["weights"] = weights
        points = self._nearness.points(Z)
        if points is not Z:
            columns["points"] = points
        samples = Samples(searchable, **columns)
        checks.check_enough_samples(self.n_neighbors, samples.n_searchable)
        self._samples = samples
        self.n_samples_fit_ = len(X)
        self._index_samples()
        try:
            with one_blas_thread():
                self._fit_anchors(X, Y, graph)
                self._neighbors.build()
                self._assign_samples(0, Y)
        except BaseException:
            del self._samples  # half a model is none
            raise

    def _fit_geometry(self, X: Array, Y: Array, weights: Array | None) -> Array:
        """The feature space of the models, and who is near in it; returns X in it."""
        self.__dict__.pop("feature_weights_", None)
        self._space, Z, self._nearness = fit_geometry(
            self.neighborhood,
            self.scaling,
            X,
            Y,
            weights,
            features=checks.check_features(self.neighborhood_features, X.shape[1]),
            rounds=self.metric_iterations,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        if self._nearness.feature_weights is not None:
            self.feature_weights_ = self._nearness.feature_weights
        return Z

    @property
    def _located(self) -> Array:
        """Where the samples are for the neighbour search."""
        return self._samples["points" if "points" in self._samples else "Z"]

    def _index_samples(self) -> None:
        """Make the structure that finds neighbours among the samples."""
        self._neighbors = self._nearness.index(self._located, self._samples.searchable, self.n_jobs)

    def _fit_anchors(self, X: Array, Y: Array, graph) -> None:
        """Algorithm 3: choose anchor points, and fit a model on each one's neighbourhood."""
        Z, samples = self._samples["Z"], self._samples
        weights = samples.get("weights")
        if self.anchor_models is not None:
            models = checks.check_anchor_models(self.anchor_models, Z.shape[1], Y.shape[1])
            self.anchor_points_ = np.full((len(models), Z.shape[1]), np.nan)
            self.anchor_models_ = models
            self._models = self._space.models_from_units(models)
            return
        if isinstance(self.anchor_selection, str):
            rng = check_random_state(self.random_state)
            points, rows = select_points(self.anchor_selection, self.n_anchors, Z, weights, rng)
            self.anchor_points_ = self._space.inverse(points) if rows is None else X[rows]
        else:
            self.anchor_points_ = checks.check_anchor_points(self.anchor_selection, Z.shape[1])
            points, rows = self._space.transform(self.anchor_points_), None
        if graph is not None:
            if rows is None:
                rows = rows_of_points(points, Neighbors(Z, samples.searchable, self.n_jobs))
            near, padding = neighbor_sets(graph, rows, samples.searchable)
            reach = np.inf
        else:
            n_near = min(self.n_anchor_neighbors, samples.n_searchable)
            near, padding = self._neighbors.query(self._nearness.points(points), n_near)[1], None
            reach = self.n_anchor_neighbors
        penalty = self.anchor_alpha, self.anchor_l1_ratio
        self._models = fit_anchor_models(
            Z, Y, weights, near, padding, reach, penalty, self.fit_intercept
        )
        self.anchor_models_ = self._space.models_to_units(self._models)

    def _assign_samples(self, first: int, Y: Array) -> None:
        """Theorem 3 for the samples from place `first` on, whose targets are Y."""
        Z, samples = self._samples["Z"], self._samples
        n_near = min(self.assignment_neighbors, samples.n_searchable)
        k, d, m = len(self._models), Z.shape[1], Y.shape[1]
        for block in row_chunks(len(Y), n_near * 16):  # neighbours are searched for many at once
            if n_near > 1:
                near = self._neighbors.query(self._located[first:][block], n_near)[1]
            for chunk in row_chunks(block.stop, n_near * (k * (m + 1) + d) * 8, block.start):
                here, y = slice(first + chunk.start, first + chunk.stop), Y[chunk]
                residuals = local_models.anchor_residuals(Z[here], y, self._models)
                if n_near == 1:
                    errors = local_models.squared_errors(residuals)
                else:
                    mine = near[chunk.start - block.start : chunk.stop - block.start]
                    targets = self._targets(mine, first, Y)
                    errors = self._near_errors(mine, targets, self.assignment_neighbors)
                labels = local_models.best_anchors(errors, local_models.tie_floor(y))
                samples["labels"][here] = labels
                samples["residuals"][here] = local_models.own_residuals(residuals, labels)

    def _near_errors(self, near: Rows, Y: Array, total: int) -> Array:
        """Squared errors of all anchors, summed over the samples near each of c, (c, k).

        Y (c, A, m) are their targets, and `total` bounds the sum of their weights.
        """
        c, A = near.shape
        Z = self._samples["Z"][near.ravel()]
        errors = local_models.squared_errors(
            local_models.anchor_residuals(Z, Y.reshape(c * A, -1), self._models)
        ).reshape(c, A, -1)
        if "weights" not in self._samples:
            return errors.sum(axis=1)
        shares = combine.cut_at(self._samples["weights"][near], total)
        return np.einsum("ca,cak->ck", shares, errors)

    def _targets(self, rows: Rows, first: int, Y: Array) -> Array:
        """Targets of samples: from `first` on those of Y, before it residual plus model."""
        out = np.empty((*rows.shape, Y.shape[1]))
        known = rows < first
        out[~known] = Y[rows[~known] - first]
        old = rows[known]
        if len(old):
            models = self._models[self._samples["labels"][old]]
            fitted = np.einsum("nd,ndm->nm", self._samples["Z"][old], models[:, :-1])
            out[known] = self._samples["residuals"][old] + fitted + models[:, -1]
        return out

    def _append(self, X: Array, Y: Array, sample_weight) -> None:
        """Add samples: only they are assigned, the anchors and all others stay."""
        weights = checks.check_sample_weights(sample_weight, len(X))
        samples = self._samples
        Z = self._space.transform(X)
        new = {"Z": Z, "residuals": Y, "labels": np.zeros(len(X))}
        if "points" in samples:
            new["points"] = self._nearness.points(Z)
        if weights is not None and "weights" not in samples:
            samples.add_column("weights", 1.0)
        if "weights" in samples:
            new["weights"] = weights = np.ones(len(X)) if weights is None else weights
        searchable = np.ones(len(X), dtype=bool) if weights is None else weights > 0
        first = samples.append(searchable, **new)
        self._neighbors.update(self._located, samples.searchable)
        self._assign_samples(first, Y)
        self.n_samples_fit_ = len(samples)

    def _assign_labelled(self, X: Array, Y: Array) -> Rows:
        """The best anchor of samples that are not stored."""
        Z = self._space.transform(X)
        n_others = self.assignment_neighbors - 1
        n_near = min(n_others + 1, self._samples.n_searchable)
        labels = np.empty(len(Z), dtype=np.intp)
        beyond = len(self._samples["Z"])
        for chunk in row_chunks(len(Z), n_near * (len(self._models) * 2 + Z.shape[1]) * 8):
            residuals = local_models.anchor_residuals(Z[chunk], Y[chunk], self._models)
            errors = local_models.squared_errors(residuals)
            if n_others:
                # A stored sample at the same place is this one; otherwise it is one of the near.
                near = self._neighbors.query(self._nearness.points(Z[chunk]), n_near)[1]
                stored = (self._samples["Z"][near] == Z[chunk, None]).all(axis=2).any(axis=1)
                targets = self._targets(near, beyond, Y)
                whole = self._near_errors(near, targets, n_others + 1)
                others = np.s_[:, :n_others]
                errors += self._near_errors(near[others], targets[others], n_others)
                errors = np.where(stored[:, None], whole, errors)
            labels[chunk] = local_models.best_anchors(errors, local_models.tie_floor(Y[chunk]))
        return labels

    def _predict(self, X) -> Array:
        """Algorithm 2 for many queries: (q, m)."""
        X = checks.check_queries(self, X)
        return self._predict_at(self._space.transform(X))

    def _predict_at(self, Z: Array) -> Array:
        """The same for queries in the feature space."""
        shares, near = self._shares(Z)
        out = np.empty((len(Z), self._models.shape[2]))
        with one_blas_thread():
            for chunk in row_chunks(len(Z), (near.shape[1] * Z.shape[1] + len(self._models)) * 8):
                rows = near[chunk]
                out[chunk] = combine.predict(
                    Z[chunk],
                    self._samples["Z"][rows],
                    self._samples["residuals"][rows],
                    self._samples["labels"][rows],
                    shares[chunk],
                    self._models,
                    self.alpha,
                    self._constant,
                )
        return out

    def _explain(self, X, shape) -> LocalExplanation:
        """Models instead of predictions; `shape` cuts predictions (q, m) to what users get."""
        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        X = checks.check_queries(self, X)
        Z = self._space.transform(X)
        shares, near = self._shares(Z)
        samples = self._samples
        parts = np.empty((2, len(Z), Z.shape[1] + 1, self._models.shape[2]))
        for chunk in row_chunks(len(Z), near.shape[1] * (parts[0, 0].size + Z.shape[1]) * 8):
            rows = near[chunk]
            parts[:, chunk] = combine.averaged_models(
                samples["Z"][rows],
                samples["residuals"][rows],
                samples["labels"][rows],
                shares[chunk],
                self._models,
                self.alpha,
                self._constant,
            )
        anchor_part, correction = (self._space.models_to_units(part) for part in parts)
        models = anchor_part + correction
        coef, intercept = models[:, :-1], models[:, -1]
        regressors = self._space.regressors(X)
        contributions = coef * regressors[:, :, None]
        prediction = contributions.sum(axis=1) + intercept
        return LocalExplanation(
            prediction=prediction[shape],
            coef=coef,
            intercept=intercept,
            contributions=contributions,
            anchor_part=anchor_part,
            correction_part=correction,
            neighbors=samples.numbers(near),
            neighbor_weights=shares,
            neighbor_labels=samples["labels"][near].astype(np.intp),
            feature_weights=getattr(self, "feature_weights_", None),
            feature_names=self.feature_names,
            target_names=list(self._target_names),
            ranks=None if self._space.has_units else regressors,
            X=X,
            index=index,
            model=self,
        )

    def _shares(self, Z: Array) -> tuple[Array, Rows]:
        """The nearest samples of each query, (q, K), and their weights, which sum to one."""
        check_after_fit(self)
        checks.check_enough_samples(self.n_neighbors, self._samples.n_searchable)
        self._neighbors.n_jobs = self.n_jobs
        distances, near = self._neighbors.query(self._nearness.points(Z), self.n_neighbors)
        shares = combine.distance_weights(distances, self.weights)
        if callable(self.weights):
            shares = checks.check_neighbor_weights(shares, distances.shape)
        if "weights" in self._samples:
            shares = shares * combine.cut_at(self._samples["weights"][near], self.n_neighbors)
        return combine.normalised(shares), near
