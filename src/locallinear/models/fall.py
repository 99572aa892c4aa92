"""FALL: fast anchor-regularised local linear models, on numeric targets.

Every training sample has its own linear model: the best of a few anchor models, corrected towards
the sample's own target. A prediction averages the models of the nearest samples. `fit` reads as
the paper's Algorithms 1 and 3, `predict` as Algorithm 2; docs/math.md maps symbols to names.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from ..checks import arguments as checks
from ..checks.inputs import check_queries
from ..checks.parameters import FALL_PARAMETERS, GEOMETRY, check_after_fit
from ..checks.stored import check_stored_calibration, check_stored_shapes
from ..geometry.nearness import Geometry, Index, Nearness, fit_geometry
from ..geometry.neighbors import Neighbors, leave_out, neighbor_sets
from ..geometry.spaces import ROUNDING, Space, same_space
from ..io import save
from ..kernels.local import combine
from ..kernels.local.anchors import fit_models
from ..kernels.local.models import sample_models
from ..runtime.chunks import row_chunks
from ..runtime.threads import one_blas_thread, one_blas_thread_for
from .anchor_samples import AnchorSamples
from .anchors import neighborhood_weights, neighborhoods, place_anchors, rows_of_points
from .assignment import (
    assign_all,
    assign_labelled,
    assign_new,
    deciding_rows,
    mean_target,
    stored_targets,
)
from .explaining import explained
from .explanation import LocalExplanation
from .intervals import HowSure
from .neighbors import Rule, neighbor_weights
from .samples import Samples, weights_above_zero
from .without_itself import WithoutItself

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# What a file holds of a fitted model beside its samples and its feature space.
FITTED = ["anchor_points_", "anchor_models_", "n_features_in_", "feature_names_in_"]
FITTED += ["classes_", "calibration_", "feature_weights_"]
FITTED += ["_models", "_constant", "_target_names", "_one_target"]

# What siblings have of their inputs and geometry, as the model has it that they are fitted with.
INPUTS = ["n_features_in_", "feature_names_in_", "classes_", "feature_weights_"]
INPUTS += ["_target_names", "_one_target"]

# The samples' columns that models of the same samples in the same feature space have alike, and
# those that models with the same geometry have alike.
SHARED = ("Z", "weights")
SIBLINGS_SHARE = ("Z", "points", "weights")


class FALL(HowSure, WithoutItself, BaseEstimator):
    """What regression and classification share: everything but the meaning of the targets.

    Z (n, d) are the inputs in the feature space of `scaling` (with learned weights in it where
    the neighbourhood has them), Y (n, m) numeric targets.
    """

    _parameter_constraints: dict = FALL_PARAMETERS

    n_features_in_: int
    feature_names_in_: NDArray
    _geometry: Geometry
    _samples: Samples
    _neighbors: Index  # of the samples, in the geometry
    _models: Array  # of the anchors in the feature space, (k, d + 1, m)
    _constant: float  # the constant feature of every input: 1, or 0 without an intercept
    _target_names: list[str]
    _one_target: bool
    _mean_target: Array | None  # of the samples, once it was asked for
    # The samples that shaped the anchors; None where those are no linear function of the targets.
    _anchor_samples: AnchorSamples | None

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        anchor_selection: Any = "random",
        anchor_models: ArrayLike | None = None,
        n_anchor_neighbors: int = 20,
        anchor_alpha: float = 1.0,
        anchor_l1_ratio: float = 0.0,
        alpha: float = 1.0,
        n_neighbors: int = 5,
        weights: Rule = "distance",
        fit_intercept: bool = True,
        scaling: str | None = "standard",
        neighborhood: str = "euclidean",
        metric_iterations: int = 4,
        neighborhood_features: ArrayLike | None = None,
        indicators: ArrayLike | None = None,
        assignment_neighbors: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
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
        self.indicators = indicators
        self.assignment_neighbors = assignment_neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __getstate__(self) -> dict[str, Any]:
        # The neighbours refer to the samples' memory: copied with them, it would come twice.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_neighbors"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "_samples"):
            self._index_samples()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_samples")

    @property
    def labels_(self) -> Rows:
        """The anchor of each sample, (n,)."""
        check_is_fitted(self)
        return self._samples["labels"][self._samples.rows()].astype(np.intp)

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
        check_is_fitted(self)
        if indices is not None:
            indices = checks.check_indices(indices, len(self._samples))
        rows = self._samples.rows(indices)
        models = sample_models(
            self._samples["Z"][rows],
            self._samples["residuals"][rows],
            self._samples["labels"][rows],
            self._models,
            self.alpha,
            self._constant,
        )
        return self.feature_space.models_to_units(models)

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
        return self._geometry.space

    @property
    def members(self) -> "list[FALL]":
        """The fitted models whose mean this is: itself."""
        check_is_fitted(self)
        return [self]

    @property
    def samples(self) -> Samples:
        """The samples that the model keeps, in its feature space."""
        return self._samples

    @property
    def anchor_samples(self) -> AnchorSamples | None:
        """The samples that shaped the anchors; None if these are not linear in the targets."""
        return self._anchor_samples

    @property
    def located_samples(self) -> Array:
        """The inputs of all samples in the feature space, (n, d)."""
        return self._samples["Z"][self._samples.rows()]

    def anchor_prediction(self, Z: Array, anchor: int) -> Array:
        """What one anchor model predicts for inputs in the feature space, (q, m)."""
        return Z @ self._models[anchor, :-1] + self._models[anchor, -1]

    @property
    def constant(self) -> float:
        """The constant feature of every input: 1, or 0 without an intercept."""
        return self._constant

    @property
    def mean_target(self) -> Array:
        """The weighted mean of the samples' numeric targets, (m,); of classes their shares."""
        check_is_fitted(self)
        if self._mean_target is None:
            self._mean_target = mean_target(self._samples, self._models)
        return self._mean_target.copy()

    def draw_samples(self, size: int, rng: np.random.RandomState) -> Array:
        """At most so many of the samples that have weight, drawn at random, in units: (·, d)."""
        check_is_fitted(self)
        rows, mask = self._samples.rows(), self._samples.searchable
        drawn = np.arange(len(rows)) if mask is None else np.flatnonzero(mask[rows])
        if len(drawn) > size:
            drawn = np.sort(rng.choice(drawn, size, replace=False))
        return self._sample_inputs()[drawn]

    @property
    def feature_names(self) -> list[str]:
        """Names of the features: those of a frame, or x0, x1 and so on."""
        check_is_fitted(self)
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
        return self._sample_inputs(), self.targets()

    def targets(self, numbers: Rows | None = None) -> Array:
        """Numeric targets (c, m) of the samples with these numbers; without numbers, of all."""
        Y = stored_targets(self._samples, self._models, self._samples.rows(numbers))
        # A class is 1 or 0, which a residual plus its model is only up to rounding.
        return Y.round() + 0.0 if is_classifier(self) else Y

    def _sample_inputs(self) -> Array:
        """The inputs of all samples in units, (n, d)."""
        X = self.feature_space.inverse(self._samples["Z"][self._samples.rows()])
        # Of zeros, the way into the space and back leaves some rounding.
        X[np.abs(X) <= ROUNDING * np.abs(X).max(axis=0)] = 0.0
        return X

    @property
    def nearness(self) -> Nearness:
        """How near is measured; siblings, which were fitted together, have the same object."""
        check_is_fitted(self)
        return self._geometry.nearness

    @property
    def n_stored(self) -> int:
        """The number of rows that the samples take, removed ones included; for `take_back`."""
        return self._samples.n_stored

    def training_weights(self) -> Array | None:
        """The weights of the samples that the model keeps, (n,); None where all are 1."""
        check_is_fitted(self)
        weights = self._samples.get("weights")
        return None if weights is None else weights[self._samples.rows()]

    def take_names(self, other: "FALL") -> None:
        """Call features and targets as another model of the same samples does."""
        self._target_names = other.target_names
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_

    def share_memory(self, others: "list[FALL]") -> None:
        """Hold what is equal in the memory of the first of the others that has it.

        All of them have the same samples. Siblings share the search for neighbours as well.
        """
        mine = self.feature_space
        like = next((other for other in others if same_space(mine, other.feature_space)), self)
        sibling = next((other for other in others if other.nearness is self.nearness), self)
        self._samples.trim()
        if sibling is not self:
            self._share_geometry(sibling)
            return
        self._geometry = Geometry(like.feature_space, self.nearness)
        if self._samples.share(like._samples, SHARED):
            self._neighbors.update(self._samples.points, self._samples.searchable)

    def _share_geometry(self, sibling: "FALL") -> None:
        """Hold the sibling's geometry, its inputs and its search for neighbours."""
        self._geometry, self._neighbors = sibling._geometry, sibling._neighbors
        self._samples.share(sibling._samples, SIBLINGS_SHARE)

    def signature(self) -> tuple[Any, ...]:
        """What members of one ensemble must have alike: scaling, samples' shape, and weights."""
        return self.scaling, self._samples["Z"].shape, "weights" in self._samples

    @property
    def total_weight(self) -> float:
        """How many samples the model keeps, each as often as its weight says."""
        check_is_fitted(self)
        weights = self.training_weights()
        return float(len(self._samples) if weights is None else weights.sum())

    def out_of_fold(self) -> None:
        """Predictions by models that had not seen the sample: a single model has none."""
        return

    def forget(self, indices: ArrayLike) -> Self:
        """Remove samples; what is left of the model stays as it is.

        Parameters
        ----------
        indices : array-like of int
            Which samples. Those after a removed one move up.

        Returns
        -------
        self
        """
        self.forget_together([], self.check_forget(indices))
        return self

    def forget_together(self, siblings: "Sequence[FALL]", numbers: Rows) -> None:
        """Remove samples from this model and its siblings; `numbers` are from `check_forget`."""
        for model in [self, *siblings]:
            model._mean_target = None
            model._samples.remove(numbers)
            if model._anchor_samples is not None:
                model._anchor_samples = model._anchor_samples.without(numbers)
            model.n_samples_fit_ = len(model._samples)
        self._neighbors.update(self._samples.points, self._samples.searchable)
        for model in siblings:
            model._share_geometry(self)

    def check_forget(self, indices: ArrayLike) -> Rows:
        """The numbers of samples that `forget` can remove; an error where it cannot."""
        check_is_fitted(self)
        numbers = np.unique(checks.check_indices(indices, len(self._samples)))
        if len(numbers) == len(self._samples):
            raise ValueError(
                f"forget would remove all {len(numbers)} samples, and a model needs some; fit a "
                "new one instead"
            )
        rows = self._samples.rows(numbers)
        mask = self._samples.searchable
        lost = len(numbers) if mask is None else np.count_nonzero(mask[rows])
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

    def fitted_state(self, like: "FALL | None" = None) -> dict[str, Any]:
        """What a file has to hold of the fitted model, as plain values and arrays.

        `like` is in the file too: what this model shares with it is left out, that is the space
        and the samples' inputs, and of siblings the nearness as well.
        """
        check_is_fitted(self)
        rows = self._samples.rows()
        names = [name for name in self._samples if name != "points"]
        state: dict[str, Any] = {
            "attributes": {name: getattr(self, name) for name in FITTED if hasattr(self, name)},
        }
        if like is None or like.nearness is not self.nearness:
            state["nearness"] = self.nearness.arrays()
        if self._anchor_samples is not None:
            state["anchor_samples"] = self._anchor_samples.arrays()
        if like is None:
            state["space"] = self.feature_space.arrays()
        else:
            names = [name for name in names if name not in SHARED]
        state["samples"] = {name: self._samples[name][rows] for name in names}
        return state

    def restore(self, state: dict[str, Any], like: "FALL | None" = None) -> None:
        """Become the fitted model that `fitted_state` described."""
        columns, attributes = state["samples"], state["attributes"]
        if like is not None:
            state["space"] = like.feature_space.arrays()
            shared = [name for name in SHARED if name in like._samples]
            columns |= {name: like._samples[name] for name in shared}
        check_stored_shapes(columns, attributes, state["space"])
        check_stored_calibration(attributes)
        for name in FITTED:
            if name in attributes:
                setattr(self, name, attributes[name])
        if like is not None and "nearness" not in state:
            geometry = like._geometry
        else:
            d = columns["Z"].shape[1]
            geometry = Geometry.from_arrays(d, state["space"], state["nearness"])
        self._anchor_samples = None
        if "anchor_samples" in state:
            shape = len(self._models), len(columns["Z"])
            self._anchor_samples = AnchorSamples.from_arrays(*shape, **state["anchor_samples"])
        searchable = columns.pop("searchable", None)
        self._hold(geometry, Samples.located(geometry, searchable, **columns))

    # --- Fitting ------------------------------------------------------------------------------

    def _fit(
        self,
        X: Array,
        Y: Array,
        sample_weight: Any,
        graph: Any,
        siblings: "Sequence[FALL]" = (),
    ) -> None:
        """Algorithm 1: anchors, then each sample's anchor and its residual from it.

        Siblings are models whose parameters differ from this one's by `random_state` alone. They
        are fitted as well, with anchors of their own in the same geometry.
        """
        weights = checks.check_sample_weights(sample_weight, len(X))
        checks.check_some_weight(weights)
        if graph is not None:
            graph = checks.check_graph(graph, len(X))
        geometry, Z = fit_geometry(
            X,
            Y,
            weights,
            **{name: getattr(self, name) for name in GEOMETRY},
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        # What is written into X later must not reach the model.
        columns: dict[str, NDArray] = {"Z": Z.copy() if Z is X else Z}
        if weights is not None:
            columns["weights"] = weights
        samples = Samples.located(geometry, weights_above_zero(weights), **columns)
        checks.check_enough_samples(self.n_neighbors, samples.n_searchable)
        self.__dict__.pop("feature_weights_", None)
        if geometry.nearness.feature_weights is not None:
            self.feature_weights_ = geometry.nearness.feature_weights
        models = [self, *siblings]
        try:
            with one_blas_thread():
                for model in models:
                    model._begin(self, geometry, samples, Y)
                    model._fit_anchors(X, Y, graph)
                self._neighbors.build()
                self._assign_all(Y, siblings)
        except BaseException:
            for model in models:
                model.__dict__.pop("_samples", None)  # half a model is none
            raise

    def _begin(self, like: "FALL", geometry: Geometry, samples: Samples, Y: Array) -> None:
        """Hold samples without labels yet; inputs and the search for neighbours as `like` has."""
        own = samples.beside(residuals=np.empty_like(Y), labels=np.empty(len(Y), dtype=np.int32))
        self._constant = float(self.fit_intercept)
        self._hold(geometry, own)
        if like is not self:
            for name in INPUTS:
                if hasattr(like, name):
                    setattr(self, name, getattr(like, name))
            self._share_geometry(like)

    def _hold(self, geometry: Geometry, samples: Samples) -> None:
        """Take samples as those of the model, and index them for the neighbour search."""
        self._geometry, self._samples, self._mean_target = geometry, samples, None
        self.n_samples_fit_ = len(samples)
        self._index_samples()

    def _index_samples(self) -> None:
        """Make the structure that finds neighbours among the samples."""
        samples = self._samples
        self._neighbors = self._geometry.index(samples.points, samples.searchable, self.n_jobs)

    def _fit_anchors(self, X: Array, Y: Array, graph: csr_array | None) -> None:
        """Algorithm 3: choose anchor points, and fit a model on each one's neighbourhood."""
        Z, weights, space = self._samples["Z"], self._samples.get("weights"), self.feature_space
        anchors = place_anchors(
            self.anchor_selection,
            self.anchor_models,
            self.n_anchors,
            space,
            Z,
            Y.shape[1],
            weights,
            self.random_state,
        )
        self._anchor_samples = None
        if anchors.models is not None:
            self.anchor_points_, self._models = anchors.points, anchors.models
        else:
            points, rows = anchors.points, anchors.rows
            if rows is not None:
                self.anchor_points_ = X[rows]
            elif isinstance(self.anchor_selection, str):
                self.anchor_points_ = space.inverse(points)
            else:
                self.anchor_points_ = np.array(self.anchor_selection, dtype=np.float64)
            near, total, padding = self._around(points, rows, graph)
            if self.anchor_alpha == 0 or self.anchor_l1_ratio == 0:
                counted = neighborhood_weights(weights, near, total, padding)
                self._anchor_samples = AnchorSamples(
                    near.astype(np.int32),
                    None if (counted == 1).all() else counted,
                    float(self.anchor_alpha),
                    bool(self.fit_intercept),
                )
            self._models = np.empty((len(points), Z.shape[1] + 1, Y.shape[1]))
            row_bytes = near.shape[1] * (Z.shape[1] + Y.shape[1]) * 8 * 4
            for chunk in row_chunks(len(points), row_bytes):
                unused = None if padding is None else padding[chunk]
                self._models[chunk] = fit_models(
                    *neighborhoods(Z, Y, weights, near[chunk], total, unused),
                    self.anchor_alpha,
                    self.anchor_l1_ratio,
                    self.fit_intercept,
                )
        self.anchor_models_ = space.models_to_units(self._models)

    def _around(
        self, points: Array, rows: Rows | None, graph: csr_array | None
    ) -> tuple[Rows, float, NDArray[np.bool_] | None]:
        """The samples around anchors, what their weights may add up to, and which do not count."""
        samples = self._samples
        if graph is None:
            n_near = min(self.n_anchor_neighbors, samples.n_searchable)
            near = self._neighbors.query(self._geometry.nearness.points(points), n_near)[1]
            return near, self.n_anchor_neighbors, None
        if rows is None:
            rows = rows_of_points(points, Neighbors(samples["Z"], samples.searchable, self.n_jobs))
        near, padding = neighbor_sets(graph, rows, samples.searchable)
        return near, np.inf, padding

    def _assign_all(self, Y: Array, siblings: "Sequence[FALL]") -> None:
        """Theorem 3: the anchors of the samples, whose targets are Y, in all these models."""
        samples = self._samples
        neighbors, deciding = self._neighbors, deciding_rows(samples)
        if deciding is not None and self.assignment_neighbors > 1:
            neighbors = self._geometry.index(samples.points[deciding], None, self.n_jobs)
        fitted = [(model._samples, model._models) for model in [self, *siblings]]
        assign_all(fitted, neighbors, deciding, Y, self.assignment_neighbors, self.n_jobs)

    def _append(
        self, X: Array, Y: Array, sample_weight: Any, siblings: "Sequence[FALL]" = ()
    ) -> None:
        """Add samples: only they are assigned, the anchors and all others stay."""
        check_after_fit(self)
        weights = checks.check_sample_weights(sample_weight, len(X))
        Z, points = self._geometry.locate(X)
        new = {"Z": Z, "residuals": Y, "labels": np.zeros(len(X))}
        if points is not Z:
            new["points"] = points
        models, first = [self, *siblings], self._samples.n_stored
        try:
            for model in models:
                model._append_rows(weights, **new)
            self._neighbors.update(self._samples.points, self._samples.searchable)
            for model in siblings:
                model._share_geometry(self)
            fitted = [(model._samples, model._models) for model in models]
            assign_new(fitted, self._neighbors, first, Y, self.assignment_neighbors)
        except BaseException:
            self.take_back(first, siblings)  # samples without an anchor must not stay
            raise
        for model in models:
            model.n_samples_fit_ = len(model._samples)

    def _append_rows(self, weights: Array | None, **new: NDArray) -> None:
        """Add rows to the samples, without their anchors yet."""
        samples, n = self._samples, len(new["Z"])
        if weights is not None and "weights" not in samples:
            samples.add_column("weights", 1.0)
        if "weights" in samples:
            new["weights"] = weights = np.ones(n) if weights is None else weights
        searchable = np.ones(n, dtype=bool) if weights is None else weights > 0
        self._mean_target = None
        samples.append(searchable, **new)

    def take_back(self, first: int, siblings: "Sequence[FALL]" = ()) -> None:
        """Remove the rows from `first` on, which were added last, from this model and siblings."""
        for model in [self, *siblings]:
            model._mean_target = None
            model._samples.cut(first)
            model.n_samples_fit_ = len(model._samples)
        self._index_samples()
        for model in siblings:
            model._share_geometry(self)

    def _assign_labelled(self, X: Array, Y: Array) -> Rows:
        """The best anchor of labelled samples that are not stored, (q,)."""
        check_after_fit(self)
        located = self._geometry.locate(X)
        total = self.assignment_neighbors
        return assign_labelled(self._samples, self._neighbors, self._models, *located, Y, total)

    # --- Predicting ---------------------------------------------------------------------------

    def predict_numeric(self, X: Any) -> Array:
        """Predictions (q, m) whatever the shape of y was; for a classifier the classes' scores."""
        return self.predict_checked(check_queries(self, X))

    def predict_checked(self, X: Array, without: Rows | None = None) -> Array:
        """The same for an array of queries that are known to be valid.

        `without` (q,) are numbers of samples: each query is predicted without that sample.
        """
        return self.predict_located(self.feature_space.transform(X), without)

    def predict_located(self, Z: Array, without: Rows | None = None) -> Array:
        """Algorithm 2 for many queries in the feature space: (q, m); `without` as above."""
        return self.predict_from(Z, *self.shares(Z, without))

    def predict_from(self, Z: Array, shares: Array, near: Rows) -> Array:
        """The same, of queries whose neighbours and shares (q, K) are known."""
        samples = self._samples
        out = np.empty((len(Z), self._models.shape[2]))
        with one_blas_thread_for(len(Z)):
            for chunk in row_chunks(len(Z), (near.shape[1] * Z.shape[1] + len(self._models)) * 8):
                rows = near[chunk]
                out[chunk] = combine.predict(
                    Z[chunk],
                    samples["Z"][rows],
                    samples["residuals"][rows],
                    samples["labels"][rows],
                    shares[chunk],
                    self._models,
                    self.alpha,
                    self._constant,
                )
        return out

    def predict_together(
        self, siblings: "Sequence[FALL]", Z: Array, without: Rows | None = None
    ) -> Array:
        """Predictions of this model and its siblings, which have the same neighbours: (s, q, m)."""
        from ..kernels.local.siblings import correction_factors, predict_one  # compiled

        models, Z = [self, *siblings], np.ascontiguousarray(Z)
        shares, near = self.shares(Z, without)
        inputs = self._samples["Z"]
        factors = correction_factors(Z, inputs, near, shares, float(self.alpha), self._constant)
        out = np.empty((len(models), len(Z), self._models.shape[2]))
        for model, prediction in zip(models, out, strict=True):
            own = model._samples["residuals"], model._samples["labels"], model._models
            predict_one(Z, near, shares, factors, *own, prediction)
        return out

    def models_around(
        self, Z: Array, without: Rows | None = None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Chunks of queries with the shares (c, K) and models (c, K, d + 1, m) of neighbours."""
        samples = self._samples
        shares, near = self.shares(Z, without)
        for chunk in row_chunks(len(Z), 2 * near.shape[1] * self._models[0].nbytes):
            rows = near[chunk].ravel()
            neighbors = samples["Z"][rows], samples["residuals"][rows], samples["labels"][rows]
            models = sample_models(*neighbors, self._models, self.alpha, self._constant)
            yield chunk, shares[chunk], models.reshape(*near[chunk].shape, *models.shape[1:])

    def loo_numeric(self) -> Array:
        """Predictions (n, m) of all samples, each without itself, whatever the shape of y was."""
        check_is_fitted(self)
        return self.predict_located(self.located_samples, np.arange(len(self._samples)))

    def as_users_see(self, prediction: Array) -> Array:
        """Numeric predictions (q, m) in the shape that y had; scores of classes as they are."""
        return prediction[:, 0] if getattr(self, "_one_target", False) else prediction

    def _loo_prediction(self) -> Array:
        return self.as_users_see(self.loo_numeric())

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
        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        X = check_queries(self, X)
        return self._explain_located(X, self.feature_space.transform(X), index=index)

    def _explain_samples(self, indices: ArrayLike | None) -> LocalExplanation:
        numbers = np.arange(len(self._samples))
        if indices is not None:
            numbers = checks.check_indices(indices, len(numbers))
        Z = self._samples["Z"][self._samples.rows(numbers)]
        X = self._sample_inputs()[numbers]
        return self._explain_located(X, Z, index=numbers, samples=numbers)

    def _explain_located(self, X: Array, Z: Array, **about: Any) -> LocalExplanation:
        """The explanation of queries X, which are Z in the feature space.

        `about` are fields of it; with `samples`, each query is explained without that sample.
        """
        shares, near = self.shares(Z, about.get("samples"))
        found = explained(
            X,
            Z,
            shares,
            near,
            self._samples,
            self.feature_space,
            self._models,
            self.alpha,
            self._constant,
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

    def shares(self, Z: Array, without: Rows | None = None, n_near: int = 0) -> tuple[Array, Rows]:
        """The weights (q, K) of each query's nearest samples, which sum to one, and their rows.

        `without` (q,) are numbers of samples that are no neighbours of the query. Where `n_near` is
        more than K, there are so many rows, as far as there are samples, and K weights.
        """
        check_after_fit(self)
        samples, K = self._samples, self.n_neighbors
        self._neighbors.n_jobs = self.n_jobs
        points = self._geometry.nearness.points(Z)
        if without is None:
            checks.check_enough_samples(K, samples.n_searchable)
            distances, near = self._neighbors.query(
                points, min(max(K, n_near), samples.n_searchable)
            )
        else:
            checks.check_enough_others(K, samples.n_searchable)
            n_found = min(max(K, n_near) + 1, samples.n_searchable)
            found = self._neighbors.query(points, n_found)
            distances, near = leave_out(*found, samples.rows(without))
        of_samples = samples.get("weights")
        sample_weights = None if of_samples is None else of_samples[near[:, :K]]
        weights = neighbor_weights(distances[:, :K], self.weights, sample_weights)
        return combine.normalised(weights), near

    @property
    def has_seen_targets(self) -> bool:
        """Whether who is near, or an anchor, depends on a sample's target in an unknown way."""
        given = bool(np.isnan(self.anchor_points_).any())
        return self._geometry.uses_targets or (self._anchor_samples is None and not given)

    def refitted(self, numbers: Rows, siblings: "Sequence[FALL]" = ()) -> "list[FALL]":
        """Itself and its siblings, fitted again on the samples with these numbers alone."""
        again = [clone(model) for model in [self, *siblings]]
        first = again[0]
        for name in ("n_features_in_", "classes_", "_target_names", "_one_target"):
            if hasattr(self, name):
                setattr(first, name, getattr(self, name))
        for model in again:
            if model.random_state is None:
                model.random_state = 0  # the same model whenever it is asked for
        X, Y = self.training_samples()
        weights = self.training_weights()
        part = None if weights is None else weights[numbers]
        first._fit(X[numbers], Y[numbers], part, None, again[1:])
        return again

    @property
    def state_key(self) -> tuple[Any, ...]:
        """What predictions depend on: equal keys, equal predictions."""
        samples = self._samples
        return samples, samples.version, self.alpha, self.n_neighbors, self.weights
